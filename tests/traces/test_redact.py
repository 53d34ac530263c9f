"""A redacted trace says less and replays alike."""

import json

import pytest

from fixture_files import fixtures
from realtime_session.contract.header import HeaderError
from realtime_session.contract.session import Session
from realtime_session.traces.redact import CLASSES, Policy, Pseudonyms, TraceRedactor
from realtime_session.values.errors import InputError

KEY = b"0123456789abcdef"
POLICIES = {
    "default": {},
    "hash all": {name: "hash" for name in CLASSES if name not in ("schemas", "audio")},
    "drop all": {name: "drop" for name in CLASSES if name not in ("ids", "session", "names")},
    "keep all": {name: "keep" for name in CLASSES},
}


def redacted(document, policy=None, key=KEY):
    redactor = TraceRedactor(document["session"], key, Policy(policy or {}))
    return {"session": redactor.header(), "events": [redactor.event(e) for e in document["events"]]}


def decisions(document, off):
    """(decision, effects, findings) of each event without ids, then the findings at the end."""
    session = Session(document["session"], without=off)
    rows = []
    for event in document["events"]:
        found = session.receive(event)
        name = found.kind + (f":{found.reason}" if found.reason else "")
        if found.violation is not None:
            name += ":" + found.violation.rule
        rows.append((name, [e.name for e in found.effects], [f.rule for f in found.findings]))
    return rows, [f.rule for f in session.finish()]


def alike(before, after, off):
    """Two events under one id that differ only in dropped fields become an exact repeat: the listed rule."""
    if "event/id_conflict" in off and before[0] == "rejected:event/id_conflict":
        return after[0] in ("rejected:event/id_conflict", "ignored:duplicate")
    return before == after


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("slug", sorted(fixtures()))
def test_a_redacted_fixture_gets_the_same_decisions_and_findings(slug, policy):
    document, off = fixtures()[slug], set(Policy(POLICIES[policy]).rules_off())
    judged = off - {"event/id_conflict"}
    before, end_before = decisions(document, judged)
    after, end_after = decisions(redacted(document, POLICIES[policy]), judged)
    assert len(before) == len(after)
    assert [(b, a) for b, a in zip(before, after) if not alike(b, a, off)] == []
    assert end_before == end_after


def trace(*events, **header):
    return {
        "session": {"session_id": "call of Mr Smith", "resume_token": "hunter2", "profile": "full_duplex", **header},
        "events": [
            {"event_id": f"e{n}", "type": type_, "at_ms": n * 100, "payload": payload}
            for n, (type_, payload) in enumerate(events)
        ],
    }


PRIVATE = trace(
    ("input.text", {"turn_id": "t1", "text": "my card is SECRET-1"}),
    ("input.dtmf", {"turn_id": "t1", "digits": "4111111111111111"}),
    ("turn.commit", {"turn_id": "t1"}),
    ("response.started", {"response_id": "r1", "turn_id": "t1"}),
    ("response.text", {"response_id": "r1", "sequence": 0, "text": "Thanks SECRET-2"}),
    ("tool.call", {"call_id": "c1", "response_id": "r1", "name": "pay", "arguments": {"card": "SECRET-3"}}),
    ("tool.result", {"call_id": "c1", "response_id": "r1", "ok": True, "result": "SECRET-4", "receipt": "SECRET-5"}),
    ("error.reported", {"error_type": "internal", "message": "SECRET-6", "code": "SECRET 7"}),
    ("annotation", {"about": "e0", "kind": "said", "value": "SECRET-8"}),
    ("annotation", {"about": "e0", "kind": "intent", "value": "backchannel"}),
    ("playback.stopped", {"response_id": "r1", "played_ms": None, "spoken_text": "SECRET-9"}),
    ("no.such.type", {"SECRET-10": "SECRET-11"}),
    ("input.text", {"turn_id": "t1", "text": ["SECRET-12"], "SECRET 13": {"a": "SECRET-14"}}),
    ("transport.disconnected", {"reason": "SECRET 15", "resume_token": "SECRET-16"}),
    ("transport.resumed", {"resume_token": "SECRET-16"}),
    ("session.transferred", {"target": "+1 555 SECRET", "reason": "asked_for_person"}),
    tools=[{"name": "pay", "read_only": False, "description": "SECRET", "parameters": {"title": "SECRET"}}],
    source={"clock": "recorded", "producer": "SECRET 17", "note": {"a": "SECRET-18"}},
)


