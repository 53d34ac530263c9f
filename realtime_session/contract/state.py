"""What a session knows between two events: turns, responses, calls, the shared playback queue.

Plain records, mutated only by `machine` after every check has passed. Everything here can be written as
JSON and read back (checkpoint), and nothing here holds text or audio, so it stays small.
"""
from __future__ import annotations

from realtime_session.contract.events import FULL, HALF

DEFAULT_LIMITS = {"queue_ms": 1000, "stop_grace_ms": 250}


class Record:
    """A small mutable record whose slots are its JSON form."""

    __slots__ = ()

    def to_json(self):
        """The record as a JSON object."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, value):
        """The inverse of `to_json`; the value comes from a checkpoint whose digest was verified."""
        record = cls.__new__(cls)
        for name in cls.__slots__:
            setattr(record, name, value[name])
        return record


class Turn(Record):
    """An open turn of the caller. A committed turn is the string COMMITTED instead."""

    __slots__ = ("next_sequence", "content", "speech")

    def __init__(self):
        self.next_sequence = 0
        self.content = False   # a frame, text, digits, speech.started or a transcript
        self.speech = False    # evidence of speech, or (full) evidence that cannot exclude it


COMMITTED = "committed"


class Response(Record):
    """One response. Times in ms since session start; `sent_ms` is the audio sent for playback."""

    __slots__ = ("turn_id", "status", "out_of_band", "interrupted", "next_audio", "next_text", "sent_ms",
                 "unknown_ms", "free_at", "report", "played_ms", "report_at", "bound_ms")

    def __init__(self, turn_id, out_of_band):
        self.turn_id = turn_id
        self.status = "active"   # active, stopping, completed, cancelled, failed, incomplete
        self.out_of_band = out_of_band
        self.interrupted = False
        self.next_audio = 0
        self.next_text = 0
        self.sent_ms = 0
        self.unknown_ms = False  # a duration was null: what was sent is not known
        self.free_at = 0         # when its last audio would end if played in real time from arrival
        self.report = None       # last word of playback.*: sounding, stopped, cleared; "flushed" by an interrupt
        self.played_ms = None    # last reported position
        self.report_at = None
        self.bound_ms = None     # after an interrupt: the most that may still have been heard

    def sounding(self, now_ms, estimates):
        """True, False, or None (not known) whether the caller hears it at `now_ms`.

        Reported playback decides; without reports audio is taken to play in real time from its arrival,
        if the clock allows estimates."""
        if self.report is not None:
            return self.report == "sounding"
        if not self.next_audio:
            return False
        if self.unknown_ms or not estimates:
            return None
        return self.free_at > now_ms

    def heard_ms(self, now_ms, estimates):
        """(ms heard by `now_ms` or None, whether that is an estimate)."""
        if self.played_ms is not None:
            heard = self.played_ms if self.bound_ms is None else min(self.played_ms, self.bound_ms)
            return heard, False
        if self.unknown_ms or not estimates:
            return (0, False) if not self.next_audio and not self.unknown_ms else (None, True)
        unplayed = min(max(0, self.free_at - now_ms), self.sent_ms)
        heard = self.sent_ms - unplayed
        return heard if self.bound_ms is None else min(heard, self.bound_ms), self.sent_ms > 0


class Call(Record):
    """One tool call. `signature` identifies name and canonical arguments."""

    __slots__ = ("response_id", "turn_id", "read_only", "status", "signature")

    def __init__(self, response_id, turn_id, read_only, signature):
        self.response_id = response_id
        self.turn_id = turn_id
        self.read_only = read_only     # True, False, or None: not known (full)
        self.status = "open"           # open, abandoned, reconcile, answered
        self.signature = signature


_RESTING = {}


def resting(status):
    """The shared record of a response that ended without any audio or playback: most of a long session.
    It is never mutated: `State.writable` copies it first."""
    record = _RESTING.get(status)
    if record is None:
        record = Response(None, False)
        record.status = status
        _RESTING[status] = record
    return record


class State:
    """Everything the rules may look at. `gate_names` lists the gates that are closed just now."""

    __slots__ = ("profile", "full", "limits", "estimates", "recorded", "tools", "now_ms", "accepted", "ignored",
                 "link", "end", "turns", "open_turn", "awaiting", "cancelled_turn", "responses", "active",
                 "stopping", "queue", "last_spoken", "free_at", "calls", "open_calls", "recovering", "flag_recovery", "effects",
                 "gate_names")

    def __init__(self, profile, limits, clock, tools):
        self.profile = profile
        self.full = profile == FULL
        self.limits = limits
        self.estimates = clock in (None, "recorded")
        self.recorded = self.estimates
        self.tools = tools             # name -> (read_only or None, schema validator or None); None: none declared
        self.now_ms = 0
        self.accepted = 0
        self.ignored = 0
        self.link = "connected"        # connected, disconnected, ended
        self.end = None                # the terminal event's type
        self.turns = {}                # id -> Turn | COMMITTED
        self.open_turn = None          # the turn that last received content
        self.awaiting = []             # committed turns without an answer, oldest first
        self.cancelled_turn = None     # its coming response is born cancelled
        self.responses = {}
        self.active = None             # the one response that writes to the conversation
        self.stopping = 0              # interrupted responses that have not had their end
        self.queue = []                # responses whose audio may still sound, in arrival order
        self.last_spoken = None        # the response whose audio began last
        self.free_at = 0               # when the shared playback queue would be empty
        self.calls = {}
        self.open_calls = {}           # ids of open and unreconciled calls, in order (values unused)
        self.recovering = False        # after a resume, until every write is reconciled
        self.flag_recovery = False     # the same for calls of unknown kind: one finding
        self.effects = {}              # signature of a write that happened -> call id
        self.gate_names = ()

    def writable(self, response_id):
        """The response's own record, copied out of the shared resting ones when needed."""
        record = self.responses[response_id]
        if record is _RESTING.get(record.status):
            record = self.responses[response_id] = Response.from_json(record.to_json())
        return record

    def pending_calls(self):
        """Calls of the active response that still wait for their result."""
        return [c for c in self.open_calls
                if self.calls[c].status == "open" and self.calls[c].response_id == self.active]

    def unreconciled(self, known_writes_only=False):
        """Calls whose outcome is in doubt after an interrupt, disconnect or end."""
        return [c for c in self.open_calls if self.calls[c].status == "reconcile"
                and (self.calls[c].read_only is False or not known_writes_only)]

    def sounding_ids(self, at_ms, reported_only=False):
        """Responses the caller hears at `at_ms` (by report, or else by estimate)."""
        return [r for r in self.queue if self.responses[r].sounding(at_ms, self.estimates)
                and (not reported_only or self.responses[r].report is not None)]

    def queued_ids(self, at_ms):
        """Responses an interrupt has to clear: sounding, or active with any audio, or the newest one
        when nothing is known about its playback."""
        queued = []
        for response_id in self.queue:
            record = self.responses[response_id]
            if record.report in ("stopped", "cleared", "flushed"):
                continue
            if record.sounding(at_ms, self.estimates) is not False or record.status == "active":
                queued.append(response_id)
        return queued

    def view(self):
        """The state as a JSON object: what the digest covers and a checkpoint holds."""
        return {
            "profile": self.profile, "limits": dict(self.limits), "now_ms": self.now_ms,
            "accepted": self.accepted, "ignored": self.ignored, "link": self.link, "end": self.end,
            "turns": {k: v if v is COMMITTED else v.to_json() for k, v in self.turns.items()},
            "open_turn": self.open_turn, "awaiting": list(self.awaiting), "cancelled_turn": self.cancelled_turn,
            "responses": {k: v.to_json() for k, v in self.responses.items()},
            "active": self.active, "stopping": self.stopping, "queue": list(self.queue), "last_spoken": self.last_spoken,
            "free_at": self.free_at,
            "calls": {k: v.to_json() for k, v in self.calls.items()}, "open_calls": list(self.open_calls),
            "recovering": self.recovering, "flag_recovery": self.flag_recovery, "effects": dict(self.effects),
        }

    def load(self, view):
        """Takes over what `view` gave (header facts come from the constructor)."""
        for name in ("now_ms", "accepted", "ignored", "link", "end", "open_turn", "cancelled_turn", "active", "last_spoken",
                     "stopping", "free_at", "recovering", "flag_recovery"):
            setattr(self, name, view[name])
        self.turns = {k: COMMITTED if v == COMMITTED else Turn.from_json(v) for k, v in view["turns"].items()}
        self.responses = {k: Response.from_json(v) for k, v in view["responses"].items()}
        self.calls = {k: Call.from_json(v) for k, v in view["calls"].items()}
        self.open_calls = dict.fromkeys(view["open_calls"])
        self.awaiting, self.queue, self.effects = list(view["awaiting"]), list(view["queue"]), dict(view["effects"])


