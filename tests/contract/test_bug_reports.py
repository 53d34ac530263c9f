"""Public fault reports that take more than a trace: two sessions in a process, checkpoints, long streams."""

import copy
import json
import pathlib
import subprocess
import sys

import pytest

from realtime_session.contract.checkpoint import CheckpointError
from realtime_session.contract.session import Session
from realtime_session.traces.audit import audit_events

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADER = {"session_id": "s1", "resume_token": "token-1"}


def event(event_id, type_, at_ms, **payload):
    return {"event_id": event_id, "type": type_, "at_ms": at_ms, "payload": payload}


def frame(n, at_ms, turn="t1", duration_ms=20):
    return event(f"{turn}-f{n}", "audio.frame", at_ms, turn_id=turn, sequence=n, duration_ms=duration_ms,
                 speech=True)


def kinds(session, events):
    decisions = [session.receive(e) for e in events]
    return [d.violation.rule if d.violation is not None else d.kind for d in decisions]


SPEAKING = [
    frame(0, 0),
    event("e2", "turn.commit", 100, turn_id="t1"),
    event("e3", "response.started", 200, response_id="r1", turn_id="t1"),
    event("e4", "response.audio", 300, response_id="r1", sequence=0, duration_ms=200),
]
PENDING_WRITE = [
    *SPEAKING[:3],
    event("e4", "tool.call", 300, call_id="c1", response_id="r1", name="book_table", arguments={"guests": 2}),
    event("e5", "transport.disconnected", 400, reason="network_lost"),
]


def test_a_second_session_starts_as_in_a_fresh_process():
    """BR-018: nothing of a closed connection leaks into the next one."""
    first = Session(HEADER)
    assert set(kinds(first, SPEAKING)) == {"accepted"}
    second = Session({"session_id": "s2", "resume_token": "token-2"})
    assert second.receive(frame(0, 0)).effects == ()
    code = (
        "import json, sys; from realtime_session.contract.session import Session\n"
        "s = Session({'session_id': 's2', 'resume_token': 'token-2'}); s.receive(json.loads(sys.argv[1]))\n"
        "print(s.state_digest())"
    )
    fresh = subprocess.run([sys.executable, "-B", "-c", code, json.dumps(frame(0, 0))], cwd=ROOT, check=True,
                           capture_output=True, text=True, timeout=60)
    assert second.state_digest() == fresh.stdout.strip()


def test_a_restored_session_takes_only_the_current_token():
    """BR-020: a failed try consumes nothing, in a restored session as in the first."""
    session = Session(HEADER)
    kinds(session, PENDING_WRITE)
    session = Session.restore(session.checkpoint())
    resume = [event(f"x{n}", "transport.resumed", 500, resume_token=token) for n, token in
              enumerate(["", "x", "token-2", "token-1", "token-1"])]
    assert kinds(session, resume) == [
        "event/value", "link/token", "link/token", "accepted", "link/not_disconnected"]


def damaged(value, path=()):
    """Every copy of a JSON value with one scalar of it changed, and where."""
    if isinstance(value, dict):
        for key in value:
            yield from ((p, {**value, key: changed}) for p, changed in damaged(value[key], (*path, key)))
            yield (*path, key, "removed"), {k: v for k, v in value.items() if k != key}
    elif isinstance(value, list):
        for i, item in enumerate(value):
            for where, changed in damaged(item, (*path, i)):
                yield where, [*value[:i], changed, *value[i + 1:]]
    elif isinstance(value, str):
        yield path, value + "x"
    elif isinstance(value, bool) or value is None:
        yield path, "x"
    else:
        yield path, value + 1


def test_a_damaged_checkpoint_is_refused_wherever_it_was_damaged():
    """BR-020: a checkpoint that was edited anywhere does not come back to life."""
    session = Session(HEADER)
    kinds(session, PENDING_WRITE)
    checkpoint = session.checkpoint()
    assert Session.restore(copy.deepcopy(checkpoint)).state_digest() == session.state_digest()
    count = 0
    for where, broken in damaged(checkpoint):
        with pytest.raises(CheckpointError) as caught:
            Session.restore(broken)
        assert caught.value.code == "checkpoint/corrupt", where
        count += 1
    assert count > 20


@pytest.mark.parametrize("value", [None, [], {}, "x", 1, {"digest": "x"}, {"digest": None}])
def test_what_is_no_checkpoint_is_refused(value):
    """BR-020."""
    with pytest.raises(CheckpointError) as caught:
        Session.restore(value)
    assert caught.value.code == "checkpoint/corrupt"


def test_no_checkpoint_state_or_message_shows_the_token():
    """BR-020: the token is a secret, also where it is wrong."""
    session = Session({"session_id": "s1", "resume_token": "hush-hush-1"})
    kinds(session, PENDING_WRITE)
    refused = session.receive(event("e6", "transport.resumed", 500, resume_token="hush-hush-2"))
    seen = json.dumps([session.checkpoint(), session.state()]) + repr(refused) + repr(session)
    assert "hush-hush" not in seen


def test_a_stall_and_its_burst_are_all_audio_and_the_jitter_is_told_apart():
    """BR-029: ten frames, two seconds of silence on the line, then a hundred frames at once."""
    events = [frame(n, n * 20) for n in range(10)] + [frame(n, 2180) for n in range(10, 110)]
    report = audit_events(HEADER, events)
    assert [d.kind for d in report.decisions] == ["accepted"] * 110
    assert report.session.receive(frame(111, 2200)).violation.rule == "audio/contiguous"
    jitter = report.measures["arrival_jitter_ms"]
    # distances: 9 of 20 (no deviation), one of 2000 (1980 late), 99 of 0 (each 20 early)
    assert (jitter["n"], jitter["value"]) == (109, pytest.approx((1980 + 99 * 20) / 109, abs=0.001))


def test_a_million_is_only_more_of_the_same():
    """BR-031: what a session holds does not grow with the frames of a turn."""
    def size(frames):
        session = Session(HEADER)
        for n in range(frames):
            session.receive(frame(n, n * 20))
        return len(json.dumps(session.state()))
    assert size(2000) - size(20) < 20
