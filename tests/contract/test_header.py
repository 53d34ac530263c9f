"""The session header: what may stand in it, and how a bad one is refused."""

import pytest

from realtime_session.contract.header import HeaderError
from realtime_session.contract.session import Session

GOOD = {"session_id": "s1", "resume_token": "token-1"}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize("more", [
    {}, {"profile": "half_duplex"}, {"profile": "full_duplex"}, {"limits": {}}, {"limits": {"queue_ms": 0}},
    {"limits": {"queue_ms": 5000, "stop_grace_ms": 2**53 - 1}}, {"tools": []}, {"source": {}},
    {"source": {"clock": "recorded", "producer": "x", "anything": [1]}}, {"source": {"clock": "audio"}},
    {"source": {"clock": "line"}}, {"tools": [{"name": "a"}, {"name": "b", "read_only": True, "parameters": SCHEMA}]},
    {"tools": [{"name": "a", "read_only": None, "parameters": None, "description": "looks"}]},
], ids=str)
def test_a_good_header_is_taken(more):
    assert Session({**GOOD, **more}).phase in ("listening", "connected.idle.none.silent.none")


def test_defaults():
    session = Session(GOOD)
    assert session.profile == "half_duplex"
    assert session.state()["limits"] == {"queue_ms": 1000, "stop_grace_ms": 250}
    assert Session({**GOOD, "limits": {"queue_ms": 1}}).state()["limits"] == {"queue_ms": 1, "stop_grace_ms": 250}


BAD = [
    (None, "/session"), ([], "/session"), ("x", "/session"),
    ({}, "/session/session_id"), ({"session_id": "s"}, "/session/resume_token"),
    ({**GOOD, "session_id": ""}, "/session/session_id"), ({**GOOD, "session_id": 1}, "/session/session_id"),
    ({**GOOD, "resume_token": ""}, "/session/resume_token"), ({**GOOD, "resume_token": None}, "/session/resume_token"),
    ({**GOOD, "token": "x"}, "/session/token"), ({**GOOD, "profile": "duplex"}, "/session/profile"),
    ({**GOOD, "profile": None}, "/session/profile"), ({**GOOD, "profile": ["half_duplex"]}, "/session/profile"),
    ({**GOOD, "limits": []}, "/session/limits"), ({**GOOD, "limits": {"queue": 1}}, "/session/limits/queue"),
    ({**GOOD, "limits": {"queue_ms": -1}}, "/session/limits/queue_ms"),
    ({**GOOD, "limits": {"queue_ms": True}}, "/session/limits/queue_ms"),
    ({**GOOD, "limits": {"queue_ms": 1.0}}, "/session/limits/queue_ms"),
    ({**GOOD, "limits": {"queue_ms": None}}, "/session/limits/queue_ms"),
    ({**GOOD, "limits": {"queue_ms": 2**53}}, "/session/limits/queue_ms"),
    ({**GOOD, "source": "log"}, "/session/source"), ({**GOOD, "source": {"clock": "wall"}}, "/session/source/clock"),
    ({**GOOD, "source": {"clock": 1}}, "/session/source/clock"), ({**GOOD, "tools": {}}, "/session/tools"),
    ({**GOOD, "tools": ["look"]}, "/session/tools/0"), ({**GOOD, "tools": [{"name": ""}]}, "/session/tools/0"),
    ({**GOOD, "tools": [{"name": "a"}, {"name": 7}]}, "/session/tools/1"),
    ({**GOOD, "tools": [{"name": "a", "args": {}}]}, "/session/tools/0/args"),
    ({**GOOD, "tools": [{"name": "a"}, {"name": "a"}]}, "/session/tools/1/name"),
    *[({**GOOD, "tools": [{"name": "a", "read_only": value}]}, "/session/tools/0/read_only")
      for value in (0, 1, 1.0, "true", [])],
    ({**GOOD, "tools": [{"name": "a", "parameters": {"type": "objekt"}}]}, "/session/tools/0/parameters"),
    ({**GOOD, "tools": [{"name": "a", "parameters": {"properties": {"n": {"nope": 1}}}}]},
     "/session/tools/0/parameters/properties/n"),
    ({**GOOD, "source": {"x": float("nan")}}, "/session/source/x"), ({**GOOD, "source": {"x": "\ud800"}},
                                                                    "/session/source/x"),
    ({**GOOD, 7: 1}, "/session"),
]


@pytest.mark.parametrize("header, path", BAD, ids=[f"{n} {path}" for n, (_, path) in enumerate(BAD)])
def test_a_bad_header_is_refused_with_its_path(header, path):
    with pytest.raises(HeaderError) as caught:
        Session(header)
    assert caught.value.code == "trace/header"
    assert caught.value.path.startswith(path)
    assert "\n" not in str(caught.value)


def test_a_token_of_the_wrong_type_is_not_shown():
    with pytest.raises(HeaderError) as caught:
        Session({"session_id": "s", "resume_token": ["hush-hush"]})
    assert "hush" not in str(caught.value)


def call(read_only=..., name="look"):
    payload = {"call_id": "c1", "response_id": "r1", "name": name, "arguments": {}}
    return payload if read_only is ... else {**payload, "read_only": read_only}


@pytest.mark.parametrize("declared, called, effect", [
    (True, ..., "abandon_tool(c1)"), (False, ..., "reconcile_tool(c1)"), (None, ..., "reconcile_tool(c1)"),
    (True, False, "reconcile_tool(c1)"), (False, True, "abandon_tool(c1)"), (None, True, "abandon_tool(c1)"),
    (True, None, "reconcile_tool(c1)"),
])
def test_a_call_says_what_kind_it_is_or_else_its_declaration_does(declared, called, effect):
    session = Session({**GOOD, "profile": "full_duplex", "tools": [{"name": "look", "read_only": declared}]})
    rows = [("response.started", {"response_id": "r1", "turn_id": None}), ("tool.call", call(called)),
            ("transport.disconnected", {"reason": "lost"})]
    for number, (type_, payload) in enumerate(rows):
        decision = session.receive({"event_id": f"e{number}", "type": type_, "at_ms": number, "payload": payload})
        assert decision.kind == "accepted" and decision.findings == ()
    assert effect in map(str, decision.effects)
