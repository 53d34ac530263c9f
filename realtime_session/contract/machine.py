"""What an accepted event changes, and which effects it has: the transition table.

`TABLE` has one row per event type: the function that applies it, and the effects it may have. The
functions run only after every check has passed, so they never refuse. They return the effects in the
order of the contract's effects table (contract, "Outcomes of one event").
"""
from __future__ import annotations

from collections import namedtuple

from realtime_session.contract.checkpoint import short_digest
from realtime_session.contract.rules import GATES
from realtime_session.contract.state import COMMITTED, Call, Response, Turn, resting
from realtime_session.contract.violation import Effect
from realtime_session.values.strict_json import MAX_INTEGER, canonical

NONE = ()


def signature_of(payload):
    """Identity of a call by tool name and canonical arguments (16 bytes of blake2b, as hex)."""
    arguments = payload["arguments"] if "arguments" in payload else [payload["arguments_text"]]
    text = payload["name"] + " " + canonical(arguments)
    return short_digest(text.encode("utf-8", "surrogatepass")).hex()


def refresh_gates(s):
    """Recomputes which gates are closed; called by every transition that can open or close one."""
    s.gate_names = tuple(gate.rule for gate in GATES if gate.closed(s))


def _turn(s, turn_id):
    turn = s.turns.get(turn_id)
    if turn is None:
        turn = s.turns[turn_id] = Turn()
    return turn


# --- input ---

def _frame(s, p, at_ms):
    turn_id = p["turn_id"]
    turn = s.turns.get(turn_id)
    if turn is None:
        turn = s.turns[turn_id] = Turn()
    turn.next_sequence += 1
    turn.content = True
    if p["speech"] is not False:
        turn.speech = True
    s.open_turn = turn_id
    return NONE


def _typed(s, p, at_ms):
    turn = _turn(s, p["turn_id"])
    turn.content = True
    turn.speech = turn.speech or s.full
    s.open_turn = p["turn_id"]
    return NONE


def _heard_of(s, p, at_ms):
    """speech.started and transcripts: content for an open turn; a late one changes nothing."""
    if s.link == "connected" and s.turns.get(p["turn_id"]) is not COMMITTED:
        _typed(s, p, at_ms)
    return NONE


def _commit(s, p, at_ms):
    s.turns[p["turn_id"]] = COMMITTED
    s.awaiting.append(p["turn_id"])
    if s.open_turn == p["turn_id"]:
        s.open_turn = None
    return NONE


# --- responses ---

def _start(s, p, at_ms):
    turn_id = p["turn_id"]
    record = Response(turn_id, p.get("out_of_band", False))
    s.responses[p["response_id"]] = record
    born_cancelled = turn_id is not None and turn_id == s.cancelled_turn and not record.out_of_band
    if turn_id in s.awaiting and not record.out_of_band:
        del s.awaiting[:s.awaiting.index(turn_id) + 1]
        if s.cancelled_turn not in s.awaiting:
            s.cancelled_turn = None
    if born_cancelled:
        record.status, record.interrupted = "stopping", True
        s.stopping += 1
    elif not record.out_of_band:
        s.active = p["response_id"]
    return NONE


def _record(s, response_id):
    """The record to change: an ended one may be shared (a session with a rule switched off gets there)."""
    record = s.responses[response_id]
    return record if record.status == "active" else s.writable(response_id)


def _audio(s, p, at_ms):
    record = s.responses[p["response_id"]]
    if record.status != "active":
        record = _record(s, p["response_id"])
    if not record.next_audio:
        _enqueue(s, p["response_id"], at_ms)
    record.next_audio += 1
    duration_ms = p["duration_ms"]
    if duration_ms is None:
        record.unknown_ms = True
        return NONE
    record.sent_ms += duration_ms
    # Time ends at the largest number that a trace may hold; nothing is scheduled behind it.
    free_at = (s.free_at if s.free_at > at_ms else at_ms) + duration_ms
    s.free_at = record.free_at = free_at if free_at <= MAX_INTEGER else MAX_INTEGER
    return NONE


def _enqueue(s, response_id, at_ms):
    """A response begins to sound: forget those that are surely or probably silent by now."""
    if s.queue:
        s.queue = [r for r in s.queue if r != response_id and (
            s.responses[r].status == "active" or s.responses[r].sounding(at_ms, s.estimates))]
    s.queue.append(response_id)
    s.last_spoken = response_id


