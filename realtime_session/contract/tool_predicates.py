"""The predicates of the rules about tools, errors, and the link (see `predicates` for their form)."""
from __future__ import annotations

from realtime_session.contract.violation import SHOULD, Fault
from realtime_session.values.errors import show


def call_known(s, p, at_ms):
    if p["call_id"] not in s.calls:
        return Fault("/payload/call_id", "a call that was made", f"{show(p['call_id'])}, unknown")
    return None


def call_of_response(s, p, at_ms):
    call = s.calls.get(p["call_id"])
    if call is not None and call.response_id != p["response_id"]:
        return Fault("/payload/response_id", f"{show(call.response_id)}, the response that made the call",
                     show(p["response_id"]))
    return None


def call_new(s, p, at_ms):
    if p["call_id"] in s.calls:
        return Fault("/payload/call_id", "a new call id", f"{show(p['call_id'])}, used before")
    return None


def not_answered(s, p, at_ms):
    call = s.calls.get(p["call_id"])
    if call is not None and call.status == "answered":
        return Fault("/payload/call_id", "a call without a result", f"{show(p['call_id'])}, answered before")
    return None


def not_abandoned(s, p, at_ms):
    call = s.calls.get(p["call_id"])
    if call is not None and call.status == "abandoned":
        return Fault("/payload/call_id", "a call that was not abandoned", f"{show(p['call_id'])}, abandoned before")
    return None


def call_declared(s, p, at_ms):
    if s.tools is not None and p["name"] not in s.tools:
        return Fault("/payload/name", "a declared tool", show(p["name"]))
    return None


def arguments_valid(s, p, at_ms):
    if s.tools is None or p["name"] not in s.tools:
        return None
    if "arguments_text" in p:
        return Fault("/payload/arguments_text", "arguments that are a JSON object", show(p["arguments_text"]))
    validator = s.tools[p["name"]][1]
    problems = validator.errors(p["arguments"]) if validator is not None else ()
    if problems:
        first = problems[0]
        return Fault(f"/payload/arguments{first.path}", str(first.expected), str(first.actual))
    return None


def answer_after_results(s, p, at_ms):
    turn_id = p["turn_id"]
    if turn_id is None:
        return None
    waiting = [c for c in s.open_calls if s.calls[c].status == "open" and s.calls[c].turn_id == turn_id]
    if waiting:
        return Fault("/payload/turn_id", f"the result of call {show(waiting[0])} first", "a new response")
    return None


def write_not_replayed(s, p, at_ms):
    from realtime_session.contract.machine import signature_of
    doubtful = s.unreconciled()
    if not doubtful:
        return None
    signature = signature_of(p)
    for call_id in doubtful:
        call = s.calls[call_id]
        if call.signature == signature:
            return Fault("/payload/name", f"call {show(call_id)} reconciled first", "the same call again",
                         None if call.read_only is False else SHOULD)
    return None


def effect_once(s, p, at_ms):
    call = s.calls.get(p["call_id"])
    if call is None or call.read_only is not False or p["ok"] is not True:
        return None
    before = s.effects.get(call.signature)
    if before is not None:
        return Fault("/payload/call_id", f"one such write (call {show(before)} did it)", f"{show(p['call_id'])} again")
    return None


def none_unresolved(s, p, at_ms):
    if not s.open_calls:
        return None
    known = any(s.calls[c].read_only is not None for c in s.open_calls)
    level = None if known and p.get("by", "agent") == "agent" else SHOULD
    return Fault("/type", "every call answered", "without a result: " + ", ".join(list(s.open_calls)[:8]), level)


def was_disconnected(s, p, at_ms):
    if s.link != "disconnected":
        return Fault("/type", "a session that is disconnected", "it is connected")
    return None
