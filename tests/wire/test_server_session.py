"""Connecting, configuring and being refused: the session object and the error shape."""

import json

import pytest
from server_harness import Client, append, error_of, kinds, texts

from realtime_session.wire.server import PROFILES

GREETING = {"replies": [{"text": "Hello there.", "audio_ms": 1000}]}


def test_first_event_is_session_created():
    assert [kinds(Client({}, profile).events) for profile in PROFILES] == [["session.created"]] * 3


def test_sideband_connection_starts_silent():
    client = Client({"sideband": True}, "openai_ga")
    assert client.events == []
    assert kinds(client.update(instructions="Be brief.")) == ["session.updated"]


def test_same_calls_give_the_same_events():
    runs = []
    for _ in range(2):
        client = Client({**GREETING, "caller": [{"kind": "speech", "from_ms": 100, "to_ms": 900}]})
        client.listen(5000)
        runs.append(json.dumps(client.events))
    assert runs[0] == runs[1]


def test_event_ids_are_unique():
    client = Client(GREETING)
    client.send("response.create")
    client.wait(9000)
    ids = [event["event_id"] for event in client.events]
    assert len(set(ids)) == len(ids) > 10


def test_update_is_answered_with_the_whole_merged_session():
    client = Client({})
    [updated] = client.update(instructions="Speak of orders only.", audio={"output": {"voice": "nova"}})
    session = updated["session"]
    assert session["instructions"] == "Speak of orders only."
    assert session["audio"]["output"]["voice"] == "nova"
    assert session["audio"]["input"]["turn_detection"]["create_response"] is True  # untouched


def test_empty_instructions_go_back_to_the_default():
    client = Client({}, "openai_ga")
    first = client.events[0]["session"]["instructions"]
    client.update(instructions="Something else.")
    [updated] = client.update(instructions="")
    assert updated["session"]["instructions"] == first


def test_turn_detection_can_be_switched_off():
    client = Client({"caller": [{"kind": "speech", "from_ms": 0, "to_ms": 500}]})
    [updated] = client.update(audio={"input": {"turn_detection": None}})
    assert updated["session"]["audio"]["input"]["turn_detection"] is None
    assert client.listen(3000) == []


DIALOG_UNSUPPORTED = {
    "reasoning": {"reasoning": {"effort": "low"}},
    "audio.input.noise_reduction": {"audio": {"input": {"noise_reduction": {"type": "near_field"}}}},
    "audio.input.turn_detection.threshold": {
        "audio": {"input": {"turn_detection": {"type": "server_vad", "threshold": 0.3}}}
    },
    "audio.input.turn_detection.silence_duration_ms": {
        "audio": {"input": {"turn_detection": {"type": "server_vad", "silence_duration_ms": 900}}}
    },
    "audio.input.turn_detection.idle_timeout_ms": {
        "audio": {"input": {"turn_detection": {"type": "server_vad", "idle_timeout_ms": 6000}}}
    },
    "truncation": {"truncation": "auto"},
}


@pytest.mark.parametrize("param", DIALOG_UNSUPPORTED)
def test_dialog_rsn_rejects_the_field_and_drops_the_whole_update(param):
    client = Client({})
    change = {"instructions": "Never applied.", **DIALOG_UNSUPPORTED[param]}
    error = error_of(client.send("session.update", event_id="evt_7", session=change))
    assert error["code"] == "unsupported_parameter"
    assert error["param"] == f"session.{param}"
    assert error["event_id"] == "evt_7"
    [updated] = client.update(tools=[])
    assert updated["session"]["instructions"] == client.events[0]["session"]["instructions"]


def test_reasoning_is_a_field_of_the_wider_schema():
    client = Client({}, "openai_ga")
    assert kinds(client.update(reasoning={"effort": "low"})) == ["session.updated"]


def test_text_only_deployment_refuses_speech():
    client = Client({"text_only": True})
    assert client.events[0]["session"]["output_modalities"] == ["text"]
    assert error_of(client.update(output_modalities=["audio"]))["code"] == "invalid_value"
    error = error_of(client.update(audio={"output": {"voice": "nova"}}))
    assert (error["code"], error["param"]) == ("unsupported_parameter", "session.audio.output")


