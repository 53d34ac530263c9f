"""Hostile logs of the protocols without response ids: the importers neither crash nor write a malformed
event, and no row goes uncounted."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime_session.contract.events import explain
from realtime_session.contract.session import Session
from realtime_session.values.errors import InputError
from realtime_session.wire import importer
from realtime_session.wire.detect import detect

from ..wire.other_rows import ELEVENLABS, GEMINI, TWILIO

HEALTHY = {"gemini": GEMINI, "elevenlabs": ELEVENLABS, "twilio": TWILIO}
LEAVES = st.sampled_from(
    [None, True, False, 0, -1, 7, 2**53, 1e300, 0.5, "", "x", "START", "AAAA" * 64, "1", "9" * 30, [], {}]
)


def spots(value, path=()):
    """Every place in a JSON value."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from spots(value[key], (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from spots(item, (*path, index))


def changed(value, path, leaf):
    """A copy with another value at one place."""
    if not path:
        return leaf
    value = copy.deepcopy(value)
    inner = value
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = leaf
    return value


@st.composite
def mutated(draw, rows):
    """A healthy log with rows dropped, doubled, swapped, closed in between, and values replaced."""
    rows = list(rows)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(rows) - 1))
        what = draw(st.sampled_from(("drop", "double", "swap", "change", "change", "change", "close", "raw")))
        if what == "drop" and len(rows) > 1:
            del rows[at]
        elif what == "double":
            rows.insert(at, rows[at])
        elif what == "swap":
            other = draw(st.integers(0, len(rows) - 1))
            rows[at], rows[other] = rows[other], rows[at]
        elif what == "change":
            rows[at] = changed(rows[at], draw(st.sampled_from(list(spots(rows[at])))), draw(LEAVES))
        elif what == "close":
            code = draw(st.sampled_from([1000, 1011, None, {"code": 1000}]))
            rows.insert(at, {"kind": "close", "data": code})
        elif isinstance(rows[at], dict) and isinstance(rows[at].get("data"), dict):
            rows[at] = rows[at]["data"]
    return rows


@pytest.mark.parametrize("format_", sorted(HEALTHY))
@settings(deadline=None)
@given(data=st.data())
def test_hostile_rows_never_crash_and_are_counted(format_, data):
    rows = data.draw(mutated(HEALTHY[format_]))
    reading, events, bad = importer(format_)(), [], 0
    for number, row in enumerate(rows, 1):
        try:
            events += reading.feed(number, row)
        except InputError:
            bad += 1
    events += reading.finish()
    session = Session(reading.header())
    previous = 0
    for event in events:
        assert explain(event, "full_duplex") is None, event
        assert event["at_ms"] >= previous
        previous = event["at_ms"]
        session.receive(event)
    session.finish()
    summary = reading.summary()
    json.dumps(summary)
    assert summary["lines"] == len(rows) - bad
    counted = summary["mapped"] + sum(summary["noted"].values()) + sum(summary["unmapped"].values())
    assert counted + summary["repeats_dropped"] >= summary["lines"]


@pytest.mark.parametrize("format_", sorted(HEALTHY))
@settings(deadline=None)
@given(data=st.data())
def test_detection_takes_anything(format_, data):
    rows = data.draw(mutated(HEALTHY[format_]))
    assert detect(enumerate(rows, 1)) in (format_, None)