def _text(s, p, at_ms):
    _record(s, p["response_id"]).next_text += 1
    return NONE


def _ended_as(status):
    def end(s, p, at_ms):
        response_id = p["response_id"]
        record = _record(s, response_id)
        if record.status == "stopping":
            s.stopping -= 1
        if s.active == response_id:
            s.active = None
            if not s.full:
                # Half-duplex completion empties the queue: what was sent counts as played.
                s.queue, s.free_at = [], at_ms
                record.free_at = min(record.free_at, at_ms)
        record.status = status
        quiet = record.report is None and not record.next_audio and record.bound_ms is None
        if quiet and not record.interrupted and not record.next_text:
            s.responses[response_id] = resting(status)
        if s.open_calls and not s.full:
            refresh_gates(s)  # without open calls no gate depends on a response
        return NONE
    return end


# --- stopping what is active: barge-in, disconnect, timeout, transfer ---

def _stop(s, at_ms, response_id):
    """Effects of stopping: cancel, clear, abandon or reconcile, in this order."""
    effects = []
    queued = s.queued_ids(at_ms)
    record = s.responses.get(response_id) if response_id is not None else None
    if record is not None and record.status == "active":
        effects.append(Effect("cancel_response", response_id))
        record.status = "stopping"
        s.stopping += 1
        if s.active == response_id:
            s.active = None
    for stopped in {response_id, *queued} - {None}:
        _flush(s, s.writable(stopped), at_ms)
    effects += [Effect("clear_playback", r) for r in queued]
    s.queue, s.free_at = [], at_ms
    for call_id in [c for c in s.open_calls if s.calls[c].status == "open"]:
        effects.append(_doubt(s, call_id))
    refresh_gates(s)
    return effects


def _flush(s, record, at_ms):
    record.interrupted = True
    if record.report == "sounding" and record.bound_ms is None:
        # Heard at most: what was reported, the way from that report to here, and the grace.
        base = record.played_ms or 0
        record.bound_ms = min(base + (at_ms - record.report_at) + s.limits["stop_grace_ms"], MAX_INTEGER)
    if record.report not in ("stopped", "cleared"):
        if record.report is None and s.estimates and not record.unknown_ms:
            record.played_ms, _ = record.heard_ms(at_ms, True)
            record.played_ms = record.played_ms or None
        record.report = "flushed"


def _doubt(s, call_id):
    """An open call whose answer will not be waited for: a read is abandoned, anything else is in doubt."""
    call = s.calls[call_id]
    if call.read_only:
        call.status = "abandoned"
        del s.open_calls[call_id]
        return Effect("abandon_tool", call_id)
    call.status = "reconcile"
    return Effect("reconcile_tool", call_id)


def _interrupt(s, p, at_ms):
    response_id = p["response_id"]
    effects = []
    if response_id is None:
        s.cancelled_turn = s.awaiting[-1]
        effects.append(Effect("cancel_response", None))
    _turn(s, p["turn_id"])
    s.open_turn = p["turn_id"]
    return effects + _stop(s, at_ms, response_id)


def _disconnect(s, p, at_ms):
    effects = _stop(s, at_ms, s.active)
    s.link = "disconnected"
    s.recovering = s.flag_recovery = False
    refresh_gates(s)
    return effects + [Effect("save_checkpoint", "")]


def _resume(s, p, at_ms):
    s.link = "connected"
    s.recovering = bool(s.unreconciled(known_writes_only=s.full))
    s.flag_recovery = not s.recovering and bool(s.unreconciled())
    refresh_gates(s)
    return [Effect("restore_checkpoint", "")] + [Effect("reconcile_tool", c) for c in s.unreconciled()]


def _complete(s, p, at_ms):
    return _end(s, "session.completed")


def _break_off(type_):
    def end(s, p, at_ms):
        return _stop(s, at_ms, s.active) + _end(s, type_)
    return end


def _end(s, type_):
    s.link, s.end = "ended", type_
    refresh_gates(s)
    return [Effect("end_session", "")]


# --- tools ---

