"""The predicates of the rules about turns, responses, interrupts and playback.

Each takes (state, payload, at_ms) and returns None or a Fault. They only look; `machine` changes. The
sentences they stand for are in `rules`; tool and link predicates are in `tool_predicates`.
"""
from __future__ import annotations

from realtime_session.contract.state import COMMITTED, Turn
from realtime_session.contract.violation import SHOULD, Fault
from realtime_session.values.errors import show

_ENDED = ("completed", "cancelled", "failed", "incomplete")


def time_forward(s, at_ms):
    """event/time, called with the bare time before any other look at the event."""
    if at_ms < s.now_ms:
        return Fault("/at_ms", f"{s.now_ms} or later", str(at_ms))
    return None


# --- turns ---

def frame_contiguous(s, p, at_ms):
    turn = s.turns.get(p["turn_id"])
    if turn is COMMITTED:
        return None  # turn/closed speaks
    expected = turn.next_sequence if turn is not None else 0
    if p["sequence"] != expected:
        return Fault("/payload/sequence", str(expected), str(p["sequence"]))
    return None


def turn_open(s, p, at_ms):
    if s.turns.get(p["turn_id"]) is COMMITTED:
        return Fault("/payload/turn_id", "a turn that is not committed", f"{show(p['turn_id'])}, committed before")
    return None


def commit_has_content(s, p, at_ms):
    if p.get("cause") == "idle_timeout":
        return None
    turn = s.turns.get(p["turn_id"])
    if turn is None or turn is not COMMITTED and not turn.content:
        return Fault("/payload/turn_id", "a turn with a frame, text, digits, detected speech or a transcript",
                     f"{show(p['turn_id'])} with none")
    return None


def commit_has_speech(s, p, at_ms):
    if p.get("cause", "speech") != "speech":
        return None
    turn = s.turns.get(p["turn_id"])
    if isinstance(turn, Turn) and turn.content and not turn.speech:
        return Fault("/payload/turn_id", "a turn in which somebody spoke", f"{show(p['turn_id'])}, silence only")
    return None


def turns_answered(s):
    """turn/unanswered, judged once when the trace ends."""
    waiting = [t for t in s.awaiting if t != s.cancelled_turn]
    if waiting:
        more = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
        return Fault("", "every committed turn answered by a response on it or on a later turn",
                     f"turn {show(waiting[0])}{more} never answered")
    return None


# --- responses ---

def response_turn(s, p, at_ms):
    if p["response_id"] in s.responses:
        return Fault("/payload/response_id", "a new response id", f"{show(p['response_id'])}, used before")
    turn_id = p["turn_id"]
    if turn_id is not None and s.turns.get(turn_id) is not COMMITTED:
        return Fault("/payload/turn_id", "a committed turn", f"{show(turn_id)}, not committed")
    return None


def one_active(s, p, at_ms):
    if s.active is not None and not p.get("out_of_band"):
        return Fault("/payload/response_id", f"no other active response ({s.active!r} has not ended)",
                     show(p["response_id"]))
    return None


def response_known(s, p, at_ms):
    if p["response_id"] not in s.responses:
        return Fault("/payload/response_id", "a response that was started", f"{show(p['response_id'])}, unknown")
    return None


def response_open(s, p, at_ms):
    """No output, call or second end after the end; the first end of a stopping response is fine.

    In half a stopping response writes no more either (in full that is late output, and its calls count)."""
    record = s.responses.get(p["response_id"])
    writes = "sequence" in p or "call_id" in p
    if record is not None and record.status == "stopping" and writes and not s.full:
        return Fault("/payload/response_id", "a response that was not interrupted",
                     f"{show(p['response_id'])}, interrupted before")
    if record is not None and record.status in _ENDED:
        return Fault("/payload/response_id", "a response that has not ended",
                     f"{show(p['response_id'])}, {record.status} before")
    return None


def none_unfinished(s, p, at_ms):
    active = [r for r, record in s.responses.items() if record.status == "active"] if s.active is None else [s.active]
    if active:
        return Fault("/type", "no active response", f"response {show(active[0])} still active")
    return None


def output_contiguous(s, p, at_ms):
    record = s.responses.get(p["response_id"])
    if record is None:
        return None
    expected = record.next_audio if "duration_ms" in p else record.next_text
    if p["sequence"] != expected:
        return Fault("/payload/sequence", str(expected), str(p["sequence"]))
    return None


def queue_limit(s, p, at_ms):
    queued = max(s.free_at, at_ms) + p["duration_ms"] - at_ms
    if queued > s.limits["queue_ms"]:
        return Fault("/payload/duration_ms", f"at most {s.limits['queue_ms']} ms queued", f"{queued} ms queued")
    return None


# --- barge-in ---