REFUSED = [
    ("openai_ga", {"type": "session.update", "session": {"instructions": "x"}}, "missing_required_parameter"),
    (
        "openai_ga",
        {"type": "session.update", "session": {"type": "realtime", "poly_knowledge": []}},
        "unknown_parameter",
    ),
    (
        "openai_ga",
        {"type": "session.update", "session": {"type": "realtime", "modalities": []}},
        "unknown_parameter",
    ),
    ("openai_ga", {"type": "poly.output_audio.started", "response_id": "r"}, "invalid_value"),
    (
        "openai_beta",
        {"type": "session.update", "session": {"output_modalities": ["text"]}},
        "unknown_parameter",
    ),
    (
        "dialog_rsn_1",
        {"type": "session.update", "session": {"output_modalities": ["text", "audio"]}},
        "invalid_value",
    ),
    ("dialog_rsn_1", {"type": "session.update", "session": {"instructions": 7}}, "invalid_type"),
    ("dialog_rsn_1", {"type": "session.update", "session": {"model": "other"}}, "invalid_value"),
    ("dialog_rsn_1", {"type": "session.update"}, "missing_required_parameter"),
    ("dialog_rsn_1", {"type": "session.update", "session": {}, "extra": 1}, "unknown_parameter"),
    (
        "dialog_rsn_1",
        {"type": "session.update", "session": {"poly_knowledge": [{"name": "a"}]}},
        "missing_required_parameter",
    ),
    ("dialog_rsn_1", {"type": "hello"}, "invalid_value"),
    ("dialog_rsn_1", {"type": 5}, "invalid_type"),
    ("dialog_rsn_1", {"kind": "hello"}, "invalid_event"),
    ("dialog_rsn_1", [], "invalid_event"),
    ("dialog_rsn_1", "{not json", "invalid_event"),
    ("dialog_rsn_1", b"\xff\xfe", "invalid_event"),
    ("dialog_rsn_1", "[" * 100_000, "invalid_event"),
    ("dialog_rsn_1", {"type": "input_audio_buffer.append", "audio": "not base64!"}, "invalid_value"),
    ("dialog_rsn_1", {"type": "input_audio_buffer.commit"}, "input_audio_buffer_commit_empty"),
    ("dialog_rsn_1", {"type": "response.cancel"}, "response_cancel_not_active"),
    ("dialog_rsn_1", {"type": "response.create", "response": {"reasoning": {}}}, "unsupported_parameter"),
    (
        "dialog_rsn_1",
        {"type": "conversation.item.retrieve", "item_id": "no"},
        "item_retrieve_invalid_item_id",
    ),
    ("dialog_rsn_1", {"type": "conversation.item.delete", "item_id": "no"}, "item_delete_invalid_item_id"),
    (
        "openai_ga",
        {"type": "conversation.item.truncate", "item_id": "i", "content_index": 0, "audio_end_ms": -1},
        "integer_below_min_value",
    ),
    (
        "dialog_rsn_1",
        {
            "type": "conversation.item.create",
            "item": {"type": "function_call_output", "call_id": "c", "output": ""},
        },
        "invalid_value",
    ),
    (
        "dialog_rsn_1",
        {
            "type": "conversation.item.create",
            "previous_item_id": "no",
            "item": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]},
        },
        "invalid_value",
    ),
]


@pytest.mark.parametrize(("profile", "event", "code"), REFUSED)
def test_refusals_have_the_wire_shape_and_leave_the_session_open(profile, event, code):
    client = Client({}, profile)
    before = client.server.history()
    [answer] = client.server.receive(event)
    assert set(answer) == {"type", "event_id", "error"}
    assert set(answer["error"]) == {"type", "code", "message", "param", "event_id"}
    assert answer["error"]["code"] == code
    assert answer["error"]["event_id"] is None
    assert client.server.closed is None
    assert client.server.history() == before
    assert kinds(client.say("Still there?"))[0].startswith("conversation.item.")


def test_refused_item_changes_nothing():
    client = Client({})
    client.send("conversation.item.create", previous_item_id="nowhere", item={"type": "message"})
    assert client.server.history() == []


def test_frames_may_come_as_json_text():
    client = Client({})
    assert kinds(client.server.receive('{"type": "session.update", "session": {}}')) == ["session.updated"]


def test_voice_is_frozen_after_the_first_audio():
    client = Client(GREETING, "openai_ga")
    assert kinds(client.update(audio={"output": {"voice": "verse"}})) == ["session.updated"]
    client.send("response.create")
    client.wait(5000)
    assert error_of(client.update(audio={"output": {"voice": "alloy"}}))["code"] == "cannot_update_voice"
    assert kinds(client.update(audio={"output": {"voice": "verse"}})) == ["session.updated"]


def test_items_are_added_and_done_back_to_back_and_never_answered():
    client = Client({})
    assert kinds(client.say("Hello")) == ["conversation.item.added", "conversation.item.done"]
    assert client.wait(60_000) == []
    assert client.server.generations == []


def test_beta_announces_an_item_once():
    assert kinds(Client({}, "openai_beta").say("Hello")) == ["conversation.item.created"]


def test_items_can_be_placed_read_and_deleted():
    client = Client({}, "openai_ga")
    first = client.say("first")[0]["item"]["id"]
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "zeroth"}]}
    [added, _] = client.send(
        "conversation.item.create", previous_item_id="root", item={**message, "id": "mine"}
    )
    assert (added["previous_item_id"], added["item"]["id"]) == (None, "mine")
    assert texts(client.server.history()) == [("user", "zeroth"), ("user", "first")]
    [got] = client.send("conversation.item.retrieve", item_id="mine")
    assert got["item"]["content"] == [{"type": "input_text", "text": "zeroth"}]
    assert kinds(client.send("conversation.item.delete", item_id="mine")) == ["conversation.item.deleted"]
    assert [item["id"] for item in client.server.history()] == [first]
    assert (
        error_of(client.send("conversation.item.create", item={**message, "id": first}))["param"] == "item.id"
    )


def test_first_previous_item_id_is_root_on_dialog_rsn():
    assert Client({}).say("Hello")[0]["previous_item_id"] == "root"
    assert Client({}, "openai_ga").say("Hello")[0]["previous_item_id"] is None


def test_appends_are_never_answered_by_themselves():
    client = Client({})
    assert client.server.receive(append(1000)) == []


def test_closed_connection_answers_nothing():
    client = Client({})
    client.server.disconnect(1000)
    assert client.server.closed == 1000
    assert client.send("response.create") == []
    assert client.wait(5000) == []


def test_due_in_says_when_the_server_acts_by_itself():
    client = Client(GREETING)
    assert client.server.due_in() is None
    client.send("response.create")
    due = client.server.due_in()
    assert client.wait(due - 1) == []
    assert kinds(client.wait(1))[0] == "response.output_item.added"
    client.send("response.cancel")
    assert client.server.due_in() is None
