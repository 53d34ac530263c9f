"""Searching for failures of a subject that no fixture shows: walks with a fault, compared with the reference."""
from __future__ import annotations

from collections import namedtuple

from realtime_session.contract.rules import rule
from realtime_session.contract.session import Session
from realtime_session.kit.conform import REQUIRE, judge
from realtime_session.kit.fixture import case_of
from realtime_session.kit.subject import FAIL, UNKNOWN
from realtime_session.traces.explore import header_of, legal_walk, with_fault
from realtime_session.traces.shrink import shrink

#: A failure found: its origin (rule, event type, phase), where it came from, and the small trace as a case.
Found = namedtuple("Found", ("origin", "seed", "fault", "expected", "actual", "document"))


class Exploration:
    """What a search has seen. `found` maps an origin to its first Found; `troubles` are reasons of UNKNOWN."""

    def __init__(self):
        self.walks = self.events = 0
        self.found, self.troubles = {}, []
        self.phases, self.rules, self.types = set(), set(), set()


def explore(subject, *, seed=1, count=200, profile="half_duplex", require="effects", steps=30,
            faults=6, enough=None):
    """Plays `count` walks from seed on, each with a few faults (shrinking keeps the one that matters).

    A refused event changes nothing, so faults in one walk seldom hide each other.
    `enough` stops the search after so many kinds of failure. An Exploration."""
    seen = Exploration()
    for number in range(seed, seed + count):
        if enough is not None and len(seen.found) >= enough:
            break
        events, names = legal_walk(number, steps, profile), []
        for k in range(faults):
            events, name = with_fault(f"{number}.{k}", events)
            names.append(name)
        fault = ", ".join(names)
        document = expected(profile, events, seen)
        origin, difference, trouble = _compare(subject, document, require)
        seen.walks += 1
        seen.events += len(events)
        if trouble is not None:
            seen.troubles.append((number, trouble))
        if origin is None or origin in seen.found:
            continue
        small = _shrunk(subject, profile, events, origin, require)
        document = expected(profile, small)
        _, difference, _ = _compare(subject, document, require)
        document["case"].update(_about(origin, difference, number, fault))
        seen.found[origin] = Found(origin, number, fault, difference.expected, difference.actual, document)
    return seen


def _shrunk(subject, profile, events, origin, require):
    def fails(shorter):
        found, difference, _ = _compare(subject, expected(profile, shorter), require)
        if found != origin:
            return None
        return difference.index if difference.index is not None else len(shorter)

    def phases(shorter):
        session, names = Session(header_of(profile)), []
        for event in shorter:
            names.append(session.phase)
            session.receive(event)
        return [*names, session.phase]

    return shrink(events, fails, phases)


def expected(profile, events, seen=None):
    """A fixture document over these events, with what the reference says to each."""
    header, rows, findings, phases = header_of(profile), [], [], []
    session = Session(header)
    for event in events:
        phases.append(session.phase)
        decision = session.receive(event)
        rows.append([str(decision), *map(str, decision.effects)])
        findings += decision.findings
        if seen is not None:
            seen.types.add(event["type"])
            if decision.violation is not None:
                seen.rules.add(decision.violation.rule)
    findings += session.finish()
    if seen is not None:
        seen.phases.update([*phases, session.phase])
        seen.rules.update(f.rule for f in findings)
    return {"session": header, "case": {
        "title": "explored", "why": "", "rules": [], "level": "must",
        "expect": {"events": rows, "findings": [[f.rule, [f.event_id] if f.event_id else []] for f in findings],
                   "state": {"phase": session.phase}}}, "events": list(events)}


def _compare(subject, document, require):
    """(origin, difference, None), or (None, None, trouble) or three None."""
    case = case_of("explored", document)
    played = subject.play(case)
    result = judge(case, played, subject.about, require)
    if result.verdict == UNKNOWN:
        return None, None, result.reason
    if result.verdict != FAIL:
        return None, None, None
    reports = subject.about.reports
    difference = next(d for d in result.differences if d.aspect in REQUIRE[require]
                      and (d.aspect == "decision" or d.aspect in reports))
    return _origin(case, difference), difference, None


def _origin(case, difference):
    if difference.index is None:
        return difference.aspect, None, "end"
    session = Session(case.header)
    for event in case.events[:difference.index]:
        session.receive(event)
    for text in (case.rows[difference.index][0], difference.actual):
        name = text.partition(":")[2]
        if name and difference.aspect != "effects":
            return name, difference.type, session.phase
    return difference.aspect, difference.type, session.phase


def _about(origin, difference, seed, fault):
    name, type_, phase = origin
    try:
        broken = rule(name)
    except KeyError:
        broken = None
    return {"title": f"Explored: {name} at {type_ or 'the end'} while {phase}",
            "why": f"Found by walk {seed} with the faults {fault}: expected {difference.expected}, "
                   f"got {difference.actual}.",
            "rules": [name] if broken is not None else []}
