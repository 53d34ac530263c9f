"""OpenAI Realtime logs and their relatives as traces: GA and beta names, Azure, Azure Voice Live, xAI,
Dialog-RSN-1 (wire protocols, sections 1 to 8).

One method per message type. Items, tools and playback have modules of their own; what the importer knows
about responses and the floor is here.
"""
from __future__ import annotations

from realtime_session.wire.audio import Span, bytes_per_ms
from realtime_session.wire.base import Importer, list_of, name_of, object_of, text_of, whole
from realtime_session.wire.openai_items import Items, content_text
from realtime_session.wire.openai_names import (
    ALIASES, CLIENT_TYPES, DIALECTS, DIALOG_RSN, STRUCTURE, DialectGuess, error_type, wire_error_type)
from realtime_session.wire.openai_playback import Playback
from realtime_session.wire.openai_records import Response
from realtime_session.wire.openai_tools import ToolBook
from realtime_session.wire.rows import RECEIVED, SENT

_ENDS = {"completed": "response.completed", "cancelled": "response.cancelled", "failed": "response.failed",
         "incomplete": "response.incomplete"}
_OFFSET_TYPES = ("input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped",
                 "input_audio_buffer.timeout_triggered")


class OpenAIImporter(Playback, Importer):
    """Importer of OpenAI-protocol logs. `dialect` is one of DIALECTS or None (detected)."""

    FORMAT = "openai"
    DIALECTS = DIALECTS
    AUDIO_MARKS = (b"input_audio_buffer.append", b"speech_started", b"speech_stopped", b"timeout_triggered")

    def __init__(self, dialect=None, read_only=(), clock=None):
        super().__init__(dialect, read_only, clock)
        self.guess = DialectGuess() if dialect is None else None
        self.book = ToolBook(self)
        self.items = Items(self, self.book)
        self.responses, self.sounding = {}, {}
        self.active = None            # the response that writes to the conversation
        self.last_response = None
        self.item_owner = {}          # item id -> response id
        self.partial = {}             # item id -> transcript so far
        self.stopped_items, self.idle_items = set(), set()
        self.interrupts_by_speech = True
        self.ends, self.barge_ins = {}, {}
        self.input_rate, self.output_rate = bytes_per_ms(None), bytes_per_ms(None)
        if dialect == DIALOG_RSN:
            self.input_rate = bytes_per_ms("pcm_16000")
        self._microphone = Span()
        self._calls_in_round = set()
        self._null_error_line = -1
        self._session_seen = False
        self._types = {}

    # --- rows ---

    def is_received(self, row):
        """Raw rows name no direction; the client's message types do."""
        if row.direction is not None:
            return row.direction == RECEIVED
        return row.data.get("type") not in CLIENT_TYPES if row.data.get("type").__class__ is str else True

    def handle(self, row):
        data = row.data
        type_ = data.get("type")
        if type_.__class__ is not str:
            self.raw_type = ""
            self.unmap("(no type)")
            return
        handler, client = self._types.get(type_) or self._learn(type_)
        self.raw_type = type_[:100]
        if row.direction is not None:
            client = row.direction == SENT
        wire_id = data.get("event_id")
        if wire_id is not None and self.identify(wire_id, client, data):
            return
        if self.link_down and type_ not in ("conversation.item.create", "response.create", "session.update"):
            self.warn("sent_while_down", f"{type_[:80]} while the connection was closed")
            self.unmap(type_)
        elif handler is None:
            (self.note if ALIASES.get(type_, type_) in STRUCTURE else self.unmap)(type_)
            if not client and type_.startswith("response."):
                self.response_of(data)
        else:
            if handler(data, row) is False:
                self.unmap(type_)
            elif not self._nth:
                self.note(type_)
        if client and wire_id.__class__ is str:
            self._client_events[wire_id] = self.first_id() if self._nth else None

    def _learn(self, type_):
        """(handler or None, sent by the client?) of a message type, looked up once."""
        clean = type_.strip()
        name = ALIASES.get(clean, clean)
        if self.guess is not None:
            self.guess.type(clean)
        handler = getattr(self, "on_" + name.replace(".", "_"), None) if name in HANDLED else None
        found = (handler, clean in CLIENT_TYPES)
        if len(self._types) < 10000:
            self._types[type_] = found
        return found

    def released(self, events, last=False):
        return self.items.release(events, last)

    def at_end(self):
        for pending in self.items.requests.items:
            refused = self._null_error_line > pending.line
            if not pending.flushed and not refused:
                self.items.write(pending, f"the item of line {pending.line} was never acknowledged")
        if self.guess is not None:
            self.dialect = self.guess.result()

    def closed(self):
        self.active = None
        for response in list(self.sounding.values()):
            self.sounds(response, False)

    def reopened(self):
        self.items.new_connection()
        self.partial.clear()
        self._microphone = Span()

    def tools(self):
        return self.book.header()

    # --- session ---

    def on_session_created(self, data, row):
        session = object_of(data.get("session"))
        if self._session_seen and not self._nth and self.responses_or_turns():
            self.warn("reconnect", "a second session.created without a close: taken as a lost connection")
            self.reconnect("new connection without a close in the log")
        self._session_seen = True
        self._session(session)

    def responses_or_turns(self):
        """Whether anything happened that a new connection could interrupt."""
        return bool(self.responses) or self.turns.count > 0

    def on_session_updated(self, data, row):
        self._session(object_of(data.get("session")))
        self.items.replaying = False

    def on_session_update(self, data, row):
        session = object_of(data.get("session"))
        self.book.declare(session.get("tools"))
        self._audio_formats(session)

    def _session(self, session):
        if self.session_id is None:
            self.session_id = name_of(session.get("id"))
        if self.guess is not None:
            self.guess.session(session)
        self.book.declare(session.get("tools"))
        self._audio_formats(session)
        audio = object_of(session.get("audio"))
        detection = object_of(audio.get("input")).get("turn_detection", session.get("turn_detection"))
        self.interrupts_by_speech = object_of(detection).get("interrupt_response") is not False

    def _audio_formats(self, session):
        audio = object_of(session.get("audio"))
        into, out = object_of(audio.get("input")), object_of(audio.get("output"))
        self.input_rate = bytes_per_ms(into.get("format", session.get("input_audio_format")), self.input_rate)
        self.output_rate = bytes_per_ms(out.get("format", session.get("output_audio_format")), self.output_rate)
        rate = session.get("poly_input_rate", session.get("input_audio_sampling_rate"))
        if whole(rate) and 0 < rate <= 768000:
            self.input_rate = rate * 2 / 1000

    # --- the caller's audio ---

    def on_input_audio_buffer_append(self, data, row):
        duration = self._microphone.take(data.get("audio"), self.input_rate, row.trimmed)
        self.audio_heard(duration)
        turns = self.turns
        turn = turns.open
        self.emit("audio.frame", {"turn_id": turn, "sequence": turns.frame(), "duration_ms": duration,
                                  "speech": None})

    def on_input_audio_buffer_commit(self, data, row):
        self.items.requests.commits += 1

    def on_input_audio_buffer_speech_started(self, data, row):
        item, offset = name_of(data.get("item_id")), data.get("audio_start_ms")
        self.items.replaying = False
        self.audio_offset(offset)
        # An onset that was judged noise has no stop: the next onset takes over the open turn.
        turn = self.turns.bind(item)
        if item is not None and not self.turns.is_open(turn):
            turn = self.turns.of_item[item] = self.turns.open  # an item that goes on after its commit
        payload = {"turn_id": turn}
        if whole(offset):
            payload["audio_ms"] = offset
        self.emit("speech.started", payload)
        if self.interrupts_by_speech:
            self.interrupt(self.standing_response(), "speech_started")

    def on_input_audio_buffer_speech_stopped(self, data, row):
        item, offset = name_of(data.get("item_id")), data.get("audio_end_ms")
        self.audio_offset(offset)
        if item is not None:
            self.stopped_items.add(item)
        payload = {"turn_id": self.turns.bind(item)}
        if whole(offset):
            payload["audio_ms"] = offset
        self.emit("speech.stopped", payload)

    def on_input_audio_buffer_timeout_triggered(self, data, row):
        self.audio_offset(data.get("audio_end_ms"))
        item = name_of(data.get("item_id"))
        if item is not None:
            self.idle_items.add(item)

    def on_input_audio_buffer_committed(self, data, row):
        item = name_of(data.get("item_id"))
        self.items.replaying = False
        requests, system = self.items.requests, self.items.system_item
        if item in self.idle_items or system is not None and data.get("previous_item_id") == system:
            cause = "idle_timeout"
        elif requests.commits and item not in self.stopped_items:
            requests.commits -= 1
            cause = "client"
        else:
            cause = None
        turn = self.turns.bind(item)
        if not self.turns.is_open(turn):
            if item in self.items.spoken:
                self.items.spoken.discard(item)
                return  # already closed when its item was announced
            turn = self.turns.of_item[item] = self.turns.open
        self.stopped_items.discard(item)
        self.idle_items.discard(item)
        self.commit(turn, cause)

    def commit(self, turn, cause):
        """Closes a spoken turn; audio that is not in the log stands as one synthetic frame."""
        self.items.settle(history=True)
        if self.turns.is_open(turn) and not self.turns.next_sequence:
            self.emit("audio.frame", {"turn_id": turn, "sequence": self.turns.frame(), "duration_ms": None,
                                      "speech": None}, synthetic=True)
        payload = {"turn_id": turn}
        if cause is not None:
            payload["cause"] = cause
        self.emit("turn.commit", payload)
        self.turns.close(turn)

    def on_input_audio_buffer_dtmf_event_received(self, data, row):
        digits = name_of(data.get("event"))
        if digits is None or digits.strip("0123456789ABCD*#"):
            return False
        self.emit("input.dtmf", {"turn_id": self.turns.open, "digits": digits})
        return None

    # --- transcripts of the caller ---

    def on_conversation_item_input_audio_transcription_delta(self, data, row):
        item, text = name_of(data.get("item_id")), text_of(data.get("delta"))
        if text is None:
            return False
        text = text_of(self.partial.get(item, "") + text)
        self.partial[item] = text
        return self._transcript(item, text, False)

    def on_conversation_item_input_audio_transcription_updated(self, data, row):
        return self._transcript(name_of(data.get("item_id")), text_of(data.get("transcript")), False)

    def on_conversation_item_input_audio_transcription_completed(self, data, row):
        item = name_of(data.get("item_id"))
        final = data.get("status") in (None, "completed")
        if final:
            self.partial.pop(item, None)
        return self._transcript(item, text_of(data.get("transcript")), final)

    def _transcript(self, item, text, final):
        if text is None:
            return False
        self.emit("turn.transcript", {"turn_id": self.turns.bind(item), "text": text, "final": final})
        return None

    def on_conversation_item_input_audio_transcription_failed(self, data, row):
        self.partial.pop(name_of(data.get("item_id")), None)
        self._error(object_of(data.get("error")), error_type(data.get("error"), "media_corrupt"))

    # --- items ---

    def on_conversation_item_create(self, data, row):
        self.items.created_by_client(object_of(data.get("item")), name_of(data.get("event_id")))

    def on_conversation_item_added(self, data, row):
        self.items.announced(object_of(data.get("item")), done=False)

    on_conversation_item_created = on_conversation_item_added

    def on_conversation_item_done(self, data, row):
        item = object_of(data.get("item"))
        self.items.announced(item, done=True)
        self.server_result(item)

    # --- responses ---

    def on_response_create(self, data, row):
        response = object_of(data.get("response"))
        self.book.declare(response.get("tools"))
        self.items.requests.add_create(response.get("conversation") == "none",
                                       object_of(response.get("metadata")), name_of(data.get("event_id")))

    def on_response_created(self, data, row):
        wire = object_of(data.get("response"))
        id_ = name_of(wire.get("id"))
        if id_ is None:
            self.warn("response_without_id", "response.created without an id")
            return False
        known = self.responses.get(id_)
        if known is not None and not known.announced:
            known.announced = True  # its output came first and has begun it already
            return None
        named = "conversation_id" in wire
        request = self.items.requests.take_create(wire.get("conversation_id"), named, object_of(wire.get("metadata")))
        aside = named and wire["conversation_id"] is None or request is not None and request[1]
        if request is not None:
            self.items.flush_before(request[0])
        self.begin_response(id_, aside)
        return None

    def begin_response(self, id_, aside, synthetic=False):
        """Writes response.started; the response names the last committed turn."""
        self.items.response_began()
        turn = self.turns.last_committed
        payload = {"response_id": id_, "turn_id": turn}
        if turn is None:
            payload["cause"] = "opening"
        if aside:
            payload["out_of_band"] = True
        self.emit("response.started", payload, synthetic)
        response = Response(id_, aside, announced=not synthetic)
        if id_ not in self.responses:  # a second start is for the contract to judge
            self.responses[id_] = response
        if not aside:
            self.active = id_
        self.last_response = id_
        return response

    def response_of(self, data, wire=None):
        """The response that a message belongs to; one that was never announced is begun here."""
        id_ = name_of(data.get("response_id")) if wire is None else name_of(wire.get("id"))
        if id_ is None:
            id_ = self.item_owner.get(name_of(data.get("item_id"))) or (self.active if wire is None else None)
            if id_ is None:
                return None
        response = self.responses.get(id_)
        if response is None:
            # Only one response writes at a time; beside an active one it can only be out of band.
            busy = self.active is not None and self.responses[self.active].status is None \
                and not self.responses[self.active].interrupted
            self.warn("response_unannounced", f"response {id_[:80]} was never announced")
            response = self.begin_response(id_, busy, synthetic=True)
        return response

    def on_response_output_item_added(self, data, row):
        response = self.response_of(data)
        item = object_of(data.get("item"))
        item_id = name_of(item.get("id"))
        if response is None or item_id is None:
            return
        self.item_owner[item_id] = response.id
        response.sent.setdefault(item_id, 0)
        response.open_items[item_id] = None
        response.items_added = True
        self.items.seen.add(item_id)
        if item.get("type") in ("function_call", "mcp_call"):
            self.book.see_item(item)

    def on_response_output_item_done(self, data, row):
        response = self.response_of(data)
        item = object_of(data.get("item"))
        item_id = name_of(item.get("id"))
        if response is None:
            return
        response.open_items.pop(item_id, None)
        if item.get("type") == "function_call":
            self._late_call(response, item)
        self.server_result(item)

    def _late_call(self, response, item):
        """A function call whose arguments.done is not in the log."""
        item_id, call_id = name_of(item.get("id")), name_of(item.get("call_id"))
        if (call_id or item_id) and not self.book.knows(call_id, item_id) and item.get("status") != "in_progress":
            self.book.see_item(item)
            self._call(response, item_id, call_id, item.get("name"), item.get("arguments"))

    def _call(self, response, item_id, call_id, name, arguments):
        if response.id not in self._calls_in_round:
            self._calls_in_round.add(response.id)
            self.book.rounds += 1
        self.book.call(response.id, item_id, call_id, name_of(name), arguments)

    def on_response_function_call_arguments_done(self, data, row):
        response = self.response_of(data)
        if response is None:
            return False
        self._call(response, name_of(data.get("item_id")), name_of(data.get("call_id")), data.get("name"),
                   data.get("arguments"))
        return None

    def on_response_mcp_call_arguments_done(self, data, row):
        response, item_id = self.response_of(data), name_of(data.get("item_id"))
        if response is None or item_id is None:
            return False
        self._call(response, item_id, item_id, data.get("name"), data.get("arguments"))
        if response.mcp is None:
            response.mcp = {}
        response.mcp[item_id] = None
        self.item_owner[item_id] = response.id
        return None

    def on_response_mcp_call_completed(self, data, row):
        self._mcp_status(name_of(data.get("item_id")), True)

    def on_response_mcp_call_failed(self, data, row):
        self._mcp_status(name_of(data.get("item_id")), False)

    def _mcp_status(self, item_id, ok):
        response = self.responses.get(self.item_owner.get(item_id))
        if response is not None and response.mcp and item_id in response.mcp:
            response.mcp[item_id] = ok

    def server_result(self, item):
        """The result of a call that the server ran itself is in its item."""
        item_id = name_of(item.get("id"))
        response = self.responses.get(self.item_owner.get(item_id))
        if item.get("type") != "mcp_call" or response is None or not response.mcp or item_id not in response.mcp:
            return
        ok = response.mcp.pop(item_id)
        error = item.get("error")
        ok = error is None if ok is None else ok
        self.book.result(item_id, item.get("output") if error is None else error, ok, response.id)

    def on_response_output_text_delta(self, data, row):
        text = data.get("delta")
        response = self.response_of(data)
        if response is None:
            return False
        if text.__class__ is not str:
            self.warn("no_content", "a text delta without its text")
            return None
        if response.texts is None:
            response.texts = set()
        response.texts.add((data.get("item_id").__class__ is str and data["item_id"], _index(data)))
        self._text(response, text)
        return None

    on_response_output_audio_transcript_delta = on_response_output_text_delta

    def on_response_output_text_done(self, data, row):
        """Text that came without deltas."""
        response = self.response_of(data)
        if response is None:
            return False
        text = data.get("text", data.get("transcript"))
        key = (data.get("item_id").__class__ is str and data["item_id"], _index(data))
        if text.__class__ is str and text and response.status is None and key not in (response.texts or ()):
            response.texts = (response.texts or set()) | {key}
            self._text(response, text)
        return None

    on_response_output_audio_transcript_done = on_response_output_text_done

    def _text(self, response, text):
        self.emit("response.text", {"response_id": response.id, "sequence": response.next_text,
                                    "text": text_of(text)})
        response.next_text += 1

    def on_response_output_audio_delta(self, data, row):
        response = self.response_of(data)
        if response is None:
            return False
        duration = data.get("audio_duration_ms")
        if duration.__class__ is not int or not 0 <= duration <= 600000:
            duration = response.span.take(data.get("delta"), self.output_rate, row.trimmed)
        item_id = name_of(data.get("item_id"))
        if item_id is not None:
            self.item_owner.setdefault(item_id, response.id)
        response.add_audio(item_id, duration)
        self.emit("response.audio", {"response_id": response.id, "sequence": response.next_audio,
                                     "duration_ms": duration})
        response.next_audio += 1
        return None

    def on_response_content_part_added(self, data, row):
        if self.guess is not None:
            self.guess.part_added(data)
        self.response_of(data)

    def on_response_done(self, data, row):
        wire = object_of(data.get("response"))
        response = self.response_of(data, wire)
        if response is None:
            self.warn("response_without_id", "response.done without an id")
            return False
        if response.status is None:
            self._missing_output(response, wire)
        status = wire.get("status")
        type_ = _ENDS.get(status) if status.__class__ is str else None
        if type_ is None:
            self.warn("response_status", "response.done without a known status: taken as completed")
            status, type_ = "completed", "response.completed"
        payload = {"response_id": response.id}
        details = object_of(wire.get("status_details"))
        error = object_of(details.get("error"))
        if status != "completed":
            reason = name_of(details.get("reason")) or name_of(error.get("code")) or name_of(error.get("type"))
            payload["reason"] = reason or name_of(wire.get("status_details")) or "unspecified"
        if status == "failed":
            payload["error_type"] = error_type(error)
        self.emit(type_, payload)
        if response.status is None:
            response.status = status
            self.ends[status] = self.ends.get(status, 0) + 1
            response.retire()
        if self.active == response.id:
            self.active = None
        return None

    def _missing_output(self, response, wire):
        """What response.done says and no earlier row did: calls and text."""
        for item in list_of(wire.get("output")):
            if item.get("type") == "function_call":
                self._late_call(response, item)
            self.server_result(item)
        for item_id, ok in list((response.mcp or {}).items()):
            if ok is not None:
                self.book.result(item_id, None, ok, response.id)
        if not response.next_text and not response.next_audio and response.status is None:
            text = "".join(content_text(item) for item in list_of(wire.get("output"))
                           if item.get("type") in ("message", None))
            if text:
                self._text(response, text)

    # --- errors ---

    def on_error(self, data, row):
        error = object_of(data.get("error"))
        code, ref = name_of(error.get("code")), name_of(error.get("event_id"))
        if ref is None:
            self._null_error_line = self.line
        refused = self.items.requests.refuse(ref, code)
        if refused is not None and name_of(refused.call_id):
            self.book.seeded.discard(refused.call_id)
        self._error(error, wire_error_type(error), ref)

    def _error(self, error, type_, ref=None):
        payload = {"error_type": type_}
        if name_of(error.get("code")):
            payload["code"] = name_of(error["code"])
        if text_of(error.get("message")) is not None:
            payload["message"] = text_of(error["message"])
        if ref is not None:
            # A line without a trace event cannot be pointed at; without the client's side nothing can.
            ref = self._client_events.get(ref, ref if self._saw_client() else None)
        if ref is not None:
            payload["ref_event_id"] = ref
        self.emit("error.reported", payload)

    def _saw_client(self):
        """Whether the log holds the client's side at all."""
        return any(client for _, client in self._types.values())

    def summary(self):
        calls = len(self.book.calls)
        return {**super().summary(), "responses": {
            "started": len(self.responses), "unfinished": sum(r.status is None for r in self.responses.values()),
            "out_of_band": sum(r.out_of_band for r in self.responses.values()), **dict(sorted(self.ends.items()))},
            "barge_ins": {case: self.barge_ins.get(case, 0) for case in (
                "before_output", "mid_generation", "all_items_done", "after_completion")},
            "tools": {"calls": self.book.made, "results": self.book.results, "rounds": self.book.rounds,
                      "unanswered": self.book.unanswered() if calls else 0},
            "history_turns": self.items.history}


