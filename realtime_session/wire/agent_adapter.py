"""The evaluation adapter protocol, version 1: its rules as data, and the judge of a conversation in it.

A host (the evaluation service) connects to an adapter (somebody's agent) over a WebSocket: JSON text frames for
control, binary frames for PCM16 audio at 16 kHz, mono (seed 001, "Adapter protocol, version 1"). `AdapterJudge`
watches the frames of both sides on a virtual clock; `agent_adapter_sides` has a machine for each side.
"""
from __future__ import annotations

from collections import namedtuple

from realtime_session.values.errors import show
from realtime_session.values.strict_json import JsonError, parse

HOST, ADAPTER = "host", "adapter"
VERSION = 1
BYTES_PER_MS = 32            # 16 kHz, two bytes a sample
READY_MS = 30_000            # from the connection to ready
OPENING_MS = 8_000           # from begin to the first audio, where the agent opens
MAX_PENDING_MS = 30_000      # output sent and not yet played
MAX_FRAME_BYTES = 32_000     # of one output audio frame
INPUT_FRAME_BYTES = 640      # 20 ms, as the host paces its audio
MAX_ID = 128                 # characters of an id or a name
MAX_TEXT = 20_000            # characters of a transcript
MAX_EVIDENCE_BYTES = 2_000_000
MAX_MESSAGE_BYTES = 2_000_000
OUTCOMES = ("succeeded", "failed", "unknown")
AUDIO = {"encoding": "pcm_s16le", "sample_rate": 16000, "channels": 1}

#: A rule: its id, the side that it binds, and its sentence.
AdapterRule = namedtuple("AdapterRule", ("id", "side", "sentence"))
#: A rule broken: the rule's id, the side, the time in ms, and what was seen.
AdapterViolation = namedtuple("AdapterViolation", ("rule", "side", "at_ms", "seen"))

RULES = {rule.id: rule for rule in (
    AdapterRule("frame/json", "both", "a text frame is one JSON object with a type"),
    AdapterRule("frame/type", "both", "a message has a type that its side may send"),
    AdapterRule("start/first", HOST, "the host sends start once, before anything else"),
    AdapterRule("start/version", "both", "start and ready carry version 1"),
    AdapterRule("start/audio", HOST, "start declares pcm_s16le at 16000 Hz with one channel"),
    AdapterRule("start/session_id", HOST, "start carries a session id"),
    AdapterRule("start/opening", HOST, "opening is agent or caller"),
    AdapterRule("start/timeout", HOST, "timeout_s is a number above 0"),
    AdapterRule("start/capabilities", HOST, "capabilities say true or false for transcripts and tool_events"),
    AdapterRule("ready/once", ADAPTER, "the adapter sends ready once, after start"),
    AdapterRule("ready/in_time", ADAPTER, "ready comes within 30 seconds of the connection"),
    AdapterRule("ready/session_id", ADAPTER, "the session id of ready is optional and has at most 128 characters"),
    AdapterRule("begin/after_ready", HOST, "begin comes once, after ready"),
    AdapterRule("input/after_begin", HOST, "input audio comes after begin"),
    AdapterRule("input/frame", HOST, "input audio is paced in frames of 20 ms, 640 bytes"),
    AdapterRule("output/after_begin", ADAPTER, "the adapter waits for begin before it produces any output"),
    AdapterRule("output/frame", ADAPTER, "an output frame is nonempty, of even length, and at most 32,000 bytes"),
    AdapterRule("output/pending", ADAPTER, "pending output does not exceed 30 seconds"),
    AdapterRule("opening/in_time", ADAPTER, "an agent that opens starts speaking within 8 seconds of begin"),
    AdapterRule("interrupt/answered", HOST, "playback_stopped answers an interrupt, once, and nothing else"),
    AdapterRule("end/last", ADAPTER, "after end the adapter produces no more output"),
    AdapterRule("stop/last", HOST, "after stop nobody sends anything"),
    AdapterRule("stop/drained", HOST, "after end the host drains playback before it sends stop"),
    AdapterRule("transcript/enabled", ADAPTER, "transcripts come only where the start enabled them"),
    AdapterRule("transcript/role", ADAPTER, "the role of a transcript is user or assistant"),
    AdapterRule("transcript/text", ADAPTER, "the text of a transcript is not blank and has at most 20,000 characters"),
    AdapterRule("transcript/turn_id", ADAPTER, "a turn id is a nonempty string of at most 128 characters"),
    AdapterRule("transcript/turn_once", ADAPTER, "a turn id is used once per role: a completed turn is not corrected"),
    AdapterRule("tool/enabled", ADAPTER, "tool events come only where the start enabled them"),
    AdapterRule("tool/id", ADAPTER, "ids and names of tool events are nonempty strings of at most 128 characters"),
    AdapterRule("tool/args", ADAPTER, "the args of a call are an object"),
    AdapterRule("tool/call_once", ADAPTER, "a call id is used once"),
    AdapterRule("tool/result_matches", ADAPTER, "a result names the id and the name of a call before it"),
    AdapterRule("tool/result_once", ADAPTER, "a call has one result"),
    AdapterRule("tool/result_missing", ADAPTER, "every call has a result by the end of the session"),
    AdapterRule("tool/outcome", ADAPTER, "the outcome of a result is succeeded, failed or unknown"),
    AdapterRule("tool/verified", ADAPTER, "verified is true or false"),
    AdapterRule("evidence/size", ADAPTER, "transcripts and tool events take at most 2 MB in all"),
)}
_TYPES = {HOST: ("start", "begin", "playback_stopped", "stop"),
          ADAPTER: ("ready", "interrupt", "end", "error", "transcript", "tool_call", "tool_result")}


