"""Replaying a trace as a library: steps, counts, kept violations, what comes after a stop."""

import io
import json

import pytest

from realtime_session.contract.header import HeaderError
from realtime_session.contract.session import Session
from realtime_session.traces.replay import Replay

HEADER = {"session_id": "s", "resume_token": "t"}


def event(n, type_, **payload):
    return {"event_id": f"e{n}", "type": type_, "at_ms": n * 10, "payload": payload}


STORY = [
    event(0, "audio.frame", turn_id="t1", sequence=0, duration_ms=20, speech=True),
    event(1, "turn.commit", turn_id="t1"),
    event(2, "response.started", response_id="r1", turn_id="t1"),
    event(3, "response.audio", response_id="r1", sequence=0, duration_ms=20),
    event(4, "response.completed", response_id="r1"),
    event(5, "session.completed", reason="done"),
]
BAD = event(1, "audio.frame", turn_id="t1", sequence=5, duration_ms=20, speech=True) | {"event_id": "bad"}


def trace(*events, **header):
    lines = [{"session": {**HEADER, **header}}, *events]
    return io.BytesIO("".join(json.dumps(value) + "\n" for value in lines).encode())


def test_steps_carry_place_decision_and_phases():
    replay = Replay(trace(*STORY))
    steps = list(replay.steps())
    assert [step.index for step in steps] == list(range(6))
    assert [step.line for step in steps] == list(range(2, 8))
    assert [step.event for step in steps] == STORY
    assert [step.decision.kind for step in steps] == ["accepted"] * 6
    phases = ["listening", "listening", "thinking", "thinking", "speaking", "listening", "ended"]
    assert [(step.phase_before, step.phase_after) for step in steps] == list(zip(phases, phases[1:]))
    assert (replay.finished, replay.exit_code(), replay.exit_code(strict=True)) == (True, 0, 0)


def test_run_and_steps_give_the_same_report():
    events = [STORY[0], BAD, *STORY[1:], STORY[3]]
    one, two = Replay(trace(*events), keep_going=True).run(), Replay(trace(*events), keep_going=True)
    for _ in two.steps():
        pass
    assert one.report("x") == two.report("x")
    assert (one.events, one.accepted, one.ignored, one.rejected) == (8, 6, 1, 1)


def test_the_session_of_a_replay_is_that_of_the_api():
    session = Session(HEADER)
    for each in STORY:
        session.receive(each)
    replay = Replay(trace(*STORY)).run()
    assert replay.session.state_digest() == session.state_digest()
    assert replay.session.checkpoint() == session.checkpoint(), "also where ids are kept as places in the file"
    assert Session.restore(replay.session.checkpoint()).receive(STORY[2]).reason == "duplicate"


def test_it_stops_at_the_first_violation_and_says_nothing_about_the_end():
    replay = Replay(trace(STORY[0], BAD, *STORY[1:])).run()
    assert (replay.events, replay.rejected, replay.stopped, replay.findings) == (2, 1, True, [])
    (index, line, violation), = replay.violations
    assert (index, line, violation.rule, violation.origin) == (
        1, 3, "audio/contiguous", ("audio/contiguous", "audio.frame", "listening"))
    assert replay.exit_code() == 1


def test_without_an_audit_there_are_no_measures():
    replay = Replay(trace(*STORY), audit=False).run()
    assert replay.report("x")["measures"] == {}
    assert Replay(trace(*STORY)).run().report("x")["measures"]["turns"]["value"] == 1


def test_a_rule_can_be_off_and_the_rules_that_ran_are_known():
    ran = set()
    replay = Replay(trace(STORY[0], BAD, *STORY[1:]), without=("audio/contiguous",), ran=ran).run()
    assert replay.rejected == 0
    assert {"turn/closed", "turn/no_speech", "event/time"} <= ran
    assert "audio/contiguous" not in ran and "tool/duplicate_call" not in ran


def test_findings_count_only_when_strict():
    replay = Replay(trace(*STORY[:-1])).run()
    assert [finding.rule for finding in replay.findings] == ["session/unfinished"]
    assert (replay.exit_code(), replay.exit_code(strict=True)) == (3, 1)


def test_a_log_that_just_ends_says_so_and_is_no_finding():
    replay = Replay(trace(*STORY[:-1], source={"end": "eof"})).run()
    assert replay.findings == []
    assert (replay.exit_code(), replay.exit_code(strict=True)) == (3, 3)


@pytest.mark.parametrize("until, events, stopped", [(0, 0, True), (2, 2, True), (6, 6, False), (7, 6, False)])
def test_until(until, events, stopped):
    replay = Replay(trace(*STORY), until=until).run()
    assert (replay.events, replay.stopped) == (events, stopped)


@pytest.mark.parametrize("head", ['{"session": null}', '{"session": {"session_id": "s"}}', '{"session": []}', "[]"])
def test_a_trace_without_a_header_is_refused_before_any_event(head):
    with pytest.raises(HeaderError):
        Replay(io.BytesIO((head + "\n{}\n").encode()))


def test_the_same_id_twice_is_compared_by_content_not_by_text():
    respelt = json.dumps(STORY[2]).replace("r1", "\\u0072\\u0031").replace(", ", " ,\t").encode()
    raw = trace(*STORY[:3]).read() + respelt + b"\n" + json.dumps({**STORY[2], "at_ms": 21}).encode() + b"\n"
    replay = Replay(io.BytesIO(raw), keep_going=True).run()
    assert (replay.ignored, replay.rejected_by_rule) == (1, {"event/id_conflict": 1})
