"""A checkpoint is a JSON value; damage and another contract are refused."""

import copy
import hashlib
import json
import sys

import pytest

from realtime_session.contract.checkpoint import CheckpointError
from realtime_session.contract.session import Session
from realtime_session.values import strict_json

TOKEN = "the token of this session"
HEADER = {"session_id": "s1", "resume_token": TOKEN, "profile": "full_duplex",
          "source": {"clock": "recorded"}, "tools": [{"name": "book", "read_only": False}]}
ROWS = [
    ("audio.frame", {"turn_id": "t1", "sequence": 0, "duration_ms": 20, "speech": True}),
    ("turn.commit", {"turn_id": "t1"}),
    ("response.started", {"response_id": "r1", "turn_id": "t1"}),
    ("response.audio", {"response_id": "r1", "sequence": 0, "duration_ms": 400}),
    ("tool.call", {"call_id": "c1", "response_id": "r1", "name": "book", "arguments": {"day": 1}}),
    ("transport.disconnected", {"reason": "lost"}),
]


def events(rows=ROWS):
    return [{"event_id": f"e{n}", "type": type_, "at_ms": n * 10, "payload": payload}
            for n, (type_, payload) in enumerate(rows)]


def after(count=len(ROWS)):
    session = Session(HEADER)
    for event in events()[:count]:
        session.receive(event)
    return session


def sealed(value):
    """A checkpoint with a digest that fits its content, whatever that is."""
    body = {key: part for key, part in value.items() if key != "digest"}
    return {**body, "digest": hashlib.sha256(strict_json.canonical(body).encode()).hexdigest()}


def test_a_checkpoint_is_a_strict_json_value_and_survives_any_writer():
    value = after().checkpoint()
    for text in (strict_json.canonical(value), json.dumps(value, indent=3), json.dumps(value, sort_keys=True)):
        session = Session.restore(strict_json.parse(text))
        assert session.state_digest() == after().state_digest()
        assert session.checkpoint() == value


def test_what_it_holds():
    value = after().checkpoint()
    assert {"format", "contract", "header", "state", "seen", "token_sha256", "digest"} == set(value)
    assert value["token_sha256"] == hashlib.sha256(TOKEN.encode()).hexdigest()
    assert TOKEN not in json.dumps(value) and "resume_token" not in value["header"]
    assert list(value["seen"]) == [f"e{n}" for n in range(6)]
    assert value == sealed(value)


def test_the_token_still_opens_and_no_other_does():
    for given, kind in (("wrong", "rejected"), (TOKEN, "accepted")):
        session = Session.restore(after().checkpoint())
        decision = session.receive({"event_id": "x", "type": "transport.resumed", "at_ms": 100,
                                    "payload": {"resume_token": given}})
        assert decision.kind == kind
    assert [str(effect) for effect in decision.effects] == ["restore_checkpoint", "reconcile_tool(c1)"]


def test_a_token_replaced_before_the_cut_opens_after_it():
    session = Session(HEADER)
    session.receive({"event_id": "e0", "type": "transport.disconnected", "at_ms": 0,
                     "payload": {"reason": "lost", "resume_token": "the next token"}})
    session = Session.restore(session.checkpoint())
    for given, kind in ((TOKEN, "rejected"), ("the next token", "accepted")):
        assert session.receive({"event_id": "e1", "type": "transport.resumed", "at_ms": 0,
                                "payload": {"resume_token": given}}).kind == kind


def test_ids_seen_before_the_cut_are_known_after_it():
    session = Session.restore(after().checkpoint())
    assert session.receive(events()[0]).reason == "duplicate"
    assert session.receive({**events()[1], "at_ms": 11}).violation.rule == "event/id_conflict"


def test_a_restored_session_keeps_rules_off_when_asked():
    session = Session.restore(after().checkpoint(), without=("link/token",))
    assert session.receive({"event_id": "x", "type": "transport.resumed", "at_ms": 100,
                            "payload": {"resume_token": "wrong"}}).kind == "accepted"


def test_events_given_later_do_not_touch_a_checkpoint():
    session = after(3)
    value = session.checkpoint()
    before = copy.deepcopy(value)
    for event in events()[3:]:
        session.receive(event)
    assert value == before


def changed(**parts):
    return {**after().checkpoint(), **parts}


DAMAGED = {
    "nothing": None, "a list": [], "text": "checkpoint", "an empty object": {},
    "no digest": {k: v for k, v in after().checkpoint().items() if k != "digest"},
    "digest only": {"digest": "0" * 64}, "another digest": changed(digest="0" * 64), "no text": changed(digest=None),
    "a state changed": changed(state={**after().checkpoint()["state"], "now_ms": 51}),
    "an id added": changed(seen={**after().checkpoint()["seen"], "e9": "00"}),
    "a key added": changed(note=1), "a token changed": changed(token_sha256="0" * 64),
    "a format changed": changed(format=2),
    "no JSON": changed(state={1, 2}), "not finite": changed(state=float("nan")), "odd keys": changed(state={1: 2}),
    "a lone surrogate": changed(state="\ud800"),
}


@pytest.mark.parametrize("value", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_checkpoint_is_refused(value):
    with pytest.raises(CheckpointError) as caught:
        Session.restore(value)
    assert caught.value.code == "checkpoint/corrupt"


@pytest.mark.parametrize("parts", [{"format": 2}, {"format": None}, {"contract": "0" * 64}, {"contract": 1}], ids=str)
def test_another_contract_is_refused(parts):
    with pytest.raises(CheckpointError) as caught:
        Session.restore(sealed(changed(**parts)))
    assert caught.value.code == "checkpoint/version"


WRONG = {
    "no state": {k: v for k, v in after().checkpoint().items() if k != "state"},
    "a state of the wrong type": changed(state=[]),
    "a state without a part": changed(state={"now_ms": 0}),
    "a header that is refused": changed(header={"profile": "full_duplex"}),
    "no header": changed(header=None),
    "ids of the wrong type": changed(seen=[]), "digests of the wrong type": changed(seen={"e1": 7}),
    "digests that are no hex": changed(seen={"e1": "zz"}),
    "a token of the wrong type": changed(token_sha256=7), "a token too short": changed(token_sha256="00"),
}


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG)
def test_a_checkpoint_written_by_another_hand_is_refused(value):
    """Its digest fits, its content does not."""
    with pytest.raises(CheckpointError) as caught:
        Session.restore(sealed(value))
    assert caught.value.code == "checkpoint/corrupt"


def test_an_interpreter_without_the_inner_module_writes_the_same_checkpoint(monkeypatch):
    value = after().checkpoint()
    monkeypatch.setitem(sys.modules, "_blake2", None)
    assert after().checkpoint() == value