def something_to_stop(s, p, at_ms):
    response_id = p["response_id"]
    if response_id is None:
        if not s.awaiting or s.awaiting[-1] == s.cancelled_turn:
            return Fault("/payload/response_id", "a committed turn that awaits its reply", "none does")
        return None
    record = s.responses.get(response_id)
    if record is None:
        return Fault("/payload/response_id", "a response that was started", f"{show(response_id)}, unknown")
    if not s.full:
        if record.status != "active":
            return Fault("/payload/response_id", "the active response", f"{show(response_id)}, {record.status}")
        return None
    if record.status in _ENDED:
        if record.report in ("stopped", "cleared"):
            return Fault("/payload/response_id", "a response that is active or may still sound",
                         f"{show(response_id)}, ended, its playback reported {record.report}")
        if not (record.next_audio or record.next_text or record.report):
            return Fault("/payload/response_id", "a response that is active or may still sound",
                         f"{show(response_id)}, ended without output")
    return None


def names_what_sounds(s, p, at_ms):
    """interrupt/stale: the active response, else the one sounding; an estimate makes only a finding."""
    response_id = p["response_id"]
    record = s.responses.get(response_id) if response_id is not None else None
    if record is not None and record.status == "active" or record is None and response_id is not None:
        return None
    if s.active is not None:
        return Fault("/payload/response_id", f"{s.active!r}, the active response", show(response_id))
    if record is None:
        return None
    sounding = record.sounding(at_ms, s.estimates)
    others = s.sounding_ids(at_ms, reported_only=True)
    if others and not sounding:
        return Fault("/payload/response_id", f"{others[0]!r}, the one sounding", show(response_id))
    if sounding is not False:
        return None  # it sounds, or nobody can tell
    return Fault("/payload/response_id", "a response that is active or sounding",
                 f"{show(response_id)}, silent as far as known", SHOULD)


def interrupt_turn(s, p, at_ms):
    turn = s.turns.get(p["turn_id"])
    if turn is COMMITTED or turn is not None and not s.full:
        what = "committed" if turn is COMMITTED else "begun"
        return Fault("/payload/turn_id", "a new turn" if not s.full else "a turn that is not committed",
                     f"{show(p['turn_id'])}, {what} before")
    return None


# --- playback ---

def playback_forward(s, p, at_ms):
    record = s.responses.get(p["response_id"])
    played = p.get("played_ms")
    if record is None or played is None or record.report_at is None or record.played_ms is None \
            or played >= record.played_ms:
        return None
    return Fault("/payload/played_ms", f"{record.played_ms} or more", str(played))


def _sent_known(record):
    return record is not None and record.next_audio > 0 and not record.unknown_ms


def played_was_sent(s, p, at_ms):
    record = s.responses.get(p["response_id"])
    played = p.get("played_ms")
    if played is None or not _sent_known(record) or played <= record.sent_ms:
        return None
    return Fault("/payload/played_ms", f"at most {record.sent_ms}, the audio sent", str(played))


def truncate_in_range(s, p, at_ms):
    record = s.responses.get(p["response_id"])
    if not _sent_known(record) or p["audio_end_ms"] <= record.sent_ms:
        return None
    return Fault("/payload/audio_end_ms", f"at most {record.sent_ms}, the audio sent", str(p["audio_end_ms"]))


def quiet_after_clear(s, p, at_ms):
    record = s.responses.get(p["response_id"])
    played = p.get("played_ms")
    if record is None or played is None or record.bound_ms is None or not s.recorded or played <= record.bound_ms:
        return None
    return Fault("/payload/played_ms", f"at most {record.bound_ms} after the interrupt", str(played))


def audio_drained(s, p, at_ms):
    """playback/not_drained: the agent ends while its last spoken response is unheard."""
    if p.get("by", "agent") != "agent" or s.last_spoken is None:
        return None
    record = s.responses[s.last_spoken]
    if record.interrupted:
        return None
    heard, _ = record.heard_ms(at_ms, s.estimates)
    if heard is None or record.unknown_ms or heard >= record.sent_ms:
        return None
    return Fault("/type", f"all {record.sent_ms} ms of {show(s.last_spoken)} heard", f"{record.sent_ms - heard} ms unheard")


# --- the common case at once ---
# One look for the events that make up most of a trace. They may only say yes where every predicate of the
# type in the rule table would pass and the output is not late; on doubt the predicates are asked one by one.

def _frame_fits(s, p, at_ms):
    turn = s.turns.get(p["turn_id"])
    if turn is None:
        return p["sequence"] == 0
    return turn is not COMMITTED and p["sequence"] == turn.next_sequence


def _audio_fits(s, p, at_ms):
    record = s.responses.get(p["response_id"])
    return (record is not None and record.status == "active" and not record.interrupted
            and p["sequence"] == record.next_audio
            and (s.full or p["duration_ms"] + (s.free_at - at_ms if s.free_at > at_ms else 0) <= s.limits["queue_ms"]))


def _text_fits(s, p, at_ms):
    record = s.responses.get(p["response_id"])
    return (record is not None and record.status == "active" and not record.interrupted
            and p["sequence"] == record.next_text)


def _end_fits(s, p, at_ms):
    record = s.responses.get(p["response_id"])
    return record is not None and record.status == "active"


SURELY_LEGAL = {"audio.frame": _frame_fits, "response.audio": _audio_fits, "response.text": _text_fits,
                "response.completed": _end_fits}
