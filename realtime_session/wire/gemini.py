"""Gemini Live logs as traces (wire protocols, section 9, column Gemini Live).

Messages are one-of JSON objects without type, event id or response id; the server writes camelCase, clients
write either camelCase or snake_case. generationComplete ends a response, turnComplete ends its playback.
"""

from __future__ import annotations

from realtime_session.wire.fields import camel, list_of, name_of, object_of, text_of
from realtime_session.wire.gemini_tools import declarations, result_of
from realtime_session.wire.replies import RepliesImporter
from realtime_session.wire.rows import RECEIVED, SENT

CLIENT_KEYS = frozenset(("setup", "clientContent", "realtimeInput", "toolResponse"))
_HANDLED = frozenset(
    (
        *CLIENT_KEYS,
        "setupComplete",
        "serverContent",
        "toolCall",
        "toolCallCancellation",
        "voiceActivity",
        "voiceActivityDetectionSignal",
        "goAway",
        "error",
    )
)
_NOTED = frozenset(("usageMetadata", "sessionResumptionUpdate"))
#: the order in which the parts of one serverContent count: what was said, then how it stopped
_CONTENT = (
    "inputTranscription",
    "modelTurn",
    "outputTranscription",
    "interrupted",
    "generationComplete",
    "turnComplete",
)
_CONTENT_NOTED = ("turnCompleteReason", "waitingForInput")
_USUAL_ENDS = (None, "TURN_COMPLETE_REASON_UNSPECIFIED", "NEED_MORE_INPUT")
_ERRORS = {
    "INVALID_ARGUMENT": "invalid_request",
    "FAILED_PRECONDITION": "invalid_request",
    "NOT_FOUND": "invalid_request",
    "RESOURCE_EXHAUSTED": "rate_limited",
    "PERMISSION_DENIED": "permission_denied",
    "UNAUTHENTICATED": "permission_denied",
    "UNAVAILABLE": "provider_unavailable",
    "DEADLINE_EXCEEDED": "provider_unavailable",
}


