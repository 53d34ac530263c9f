"""What clients of an OpenAI-family realtime protocol get wrong, found in a log of their session.

`MISTAKES` is the table: id, reason, fix (seed 002, "Common mistakes"; wire protocols, "Mistakes"). A lint sees
only what crossed the wire. What a client does with a message it received is inferred from what it sends next,
and each finding says what that was.
"""
from __future__ import annotations

from collections import namedtuple

from realtime_session.values.errors import show
from realtime_session.wire.audio import PCM16_24K, base64_bytes, bytes_per_ms
from realtime_session.wire.fields import list_of, name_of, object_of, whole
from realtime_session.wire.openai_names import ALIASES, CLIENT_TYPES
from realtime_session.wire.rows import SENT, unwrap

#: A kind of mistake: why it is one, and what to do instead.
Mistake = namedtuple("Mistake", ("id", "reason", "fix"))
#: A mistake found: the kind's id, the line from 1, what was seen there, and the kind's reason and fix.
MistakeFinding = namedtuple("MistakeFinding", ("id", "line", "seen", "reason", "fix"))

MISTAKES = {m.id: m for m in (
    Mistake("text-deltas-in-audio-session",
            "a session speaks unless told otherwise: its text comes as output_audio_transcript deltas, and no "
            "output_text delta is ever sent",
            "set output_modalities to [\"text\"], or play the audio and read the transcript deltas"),
    Mistake("tool-result-without-response-create",
            "adding an item never makes the model answer, a tool result no more than a message",
            "send response.create after the last function_call_output, once the calling response is done"),
    Mistake("response-create-while-active",
            "one response at a time writes to the conversation; a second one is refused",
            "wait for response.done, or cancel first; with server VAD and create_response leave spoken turns to "
            "the server"),
    Mistake("cancel-when-idle",
            "with no response active a cancel is refused, and one that names no response may hit the next",
            "cancel only between response.created and response.done, and name the response_id"),
    Mistake("truncate-beyond-audio",
            "a cut beyond the audio that was sent is refused, and the history keeps words nobody heard",
            "count played samples per item, and send min(played, received) as audio_end_ms"),
    Mistake("waits-for-transcript",
            "transcription is not ordered with the reply: it may come later, or never",
            "act on the committed turn and on the reply's own text; show the transcript whenever it comes"),
    Mistake("late-output-played",
            "output of a cancelled response may still arrive, and belongs to an answer that is over",
            "keep the response_id with every piece of output, and drop pieces of a response that was cut off"),
    Mistake("sets-reasoning",
            "Dialog-RSN-1 refuses the field, and drops the rest of that session.update with it",
            "leave reasoning out; the model decides for each turn"),
    Mistake("session-update-refused",
            "one field that the server does not take makes it drop the whole session.update",
            "remove the field, and wait for session.updated before relying on the others"),
    Mistake("call-unanswered",
            "a call without a function_call_output leaves the model waiting for a fact it asked for",
            "answer every call_id once, with an error text where the tool failed"),
    Mistake("reads-only-final-text",
            "the reply streams; a client that waits for its end adds the whole generation to the caller's wait",
            "speak or show the deltas as they arrive, sentence by sentence"),
    Mistake("playback-reports-missing",
            "without reports the server guesses how long a reply sounds, and keeps words nobody heard",
            "send poly.output_audio.started, and after the end or a barge-in one stopped with spoken_text"),
    Mistake("playback-report-after-stop",
            "a response is stopped once; a report after that contradicts what the history already keeps",
            "clear the player when speech starts, send stopped once, and nothing for that response after it"),
)}
_OUTPUT_TEXT = "response.output_text.delta"
# A voice of the client's own takes time to begin, and short replies are written in no time: only what streamed
# for long enough shows that the client waited for its end.
_STREAMED = 20   # deltas, in a log without times
_WAITED_S = 0.5  # seconds from the first delta to the end


class _Response:
    __slots__ = ("status", "deltas", "audio", "started", "stopped", "line", "first_at", "lasted", "was_late")

    def __init__(self, line):
        self.status, self.deltas, self.audio, self.line = None, 0, False, line
        self.started = self.stopped = self.was_late = False
        self.first_at = self.lasted = None


