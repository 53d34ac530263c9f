"""Corners of barge-in and recovery that an adversarial reading of the contract found broken once."""
import io
import json

from realtime_session.contract.session import Session
from realtime_session.traces.audit import audit_events
from realtime_session.traces.replay import Replay

HEADER = {"session_id": "s1", "resume_token": "tok", "profile": "full_duplex"}


def events(*rows):
    return [{"event_id": f"e{n}", "type": type_, "at_ms": at, "payload": payload}
            for n, (at, type_, payload) in enumerate(rows)]


def start(at, r, turn=None, **more):
    return at, "response.started", {"response_id": r, "turn_id": turn, **more}


def audio(at, r, seq, ms):
    return at, "response.audio", {"response_id": r, "sequence": seq, "duration_ms": ms}


def barge_in(at, r, turn):
    return at, "user.interrupt", {"turn_id": turn, "response_id": r, "reason": "speech"}


def last(*rows):
    session = Session(HEADER)
    decisions = [session.receive(event) for event in events(*rows)]
    return session, decisions[-1], [str(effect) for effect in decisions[-1].effects]


def test_an_active_response_that_paused_is_cleared_like_any_other():
    _, _, effects = last(start(0, "r"), audio(0, "r", 0, 100), start(900, "o", out_of_band=True),
                         audio(1000, "o", 0, 100), audio(1200, "r", 1, 5000), barge_in(1500, "r", "t1"))
    assert "clear_playback(r)" in effects


def test_playback_that_started_again_after_an_underrun_is_cleared():
    _, _, effects = last(start(0, "r"), audio(0, "r", 0, 100), (0, "playback.started", {"response_id": "r"}),
                         (100, "playback.stopped", {"response_id": "r", "played_ms": 100}), audio(200, "r", 1, 5000),
                         (210, "playback.started", {"response_id": "r"}), barge_in(1500, "r", "t1"))
    assert effects == ["cancel_response(r)", "clear_playback(r)"]


def test_the_first_report_after_a_barge_in_is_not_measured_against_the_estimate():
    _, decision, _ = last(start(0, "r"), audio(0, "r", 0, 5000), barge_in(1000, "r", "t1"),
                          (1010, "playback.cleared", {"response_id": "r", "played_ms": 800}))
    assert str(decision) == "accepted"


def test_heard_audio_stays_at_the_bound_when_only_the_start_was_reported():
    report = audit_events(HEADER, events(
        start(0, "r"), audio(0, "r", 0, 5000), (0, "playback.started", {"response_id": "r"}),
        barge_in(1000, "r", "t1"), (10000, "session.completed", {"reason": "x", "by": "caller"})))
    assert report.heard["r"]["audio_ms"] == 1250  # the second to the interrupt, and 250 ms of grace


def test_a_null_interrupt_is_stale_while_another_response_is_active():
    session, decision, _ = last(
        (0, "input.text", {"turn_id": "t0", "text": "a"}), (1, "turn.commit", {"turn_id": "t0"}),
        start(2, "r", "t0"), (3, "input.text", {"turn_id": "t1", "text": "b"}),
        (4, "turn.commit", {"turn_id": "t1"}), barge_in(5, None, "t2"))
    assert str(decision) == "rejected:interrupt/stale"


def test_only_the_next_response_in_the_conversation_is_born_cancelled():
    session, _, _ = last(
        (0, "input.text", {"turn_id": "t1", "text": "a"}), (1, "turn.commit", {"turn_id": "t1"}),
        barge_in(2, None, "t2"), start(3, "o", "t1", out_of_band=True), start(4, "r", "t1"))
    assert [session.state()["responses"][r]["status"] for r in ("o", "r")] == ["active", "stopping"]


def test_a_rejected_event_does_not_spend_the_finding_about_unknown_calls():
    session = Session(HEADER)
    first = events(start(0, "r"), (1, "tool.call", {"call_id": "c", "response_id": "r", "name": "book",
                                                    "arguments": {}, "read_only": None}),
                   (2, "transport.disconnected", {"reason": "x"}), (3, "transport.resumed", {"resume_token": "tok"}))
    for event in first:
        assert session.receive(event).violation is None
    before = session.state_digest()
    commit = {"event_id": "x", "type": "turn.commit", "at_ms": 4, "payload": {"turn_id": "t"}}
    assert str(session.receive(commit)) == "rejected:turn/empty"
    assert session.state_digest() == before
    session.receive({"event_id": "y", "type": "input.text", "at_ms": 4, "payload": {"turn_id": "t", "text": "hi"}})
    decision = session.receive(commit)
    assert [finding.rule for finding in decision.findings] == ["link/reconcile_first"]
    assert session.receive({**commit, "event_id": "z", "payload": {"turn_id": "t2", "cause": "idle_timeout"}}
                           ).findings == ()


def test_a_repeat_of_a_line_that_begins_with_a_carriage_return_is_a_duplicate():
    line = json.dumps({"event_id": "e", "type": "input.text", "at_ms": 0, "payload": {"turn_id": "t", "text": "x"}})
    text = json.dumps({"session": HEADER}) + "\n\r" + line + "\n" + line + "\n"
    replay = Replay(io.BytesIO(text.encode())).run()
    assert (replay.accepted, replay.ignored) == (1, 1)
