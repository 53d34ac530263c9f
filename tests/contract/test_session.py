"""A session through its public methods: what a program that embeds it relies on."""

import pytest

from realtime_session.contract import events as vocabulary
from realtime_session.contract.rules import GATES, LAYERS, RULES, rule
from realtime_session.contract.session import Session
from realtime_session.contract.state import FULL_REGIONS, HALF_PHASES
from realtime_session.contract.violation import ContractError, Effect

TOKEN = "the token of this session"


def event(n, type_, at_ms=None, **payload):
    return {"event_id": f"e{n}", "type": type_, "at_ms": n * 10 if at_ms is None else at_ms, "payload": payload}


STORY = [
    event(0, "audio.frame", turn_id="t1", sequence=0, duration_ms=20, speech=True),
    event(1, "turn.commit", turn_id="t1"),
    event(2, "response.started", response_id="r1", turn_id="t1"),
    event(3, "response.audio", response_id="r1", sequence=0, duration_ms=200),
]


def session(*events, full=False, **header):
    made = Session({"session_id": "s", "resume_token": TOKEN,
                    "profile": "full_duplex" if full else "half_duplex", **header})
    for each in events:
        assert made.receive(each).violation is None
    return made


def test_what_a_program_sees_of_a_session():
    made = session(*STORY)
    assert (made.profile, made.phase, made.ended) == ("half_duplex", "speaking", False)
    state = made.state()
    assert (state["phase"], state["active"], state["now_ms"], state["accepted"]) == ("speaking", "r1", 30, 4)
    assert TOKEN not in str(state)
    assert made.receive(event(9, "session.timeout", reason="limit")).effects[-1] == Effect("end_session", "")
    assert made.ended


def test_require_raises_only_for_a_rejection():
    made = session(*STORY)
    assert made.require(STORY[0]).reason == "duplicate"
    assert made.require(event(4, "response.completed", response_id="r1")).kind == "accepted"
    with pytest.raises(ContractError) as caught:
        made.require(event(5, "response.completed", response_id="r1"))
    assert caught.value.violation.rule == "response/ended"
    assert str(caught.value) == caught.value.violation.message


def test_decisions_and_effects_read_as_words():
    made = session(*STORY, full=True)
    cut = made.receive(event(4, "user.interrupt", turn_id="t2", response_id="r1", reason="barge_in"))
    assert (str(cut), [str(e) for e in cut.effects]) == ("accepted", ["cancel_response(r1)", "clear_playback(r1)"])
    late = event(5, "response.audio", response_id="r1", sequence=1, duration_ms=200)
    assert [str(made.receive(late)), str(made.receive(late))] == ["ignored:late_output", "ignored:duplicate"]
    assert str(made.receive(event(5, "turn.commit", turn_id="t2"))) == "rejected:event/id_conflict"
    assert str(Effect("cancel_response", None)) == "cancel_response(null)"
    assert str(Effect("save_checkpoint", "")) == "save_checkpoint"


def test_a_violation_says_where_what_and_why():
    violation = session(*STORY).receive(event(4, "response.audio", response_id="r1", sequence=7, duration_ms=20)).violation
    assert violation[:9] == ("output/contiguous", "playback", "must", "e4", "response.audio", "speaking",
                             "/payload/sequence", "1", "7")
    assert violation.origin == ("output/contiguous", "response.audio", "speaking")
    assert violation.message.startswith(rule("output/contiguous").sentence)


@pytest.mark.parametrize("full", [False, True])
def test_late_results_of_an_abandoned_read(full):
    call = event(4, "tool.call", call_id="c1", response_id="r1", name="look", arguments={}, read_only=True)
    made = session(*STORY, call, event(5, "user.interrupt", turn_id="t2", response_id="r1", reason="x"), full=full)
    late = event(6, "tool.result", call_id="c1", response_id="r1", ok=True, result=1)
    decision = made.receive(late)
    if full:
        assert str(decision) == "ignored:late_result"
        assert [f.rule for f in decision.findings] == ["tool/after_cancel"]
        assert made.state()["now_ms"] == 60
        assert made.receive({**late, "payload": {**late["payload"], "result": 2}}).violation.rule == "event/id_conflict"
        assert made.receive(late).reason == "duplicate"
        again = made.receive(event(7, "tool.result", call_id="c1", response_id="r1", ok=True, result=1))
        assert str(again) == "ignored:late_result", "each late result by itself"
    else:
        assert str(decision) == "rejected:tool/after_cancel"


def test_finish_may_be_asked_at_any_time_and_changes_nothing():
    made = session(*STORY[:2], full=True)
    digest = made.state_digest()
    assert [f.rule for f in made.finish()] == ["turn/unanswered", "session/unfinished"]
    assert made.state_digest() == digest
    made.receive(STORY[2])
    assert [f.rule for f in made.finish()] == ["session/unfinished"]


