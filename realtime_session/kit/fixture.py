"""The contract fixtures as cases: what happens, and what a session says to each event.

A fixture is a trace document with one more key, "case". Its id is its path below fixtures/contract without
the ending, so a list of known failures stays true when a title is reworded.
"""
from __future__ import annotations

from collections import namedtuple

from realtime_session.values.errors import InputError, show
from realtime_session.values.strict_json import MAX_DOCUMENT_BYTES, parse


class Case(namedtuple("Case", ("id", "title", "why", "rules", "level", "profile", "reports", "header", "events",
                               "rows", "findings", "expect"))):
    """One case. `rows` has one row for each event: the decision, then its effects in order; `findings`
    are (rule, event ids) pairs over the whole trace; `expect` is the whole expectation as it was read."""

    __slots__ = ()


def case_of(case_id, document):
    """The case in a fixture document; raises InputError fixture/invalid where a part is missing."""
    try:
        about, header, events = document["case"], document["session"], document["events"]
        expect = about["expect"]
        case = Case(case_id, about["title"], about["why"], tuple(about["rules"]), about["level"],
                    header.get("profile", "half_duplex"), tuple(about.get("reports", ())), header, tuple(events),
                    tuple(tuple(row) for row in expect["events"]),
                    tuple((rule, tuple(ids)) for rule, ids in expect["findings"]), expect)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError("fixture/invalid", f"{case_id}: no contract fixture ({type(error).__name__}: {error})"
                         ) from None
    if len(case.rows) != len(case.events):
        raise InputError("fixture/invalid", f"{case_id}: {len(case.events)} events, but {len(case.rows)} "
                         "expected decisions")
    return case


def load_cases(prefixes=(), folder=None):
    """The cases whose id begins with one of `prefixes` (all without any), in the order of their ids.

    `folder` is a pathlib.Path; the fixtures that come with the package are the default. Raises InputError
    conform/no_case for a prefix that no id has."""
    if folder is None:
        from realtime_session.doors.resources import fixture_root
        folder = fixture_root() / "contract"
    paths = {p.relative_to(folder).with_suffix("").as_posix(): p for p in folder.rglob("*.json")}
    for prefix in prefixes:
        if not any(case_id.startswith(prefix) for case_id in paths):
            raise InputError("conform/no_case", f"no case begins with {show(prefix)}{near(prefix, paths)}")
    chosen = sorted(c for c in paths if not prefixes or c.startswith(tuple(prefixes)))
    return [case_of(c, parse(paths[c].read_bytes(), max_bytes=MAX_DOCUMENT_BYTES)) for c in chosen]


def near(word, words):
    """", did you mean …?" or nothing."""
    from difflib import get_close_matches
    areas = {w.split("/")[0] + "/" for w in words}
    found = get_close_matches(word, [*words, *areas], n=1, cutoff=0.4)
    return f", did you mean {found[0]}?" if found else ""
