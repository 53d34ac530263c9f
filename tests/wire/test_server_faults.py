"""The named fault scripts, one behaviour each; and the server's own sessions through the importer."""

import json

import pytest
from server_harness import Client, kinds, replay, texts

from realtime_session.wire.server_faults import FAULTS

PAIRS = [(name, profile) for name, fault in FAULTS.items() for profile in fault["profiles"]]
# A call that was open when the connection broke stays in doubt: nobody can answer it on the next connection.
FINDINGS = {"close_mid_tool": {"link/reconcile_first", "tool/unresolved"}}
SPOKEN_DELTA = "response.output_audio_transcript.delta"


def live(name, profile, ms=12_000):
    """A client that transcribes, answers tool calls, cuts what it plays and comes back after a close."""
    client = Client.on_fault(name, profile)
    configure(client, name)
    if not client.server.script["caller"]:
        client.say("Where is my order?")
        client.send("response.create")
    if name == "out_of_band_in_parallel":
        client.send("response.create", response={"conversation": "none"})
    answered = set()

    def answer(events):
        for event in events:
            if event["type"] != "response.done" or client.server.closed is not None:
                continue
            calls = [item for item in event["response"]["output"] if item["type"] == "function_call"]
            for call in calls:
                item = {"type": "function_call_output", "call_id": call["call_id"], "output": "{}"}
                client.send("conversation.item.create", item=item)
            if calls and event["response"]["id"] not in answered:
                answered.add(event["response"]["id"])
                client.send("response.create")

    client.listen(ms, on_events=answer)
    if client.server.closed is not None:
        client.wait(500)
        client.reconnect()
        configure(client, name)
        client.listen(6_000, on_events=answer)
    client.server.disconnect(1000)
    return client


def configure(client, name):
    if client.profile == "openai_ga":
        detection = {"type": "server_vad", "idle_timeout_ms": 5_000 if name == "idle_nudge" else None}
        client.update(audio={"input": {"turn_detection": detection, "transcription": {"model": "any"}}})
    elif client.profile == "openai_beta":
        client.update(input_audio_transcription={"model": "any"})


@pytest.mark.parametrize(("name", "profile"), PAIRS)
def test_own_session_imports_and_replays_with_no_violation(name, profile):
    client = live(name, profile)
    summary, done = replay(client.server)
    assert done.rejected_by_rule == {}
    assert done.events > 20
    assert set(summary["unmapped"]) <= {"rate_limits.updated", "ping"}
    assert set(done.flagged_by_rule) == FINDINGS.get(name, set())


@pytest.mark.parametrize(("name", "profile"), PAIRS)
def test_every_created_response_is_done_once_unless_the_connection_broke(name, profile):
    client = live(name, profile)
    created = [event["response"]["id"] for event in client.of("response.created")]
    done = [response["id"] for response in client.done()]
    assert len(set(done)) == len(done)
    assert set(done) <= set(created)
    broken = any(fault["do"] == "close" for fault in client.server.script["faults"])
    assert len(created) - len(done) <= (1 if broken else 0)


def test_log_has_the_wrapped_form():
    client = live("close_mid_response", "openai_ga")
    rows = [json.loads(line) for line in client.server.log.to_jsonl().splitlines()]
    assert [row["i"] for row in rows] == list(range(len(rows)))
    assert all(list(row) == ["i", "kind", "direction", "data", "at"] for row in rows)
    assert [row["data"]["code"] for row in rows if row["kind"] == "close"] == [1011, 1000]
    assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)
    received = [row["data"] for row in rows if row["kind"] == "message" and row["direction"] == "received"]
    assert received == client.events


def test_late_created_comes_when_the_client_may_have_given_up():
    client = Client.on_fault("late_created", "dialog_rsn_1")
    assert client.send("response.create") == []
    assert client.wait(7_999) == []
    assert client.send("response.create")[0]["error"]["code"] == "conversation_already_has_active_response"
    assert client.send("response.cancel")[0]["error"]["code"] == "response_cancel_not_active"
    [created] = client.wait(1)
    got = client.send("response.cancel", response_id=created["response"]["id"])
    assert kinds(got) == ["response.done"]


def test_duplicate_delivery_repeats_one_event_exactly():
    client = live("duplicate_delivery", "openai_ga")
    deltas = client.of(SPOKEN_DELTA)
    assert deltas[1] == deltas[2]
    assert len({event["event_id"] for event in client.events}) == len(client.events) - 1


def test_late_delta_follows_the_done_of_its_response():
    client = live("late_delta_after_cancel", "openai_ga")
    at = client.kinds().index("response.done")
    late = client.events[at + 1]
    assert late["type"] == "response.output_audio.delta"
    assert late["response_id"] == client.events[at]["response"]["id"]


