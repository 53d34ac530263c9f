"""The conversation view is ordered by turn, not by arrival (BR-026), and shows heard beside generated words."""
from realtime_session.contract.session import Session
from realtime_session.traces.timeline import Timeline


def rows_of(events, **header):
    session = Session({"session_id": "s1", "resume_token": "tok", "profile": "full_duplex", **header})
    timeline = Timeline(session)
    for number, (at_ms, type_, payload) in enumerate(events):
        event = {"event_id": f"e{number}", "type": type_, "at_ms": at_ms, "payload": payload}
        decision = session.receive(event)
        assert decision.violation is None, decision
        timeline.see(event, decision)
    return timeline.rows()


ANSWERED = [
    (0, "speech.started", {"turn_id": "t1"}),
    (100, "turn.commit", {"turn_id": "t1"}),
    (200, "response.started", {"response_id": "r1", "turn_id": "t1"}),
    (250, "response.text", {"response_id": "r1", "sequence": 0, "text": "We open at nine"}),
    (260, "response.audio", {"response_id": "r1", "sequence": 0, "duration_ms": 1500}),
]


def test_a_transcript_after_the_answer_stands_before_it_br_026():
    rows = rows_of(ANSWERED + [
        (400, "response.completed", {"response_id": "r1"}),
        (650, "turn.transcript", {"turn_id": "t1", "text": "When do you open?", "final": True}),
    ])
    assert [row["turn_id"] for row in rows] == ["t1"]
    assert rows[0]["caller"] == "When do you open?"
    assert [r["text"] for r in rows[0]["responses"]] == ["We open at nine"]
    assert rows[0]["committed_ms"] == 100


def test_heard_words_end_where_the_barge_in_fell():
    # 740 of 1,500 ms had played when the caller spoke: "We open", the whole words in the first 49 %
    rows = rows_of(ANSWERED + [(1000, "user.interrupt", {"turn_id": "t2", "response_id": "r1", "reason": "speech"})])
    (response,) = rows[0]["responses"]
    assert response["heard_ms"] == 740
    assert response["heard"] == "We open"
    assert response["heard_estimated"] is True
    assert response["status"] == "interrupted"
    assert rows[1]["interrupts"] == "r1"


def test_an_opening_is_a_row_of_its_own_and_calls_carry_their_outcome():
    rows = rows_of([
        (0, "response.started", {"response_id": "r0", "turn_id": None, "cause": "opening"}),
        (10, "response.text", {"response_id": "r0", "sequence": 0, "text": "Hello"}),
        (20, "tool.call", {"call_id": "c1", "response_id": "r0", "name": "lookup", "arguments": {}}),
        (30, "tool.result", {"call_id": "c1", "response_id": "r0", "ok": False, "result": None}),
        (40, "response.completed", {"response_id": "r0"}),
        (50, "input.text", {"turn_id": "t1", "text": "hi"}),
        (60, "input.dtmf", {"turn_id": "t1", "digits": "42#"}),
    ])
    assert [row["turn_id"] for row in rows] == [None, "t1"]
    assert rows[0]["responses"][0]["calls"] == [
        {"call_id": "c1", "name": "lookup", "at_ms": 20, "result_ms": 30, "ok": False}]
    assert rows[1]["caller"] == "hi42#"


def test_an_interim_transcript_does_not_replace_a_final_one():
    words = [("Wh", False), ("When?", True), ("Whe", False)]
    rows = rows_of([(n, "turn.transcript", {"turn_id": "t1", "text": text, "final": final})
                    for n, (text, final) in enumerate(words)])
    assert rows[0]["caller"] == "When?"
