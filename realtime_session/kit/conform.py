"""Running cases against a subject and judging the answers: decision, effects and rule apart.

Crash, silence and unreadable answers are UNKNOWN, never FAIL: they say something about the connection
to the subject, not about the rule that the case is about.
"""
from __future__ import annotations

from collections import namedtuple

from realtime_session.doors.trouble import Trouble
from realtime_session.kit.fixture import case_of
from realtime_session.kit.subject import FAIL, PASS, SKIP, UNKNOWN, worst

#: what can be judged, in the order of reporting, and what each choice of --require lets decide
ASPECTS = ("decision", "effects", "rule", "findings", "state")
REQUIRE = {"decision": ("decision",), "effects": ("decision", "effects"),
           "rule": ("decision", "effects", "rule", "findings", "state")}
#: after so many troubles in a row the rest is not tried (a subject that hangs would cost a time-out each)
MAX_TROUBLES = 10

#: A first difference in one aspect: `index` of the event from 0, None for the whole case.
Difference = namedtuple("Difference", ("aspect", "index", "event_id", "type", "expected", "actual"))
#: The outcome of a case. `known`: listed as a known failure. `gates`: the aspects that decided.
Result = namedtuple("Result", ("case", "verdict", "reason", "differences", "known", "events"))


class Run(namedtuple("Run", ("about", "results", "require", "smoke", "notes"))):
    """A finished run; `smoke` is None or the Trouble that showed that the subject cannot be asked."""

    __slots__ = ()

    @property
    def verdict(self):
        """The merged verdict; known failures do not count, skips alone decide nothing."""
        return worst(r.verdict for r in self.results if not (r.known and r.verdict == FAIL))

    @property
    def exit_code(self):
        """0 pass, 1 fail, 3 undecided (also where every case was skipped)."""
        if self.smoke is not None:
            return 3
        if any(r.verdict == FAIL and r.known for r in self.results) and self.verdict == SKIP:
            return 0
        return {PASS: 0, FAIL: 1, UNKNOWN: 3, SKIP: 3}[self.verdict]

    def counts(self):
        """verdict -> number of cases; known failures apart."""
        counts = {PASS: 0, FAIL: 0, UNKNOWN: 0, SKIP: 0, "known": 0}
        for result in self.results:
            counts["known" if result.known and result.verdict == FAIL else result.verdict] += 1
        return counts


def smoke_case(profile):
    """The smallest case: one event. It proves that the subject can be asked, not that it is right."""
    header = {"session_id": "smoke", "resume_token": "smoke-token", "profile": profile}
    event = {"event_id": "e1", "type": "session.completed", "at_ms": 0, "payload": {"reason": "smoke"}}
    return case_of("smoke", {"session": header, "events": [event], "case": {
        "title": "smoke", "why": "", "rules": [], "level": "must",
        "expect": {"events": [["accepted", "end_session"]], "findings": []}}})


def judge(case, played, about, require="effects"):
    """The Result of one played case."""
    reports = about.reports if about is not None else ()
    differences = _differences(case, played)
    gates = REQUIRE[require]
    broken = [d for d in differences if d.aspect in gates and (d.aspect == "decision" or d.aspect in reports)]
    unreported = [a for a in gates[1:] if a not in reports and _speaks_of(case, a)
                  and (a not in ("findings", "state"))]
    verdict, reason = PASS, None
    if broken:
        first = broken[0]
        verdict, reason = FAIL, f"{first.aspect}: expected {first.expected}, got {first.actual}"
    elif played.skip is not None:
        verdict, reason = SKIP, played.skip
        if about is not None and case.profile in about.supports:
            verdict, reason = UNKNOWN, f"subject/skip_denied: skips a case of {case.profile}, which it says it " \
                f"supports: {played.skip}"
    elif played.trouble is not None:
        verdict, reason = UNKNOWN, str(played.trouble)
    elif unreported:
        verdict, reason = UNKNOWN, f"the subject does not report {unreported[0]}, which --require {require} asks for"
    return Result(case, verdict, reason, tuple(differences), False, len(played.replies))