@pytest.mark.parametrize("mode", ["audio", "text"])
def test_close_in_the_middle_of_a_response(mode):
    client = Client.on_fault("close_mid_response", "dialog_rsn_1", output_modalities=[mode])
    client.listen(5_000)
    assert client.server.closed == 1011
    assert client.done() == []
    assert client.kinds()[-1].endswith(".delta")


def test_close_while_a_tool_runs():
    client = Client.on_fault("close_mid_tool", "openai_ga")
    client.listen(5_000)
    assert client.server.closed == 1011
    assert client.done()[0]["output"][0]["type"] == "function_call"
    assert client.send("response.create") == []


def test_reconnecting_starts_over_with_new_ids():
    client = Client.on_fault("reconnect", "dialog_rsn_1", instructions="Only on the first connection.")
    client.listen(5_000)
    first = list(client.events)
    assert client.server.closed == 1011
    [created] = client.reconnect()
    assert client.server.closed is None
    assert created["session"]["id"] != first[0]["session"]["id"]
    assert created["session"]["instructions"] == first[0]["session"]["instructions"]
    assert client.server.history() == []
    client.listen(3_000)
    second = client.events[len(first) :]
    assert not {e["event_id"] for e in first} & {e["event_id"] for e in second}
    assert not {e["item_id"] for e in first if "item_id" in e} & {
        e["item_id"] for e in second if "item_id" in e
    }
    assert texts(client.server.history())[0] == ("user", "Are you there?")


def test_faults_count_events_of_their_own_connection():
    fault = {"at": "response.created", "nth": 2, "do": "close", "code": 1012, "connection": 2}
    client = Client({"faults": [fault]})
    for _ in range(3):
        client.send("response.create")
        client.wait(9_000)
    client.server.disconnect()
    client.reconnect()
    client.send("response.create")
    client.wait(9_000)
    assert client.server.closed is None
    client.send("response.create")
    assert client.server.closed == 1012


def test_error_without_event_id_leaves_the_session_open():
    client = live("error_without_event_id", "dialog_rsn_1")
    [error] = client.of("error")
    assert error["error"]["event_id"] is None
    assert client.done()[0]["status"] == "completed"


def test_unknown_event_and_unknown_fields():
    assert len(live("unknown_event", "openai_ga").of("ping")) == 1
    client = live("unknown_fields", "openai_ga")
    assert client.of(SPOKEN_DELTA)[0]["obfuscation"] == "x7Gq"
    assert client.of("response.created")[0]["phase"] == "final_answer"


def test_arguments_that_are_no_json():
    done = live("arguments_invalid_json", "dialog_rsn_1").of("response.function_call_arguments.done")[0]
    with pytest.raises(ValueError):
        json.loads(done["arguments"])


def test_two_calls_in_one_response():
    client = live("two_calls", "openai_ga")
    first = client.done()[0]
    assert [item["type"] for item in first["output"]] == ["function_call", "function_call"]
    assert len({item["call_id"] for item in first["output"]}) == 2
    assert len(client.done()) == 2


def test_interleaved_items():
    client = live("interleaved_items", "openai_ga")
    assert [item["type"] for item in client.done()[0]["output"]] == ["message", "function_call"]


def test_out_of_band_in_parallel():
    client = live("out_of_band_in_parallel", "openai_ga")
    order = [kind for kind in client.kinds() if kind in ("response.created", "response.done")]
    assert order == ["response.created", "response.created", "response.done", "response.done"]


def test_failed_and_incomplete_responses():
    assert live("response_failed", "openai_ga").done()[0]["status"] == "failed"
    assert live("response_incomplete", "openai_ga").done()[0]["status"] == "incomplete"


def test_pauses_noise_and_echo():
    stopped = "input_audio_buffer.speech_stopped"
    assert len(live("mid_sentence_pause", "dialog_rsn_1").of(stopped)) == 1
    assert len(live("mid_sentence_pause", "openai_ga").of(stopped)) == 2
    noise = live("noise_onset", "dialog_rsn_1")
    assert (len(noise.of("input_audio_buffer.speech_started")), len(noise.of(stopped))) == (2, 1)
    for name in ("echo_over_reply", "backchannel_over_reply"):
        client = live(name, "dialog_rsn_1")
        assert len(client.of("input_audio_buffer.speech_started")) == 1
        assert client.done()[0]["status"] == "completed"


def test_idle_nudge():
    assert len(live("idle_nudge", "openai_ga").of("input_audio_buffer.timeout_triggered")) == 1
