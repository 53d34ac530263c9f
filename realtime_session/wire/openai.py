"""OpenAI Realtime logs and their relatives as traces: GA and beta names, Azure, Azure Voice Live, xAI,
Dialog-RSN-1 (wire protocols, sections 1 to 8).

One method per message type; the modules beside this one hold them by subject. Here are the dispatch, the
session object, errors and the summary.
"""

from __future__ import annotations

from realtime_session.wire.audio import Span, bytes_per_ms
from realtime_session.wire.base import Importer
from realtime_session.wire.fields import name_of, object_of, text_of, whole
from realtime_session.wire.openai_input import Input
from realtime_session.wire.openai_items import Items
from realtime_session.wire.openai_names import (
    ALIASES,
    CLIENT_TYPES,
    DIALECTS,
    DIALOG_RSN,
    HANDLED,
    STRUCTURE,
    DialectGuess,
    wire_error_type,
)
from realtime_session.wire.openai_playback import Playback
from realtime_session.wire.openai_responses import Responses
from realtime_session.wire.openai_tools import ToolBook
from realtime_session.wire.rows import RECEIVED, SENT


class OpenAIImporter(Input, Responses, Playback, Importer):
    """Importer of OpenAI-protocol logs. `dialect` is one of DIALECTS or None (detected)."""

    FORMAT = "openai"
    DIALECTS = DIALECTS
    AUDIO_MARKS = (b"input_audio_buffer.append", b"speech_started", b"speech_stopped", b"timeout_triggered")
    HEADER_MARKS = (b'"tools"',)

    def __init__(self, dialect=None, read_only=(), clock=None):
        super().__init__(dialect, read_only, clock)
        self.guess = DialectGuess() if dialect is None else None
        self.book = ToolBook(self)
        self.items = Items(self, self.book)
        self.responses, self.sounding = {}, {}
        self.active = None  # the response that writes to the conversation
        self.last_response = None
        self.item_owner = {}  # item id -> response id
        self.partial = {}  # item id -> transcript so far
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
        self.output_rate = bytes_per_ms(
            out.get("format", session.get("output_audio_format")), self.output_rate
        )
        rate = session.get("poly_input_rate", session.get("input_audio_sampling_rate"))
        if whole(rate) and 0 < rate <= 768000:
            self.input_rate = rate * 2 / 1000

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
        return {
            **super().summary(),
            "responses": {
                "started": len(self.responses),
                "unfinished": sum(r.status is None for r in self.responses.values()),
                "out_of_band": sum(r.out_of_band for r in self.responses.values()),
                **dict(sorted(self.ends.items())),
            },
            "barge_ins": {
                case: self.barge_ins.get(case, 0)
                for case in ("before_output", "mid_generation", "all_items_done", "after_completion")
            },
            "tools": {
                "calls": self.book.made,
                "results": self.book.results,
                "rounds": self.book.rounds,
                "unanswered": self.book.unanswered() if calls else 0,
            },
            "history_turns": self.items.history,
        }