def test_many_unanswered_turns_make_one_finding():
    made = session(*[event(n, "turn.commit", turn_id=f"t{n}", cause="idle_timeout") for n in range(3)], full=True)
    assert "2 more" in made.finish()[0].actual


def test_the_digest_covers_the_token_and_the_ids():
    base = session(*STORY[:2])
    assert base.state_digest() == session(*STORY[:2]).state_digest()
    other = Session({"session_id": "s", "resume_token": "another token"})
    for each in STORY[:2]:
        other.receive(each)
    assert other.state_digest() != base.state_digest()
    assert session(*STORY[:3]).state_digest() != base.state_digest()


def test_a_resume_with_a_wrong_token_costs_nothing():
    made = session(event(0, "transport.disconnected", reason="lost"))
    for _ in range(3):
        assert str(made.receive(event(1, "transport.resumed", resume_token="guess"))) == "rejected:link/token"
    assert str(made.receive(event(1, "transport.resumed", resume_token=TOKEN))) == "accepted"


def test_the_token_is_hidden_in_texts_while_the_session_knows_it():
    made = session(event(0, "transport.disconnected", reason="lost", resume_token='next "token" of it'))
    line = f'{TOKEN} and next "token" of it and next \\"token\\" of it'
    assert made.hide_token(line) == "(resume token) and (resume token) and (resume token)"
    assert Session.restore(made.checkpoint()).hide_token("x") == "x"
    short = Session({"session_id": "s", "resume_token": "a"})
    assert short.hide_token("a banana") == "a banana", "one letter is no secret"


@pytest.mark.parametrize("value", [None, 1, "e", [], [STORY[0]], {}, {"event_id": "e"}, object(), STORY])
def test_what_is_no_event_has_no_shape(value):
    violation = session().receive(value).violation
    assert violation.rule in ("event/shape", "event/value")
    assert violation.type is None


@pytest.mark.parametrize("change, rule_id, path", [
    ({"payload": None}, "event/shape", "/payload"), ({"type": 7}, "event/value", "/type"),
    ({"type": ["audio.frame"]}, "event/value", "/type"), ({"type": "audio"}, "event/unknown_type", "/type"),
    ({"type": "speech.started"}, "event/unknown_type", "/type"), ({"event_id": ""}, "event/value", "/event_id"),
    ({"a/b~c": 1}, "event/unknown_field", "/a~1b~0c"), ({"at_ms": True}, "event/value", "/at_ms"),
    ({"source": []}, "event/value", "/source"), ({"source": {"line": -1}}, "event/value", "/source/line"),
    ({"source": {"file/x": 1}}, "event/unknown_field", "/source/file~1x"),
    ({"source": {"synthetic": 1}}, "event/value", "/source/synthetic"),
], ids=str)
def test_a_fault_of_form_is_named_with_its_path(change, rule_id, path):
    violation = session().receive({**STORY[0], **change}).violation
    assert (violation.rule, violation.path) == (rule_id, path)


def test_provenance_is_taken_and_no_part_of_the_content():
    made = session({**STORY[0], "source": {"line": 3, "raw_type": "x.y", "synthetic": False}})
    assert made.receive({**STORY[0], "source": {}}).reason == "duplicate"
    assert made.receive(STORY[0]).reason == "duplicate"


BASE = {"turn_id": "t9", "sequence": 0, "duration_ms": 20, "speech": True}
VALUES = {
    "audio.frame": [("sequence", -1), ("sequence", 1.0), ("sequence", 2**53), ("duration_ms", 0), ("duration_ms", 201),
                    ("speech", 1), ("speech", None), ("turn_id", "")],
    "turn.commit": [("cause", "silence"), ("cause", None), ("cause", ["speech"])],
    "input.dtmf": [("digits", ""), ("digits", "E"), ("digits", "1\n"), ("digits", 1)],
    "tool.call": [("name", ""), ("name", "a b"), ("name", "x" * 81), ("arguments", []), ("read_only", None)],
    "turn.transcript": [("text", None), ("final", 0)],
    "error.reported": [("error_type", "other"), ("code", ""), ("message", 1)],
    "tool.result": [("ok", None), ("ok", 1), ("receipt", 1)],
}
PAYLOADS = {
    "audio.frame": BASE, "turn.commit": {"turn_id": "t"}, "input.dtmf": {"turn_id": "t", "digits": "1"},
    "tool.call": {"call_id": "c", "response_id": "r", "name": "x", "arguments": {}},
    "turn.transcript": {"turn_id": "t", "text": "", "final": True}, "error.reported": {"error_type": "internal"},
    "tool.result": {"call_id": "c", "response_id": "r", "ok": True, "result": None},
}


