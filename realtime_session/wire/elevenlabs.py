"""ElevenLabs Agents logs as traces (wire protocols, section 9, column ElevenLabs Agents).

Messages have a `type` and a body of their own name with an integer event_id; the caller's audio has no type.
A reply has no start and no end on the wire: it begins with its first output and ends with the next one.
"""

from __future__ import annotations

from realtime_session.wire.elevenlabs_names import CLIENT, HANDLED, NOTED
from realtime_session.wire.fields import name_of, object_of, text_of, whole
from realtime_session.wire.replies import RepliesImporter
from realtime_session.wire.rows import RECEIVED, SENT


class ElevenLabsImporter(RepliesImporter):
    """Importer of ElevenLabs Agents logs."""

    FORMAT = "elevenlabs"
    AUDIO_MARKS = (b"user_audio_chunk", b"conversation_initiation_metadata")

    def __init__(self, dialect=None, read_only=(), clock=None):
        super().__init__(dialect, read_only, clock)
        self.input_rate = self.output_rate = 32.0
        self._met = False
        self._of_key = {}  # event_id -> reply
        self._audio_key = None  # event_id of the last audio
        self._key_is_reply = False  # pieces of audio shared an event_id: it names replies, not pieces
        self._cut = self._cut_reply = None  # event_id of the last interruption, and what it cut
        self._typed_text = None

    # --- rows ---

    def is_received(self, row):
        if row.direction is not None:
            return row.direction == RECEIVED
        type_ = row.data.get("type")
        return not ("user_audio_chunk" in row.data or type_.__class__ is str and type_ in CLIENT)

    def handle(self, row):
        data, type_ = row.data, row.data.get("type")
        if type_ is None and "user_audio_chunk" in data:
            type_ = "user_audio_chunk"
        if type_.__class__ is not str:
            self.raw_type = ""
            self.unmap("(no type)")
            return
        self.raw_type = type_[:100]
        client = row.direction == SENT or row.direction is None and not self.is_received(row)
        if self.link_down and client and type_ != "conversation_initiation_client_data":
            self.warn("sent_while_down", f"{type_[:80]} while the connection was closed")
            self.unmap(type_)
        elif type_ == "user_audio_chunk":
            self.frame(data["user_audio_chunk"], self.input_rate, row)
        elif type_ in NOTED:
            self.note(type_)
        elif type_ not in HANDLED or getattr(self, "on_" + type_)(data, row) is False:
            self.unmap(type_)
        elif not self.emitted():
            self.note(type_)

    def on_conversation_initiation_metadata(self, data, row):
        body = _body(data, "conversation_initiation_metadata_event")
        if self._met and self.is_active():
            self.warn("reconnect", "a second metadata message without a close: a lost connection")
            self.reconnect("new connection without a close in the log")
        self._met = True
        if self.session_id is None:
            self.session_id = name_of(body.get("conversation_id"))
        self.input_rate = _rate(body.get("user_input_audio_format"), self.input_rate)
        self.output_rate = _rate(body.get("agent_output_audio_format"), self.output_rate)

    def reopened(self):
        super().reopened()
        self.current = None
        self._met, self._of_key, self._audio_key = False, {}, None
        self._cut = self._cut_reply = None

    def at_end(self):
        if self._close is not None and self._close[1] == 1000:
            self._over()

    def closed(self):
        """A reply that is active at a loss is stopped by it; at the end of the log `at_end` ends it."""
        if not self.link_down:
            self.current = None

    def _over(self):
        """The reply before has ended: nothing on the wire says when."""
        reply = self.current
        if reply is not None and reply.status is None:
            self.conclude(reply, "completed", synthetic=True)

    # --- the caller ---

    def on_user_transcript(self, data, row):
        body = _body(data, "user_transcription_event", "user_transcript_event")
        text = text_of(body.get("user_transcript"))
        if text is None:
            return False
        if not self.turns.next_sequence and text == self._typed_text:
            self._typed_text = None
            return None  # the echo of a typed message
        self.partial.pop(self.turns.open, None)
        self.transcript(self.turns.open, text, True)
        self.commit_open()
        key = body.get("event_id")
        if whole(key) and key in self._of_key:
            self.moved_on = False  # a late transcript: the reply to it has begun
        return None

    def on_tentative_user_transcript(self, data, row):
        body = _body(data, "tentative_user_transcription_event", "tentative_user_transcript_event")
        text = text_of(body.get("user_transcript"))
        if text is None:
            return False
        self.transcript(self.turns.open, text, False)
        return None

    def on_user_message(self, data, row):
        text = text_of(data.get("text"))
        if text is None:
            return False
        self._typed_text = text
        self.typed([text])
        return None

    # --- the agent ---

    def _reply(self, key, spoken=False):
        """The reply that output with an event_id belongs to."""
        key = key if whole(key) else None
        reply = self._of_key.get(key) if key is not None else None
        if spoken and key is not None:
            self._key_is_reply = self._key_is_reply or key == self._audio_key
            self._audio_key = key
        if reply is not None:
            return reply
        reply = self.current
        if key is not None and self._cut is not None and key <= self._cut:
            reply = self._cut_reply  # sent before the cut: it was on its way
        elif reply is None or reply.status is not None or reply.interrupted:
            reply = self._next()
        elif self.moved_on or key is not None and self._key_is_reply and reply in self._of_key.values():
            reply = self._next()
        if key is not None:
            self._of_key[key] = reply
        return reply

    def _next(self):
        self._over()
        # of older replies only what may still be named: the one before the new one
        self._of_key = {k: r for k, r in self._of_key.items() if r is self.current}
        return self.begin()

    def on_audio(self, data, row):
        body = _body(data, "audio_event")
        if body.get("audio_base_64").__class__ is not str:
            return False
        reply = self._reply(body.get("event_id"), spoken=True)
        if self._silent(reply):
            return False
        self.audio(reply, body["audio_base_64"], self.output_rate, row)
        if body.get("is_final") is True:
            reply.items_added = True
        return None

    def _silent(self, reply):
        """Output after the end that was synthesised for a reply."""
        if reply.status is None or reply.interrupted:
            return False
        self.warn("late_output", "output of a reply after the next one began")
        return True

    def on_agent_response(self, data, row):
        body = _body(data, "agent_response_event")
        text = text_of(body.get("agent_response"))
        if text is None:
            return False
        reply = self._reply(body.get("event_id"))
        if reply.interrupted:
            return self._heard(reply, text)  # after an interruption it holds only what was said
        if reply.texts is not None:
            return None if reply.texts == "parts" else self._again(reply, text)
        if self._silent(reply):
            return False
        reply.texts = "whole"
        self.text(reply, text)
        return None

    def _again(self, reply, text):
        """A second text under one event_id."""
        if self._silent(reply):
            return False
        self.text(reply, text)
        return None

    def on_agent_chat_response_part(self, data, row):
        body = _body(data, "text_response_part", "agent_chat_response_part_event")
        text = text_of(body.get("text"))
        if text is None or not text:
            return None if body.get("type") in ("start", "stop") else False
        reply = self._reply(body.get("event_id"))
        if self._silent(reply):
            return False
        if reply.texts is None:
            reply.texts = "parts"
        self.text(reply, text)
        return None

    def on_agent_response_correction(self, data, row):
        body = _body(data, "agent_response_correction_event")
        text, key = text_of(body.get("corrected_agent_response")), body.get("event_id")
        reply = (self._of_key.get(key) if whole(key) else None) or self._cut_reply or self.current
        if text is None or reply is None:
            return False
        return self._heard(reply, text)

    def _heard(self, reply, text):
        self.emit("playback.cleared", {"response_id": reply.id, "played_ms": None, "spoken_text": text})

    def on_interruption(self, data, row):
        key = _body(data, "interruption_event").get("event_id")
        reply = self.interrupt("interruption")
        self._cut_reply = reply
        if whole(key):
            self._cut = key
        # nothing more will say how the reply ended
        self.conclude(reply, "cancelled", "interruption", synthetic=True)

    # --- tools ---

    def _call(self, body, arguments):
        call_id, name = name_of(body.get("tool_call_id")), name_of(body.get("tool_name"))
        reply = self.current
        if reply is None or reply.status is not None or self.moved_on:
            reply = self._reply(body.get("event_id"))
        self.call(reply, call_id, name, arguments)

    def on_client_tool_call(self, data, row):
        body = _body(data, "client_tool_call")
        self._call(body, body.get("parameters", {}))

    def on_client_tool_result(self, data, row):
        error = data.get("is_error")
        return self._result(data, data.get("result"), not error if error.__class__ is bool else None)

    def _result(self, body, output, ok):
        call_id, moved_on = name_of(body.get("tool_call_id")), self.moved_on
        written = call_id is not None and self.result(call_id, output, ok)
        self.moved_on = moved_on  # the platform goes on with the same reply
        if not written:
            self.warn("result_unknown", "the result of a call that is not in the log")
            return False
        return None

    def on_agent_tool_request(self, data, row):
        """A tool that the platform runs; a client tool has its own message."""
        body = _body(data, "agent_tool_request")
        if body.get("tool_type") == "client" or name_of(body.get("tool_call_id")) in self.book.calls:
            return
        self._call(body, body.get("parameters"))

    def on_agent_tool_response(self, data, row):
        body = _body(data, "agent_tool_response")
        call = self.book.calls.get(name_of(body.get("tool_call_id")))
        if call is not None and call.answered:
            return None  # the platform confirms the client's result
        if call is None:
            if name_of(body.get("tool_call_id")) is None:
                return False
            self._call(body, None)
        error = body.get("is_error")
        return self._result(body, None, not error if error.__class__ is bool else None)

    def on_mcp_tool_call(self, data, row):
        body = _body(data, "mcp_tool_call")
        call_id, state = name_of(body.get("tool_call_id")), body.get("state")
        if call_id is None:
            return False
        if call_id not in self.book.calls:
            self._call(body, body.get("parameters", {}))
        if state in ("success", "failure") and not self.book.calls[call_id].answered:
            output = body.get("result") if state == "success" else body.get("error_message")
            return self._result(body, output, state == "success")
        return None

    # --- errors ---

    def on_error(self, data, row):
        body = _body(data, "error_event", "client_error")
        payload = {"error_type": "internal"}
        code = body.get("code", body.get("error_type"))
        if code.__class__ is int or name_of(code):
            payload["code"] = str(code)
        message = text_of(body.get("message", body.get("description")))
        if message is not None:
            payload["message"] = message
        self.emit("error.reported", payload)

    on_client_error = on_error


def _body(data, *names):
    """The body of a message: under its own name, or the message itself."""
    for name in names:
        if data.get(name).__class__ is dict:
            return data[name]
    return object_of(data)


def _rate(format_, default):
    """Bytes per ms of pcm_16000 or ulaw_8000; None for a compressed format."""
    if format_.__class__ is not str:
        return default
    name, _, rate = format_.partition("_")
    if name not in ("pcm", "ulaw", "alaw") or not (rate.isascii() and rate.isdigit()):
        return None
    hertz = int(rate[:7])
    return hertz * (2 if name == "pcm" else 1) / 1000 if 1000 <= hertz <= 768000 else None
