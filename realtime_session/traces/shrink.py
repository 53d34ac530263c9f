"""Making a failing trace small: the same failure, as few events as a fixed number of tries finds.

Deterministic: no draws, no clock. The budget counts tries, so it means the same on every machine.
"""
from __future__ import annotations


def shrink(events, fails, phases=None, budget=600):
    """The smallest list of events found for which `fails(events)` is still true.

    `fails` gives the index of the event that fails (from 0; the number of events for the end of the trace), or
    None; the caller makes it true for the same origin only. `phases(events)` gives the phase before each event
    and after the last, for cutting between equal ones."""
    tries = _Tries(fails, budget)
    events = list(events)
    at = tries(events)
    if at is None:
        return events
    events = _cut_after(events, at)
    size = None
    while size != len(events) and tries.left:
        size = len(events)
        if phases is not None:
            events = _cut_between_equal_phases(events, tries, phases)
        events = _drop(events, tries)
        events = _drop_linked(events, tries)
    return _at_once(events, tries)


class _Tries:
    def __init__(self, fails, budget):
        self._fails, self.left = fails, budget

    def __call__(self, events):
        if not self.left:
            return None
        self.left -= 1
        return self._fails(events)


def _cut_after(events, at):
    return events[:at + 1]


def _cut_between_equal_phases(events, tries, phases):
    """Whole turns and responses vanish: what lies between two points in equal phase goes, longest first."""
    while True:
        names = phases(events)
        spans = sorted(((i, j) for i in range(len(events)) for j in range(i + 2, len(events))
                        if names[i] == names[j]), key=lambda span: (span[0] - span[1], span[0]))
        for i, j in spans[:40]:
            at = tries(events[:i] + events[j:])
            if at is not None:
                events = _cut_after(events[:i] + events[j:], at)
                break
        else:
            return events


def _drop(events, tries):
    """Chunks, then single events, from the end to the start."""
    chunk = max(1, len(events) // 2)
    while chunk:
        start = len(events) - chunk
        while start >= 0:
            shorter = events[:start] + events[start + chunk:]
            at = tries(shorter)
            if at is not None:
                events = _cut_after(shorter, at)
                start = min(start, len(events))
            start -= chunk
        chunk //= 2
    return events


def _drop_linked(events, tries):
    """Two events that name the same turn, response or call go together."""
    i = 0
    while i < len(events):
        names = _names(events[i])
        for j in range(i + 1, len(events)):
            if names & _names(events[j]):
                shorter = events[:i] + events[i + 1:j] + events[j + 1:]
                at = tries(shorter)
                if at is not None:
                    events = _cut_after(shorter, at)
                    i -= 1
                    break
        i += 1
    return events


def _names(event):
    payload = event.get("payload") if event.__class__ is dict else None
    if payload.__class__ is not dict:
        return set()
    return {(key, payload[key]) for key in ("turn_id", "response_id", "call_id") if payload.get(key).__class__ is str}


def _at_once(events, tries):
    """All events at the time 0, where time is not what fails."""
    if any(event.__class__ is not dict for event in events):
        return events
    calm = [{**event, "at_ms": 0} for event in events]
    return calm if tries(calm) is not None else events