class MistakeLint:
    """Lints one log: `feed` each parsed row with its line, then `finish`; both give MistakeFindings.

    `dialect` "dialog-rsn-1" applies that server's own rules from the start; else it is recognised by its model
    name or its fields. Memory grows with ids, never with content. Raises LogError for a row that is none."""

    def __init__(self, dialect=None):
        self._dialog = dialect == "dialog-rsn-1"
        self._found, self._line = [], 0
        self._responses, self._active, self._asked = {}, None, []
        # call id -> its line, None once answered; the line of the first result that nothing followed up
        self._calls, self._results = {}, None
        self._item_ms, self._rate = {}, PCM16_24K
        self._chose, self._handles_audio, self._audio_line = False, False, None
        self._speaking, self._pending_turn, self._transcribed = False, None, None
        self._text_session, self._reasoning, self._refused = False, [], set()
        self._busy_creates = 0

    def feed(self, line, value):
        """The mistakes that show at this row."""
        row = unwrap(line, value)
        self._found, self._line = [], line
        if row.kind == "message":
            data = row.data
            type_ = data.get("type")
            if type_.__class__ is str:
                type_ = ALIASES.get(type_, type_)
                if type_.startswith("poly."):
                    self._recognised()
                sent = row.direction == SENT if row.direction is not None else type_ in CLIENT_TYPES
                handler = (_SENT if sent else _RECEIVED).get(type_)
                if handler is not None:
                    handler(self, data, row)
                if sent and type_ != "input_audio_buffer.append":
                    self._transcribed = None
        return self._found

    def finish(self):
        """The mistakes that only the end of the log shows."""
        self._found = []
        for call_id, line in self._calls.items():
            if line is None:
                continue
            self._add("call-unanswered", f"no output for call {show(call_id)} by the end of the log", line)
        if self._results is not None:
            self._add("tool-result-without-response-create", "no response.create by the end of the log",
                      self._results)
        if self._audio_line is not None and not self._chose and not self._handles_audio:
            self._add("text-deltas-in-audio-session",
                      "the reply is audio; the client neither chose output_modalities nor ever deals with audio",
                      self._audio_line)
        for response_id, r in self._responses.items():
            cut = r.started and not r.stopped and r.status == "cancelled"
            silent = self._dialog and self._text_session and r.deltas and not r.started
            if cut or silent:
                what = "was cut off, without a stopped report" if cut else "was voiced without any report"
                self._add("playback-reports-missing", f"response {show(response_id)} {what}", r.line)
        return self._found

    def _add(self, mistake, seen, line=None):
        kind = MISTAKES[mistake]
        line = self._line if line is None else line
        self._found.append(MistakeFinding(mistake, line, seen, kind.reason, kind.fix))

    # --- session ---

    def _recognised(self):
        self._dialog = True
        for line in self._reasoning:
            self._add("sets-reasoning", "session.update with reasoning", line)
        self._reasoning = []

    def _session_update(self, data, row):
        session = object_of(data.get("session"))
        self._modalities(session)
        output = object_of(object_of(session.get("audio")).get("output"))
        if output or "voice" in session or "output_audio_format" in session:
            self._handles_audio = True
        if "reasoning" in session:
            self._reasoning.append(self._line)
            if self._dialog:
                self._recognised()
        self._settings(session)

    def _session_seen(self, data, row):
        session = object_of(data.get("session"))
        model = name_of(session.get("model")) or ""
        if model.startswith("dialog-rsn") or any(key.startswith("poly_") for key in session):
            self._recognised()
        modes = session.get("output_modalities", session.get("modalities"))
        if modes.__class__ is list:
            self._text_session = modes == ["text"]
        self._settings(session)

    def _settings(self, session):
        output = object_of(object_of(session.get("audio")).get("output"))
        format_ = output.get("format", session.get("output_audio_format"))
        if format_ is not None:
            self._rate = bytes_per_ms(format_)

    def _modalities(self, holder):
        modes = holder.get("output_modalities", holder.get("modalities"))
        if modes.__class__ is list:
            self._chose, self._text_session = True, modes == ["text"]

    def _error(self, data, row):
        error = object_of(data.get("error"))
        code, param = error.get("code"), name_of(error.get("param")) or ""
        message = name_of(error.get("message")) or ""
        about = name_of(error.get("event_id"))
        if code == "conversation_already_has_active_response":
            if self._busy_creates:
                self._busy_creates -= 1  # found when it was sent
            elif self._asked:
                self._add("response-create-while-active", "the server refused this response.create",
                          self._asked.pop())
        elif code == "unsupported_parameter":
            if "reasoning" in param or "reasoning" in message:
                self._recognised()
            else:
                self._add("session-update-refused", f"the server does not take {show(param or message)}")
        elif "is already shorter than" in message and about not in self._refused:
            self._add("truncate-beyond-audio", "the server refused a truncation: " + show(message))

    # --- responses ---

    def _response_create(self, data, row):
        wish = object_of(data.get("response"))
        self._modalities(wish)
        if wish.get("conversation") == "none":
            return
        busy = self._active is not None
        if busy:
            self._add("response-create-while-active", f"response {show(self._active)} is not done")
        elif self._transcribed is not None:
            self._add("waits-for-transcript",
                      f"response.create only after the transcript in line {self._transcribed}")
        if busy:
            self._busy_creates += 1
        else:
            self._asked.append(self._line)
        self._results = self._pending_turn = None

    def _created(self, data, row):
        response = object_of(data.get("response"))
        response_id = name_of(response.get("id"))
        if response_id is None:
            return
        self._responses[response_id] = _Response(self._line)
        if "conversation_id" in response and response["conversation_id"] is None:
            return
        self._active, self._pending_turn, self._speaking = response_id, None, False
        if self._asked:
            self._asked.pop(0)
        elif self._results is not None:
            self._add("tool-result-without-response-create",
                      "the next reply came only with another turn", self._results)
            self._results = None

    def _done(self, data, row):
        response = object_of(data.get("response"))
        response_id = name_of(response.get("id"))
        record = self._responses.get(response_id)
        if record is not None:
            record.status = name_of(response.get("status")) or "completed"
            if row.at is not None and record.first_at is not None:
                record.lasted = row.at - record.first_at
        if self._active == response_id:
            self._active = None
        for item in list_of(response.get("output")):
            self._call_item(item, response.get("status"))

    def _cancel(self, data, row):
        named = name_of(data.get("response_id"))
        record = self._responses.get(named)
        if self._active is None and not self._asked and self._pending_turn is None:
            self._add("cancel-when-idle", "no response is active")
        elif record is not None and record.status is not None:
            self._add("cancel-when-idle", f"response {show(named)} is over")

    def _delta(self, data, row):
        record = self._responses.get(name_of(data.get("response_id")))
        type_ = ALIASES.get(data["type"], data["type"])
        if record is not None:
            record.deltas += type_ != "response.output_audio.delta"
            record.first_at = row.at if record.first_at is None else record.first_at
            record.audio = record.audio or type_ != _OUTPUT_TEXT
        if type_ != _OUTPUT_TEXT and self._audio_line is None:
            self._audio_line = self._line
        if type_ != "response.output_audio.delta":
            return
        item, payload = name_of(data.get("item_id")), data.get("delta")
        if item is None or item in self._item_ms and self._item_ms[item] is None:
            return
        size = base64_bytes(payload) if payload.__class__ is str and not row.trimmed else 0
        # A placeholder of the logger says nothing about how much was sent.
        self._item_ms[item] = self._item_ms.get(item, 0) + size / self._rate if size >= self._rate else None

    def _truncate(self, data, row):
        self._handles_audio = True
        item, end = name_of(data.get("item_id")), data.get("audio_end_ms")
        sent = self._item_ms.get(item)
        if sent is not None and whole(end) and end > sent + 1:
            self._add("truncate-beyond-audio", f"audio_end_ms {end}, and {int(sent)} ms of {show(item)} were sent")
            self._refused.add(name_of(data.get("event_id")))

    # --- turns ---

    def _append(self, data, row):
        self._handles_audio = True

    def _speech_started(self, data, row):
        self._speaking = self._handles_audio = True  # without appends the audio crosses another channel

    def _committed(self, data, row):
        self._pending_turn = name_of(data.get("item_id"))

    def _transcript(self, data, row):
        if self._pending_turn is not None and data.get("item_id") == self._pending_turn:
            self._transcribed = self._line

    # --- tools ---

    def _call_done(self, data, row):
        self._call(name_of(data.get("call_id")))

    def _item_done(self, data, row):
        self._call_item(object_of(data.get("item")), None)

    def _call_item(self, item, status):
        whole_item = item.get("status") != "incomplete" and status in (None, "completed")
        if item.get("type") == "function_call" and whole_item:
            self._call(name_of(item.get("call_id")))

    def _call(self, call_id):
        if call_id is not None:
            self._calls.setdefault(call_id, self._line)

    def _item_create(self, data, row):
        item = object_of(data.get("item"))
        if item.get("type") != "function_call_output":
            return
        call_id = name_of(item.get("call_id"))
        known = self._calls.get(call_id) is not None
        if call_id is not None:
            self._calls[call_id] = None
        # With the caller already speaking the next turn answers; an output without a call is seeded history.
        if self._results is None and known and not self._speaking:
            self._results = self._line

    # --- playback reports ---

    def _report(self, data, row):
        response_id, kind = name_of(data.get("response_id")), data["type"].rpartition(".")[2]
        r = self._responses.get(response_id)
        if r is None:
            return
        if r.stopped:
            self._add("playback-report-after-stop", f"{kind} for {show(response_id)}, which was stopped")
            return
        if kind == "stopped":
            r.stopped = True
            if not r.started:
                self._add("playback-reports-missing", f"{show(response_id)} stopped without having started")
            r.started = True  # said once
            return
        if r.status == "cancelled":
            if not r.was_late:
                self._add("late-output-played", f"{kind} for {show(response_id)}, which was cancelled")
            r.was_late = True
        if kind == "started" and not r.started:
            self._started(r, response_id)
        r.started = True

    def _started(self, r, response_id):
        if r.audio and not self._text_session:
            self._add("text-deltas-in-audio-session",
                      f"the client voices {show(response_id)} itself, and the server has voiced it already")
            self._handles_audio = True
        elif r.status == "completed" and (r.deltas >= _STREAMED if r.lasted is None
                                          else r.deltas > 1 and r.lasted >= _WAITED_S):
            self._add("reads-only-final-text", f"{show(response_id)} is spoken only after its end, "
                                               f"{r.deltas} deltas later")