def _index(data):
    index = data.get("content_index")
    return index if index.__class__ is int else 0


HANDLED = frozenset((
    "session.created", "session.updated", "session.update", "input_audio_buffer.append",
    "input_audio_buffer.commit", *_OFFSET_TYPES, "input_audio_buffer.committed",
    "input_audio_buffer.dtmf_event_received", "conversation.item.input_audio_transcription.delta",
    "conversation.item.input_audio_transcription.updated",
    "conversation.item.input_audio_transcription.completed",
    "conversation.item.input_audio_transcription.failed", "conversation.item.create",
    "conversation.item.added", "conversation.item.created", "conversation.item.done",
    "conversation.item.truncated", "response.create", "response.created", "response.cancel",
    "response.output_item.added", "response.output_item.done", "response.function_call_arguments.done",
    "response.mcp_call_arguments.done", "response.mcp_call.completed", "response.mcp_call.failed",
    "response.output_text.delta", "response.output_text.done", "response.output_audio_transcript.delta",
    "response.output_audio_transcript.done", "response.output_audio.delta", "response.content_part.added",
    "response.done", "error", "output_audio_buffer.started", "output_audio_buffer.stopped",
    "output_audio_buffer.cleared", "poly.output_audio.started", "poly.output_audio.delta",
    "poly.output_audio.stopped",
))