class GeminiImporter(RepliesImporter):
    """Importer of Gemini Live logs. `dialect` is gemini-live or vertex-live, or None (detected)."""

    FORMAT = "gemini"
    DIALECTS = ("gemini-live", "vertex-live")
    AUDIO_MARKS = (b"realtimeInput", b"realtime_input")
    HEADER_MARKS = (b"functionDeclarations", b"function_declarations")

    def __init__(self, dialect=None, read_only=(), clock=None):
        super().__init__(dialect, read_only, clock)
        self._set_up = False
        self._untranscribed = None  # the last spoken turn, as long as nothing was said about its words
        self._anonymous = {}  # tool name -> ids made for calls that came without one
        self._unmapped_here = False

    # --- rows ---

    def is_received(self, row):
        if row.direction is not None:
            return row.direction == RECEIVED
        return not any(camel(key) in CLIENT_KEYS for key in row.data)

    def handle(self, row):
        client = row.direction == SENT or row.direction is None and not self.is_received(row)
        self._unmapped_here = False
        self.raw_type = ""
        for key, value in row.data.items():
            name = camel(key)
            if name in _NOTED and len(row.data) > 1:
                continue
            self.raw_type = name[:100]
            if name in _NOTED:
                continue
            if name not in _HANDLED:
                self.unmap(name)
            elif self.link_down and client and name != "setup":
                self.warn("sent_while_down", f"{name} while the connection was closed")
                self.unmap(name)
            elif getattr(self, "on_" + name)(_camels(value), row) is False:
                self.unmap(self.raw_type)
        if not self.emitted() and not self._unmapped_here:
            if row.data:
                self.note(self.raw_type)
            else:
                self.unmap("(no type)")

    def unmap(self, type_):
        self._unmapped_here = True
        super().unmap(type_)

    # --- session ---

    def on_setup(self, data, row):
        model = name_of(data.get("model")) or ""
        if self.dialect is None and model:
            self.dialect = "vertex-live" if model.startswith("projects/") else "gemini-live"
        self.book.declare(declarations(data.get("tools")))
        if self._set_up and not self.link_down and self.is_active():
            self.warn("reconnect", "a second setup without a close: taken as a lost connection")
            self.reconnect("new connection without a close in the log")
        self._set_up = True

    def on_setupComplete(self, data, row):
        if self.session_id is None:
            self.session_id = name_of(data.get("sessionId"))

    def on_goAway(self, data, row):
        left = data.get("timeLeft")
        self.warn("go_away", f"the server announced the end of the connection, time left {str(left)[:40]}")

    def on_error(self, data, row):
        status = name_of(data.get("status"))
        payload = {"error_type": _ERRORS.get(status, "internal")}
        if status is not None:
            payload["code"] = status
        if text_of(data.get("message")) is not None:
            payload["message"] = text_of(data["message"])
        self.emit("error.reported", payload)

    # --- the caller ---

    def on_clientContent(self, data, row):
        contents = [_camels(c) for c in list_of(data.get("turns"))]
        answered = data.get("turnComplete") is True
        for index, content in enumerate(contents):
            if content.get("role") not in (None, "user"):
                continue  # a seeded reply of the model is no event of this session
            texts = []
            for part in list_of(content.get("parts")):
                if text_of(part.get("text")) is not None:
                    texts.append(text_of(part["text"]))
                else:
                    self.unmap("clientContent." + (next(iter(part), None) or "part"))
            self.typed(texts, history=not (answered and index == len(contents) - 1))

    def on_realtimeInput(self, data, row):
        pieces = [data["audio"]] if "audio" in data else []
        pieces += list_of(data.get("mediaChunks"))
        known = ("audio", "mediaChunks", "text", "activityStart", "activityEnd", "audioStreamEnd")
        for piece in pieces:
            piece = _camels(piece)
            mime = name_of(piece.get("mimeType")) or "audio/pcm"
            if mime.startswith("audio/"):
                self.frame(piece.get("data"), _rate(mime, 16000), row)
            else:
                self.unmap("realtimeInput." + mime.partition("/")[0])
        if "activityStart" in data:
            self._onset()
        if text_of(data.get("text")) is not None:
            self.typed([text_of(data["text"])], synthetic=True)
        if "activityEnd" in data:
            self.emit("speech.stopped", {"turn_id": self.turns.open})
            self.spoke = True
            self._commit("client", synthetic=False)
        for key in data:
            if key not in known:
                self.unmap("realtimeInput." + key)

    def on_voiceActivity(self, data, row):
        return self._activity(name_of(data.get("voiceActivityType")) or "")

    def on_voiceActivityDetectionSignal(self, data, row):
        return self._activity(name_of(data.get("vadSignalType")) or "")

    def _activity(self, type_):
        if type_.endswith(("START", "SOS")):
            self._onset()
            return None
        if not type_.endswith(("END", "EOS")):
            return False
        self.emit("speech.stopped", {"turn_id": self.turns.open})
        self.spoke = self.moved_on = True
        return None

    def _onset(self):
        self.emit("speech.started", {"turn_id": self.turns.open})
        self.spoke = self.moved_on = True

    def _commit(self, cause=None, synthetic=True):
        turn = self.turns.open
        self._untranscribed = None if turn in self.partial else turn
        self.commit_open(cause, synthetic)

    def before_reply(self):
        """Nothing on the wire closes a spoken turn: the reply to it does. Frames alone are no reason while
        something else awaits the reply, because a microphone never pauses."""
        if self.spoke or self.turns.next_sequence and not self.answering:
            self._commit()

    # --- the model ---

    def on_serverContent(self, data, row):
        for name in _CONTENT:
            if name in data:
                self.raw_type = "serverContent." + name
                if getattr(self, "_" + name)(_camels(data[name]), data, row) is False:
                    self.unmap(self.raw_type)
        for key in data:
            if key not in _CONTENT and key not in _CONTENT_NOTED:
                self.unmap("serverContent." + key)

    def _inputTranscription(self, value, data, row):
        text, finished = text_of(value.get("text")), value.get("finished") is True
        if text is None and not finished:
            return False
        late = (
            self._untranscribed is not None
            and not self.spoke
            and self.current is not None
            and not self.current.interrupted
        )
        turn = self._untranscribed if late else self.turns.open
        text = text_of(self.partial.get(turn, "") + (text or ""))
        self.transcript(turn, text, finished)
        if finished:
            self._untranscribed = None if late else self._untranscribed
            self.partial.pop(turn, None)
        elif turn in self.partial or len(self.partial) < 2:
            self.partial[turn] = text
        else:
            self.partial = {turn: text}
        return None

    def _reply(self):
        """The reply that output belongs to. Output after an interruption is late, until something new was
        said that it could answer."""
        reply = self.current
        if reply is None:
            return self.begin()
        if reply.interrupted and not self.moved_on:
            return reply
        if reply.interrupted:
            self.conclude(reply, "cancelled", "interrupted", synthetic=True)
        return reply if reply.status is None else self.begin()

    def _modelTurn(self, value, data, row):
        for part in list_of(value.get("parts")):
            part = _camels(part)
            blob = _camels(part.get("inlineData"))
            mime = name_of(blob.get("mimeType")) or ""
            if part.get("thought") is True:
                self._reply()  # it has begun to work, but nobody hears a thought
            elif mime.startswith("audio/"):
                self.audio(self._reply(), blob.get("data"), _rate(mime, 24000), row)
            elif text_of(part.get("text")) is not None:
                self.text(self._reply(), part["text"])
            else:
                self.unmap("serverContent.modelTurn." + (next(iter(part), None) or "part"))

    def _outputTranscription(self, value, data, row):
        text, reply = text_of(value.get("text")), self.current
        if text is None:
            return None if value.get("finished") is True else False
        if reply is not None and reply.status is not None and not reply.interrupted and not self.moved_on:
            self.warn("late_transcription", "text of a response after its generationComplete")
            return False
        self.text(self._reply(), text)
        return None

    def _interrupted(self, value, data, row):
        if data["interrupted"] is True or data["interrupted"].__class__ is not bool and data["interrupted"]:
            self.interrupt("interrupted")

    def _generationComplete(self, value, data, row):
        reply = self.current
        if data["generationComplete"] is True and reply is not None:
            self.conclude(reply, "cancelled" if reply.interrupted else "completed", _cut(reply))

    def _turnComplete(self, value, data, row):
        if data["turnComplete"] is not True:
            return
        reply, reason = self.current, name_of(data.get("turnCompleteReason"))
        if reply is not None and reply.status is None:
            if reply.interrupted:
                self.conclude(reply, "cancelled", "interrupted")
            elif reason not in _USUAL_ENDS:
                self.conclude(reply, "incomplete", reason)
            else:
                self.conclude(reply, "completed")
        self.current = None

    # --- tools ---

    def on_toolCall(self, data, row):
        calls = [_camels(c) for c in list_of(data.get("functionCalls"))]
        if calls and self.current is not None and self.current.interrupted:
            self.moved_on = True  # a call is a decision, not sound that was on its way
        for index, call in enumerate(calls):
            call_id, name = name_of(call.get("id")), name_of(call.get("name"))
            if call_id is None:
                call_id = f"imp-call-{self.line}-{index}"
                self._anonymous.setdefault(name, []).append(call_id)
            self.call(self._reply(), call_id, name, call.get("args", {}))

    def on_toolResponse(self, data, row):
        for answer in list_of(data.get("functionResponses")):
            answer = _camels(answer)
            if answer.get("willContinue") is True:
                self.unmap("toolResponse.willContinue")
                continue
            call_id = name_of(answer.get("id"))
            if call_id is None:
                waiting = self._anonymous.get(name_of(answer.get("name")))
                call_id = waiting.pop(0) if waiting else None
            output, ok = result_of(answer.get("response"))
            if call_id is None or not self.result(call_id, output, ok):
                self.warn("result_unknown", "the result of a call that is not in the log")
                self.unmap("toolResponse")

    def on_toolCallCancellation(self, data, row):
        ids = data.get("ids")
        for call_id in ids if ids.__class__ is list else ():
            call = self.book.calls.get(call_id) if call_id.__class__ is str else None
            if call is None:
                self.warn("cancel_unknown", "a cancellation of a call that is not in the log")
                self.unmap("toolCallCancellation")
                continue
            self.emit(
                "tool.cancelled",
                {"call_id": call.trace_id, "response_id": call.response_id, "reason": "toolCallCancellation"},
            )


def _cut(reply):
    return "interrupted" if reply.interrupted else None


def _camels(value):
    """An object with its own keys in camelCase; anything else is an empty one."""
    value = object_of(value)
    return {camel(key): part for key, part in value.items()} if any("_" in k for k in value) else value


def _rate(mime, default):
    """Bytes per ms of 16-bit PCM: audio/pcm;rate=16000. None for a compressed format."""
    type_, _, rest = mime.partition(";")
    if type_ not in ("audio/pcm", "audio/l16", "audio/L16"):
        return None
    for field in rest.split(";"):
        name, _, number = field.strip().partition("=")
        if name == "rate" and number.isascii() and number.isdigit() and 0 < int(number[:7]) <= 768000:
            return int(number[:7]) * 2 / 1000
    return default * 2 / 1000