def _identifier(value):
    return value.__class__ is str and 0 < len(value) <= MAX_ID


class AdapterJudge:
    """Judges one conversation, frame by frame. `see` gives the violations of a frame; one that breaks a rule
    changes nothing else. Times are ms since the connection and never go back (an earlier one counts as now)."""

    def __init__(self):
        self.now_ms = 0
        self.start = None               # the start message, once sent
        self.is_ready = self.begun = self.ended = self.stopped = self.spoke = False
        self.begun_at = None
        self.interrupts = 0             # not yet answered
        self.transcripts = self.tool_events = False
        self._free_ms, self._evidence = 0.0, 0
        self._turns, self._calls = set(), {}   # call id -> [name, whether it has a result]
        self._late = set()

    def pending_ms(self):
        """Output that was sent and is not played by now, in ms."""
        return max(0.0, self._free_ms - self.now_ms)

    def advance(self, at_ms):
        """Moves the clock; gives the deadlines that passed, each once."""
        self.now_ms = max(self.now_ms, at_ms)
        out = []
        if not self.is_ready and not self.stopped and self.now_ms > READY_MS:
            out += self._deadline("ready/in_time", READY_MS)
        opens = self.begun and self.start["opening"] == "agent"
        if opens and not self.spoke and not self.stopped and self.now_ms > self.begun_at + OPENING_MS:
            out += self._deadline("opening/in_time", self.begun_at + OPENING_MS)
        return out

    def _deadline(self, rule, due_ms):
        if rule in self._late:
            return []
        self._late.add(rule)
        return [AdapterViolation(rule, ADAPTER, self.now_ms, f"nothing by {due_ms} ms")]

    def see(self, at_ms, side, frame):
        """Judges one frame of a side: text as str, audio as bytes or only its length as int."""
        out = self.advance(at_ms)
        audio = frame.__class__ is not str
        broken = self._audio(side, frame if frame.__class__ is int else len(frame)) if audio \
            else self._text(side, frame)
        if broken is not None:
            rule, seen = broken
            out.append(AdapterViolation(rule, side, self.now_ms, seen))
        return out

    def finish(self):
        """What only the end of the conversation shows."""
        out = [AdapterViolation("tool/result_missing", ADAPTER, self.now_ms, f"call {show(call_id)}")
               for call_id, (_, answered) in self._calls.items() if not answered]
        if self.interrupts:
            out.append(AdapterViolation("interrupt/answered", HOST, self.now_ms, "an interrupt without an answer"))
        return out

    # --- frames ---

    def _audio(self, side, size):
        if self.stopped:
            return "stop/last", "audio"
        if side == HOST:
            if not self.begun:
                return ("start/first" if self.start is None else "input/after_begin"), "audio"
            return None if size == INPUT_FRAME_BYTES else ("input/frame", f"{size} bytes")
        if not self.begun:
            return "output/after_begin", "audio"
        if self.ended:
            return "end/last", "audio"
        if not 0 < size <= MAX_FRAME_BYTES or size % 2:
            return "output/frame", f"{size} bytes"
        free = max(self._free_ms, self.now_ms) + size / BYTES_PER_MS
        if free - self.now_ms > MAX_PENDING_MS:
            return "output/pending", f"{free - self.now_ms:.0f} ms"
        self._free_ms, self.spoke = free, True
        return None

    def _text(self, side, text):
        try:
            message = parse(text, max_bytes=MAX_MESSAGE_BYTES)
        except JsonError as error:
            return "frame/json", error.message
        if message.__class__ is not dict or message.get("type").__class__ is not str:
            return "frame/json", show(message)
        type_ = message["type"]
        if type_ not in _TYPES[side]:
            return "frame/type", show(type_)
        if self.stopped:
            return "stop/last", type_
        if side == HOST and self.start is None and type_ != "start":
            return "start/first", type_
        if type_ in ("transcript", "tool_call", "tool_result"):
            return self._with_size(message, type_, len(text.encode("utf-8")))
        return getattr(self, "_on_" + type_)(message)

    def _on_start(self, message):
        if self.start is not None:
            return "start/first", "a second start"
        capable = message.get("capabilities")
        timeout = message.get("timeout_s")
        checks = (
            ("start/version", _is_version(message.get("version")), message.get("version")),
            ("start/audio", _same_audio(message.get("audio")), message.get("audio")),
            ("start/session_id", message.get("session_id").__class__ is str and message["session_id"] != "",
             message.get("session_id")),
            ("start/opening", message.get("opening") in ("agent", "caller"), message.get("opening")),
            ("start/timeout", timeout.__class__ in (int, float) and timeout > 0, timeout),
            ("start/capabilities", capable.__class__ is dict and all(
                capable.get(key).__class__ is bool for key in ("transcripts", "tool_events")), capable),
        )
        for rule, holds, value in checks:
            if not holds:
                return rule, show(value)
        self.start = message
        self.transcripts, self.tool_events = capable["transcripts"], capable["tool_events"]
        return None

    def _on_ready(self, message):
        if self.start is None or self.is_ready:
            return "ready/once", "before start" if self.start is None else "a second ready"
        if not _is_version(message.get("version")):
            return "start/version", show(message.get("version"))
        session_id = message.get("session_id")
        if "session_id" in message and not (session_id.__class__ is str and len(session_id) <= MAX_ID):
            return "ready/session_id", show(session_id)
        self.is_ready = True
        return None

    def _on_begin(self, message):
        if not self.is_ready or self.begun:
            return "begin/after_ready", "a second begin" if self.begun else "before ready"
        self.begun, self.begun_at = True, self.now_ms
        return None

    def _on_interrupt(self, message):
        if not self.begun or self.ended:
            return ("end/last" if self.ended else "output/after_begin"), "interrupt"
        self._free_ms = self.now_ms
        self.interrupts += 1
        return None

    def _on_playback_stopped(self, message):
        if not self.interrupts:
            return "interrupt/answered", "playback_stopped without an interrupt"
        self.interrupts -= 1
        return None

    def _on_end(self, message):
        if not self.begun or self.ended:
            return ("end/last" if self.ended else "output/after_begin"), "end"
        self.ended = True
        return None

    def _on_error(self, message):
        return None

    def _on_stop(self, message):
        if self.ended and self.pending_ms() > 0:
            return "stop/drained", f"{self.pending_ms():.0f} ms not played"
        self.stopped = True
        return None

    # --- evidence ---

    def _with_size(self, message, type_, size):
        enabled = self.transcripts if type_ == "transcript" else self.tool_events
        if not self.begun or self.ended:
            return ("end/last" if self.ended else "output/after_begin"), type_
        if not enabled:
            return ("transcript/enabled" if type_ == "transcript" else "tool/enabled"), type_
        if self._evidence + size > MAX_EVIDENCE_BYTES:
            return "evidence/size", f"{self._evidence + size} bytes"
        broken = getattr(self, "_on_" + type_)(message)
        if broken is None:
            self._evidence += size
        return broken

    def _on_transcript(self, message):
        role, text, turn_id = message.get("role"), message.get("text"), message.get("turn_id")
        if role.__class__ is not str or role not in ("user", "assistant"):
            return "transcript/role", show(role)
        if text.__class__ is not str or not text.strip() or len(text) > MAX_TEXT:
            return "transcript/text", f"{len(text)} characters" if text.__class__ is str else show(text)
        if not _identifier(turn_id):
            return "transcript/turn_id", show(turn_id)
        if (role, turn_id) in self._turns:
            return "transcript/turn_once", f"{role} {show(turn_id)} again"
        self._turns.add((role, turn_id))
        return None

    def _on_tool_call(self, message):
        call_id, name = message.get("id"), message.get("name")
        if not (_identifier(call_id) and _identifier(name)):
            return "tool/id", show(name if _identifier(call_id) else call_id)
        if message.get("args").__class__ is not dict:
            return "tool/args", show(message.get("args"))
        if call_id in self._calls:
            return "tool/call_once", f"{show(call_id)} again"
        self._calls[call_id] = [name, False]
        return None

    def _on_tool_result(self, message):
        call_id, name, outcome = message.get("id"), message.get("name"), message.get("outcome")
        if not (_identifier(call_id) and _identifier(name)):
            return "tool/id", show(name if _identifier(call_id) else call_id)
        call = self._calls.get(call_id)
        if call is None or call[0] != name:
            return "tool/result_matches", f"{show(call_id)}, {show(name)}"
        if call[1]:
            return "tool/result_once", f"{show(call_id)} again"
        if outcome.__class__ is not str or outcome not in OUTCOMES:
            return "tool/outcome", show(outcome)
        if message.get("verified").__class__ is not bool:
            return "tool/verified", show(message.get("verified"))
        call[1] = True
        return None


def _is_version(value):
    return value.__class__ is int and value == VERSION


def _same_audio(value):
    return value.__class__ is dict and all(
        value.get(key).__class__ is wanted.__class__ and value[key] == wanted for key, wanted in AUDIO.items())
