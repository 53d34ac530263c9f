"""One response on the wire: from response.created over its items to exactly one response.done.

The order of events is the recorded one (wire.md 3, 4, 6 and 11): output_item.added, then the same item's
conversation.item.added, content_part.added, transcript deltas ahead of the audio they belong to, and on the
way out audio.done, transcript.done, content_part.done, conversation.item.done, output_item.done,
response.done.
"""

from __future__ import annotations

import base64
import json

from realtime_session.wire.server_core import clone, words

DEFAULT_CHUNK_MS = 200
ARGUMENT_CHARS = 8


class OutputItem:
    """An item of a response while it is being generated. `wire` is the item object itself, kept up to
    date."""

    __slots__ = ("index", "open", "part", "previous", "text", "wire")

    def __init__(self, wire, index, previous):
        self.wire = wire
        self.index = index
        self.previous = previous
        self.open = True
        self.part = None  # the wire name of the open content part: "audio" or "text"
        self.text = ""  # everything generated, whatever history keeps of it


class Response:
    """One generation. `request` is the checked `response` object of response.create, {} for a VAD turn."""

    def __init__(self, server, reply, request):
        self._server = server
        self.reply = reply
        self.request = request
        self.id = server.ids.next("resp")
        self.out_of_band = request.get("conversation") == "none"
        flat = server.profile.flat
        self.modalities = list(
            request.get("modalities" if flat else "output_modalities", server.config.modalities)
        )
        self.speaks = "audio" in self.modalities
        metadata = request.get("metadata")
        self.metadata = clone(metadata) if server.profile.echoes_metadata else None
        self.items = []
        self.status = "queued"  # then in_progress, then the final status
        self.timings = {**server.script["timings"], **reply.get("timings", {})}
        self._transcript = None
        self._steps = self._plan()
        self._ticket = None
        self.passages = []  # the numbered knowledge this generation could cite
        self._tokens = 0
        self._input_tokens = 0

    # Life

    def start(self) -> None:
        self._next()

    def _next(self) -> None:
        """Run steps that are due now; wait for the next one that is not."""
        for delay, step in self._steps:
            if delay:
                self._ticket = self._server.timeline.after(delay, lambda step=step: self._run(step))
                return
            step()
            if self.status not in ("queued", "in_progress"):
                return

    def _run(self, step) -> None:
        step()
        if self.status in ("queued", "in_progress"):
            self._next()

    def _plan(self):
        """(delay in ms, action) for everything up to response.done."""
        reply, times = self.reply, self.timings
        yield times["created_ms"], self._created
        first = times["first_item_ms"] + reply.get("reasoning_ms", 0)
        if reply.get("interleave"):
            yield from self._interleaved(first)
        else:
            if reply["text"] or reply.get("empty_part"):
                yield from self._message(first)
                first = times["delta_ms"]
            for call in reply["calls"]:
                yield from self._call(call, first)
                first = times["delta_ms"]
        yield (0 if reply["text"] or reply["calls"] else first), self._text_done
        yield times["done_ms"], self._finish_scripted

    def _message(self, first):
        holder = []
        yield first, lambda: holder.append(self._open_message())
        yield self.timings["first_delta_ms"], lambda: self._open_part(holder[0])
        for piece in self._pieces():
            yield 0, lambda piece=piece: self._deltas(holder[0], *piece)
            yield self.timings["delta_ms"], lambda: None
        if self.reply["status"] == "completed":
            yield 0, lambda: self._close(holder[0])

    def _call(self, call, first):
        holder = []
        yield first, lambda: holder.append(self._open_call(call))
        for piece in self._argument_pieces(call):
            yield self.timings["delta_ms"], lambda piece=piece: self._arguments(holder[0], piece)
        yield 0, lambda: self._close(holder[0])

    def _interleaved(self, first):
        """A text item and a call whose deltas alternate, as recorded with current OpenAI models (wire.md
        4)."""
        message, call = [], []
        wanted = self.reply["calls"][0]
        yield first, lambda: message.append(self._open_message())
        yield 0, lambda: self._open_part(message[0])
        yield self.timings["delta_ms"], lambda: call.append(self._open_call(wanted))
        said = list(self._pieces())
        pieces = list(self._argument_pieces(wanted))
        for turn in range(max(len(said), len(pieces))):
            if turn < len(said):
                yield self.timings["delta_ms"], lambda turn=turn: self._deltas(message[0], *said[turn])
            if turn < len(pieces):
                yield self.timings["delta_ms"], lambda turn=turn: self._arguments(call[0], pieces[turn])
        yield 0, lambda: self._close(message[0])
        yield 0, lambda: self._close(call[0])
        for other in self.reply["calls"][1:]:
            yield from self._call(other, self.timings["delta_ms"])

    def _pieces(self):
        """(text, audio ms) of each delta step: the words of a stretch of audio come ahead of it."""
        parts = words(self.reply["text"])
        if not self.speaks:
            for part in parts:
                yield part, 0
            return
        total = self.reply.get("audio_ms") or max(1, len(parts)) * self._server.script["ms_per_word"]
        if not parts:
            return
        chunk = self.reply.get("chunk_ms", DEFAULT_CHUNK_MS)
        steps = -(-total // chunk)
        for step in range(steps):
            first, last = -(-len(parts) * step // steps), -(-len(parts) * (step + 1) // steps)
            said = "".join(parts[first:last])
            yield said, min(chunk, total - step * chunk)

    @staticmethod
    def _argument_pieces(call):
        text = call.get("arguments_text")
        if text is None:
            text = json.dumps(call["arguments"], ensure_ascii=False, separators=(",", ":"))
        for start in range(0, len(text), ARGUMENT_CHARS):
            yield text[start : start + ARGUMENT_CHARS]

    # Steps

    def _created(self) -> None:
        server = self._server
        self.status = "in_progress"
        server.playback.begin(self.id)
        last = None if self.out_of_band else server.conversation.last()
        self._transcript = server.transcripts.generation_begins(last)
        self._input_tokens = server.note_generation(self)
        server.emit("response.created", response=self.wire())
        if server.profile.rate_limits == "after_created":
            server.emit_rate_limits()
        server.transcripts.in_generation(self._transcript, "before")

    def _open_message(self) -> OutputItem:
        wire = {"id": self._server.ids.next("item"), "type": "message", "status": "in_progress"}
        wire.update(role="assistant", content=[])
        return self._open(wire)

    def _open_call(self, call) -> OutputItem:
        call_id = call.get("call_id") or self._server.ids.call(self._server.profile.call_id_width)
        wire = {"id": self._server.ids.next("item"), "type": "function_call", "status": "in_progress"}
        wire.update(call_id=call_id, name=call["name"], arguments="")
        return self._open(wire)

    def _open(self, wire) -> OutputItem:
        server = self._server
        previous = None if self.out_of_band else server.conversation.add(wire)
        item = OutputItem(wire, len(self.items), previous)
        self.items.append(item)
        server.emit(
            "response.output_item.added", response_id=self.id, output_index=item.index, item=clone(wire)
        )
        if not self.out_of_band:
            server.emit("conversation.item.added", previous_item_id=previous, item=clone(wire))
        return item

    def _at(self, item) -> dict:
        place = {"response_id": self.id, "item_id": item.wire["id"], "output_index": item.index}
        return {**place, "content_index": 0}

    def _open_part(self, item) -> None:
        item.part = "audio" if self.speaks else "text"
        key = "transcript" if self.speaks else "text"
        kind = item.part if self._server.profile.flat else f"output_{item.part}"
        item.wire["content"] = [{"type": kind, key: ""}]
        part = {"type": item.part, key: ""}
        self._server.emit("response.content_part.added", **self._at(item), part=part)

    def _deltas(self, item, text: str, audio_ms: int) -> None:
        server, item_id = self._server, item.wire["id"]
        key, name = ("transcript", "output_audio_transcript") if self.speaks else ("text", "output_text")
        if text:
            item.text += text
            content = item.wire["content"][0]
            if key in content:  # a truncated item has lost its transcript for good
                content[key] += text
            self._tokens += 1
            server.emit(f"response.{name}.delta", **self._at(item), delta=text)
        if self.out_of_band:
            self._audio_delta(item, audio_ms)
            return
        if self.speaks:
            server.playback.transcribed(self.id, item_id, text)
            self._audio_delta(item, audio_ms)
            if audio_ms:
                sent = server.conversation.sent_ms
                sent[item_id] = sent.get(item_id, 0) + audio_ms
                server.voiced(self, item_id, audio_ms)
        elif text:
            server.playback.written(self.id, item_id, text)

    def _audio_delta(self, item, audio_ms: int) -> None:
        if not audio_ms:
            return
        self._tokens += audio_ms // 50
        if self._server.script["transport"] == "webrtc":
            return  # the media track carries it, not the event channel (wire.md 4)
        size = audio_ms * self._server.config.bytes_per_second("output") // 1000
        audio = base64.b64encode(bytes(size - size % 2)).decode("ascii")
        self._server.emit("response.output_audio.delta", **self._at(item), delta=audio)

    def _arguments(self, item, piece: str) -> None:
        item.wire["arguments"] += piece
        self._tokens += 1
        self._server.emit("response.function_call_arguments.delta", **self._call_at(item), delta=piece)

    def _call_at(self, item) -> dict:
        place = {"response_id": self.id, "item_id": item.wire["id"], "output_index": item.index}
        return {**place, "call_id": item.wire["call_id"]}

    def _close(self, item, status: str = "completed") -> None:
        """The end of an item, also of one cut short."""
        server, wire = self._server, item.wire
        item.open = False
        if wire["type"] == "function_call":
            server.emit(
                "response.function_call_arguments.done",
                **self._call_at(item),
                name=wire["name"],
                arguments=wire["arguments"],
            )
        elif item.part:
            key = "transcript" if self.speaks else "text"
            text = item.text
            if self.speaks:
                server.emit("response.output_audio.done", **self._at(item))
                server.emit("response.output_audio_transcript.done", **self._at(item), transcript=text)
            else:
                server.emit("response.output_text.done", **self._at(item), text=text)
            server.emit("response.content_part.done", **self._at(item), part={"type": item.part, key: text})
        wire["status"] = status
        if not self.out_of_band and not server.profile.one_item_event:
            server.emit("conversation.item.done", previous_item_id=item.previous, item=clone(wire))
        server.emit(
            "response.output_item.done", response_id=self.id, output_index=item.index, item=clone(wire)
        )

    def _text_done(self) -> None:
        self._server.transcripts.in_generation(self._transcript, "text_done")

    def _finish_scripted(self) -> None:
        status, details = self.reply["status"], None
        if status == "failed":
            details = {
                "type": "failed",
                "error": {k: v for k, v in self.reply["error"].items() if k != "message"},
            }
        elif status == "incomplete":
            details = {"type": "incomplete", "reason": self.reply["reason"]}
        self.finish(status, details)

    def cancel(self, reason: str) -> None:
        """turn_detected or client_cancelled: close what is open as incomplete, then the one response.done."""
        self.finish("cancelled", {"type": "cancelled", "reason": reason})

    def finish(self, status, details) -> None:
        self._server.timeline.cancel(self._ticket)
        for item in self.items:
            if item.open:
                self._close(item, "incomplete")
        self.status = status
        self._server.emit("response.done", response=self.wire(details))
        self._server.response_done(self, self._transcript)

    def wire(self, details=None) -> dict:
        """The response object as the wire has it."""
        server = self._server
        made = {
            "object": "realtime.response",
            "id": self.id,
            "status": self.status,
            "status_details": details,
            "output": [clone(item.wire) for item in self.items],
            "conversation_id": None if self.out_of_band else server.conversation_id,
        }
        if server.profile.flat:
            made.update(modalities=list(self.modalities), voice=server.config.voice)
            made["output_audio_format"] = server.config.value["output_audio_format"]
        else:
            made["output_modalities"] = list(self.modalities)
            made["audio"] = {"output": clone(server.config.value["audio"]["output"])}
        made["usage"] = None if self.status == "in_progress" else self._usage()
        made["metadata"] = clone(self.metadata)
        if server.profile.poly and self.status != "in_progress":
            if self.status == "completed" and self._cited_topics():
                made["poly_cited_topics"] = self._cited_topics()
            made["poly_out_of_domain"] = self.reply.get("out_of_domain", False)
        return made

    def _cited_topics(self) -> list:
        """Names, never numbers; each once, in the order in which the reply cites them."""
        names = {passage["number"]: passage["name"] for passage in self.passages}
        return list(dict.fromkeys(names[number] for number in self.reply.get("cites", ()) if number in names))

    def _usage(self) -> dict:
        given = self._input_tokens if self.items else 0  # nothing is charged for a reply that never began
        return {
            "total_tokens": given + self._tokens,
            "input_tokens": given,
            "output_tokens": self._tokens,
        }
