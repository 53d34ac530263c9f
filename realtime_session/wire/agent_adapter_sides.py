"""Both sides of the evaluation adapter protocol as sans-I/O machines on a virtual clock.

Each gives the frames to send (str for text, bytes for audio) and is told what arrives. `AdapterHost` tests
somebody's adapter; `AgentAdapter` is the protocol part of an adapter, and refuses to break a rule.
"""
from __future__ import annotations

from realtime_session.values.errors import InputError
from realtime_session.values.strict_json import canonical
from realtime_session.wire.agent_adapter import ADAPTER, AUDIO, HOST, INPUT_FRAME_BYTES, RULES, VERSION, AdapterJudge


class AdapterError(InputError):
    """A frame that may not be sent now; `code` is the id of the rule that it would break."""


class _Side:
    side = None

    def __init__(self):
        self.judge = AdapterJudge()
        self.violations = []

    @property
    def now_ms(self):
        """The virtual clock, in ms since the connection."""
        return self.judge.now_ms

    def _send(self, frame):
        if frame.__class__ is dict:
            frame = canonical(frame)
        for broken in self.judge.see(self.now_ms, self.side, frame):
            if broken.side == self.side:
                raise AdapterError(broken.rule, f"{RULES[broken.rule].sentence}: {broken.seen}")
            self.violations.append(broken)
        return frame


class AdapterHost(_Side):
    """The evaluating side. `violations` holds what the adapter did wrong; `closed` says when all is over."""

    side = HOST

    def __init__(self, session_id, opening="caller", timeout_s=300, transcripts=False, tool_events=False):
        super().__init__()
        self._start = {"type": "start", "version": VERSION, "audio": dict(AUDIO), "session_id": session_id,
                       "opening": opening, "timeout_s": timeout_s,
                       "capabilities": {"transcripts": transcripts, "tool_events": tool_events}}

    def connect(self):
        """The frames to send on connection."""
        return [self._send(self._start)]

    def begin(self):
        """The frames to send when the caller is connected, too; AdapterError before ready."""
        return [self._send({"type": "begin"})]

    def audio(self, frame=bytes(INPUT_FRAME_BYTES)):
        """20 ms of the caller's audio; silence when not given."""
        return [self._send(frame)]

    def receive(self, frame):
        """Judges a frame of the adapter; gives the frames to answer with. A frame that breaks a rule is kept
        in `violations` and otherwise ignored."""
        waiting = self.judge.interrupts
        self.violations += self.judge.see(self.now_ms, ADAPTER, frame)
        if self.judge.interrupts > waiting:
            return [self._send({"type": "playback_stopped"})]
        return self._stop_when_drained()

    def advance(self, ms):
        """Lets time pass: deadlines are judged, playback drains, and stop follows the drained end."""
        self.violations += self.judge.advance(self.now_ms + ms)
        begun = self.judge.begun_at
        if begun is not None and self.now_ms >= begun + self._start["timeout_s"] * 1000 and not self.closed \
                and not self.judge.ended:
            return self.stop()
        return self._stop_when_drained()

    def _stop_when_drained(self):
        if self.judge.ended and not self.closed and not self.judge.pending_ms():
            return self.stop()
        return []

    def stop(self):
        """The frames that end the conversation; what was left open is judged."""
        out = [self._send({"type": "stop"})]
        self.violations += self.judge.finish()
        return out

    @property
    def closed(self):
        """Whether stop was sent."""
        return self.judge.stopped


class AgentAdapter(_Side):
    """The agent's side. Every method that sends gives the frame, or raises AdapterError with the rule's id."""

    side = ADAPTER

    def receive(self, frame):
        """Takes a frame of the host; gives its message type, or "audio". Faults of the host are in `violations`."""
        before = self.judge.start, self.judge.begun, self.judge.stopped, self.judge.interrupts
        self.violations += self.judge.see(self.now_ms, HOST, frame)
        if frame.__class__ is not str:
            return "audio"
        after = self.judge.start, self.judge.begun, self.judge.stopped, self.judge.interrupts
        for old, new, name in zip(before, after, ("start", "begin", "stop", "playback_stopped")):
            if old is not new and old != new:
                return name
        return None

    def advance(self, ms):
        """Lets time pass; own deadlines that were missed go to `violations`."""
        self.violations += self.judge.advance(self.now_ms + ms)

    def ready(self, session_id=None):
        """ready, with an optional session id of at most 128 characters."""
        message = {"type": "ready", "version": VERSION}
        return self._send(message if session_id is None else {**message, "session_id": session_id})

    def audio(self, pcm):
        """One frame of output speech: 2 to 32,000 bytes of PCM16."""
        return self._send(bytes(pcm))

    def interrupt(self):
        """Asks the host to clear pending playback."""
        return self._send({"type": "interrupt"})

    def end(self):
        """Ends the conversation; only after all final audio."""
        return self._send({"type": "end"})

    def error(self, text=None):
        """Tells of a failure."""
        return self._send({"type": "error"} if text is None else {"type": "error", "error": text})

    def transcript(self, role, text, turn_id):
        """A complete turn of the user or the assistant."""
        return self._send({"type": "transcript", "role": role, "text": text, "turn_id": turn_id})

    def tool_call(self, call_id, name, args):
        """A call that the application makes."""
        return self._send({"type": "tool_call", "id": call_id, "name": name, "args": args})

    def tool_result(self, call_id, name, result, outcome, verified):
        """The result of a call, and whether the application verified it."""
        return self._send({"type": "tool_result", "id": call_id, "name": name, "result": result,
                           "outcome": outcome, "verified": verified})