# --- phases: one name for where a session stands; names are stable for ever (origins rest on them) ---

def _input(s):
    if isinstance(s.turns.get(s.open_turn), Turn):
        return "receiving"
    return "committed" if s.awaiting else "idle"


def _response(s):
    if s.active is not None:
        return "active"
    if s.awaiting and s.awaiting[-1] != s.cancelled_turn:
        return "pending"
    return "stopping" if s.stopping else "none"


def _tools(s):
    if s.recovering or s.unreconciled():
        return "reconciling"
    return "open" if s.open_calls else "none"


#: half_duplex phases in order of precedence: (name, meaning, holds?)
HALF_PHASES = (
    ("ended", "a terminal event came", lambda s: s.link == "ended"),
    ("disconnected", "the connection is lost", lambda s: s.link == "disconnected"),
    ("reconciling", "back after a loss, with writes in doubt", lambda s: s.recovering),
    ("waiting_tool", "the response waits for its tools", lambda s: bool(s.pending_calls())),
    ("speaking", "the response has sent audio",
     lambda s: s.active is not None and s.responses[s.active].next_audio > 0),
    ("thinking", "a turn awaits its answer, or a response has not spoken yet",
     lambda s: s.active is not None or _response(s) == "pending"),
    ("listening", "the floor is the caller's", lambda s: True),
)
#: full_duplex regions: (region, its states, which one holds)
FULL_REGIONS = (
    ("link", ("connected", "disconnected", "ended"), lambda s: s.link),
    ("input", ("idle", "receiving", "committed"), _input),
    ("response", ("none", "pending", "active", "stopping"), _response),
    ("playback", ("silent", "sounding"), lambda s: "sounding" if s.sounding_ids(s.now_ms) else "silent"),
    ("tools", ("none", "open", "reconciling"), _tools),
)


def phase_of(state):
    """The phase after the last accepted event: a half_duplex name, or link.input.response.playback.tools."""
    if state.profile == HALF:
        return next(name for name, _, holds in HALF_PHASES if holds(state))
    return ".".join(holds(state) for _, _, holds in FULL_REGIONS)
