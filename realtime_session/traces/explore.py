"""Walks through the contract: legal weighted traces, then one fault that knows nothing of the rules.

Everything is drawn by key (blake2b of seed, step and purpose), so the same seed gives the same trace on
every machine and Python, and one walk does not depend on another.
"""
from __future__ import annotations

from realtime_session.contract.session import Session

FAULTS = ("lose", "duplicate", "late", "swap", "corrupt", "replay", "early_end", "clock_back")

#: type -> weight of being tried in a walk; the session decides what is legal
_WEIGHTS = {
    "audio.frame": 8, "turn.commit": 6, "response.started": 8, "response.audio": 8, "response.text": 3,
    "response.completed": 5, "user.interrupt": 4, "tool.call": 5, "tool.result": 6, "transport.disconnected": 2,
    "transport.resumed": 6, "input.text": 1, "input.dtmf": 1, "turn.transcript": 1, "error.reported": 1,
    "session.timeout": 0.2, "session.transferred": 0.2, "session.completed": 1,
}
_FULL_WEIGHTS = {**_WEIGHTS, "speech.started": 1, "speech.stopped": 1, "response.cancelled": 1,
                 "playback.started": 2, "playback.progress": 3, "playback.stopped": 2, "tool.cancelled": 1}


def draw(seed, *key):
    """A number in [0, 1) that depends on the seed and the key alone."""
    from hashlib import blake2b
    text = "\x1f".join(map(str, (seed, *key)))
    return int.from_bytes(blake2b(text.encode("utf-8"), digest_size=7).digest(), "big") / 2 ** 56


def header_of(profile):
    """The session header of every walk."""
    return {"session_id": "walk", "resume_token": "walk-token", "profile": profile}


def legal_walk(seed, steps=30, profile="half_duplex"):
    """A list of events that the reference accepts, at most `steps`, ended by a terminal event if it got there."""
    session, events = Session(header_of(profile)), []
    weights = _WEIGHTS if profile == "half_duplex" else _FULL_WEIGHTS
    at = 0
    for step in range(steps):
        at += int(draw(seed, step, "time") * 120)
        for attempt in range(24):
            type_ = _pick(weights, draw(seed, step, attempt, "type"))
            payload = _payload(type_, session.records, len(events), lambda what: draw(seed, step, attempt, what))
            event = {"event_id": f"e{len(events) + 1}", "type": type_, "at_ms": at, "payload": payload}
            if session.receive(event).kind == "accepted":
                events.append(event)
                break
        if session.ended:
            break
    return events


def _pick(weights, number):
    number *= sum(weights.values())
    for name, weight in weights.items():
        number -= weight
        if number < 0:
            return name
    return name


def _one_of(items, number, otherwise):
    items = list(items)
    return items[int(number * len(items))] if items else otherwise


def _payload(type_, s, n, number):
    """A payload that is likely to be legal in this state."""
    turn = s.open_turn if s.open_turn is not None and s.turns.get(s.open_turn) != "committed" else f"t{n}"
    response = s.active or _one_of(s.responses, number("response"), f"r{n}")
    record = s.responses.get(response)
    call = _one_of(s.open_calls, number("call"), f"c{n}")
    of_call = s.calls[call].response_id if call in s.calls else response
    played = int(number("played") * 200)
    return {
        "audio.frame": lambda: {"turn_id": turn, "duration_ms": 20, "speech": number("speech") < 0.8,
                                "sequence": s.turns[turn].next_sequence if turn in s.turns else 0},
        "turn.commit": lambda: {"turn_id": turn},
        "response.started": lambda: {"response_id": f"r{n}", "turn_id": s.awaiting[-1] if s.awaiting else f"t{n}"},
        "response.audio": lambda: {"response_id": response, "sequence": record.next_audio if record else 0,
                                   "duration_ms": 100 if number("long") < 0.5 else 20},
        "response.text": lambda: {"response_id": response, "sequence": record.next_text if record else 0,
                                  "text": "Yes"},
        "response.completed": lambda: {"response_id": response},
        "response.cancelled": lambda: {"response_id": response, "reason": "cancelled"},
        "user.interrupt": lambda: {"turn_id": f"t{n}", "response_id": response, "reason": "barge_in"},
        "tool.call": lambda: {"call_id": f"c{n}", "response_id": response, "read_only": number("read") < 0.4,
                              "name": "look_up", "arguments": {"day": int(number("day") * 3)}},
        "tool.result": lambda: {"call_id": call, "response_id": of_call, "ok": True, "result": None},
        "tool.cancelled": lambda: {"call_id": call, "response_id": of_call, "reason": "withdrawn"},
        "transport.disconnected": lambda: {"reason": "network"},
        "transport.resumed": lambda: {"resume_token": "walk-token"},
        "session.timeout": lambda: {"reason": "silence"},
        "session.transferred": lambda: {"target": "desk", "reason": "asked"},
        "session.completed": lambda: {"reason": "done"},
        "input.text": lambda: {"turn_id": turn, "text": "two"},
        "input.dtmf": lambda: {"turn_id": turn, "digits": "2"},
        "turn.transcript": lambda: {"turn_id": turn, "text": "two", "final": True},
        "error.reported": lambda: {"error_type": "internal"},
        "speech.started": lambda: {"turn_id": turn},
        "speech.stopped": lambda: {"turn_id": turn},
        "playback.started": lambda: {"response_id": response},
        "playback.progress": lambda: {"response_id": response, "played_ms": played},
        "playback.stopped": lambda: {"response_id": response, "played_ms": played},
    }[type_]()


def with_fault(seed, events):
    """(the events with one drawn fault, the fault's name); the events given are not changed."""
    name = FAULTS[int(draw(seed, "fault") * len(FAULTS))]
    events = list(events)
    if not events:
        return events, name
    i = int(draw(seed, "place") * len(events))
    j = min(len(events), i + 1 + int(draw(seed, "distance") * 6))
    event = events[i]
    if name == "lose":
        del events[i]
    elif name == "duplicate":
        events.insert(j, event)
    elif name == "late":
        del events[i]
        at_ms = max(event["at_ms"], events[j - 2]["at_ms"] if j >= 2 else 0)
        events.insert(j - 1, {**event, "at_ms": at_ms})
    elif name == "swap" and i + 1 < len(events):
        later = events[i + 1]
        events[i:i + 2] = [{**later, "at_ms": event["at_ms"]}, {**event, "at_ms": later["at_ms"]}]
    elif name == "corrupt":
        events[i] = {**event, "payload": _corrupted(seed, event["payload"])}
    elif name == "replay":
        at_ms = max(event["at_ms"], events[j - 1]["at_ms"])
        events.insert(j, {**event, "event_id": "again", "at_ms": at_ms})
    elif name == "early_end":
        events.insert(i, {"event_id": "end", "type": "session.completed", "at_ms": event["at_ms"],
                          "payload": {"reason": "early"}})
    elif name == "clock_back":
        events[i] = {**event, "at_ms": max(0, event["at_ms"] - 1 - int(draw(seed, "back") * 200))}
    return events, name


def _corrupted(seed, payload):
    keys = sorted(payload)
    key = keys[int(draw(seed, "key") * len(keys))]
    value = payload[key]
    if value.__class__ is int:
        value += 1
    elif value.__class__ is bool:
        value = not value
    else:
        value = "other"
    return {**payload, key: value}