def _speaks_of(case, aspect):
    if aspect == "effects":
        return any(len(row) > 1 for row in case.rows)
    return any(":" in row[0] for row in case.rows)


def _differences(case, played):
    """The first difference of each aspect."""
    found = {}

    def note(aspect, index, expected, actual):
        event = case.events[index] if index is not None else None
        event = event if event.__class__ is dict else {}
        found.setdefault(aspect, Difference(aspect, index, event.get("event_id"), event.get("type"), expected, actual))

    for index, (row, reply) in enumerate(zip(case.rows, played.replies)):
        kind, _, name = row[0].partition(":")
        if reply.kind != kind:
            note("decision", index, row[0], reply.kind if reply.name is None else f"{reply.kind}:{reply.name}")
            continue
        if name and reply.name != name:
            note("rule", index, name, reply.name or "none")
        if reply.effects is not None and reply.effects != row[1:]:
            note("effects", index, ", ".join(row[1:]) or "none", ", ".join(reply.effects) or "none")
    complete = len(played.replies) == len(case.rows)
    if complete and played.findings is not None and played.findings != case.findings:
        note("findings", None, str([list(f) for f in case.findings]), str([list(f) for f in played.findings]))
    state = played.replies[-1].state if complete and played.replies else None
    for key, value in case.expect.get("state", {}).items() if state is not None else ():
        if state.get(key) != value:
            note("state", None, f"{key} {value}", f"{key} {state.get(key)}")
    return sorted(found.values(), key=lambda d: (ASPECTS.index(d.aspect)))


def conform(make_subject, cases, *, require="effects", known=(), jobs=1):
    """Runs the cases against subjects from `make_subject()` (one for each job), smoke first; a Run.

    `known` are ids of cases whose failure is expected. The results come in the order of the cases."""
    subject = make_subject()
    try:
        trouble = _smoke(subject)
        if trouble is not None:
            results = [Result(case, UNKNOWN, f"smoke: {trouble}", (), case.id in known, 0) for case in cases]
            return Run(subject.about, results, require, trouble, ())
        if jobs <= 1 or len(cases) < 2:
            results = _run_all(subject, cases, require, known)
        else:
            results = _run_parallel(make_subject, subject, cases, require, known, jobs)
    finally:
        subject.stop()
    notes = tuple(f"{r.case.id} is listed as known to fail, and passes: take it off the list"
                  for r in results if r.known and r.verdict == PASS)
    return Run(subject.about, results, require, None, notes)


def _smoke(subject):
    """The Trouble that shows that the subject cannot be asked at all, else None."""
    try:
        if subject.about is None:
            subject.hello()
    except Trouble as trouble:
        return trouble
    profile = subject.about.supports[0] if subject.about.supports else "half_duplex"
    return subject.play(smoke_case(profile)).trouble


def _run_all(subject, cases, require, known):
    results, troubles = [], 0
    for case in cases:
        if subject.about.supports and case.profile not in subject.about.supports:
            results.append(Result(case, SKIP, f"the subject does not support {case.profile}", (), case.id in known, 0))
            continue
        if troubles >= MAX_TROUBLES:
            results.append(Result(case, UNKNOWN, f"not tried after {troubles} troubles in a row", (),
                                  case.id in known, 0))
            continue
        played = subject.play(case)
        troubles = troubles + 1 if played.trouble is not None else 0
        results.append(judge(case, played, subject.about, require)._replace(known=case.id in known))
    return results


def _run_parallel(make_subject, first, cases, require, known, jobs):
    from concurrent.futures import ThreadPoolExecutor
    jobs = min(jobs, len(cases))
    subjects = [first, *(make_subject() for _ in range(jobs - 1))]
    for subject in subjects[1:]:
        subject.about = first.about
    try:
        with ThreadPoolExecutor(jobs) as pool:
            parts = list(pool.map(lambda k: _run_all(subjects[k], cases[k::jobs], require, known), range(jobs)))
    finally:
        for subject in subjects[1:]:
            subject.stop()
    return [parts[i % jobs][i // jobs] for i in range(len(cases))]