def test_by_default_no_private_text_is_left():
    text = json.dumps(redacted(PRIVATE))
    assert "SECRET" not in text and "hunter2" not in text and "Smith" not in text and "4111" not in text


def test_by_default_ids_names_words_and_numbers_are_left():
    out = redacted(PRIVATE)
    assert out["session"]["tools"] == [{"name": "pay", "read_only": False}]
    assert out["session"]["source"]["clock"] == "recorded"
    assert out["session"]["source"]["redacted"]["rules_off"] == ["event/id_conflict", "tool/arguments"]
    events = {e["event_id"]: e for e in out["events"]}
    assert events["e9"]["payload"]["value"] == "backchannel"
    assert events["e15"]["payload"]["reason"] == "asked_for_person"
    assert events["e5"]["payload"]["name"] == "pay" and list(events["e5"]["payload"]["arguments"]) == ["hash"]
    assert [e["at_ms"] for e in out["events"]] == [e["at_ms"] for e in PRIVATE["events"]]


def test_the_new_token_still_resumes_and_a_wrong_one_does_not():
    rows, _ = decisions(redacted(PRIVATE), ())
    assert rows[14][0] == "accepted"
    wrong = {**PRIVATE, "events": [dict(e) for e in PRIVATE["events"]]}
    wrong["events"][14]["payload"] = {"resume_token": "hunter2"}
    assert decisions(redacted(wrong), ())[0][14][0] == "rejected:link/token"


def test_equal_values_get_equal_hashes_and_another_key_gets_others():
    first, again, other = Pseudonyms(KEY), Pseudonyms(KEY), Pseudonyms(KEY[::-1])
    assert first.of("x") == again.of("x") != other.of("x")
    assert first.of_json({"a": 1, "b": 2.5}) == first.of_json({"b": 2.5, "a": 1.0})
    assert first.of("1") != first.of_json(1)


def test_hashed_ids_stay_correlatable():
    out = redacted(PRIVATE, {"ids": "hash"})
    payloads = {e["type"]: e["payload"] for e in out["events"]}
    assert payloads["tool.call"]["call_id"] == payloads["tool.result"]["call_id"] != "c1"
    assert payloads["annotation"]["about"] == out["events"][0]["event_id"]


def test_a_hash_is_the_keyed_hash_of_the_standard():
    import hashlib
    import hmac

    expected = hmac.new(KEY, b"text\0hello", hashlib.blake2b).hexdigest()[:24]
    assert Pseudonyms(KEY).of("hello") == expected


@pytest.mark.parametrize(
    ("policy", "part"),
    [
        ({"words": "drop"}, "no class"),
        ({"text": "blur"}, "drop, hash or keep"),
        ({"ids": "drop"}, "hash or keep"),
        ({"schemas": "hash"}, "drop or keep"),
    ],
)
def test_a_policy_that_is_none_is_refused(policy, part):
    with pytest.raises(InputError, match=part):
        Policy(policy)


def test_a_short_key_and_a_bad_header_are_refused():
    with pytest.raises(InputError, match="16 bytes"):
        Pseudonyms(b"short")
    with pytest.raises(HeaderError):
        TraceRedactor({"session_id": "s"}, KEY)


def test_schemas_are_kept_only_together_with_arguments():
    assert "tool/arguments" in Policy({"schemas": "keep"}).rules_off()
    assert Policy({"schemas": "keep", "arguments": "keep", "text": "hash", "digits": "hash"}).rules_off() == {}


def test_sound_fields_beside_an_unknown_one_are_hidden_as_ever():
    document = trace(
        ("input.dtmf", {"turn_id": "t1", "digits": "4111", "pin": "SECRET-1"}),
        ("transport.resumed", {"resume_token": "hunter2", "note": "SECRET-2"}),
        tools=[{"name": "look"}],
    )
    keys, token = (event["payload"] for event in redacted(document)["events"])
    assert keys["digits"] == "0"
    assert token["resume_token"] == redacted(document)["session"]["resume_token"] != "hunter2"
    text = json.dumps(redacted(document))
    assert "SECRET" not in text and "hunter2" not in text and "4111" not in text
    assert redacted(document)["session"]["tools"] == [{"name": "look"}]