def _call(s, p, at_ms):
    declared = s.tools.get(p["name"], (None,))[0] if s.tools else None
    read_only = p.get("read_only", False if declared is None else declared)
    response_id = p["response_id"]
    turn_id = s.responses[response_id].turn_id
    s.calls[p["call_id"]] = Call(response_id, turn_id, read_only, signature_of(p))
    s.open_calls[p["call_id"]] = None
    refresh_gates(s)
    return [Effect("run_tool", p["call_id"])]


def _result(s, p, at_ms):
    call = s.calls[p["call_id"]]
    if call.read_only is False and p["ok"] is True:
        s.effects.setdefault(call.signature, p["call_id"])
    call.status = "answered"
    s.open_calls.pop(p["call_id"], None)
    _settle(s)
    return NONE


def _settle(s):
    if s.recovering:
        s.recovering = bool(s.unreconciled(known_writes_only=s.full))
    if s.flag_recovery:
        s.flag_recovery = bool(s.unreconciled())
    refresh_gates(s)


def _withdraw(s, p, at_ms):
    call = s.calls[p["call_id"]]
    if call.status != "open":
        return NONE  # the withdrawal came too late to matter
    _doubt(s, p["call_id"])
    refresh_gates(s)
    return NONE  # whoever withdrew the call knows; the effects are for what the session decides


# --- playback ---

def _playback(report):
    def apply(s, p, at_ms):
        response_id = p["response_id"]
        record = s.writable(response_id)
        played = p.get("played_ms")
        if played is not None:
            record.played_ms = played
        record.report_at = at_ms
        if record.report == "flushed" and report == "sounding":
            return NONE  # an interrupted response may still report its last position
        if report == "sounding" and response_id not in s.queue:
            s.queue.append(response_id)
        record.report = report
        if report != "sounding" and response_id in s.queue:
            s.queue.remove(response_id)
        return NONE
    return apply


def _truncated(s, p, at_ms):
    return NONE


def _observe(s, p, at_ms):
    return NONE


class Transition(namedtuple("Transition", ("apply", "effects"), defaults=(NONE,))):
    """One row: the function that applies the event, and the names of the effects it may have."""

    __slots__ = ()


_STOPS = ("cancel_response", "clear_playback", "abandon_tool", "reconcile_tool")
_end_of = {f"response.{status}": Transition(_ended_as(status))
           for status in ("completed", "cancelled", "failed", "incomplete")}
TABLE = {
    "audio.frame": Transition(_frame),
    "input.text": Transition(_typed),
    "input.dtmf": Transition(_typed),
    "speech.started": Transition(_heard_of),
    "speech.stopped": Transition(_observe),
    "turn.transcript": Transition(_heard_of),
    "turn.commit": Transition(_commit),
    "response.started": Transition(_start),
    "response.audio": Transition(_audio),
    "response.text": Transition(_text),
    **_end_of,
    "user.interrupt": Transition(_interrupt, _STOPS),
    "tool.call": Transition(_call, ("run_tool",)),
    "tool.result": Transition(_result),
    "tool.cancelled": Transition(_withdraw),
    "playback.started": Transition(_playback("sounding")),
    "playback.progress": Transition(_playback("sounding")),
    "playback.stopped": Transition(_playback("stopped")),
    "playback.cleared": Transition(_playback("cleared")),
    "response.truncated": Transition(_truncated),
    "error.reported": Transition(_observe),
    "annotation": Transition(_observe),
    "transport.disconnected": Transition(_disconnect, _STOPS + ("save_checkpoint",)),
    "transport.resumed": Transition(_resume, ("restore_checkpoint", "reconcile_tool")),
    "session.timeout": Transition(_break_off("session.timeout"), _STOPS + ("end_session",)),
    "session.transferred": Transition(_break_off("session.transferred"), _STOPS + ("end_session",)),
    "session.completed": Transition(_complete, ("end_session",)),
}


#: what an interrupted response may still send; in full it is ignored, not refused
LATE_TYPES = frozenset(("response.audio", "response.text"))


def late_output(s, p):
    """Whether this is output of a response that was interrupted or cancelled."""
    record = s.responses.get(p["response_id"])
    return record is not None and (record.interrupted or record.status == "cancelled")


def take_late_output(s, p):
    """A late piece is not played: it only counts as sent."""
    record = s.writable(p["response_id"])
    duration_ms = p.get("duration_ms", 0)
    if duration_ms is None:
        record.unknown_ms = True
    else:
        record.sent_ms += duration_ms