_SENT = {
    "session.update": MistakeLint._session_update,
    "response.create": MistakeLint._response_create,
    "response.cancel": MistakeLint._cancel,
    "conversation.item.create": MistakeLint._item_create,
    "conversation.item.truncate": MistakeLint._truncate,
    "input_audio_buffer.append": MistakeLint._append,
    "poly.output_audio.started": MistakeLint._report,
    "poly.output_audio.delta": MistakeLint._report,
    "poly.output_audio.stopped": MistakeLint._report,
}
_RECEIVED = {
    "session.created": MistakeLint._session_seen,
    "session.updated": MistakeLint._session_seen,
    "error": MistakeLint._error,
    "response.created": MistakeLint._created,
    "response.done": MistakeLint._done,
    "response.output_text.delta": MistakeLint._delta,
    "response.output_audio.delta": MistakeLint._delta,
    "response.output_audio_transcript.delta": MistakeLint._delta,
    "response.function_call_arguments.done": MistakeLint._call_done,
    "response.output_item.done": MistakeLint._item_done,
    "conversation.item.input_audio_transcription.completed": MistakeLint._transcript,
    "input_audio_buffer.speech_started": MistakeLint._speech_started,
    "input_audio_buffer.committed": MistakeLint._committed,
    "output_audio_buffer.started": MistakeLint._append,
}