@pytest.mark.parametrize("type_, key, value", [(t, k, v) for t, pairs in VALUES.items() for k, v in pairs], ids=repr)
def test_a_value_out_of_range_is_named(type_, key, value):
    made = session(full=False)
    good = made.receive(event(0, type_, **PAYLOADS[type_]))
    assert good.violation is None or not good.violation.rule.startswith("event/")
    violation = made.receive(event(1, type_, **{**PAYLOADS[type_], key: value})).violation
    assert violation.rule == "event/value" and violation.path == f"/payload/{key}"


def test_a_call_has_arguments_in_one_of_two_forms():
    call = {"call_id": "c", "response_id": "r", "name": "x"}
    for full, more, rule_id in [(False, {}, "event/shape"), (True, {}, "event/shape"),
                                (False, {"arguments_text": "{"}, "event/shape"),
                                (False, {"arguments": {}, "arguments_text": "{"}, "event/unknown_field"),
                                (True, {"arguments": {}, "arguments_text": "{"}, "event/value"),
                                (True, {"arguments_text": "{"}, "response/unknown"),
                                (True, {"arguments": {}}, "response/unknown")]:
        assert session(full=full).receive(event(0, "tool.call", **call, **more)).violation.rule == rule_id


def test_an_event_beyond_one_mebibyte_is_refused_by_the_api_too():
    violation = session().receive(event(0, "turn.transcript", turn_id="t", final=True, text="x" * (1 << 20))).violation
    assert violation.rule == "event/value" and "json/too_large" in violation.actual


def test_an_out_of_band_response_can_be_interrupted_beside_the_active_one():
    side = event(4, "response.started", response_id="side", turn_id="t1", out_of_band=True)
    made = session(*STORY, side, full=True)
    cut = made.receive(event(5, "user.interrupt", turn_id="t2", response_id="side", reason="x"))
    assert "cancel_response(side)" in map(str, cut.effects) and "cancel_response(r1)" not in map(str, cut.effects)
    assert made.state()["active"] == "r1"


def test_a_call_of_unknown_kind_is_flagged_once_after_a_reconnect_unless_it_is_settled():
    call = event(4, "tool.call", call_id="c1", response_id="r1", name="x", arguments={}, read_only=None)
    lost, back = event(5, "transport.disconnected", reason="x"), event(6, "transport.resumed", resume_token=TOKEN)
    commits = [event(n, "turn.commit", turn_id=f"i{n}", cause="idle_timeout") for n in (8, 9)]
    made = session(*STORY, call, lost, back, full=True)
    assert [[f.rule for f in made.receive(e).findings] for e in commits] == [["link/reconcile_first"], []]
    made = session(*STORY, call, lost, back, full=True)
    made.receive(event(7, "tool.result", call_id="c1", response_id="r1", ok=True, result=None))
    assert [[f.rule for f in made.receive(e).findings] for e in commits] == [[], []]


def test_playback_reported_stopped_needs_no_clearing():
    made = session(*STORY[:3], event(3, "playback.stopped", response_id="r1", played_ms=0),
                   event(4, "response.audio", response_id="r1", sequence=0, duration_ms=200), full=True)
    cut = made.receive(event(5, "user.interrupt", turn_id="t2", response_id="r1", reason="x"))
    assert list(map(str, cut.effects)) == ["cancel_response(r1)"]


# --- the tables ---


def test_the_predicate_of_a_rule_only_looks():
    made = session(*STORY)
    before = made.state_digest()
    goes_forward = rule("event/time").predicate
    assert [goes_forward(made.records, at_ms) is None for at_ms in (29, 30, 31)] == [False, True, True]
    assert made.state_digest() == before


def test_rules_are_complete():
    ids = [r.id for r in RULES]
    assert len(set(ids)) == len(ids)
    for r in RULES:
        assert r.layer in LAYERS and r.area == r.id.split("/")[0] and rule(r.id) is r
        assert {r.half, r.full} <= {"must", "should", "off"} and (r.half, r.full) != ("off", "off")
        assert (r.level("half_duplex"), r.level("full_duplex")) == (r.half, r.full)
        assert r.sentence[0].islower() and not r.sentence.endswith(".") and r.why.endswith(".")
    assert {gate.rule for gate in GATES} <= set(ids)


def test_every_type_says_what_it_holds():
    for spec in vocabulary.EVENTS.values():
        for field in spec.fields:
            for profile in vocabulary.PROFILES:
                kind = field.kind(profile)
                assert kind is None or len(vocabulary.expected_text(kind)) > 5
    assert {spec.type for spec in vocabulary.EVENTS.values() if spec.known("half_duplex")} < set(vocabulary.EVENTS)


def test_phases_have_names_and_meanings():
    assert [name for name, *_ in HALF_PHASES][-1] == "listening"
    assert ".".join(names[0] for _, names, _ in FULL_REGIONS) == session(full=True).phase
