"""The fixtures inside somebody's own pytest suite (docs/how-to/judge-your-implementation.md).

pytest itself is not imported: `cases` gives values for `parametrize`, `check` raises what the suite shows.
"""
from __future__ import annotations

from realtime_session.kit.conform import judge
from realtime_session.kit.fixture import load_cases
from realtime_session.kit.subject import FAIL, PASS, UNKNOWN, Callable


class NamedCase(str):
    """A case for `pytest.mark.parametrize`: as a string it is the case id, which pytest shows as the test id."""

    def __new__(cls, case):
        named = super().__new__(cls, case.id)
        named.case = case
        return named


class ContractFailure(AssertionError):
    """The subject broke the contract in a case."""


class NotJudged(Exception):
    """The subject could not be judged in a case: an error of the connection, not of the session."""


def cases(*prefixes, profile=None):
    """The cases whose id begins with one of `prefixes`, of one profile or of both."""
    return [NamedCase(case) for case in load_cases(prefixes) if profile in (None, case.profile)]


def check(named, factory, require="effects"):
    """Plays one case with a session of `factory(header)`.

    Raises ContractFailure where an answer differs, NotJudged where there is no verdict (also for a skip:
    choose the cases that you support)."""
    subject = Callable(factory, getattr(factory, "__name__", "subject"))
    result = judge(named.case, subject.play(named.case), subject.about, require)
    if result.verdict == PASS:
        return
    lines = [f"{named.case.id}: {named.case.title}", f"rules: {', '.join(named.case.rules)}"]
    for d in result.differences:
        place = f"event {d.index + 1} ({d.event_id} {d.type}): " if d.index is not None else ""
        lines.append(f"{d.aspect}: {place}expected {d.expected}, got {d.actual}")
    if result.verdict == FAIL:
        raise ContractFailure("\n".join(lines))
    kind = "not judged" if result.verdict == UNKNOWN else "skipped"
    raise NotJudged("\n".join([*lines, f"{kind}: {result.reason}"]))
