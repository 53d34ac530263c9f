"""Conversation items of the OpenAI family: typed turns, seeded history, tool outputs, the server's echoes."""

from __future__ import annotations

from realtime_session.wire.audio import Span
from realtime_session.wire.fields import list_of, name_of, object_of, text_of
from realtime_session.wire.openai_records import Requests

MAX_HELD = 512  # events held back while it is open whether a typed turn is history


class Items:
    """Items sent by the client and announced by the server. A typed item is its own turn.

    The client's item.create only asks; the turn or result is written when the server takes the item, so a
    refused one yields nothing. Before the first response a typed turn is held back until it shows whether
    it was history (another user item followed before the first response) or the turn to be answered."""

    def __init__(self, importer, tools):
        self._importer = importer
        self._tools = tools
        self.requests = Requests()
        self.seen = set()  # ids of items that were dealt with
        self.spoken = set()  # spoken items that were committed when they were announced
        self.replaying = False  # a new connection announces old items again
        self.answered = False  # a response exists on this connection
        self.system_item = None  # the last system item that the server put in by itself
        self.history = 0
        self._held = None  # events since the last typed turn before the first response
        self._typed = ()  # the events of that turn

    # --- client ---

    def created_by_client(self, item, event_id):
        """item.create was sent."""
        if item.get("type") in ("function_call", "mcp_call"):
            call_id = name_of(item.get("call_id"))
            if call_id is not None:
                self._tools.seeded.add(call_id)
        self.requests.add_item(item, event_id, self._importer.line)

    # --- server ---

    def announced(self, item, done):
        """item.added, item.created or item.done came; `done`: the last of them."""
        item_id = name_of(item.get("id"))
        type_ = item.get("type")
        if type_ in ("function_call", "mcp_call"):
            self._tools.see_item(item)
        elif type_ == "mcp_list_tools" and done:
            self._tools.declare_mcp(item)
        if item_id is None and done or item_id in self.seen:
            return
        if item_id is not None:
            self.seen.add(item_id)
        pending = self.requests.take_item(item)
        if pending is None and self.replaying:
            self._importer.warn("replayed_item", "the new connection announces an old item again")
            return
        if pending is not None and pending.flushed:
            return
        if type_ == "function_call_output":
            self._output(item)
        elif type_ in ("message", None):
            self._message(item, pending)

    def _message(self, item, pending):
        role = item.get("role")
        if role == "system" and pending is None:
            self.system_item = name_of(item.get("id"))
        if role != "user":
            return
        item_id = name_of(item.get("id"))
        if item_id in self._importer.turns.of_item:
            return  # the echo of a spoken turn
        parts = list_of(item.get("content")) or (list_of(pending.item.get("content")) if pending else [])
        if any(part.get("type") == "input_audio" for part in parts) and pending is None:
            self._spoken_elsewhere(item, item_id, parts)
        else:
            self._typed_turn(item_id, parts)

    def _spoken_elsewhere(self, item, item_id, parts):
        """A spoken item whose commit is not in the log."""
        if item.get("status") == "in_progress":
            self._importer.turns.bind(item_id)
            return
        turn = self._importer.turns.bind(item_id)
        self._importer.commit(turn, None)
        self.spoken.add(item_id)
        self._transcripts(turn, parts)

    def _typed_turn(self, item_id, parts):
        importer, turns = self._importer, self._importer.turns
        turn = turns.new()
        if item_id is not None:
            turns.of_item[item_id] = turn
        self.settle(history=True)
        events, cause, sequence = [], "text", 0
        for part in parts:
            if part.get("type") == "input_audio":
                duration = Span().take(part.get("audio"), importer.input_rate)
                events.append(
                    importer.emit(
                        "audio.frame",
                        {"turn_id": turn, "sequence": sequence, "duration_ms": duration, "speech": None},
                        duration is None,
                    )
                )
                sequence, cause = sequence + 1, "client"
            elif text_of(part.get("text")) is not None:
                events.append(importer.emit("input.text", {"turn_id": turn, "text": text_of(part["text"])}))
        if not events:  # an image, or content that the logger left out
            events.append(importer.emit("input.text", {"turn_id": turn, "text": ""}, synthetic=True))
        self._transcripts(turn, [p for p in parts if p.get("type") == "input_audio"])
        events.append(importer.emit("turn.commit", {"turn_id": turn, "cause": cause}))
        turns.close(turn)
        if not self.answered:
            self._hold(events)

    def _transcripts(self, turn, parts):
        for part in parts:
            text = text_of(part.get("transcript"))
            if text:
                self._importer.emit("turn.transcript", {"turn_id": turn, "text": text, "final": True})

    def _output(self, item):
        call_id = name_of(item.get("call_id"))
        if call_id is None or not self._tools.result(
            call_id, item.get("output"), None, self._importer.last_response
        ):
            self._importer.warn("output_without_call", "a tool output whose call is not in the log")

    def write(self, pending, synthetic_note):
        """Writes what an item.create stands for although the server never said that it took it."""
        pending.flushed = True
        item = pending.item
        if item.get("type") == "function_call_output":
            self._output(item)
        elif item.get("role") == "user":
            self._typed_turn(name_of(item.get("id")), list_of(item.get("content")))
        else:
            return
        self._importer.warn("unacknowledged", synthetic_note)

    def flush_before(self, order):
        """A response answers a request: the items asked for before it must have been taken."""
        for pending in self.requests.items:
            if pending.order < order and not pending.flushed:
                self.write(pending, f"the item of line {pending.line} was never acknowledged")

    # --- history ---

    def _hold(self, events):
        self._typed = events
        if self._held is None:
            self._held = []

    def settle(self, history):
        """It shows what the held turn was: history, or the turn that is answered."""
        if self._typed and history:
            self.history += 1
            for event in self._typed:
                if not event["source"].get("synthetic"):
                    event["source"]["synthetic"] = True
                    self._importer.count_synthetic(event["type"])
        self._typed = ()

    def response_began(self):
        """The first response on this connection ends the time in which items may be history."""
        self.settle(history=False)
        self.answered = True
        self.replaying = False

    def release(self, events, last):
        """Events that may leave now: all of them unless a typed turn is undecided."""
        if self._held is None:
            return events
        held = self._held
        held += events
        if self._typed and not last and len(held) <= MAX_HELD:
            return []
        self._held, self._typed = None, ()
        return held

    def new_connection(self):
        """What the old connection left open is gone; it may announce its items again."""
        self.requests = Requests()
        self.settle(history=False)
        self.answered, self.replaying, self.system_item = False, True, None


def content_text(item):
    """The text or transcript of a message item of the agent."""
    texts = [
        text_of(part.get("text")) or text_of(part.get("transcript")) or ""
        for part in list_of(object_of(item).get("content"))
    ]
    return "".join(texts)
