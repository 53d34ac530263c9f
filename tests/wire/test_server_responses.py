"""Replies on the wire: order of events, modalities, cancelling, failing, side conversations."""

import base64

import pytest
from server_harness import Client, error_of, kinds, texts

SPOKEN = {"replies": [{"text": "Hi there!", "audio_ms": 400}]}
# As recorded: text in, audio out (chunks of 200 ms here).
AUDIO_TURN = [
    "response.created",
    "response.output_item.added",
    "conversation.item.added",
    "response.content_part.added",
    "response.output_audio_transcript.delta",
    "response.output_audio.delta",
    "response.output_audio_transcript.delta",
    "response.output_audio.delta",
    "response.output_audio.done",
    "response.output_audio_transcript.done",
    "response.content_part.done",
    "conversation.item.done",
    "response.output_item.done",
    "response.done",
]
CALL = {"name": "find_order", "arguments": {"number": 17}}


def ask(script, profile="dialog_rsn_1", wait=60_000, **session):
    client = Client(script, profile, **session)
    client.send("response.create")
    client.wait(wait)
    return client


def test_spoken_reply_has_the_recorded_order():
    assert ask(SPOKEN, "openai_ga").kinds()[1:] == [*AUDIO_TURN, "rate_limits.updated"]
    assert ask(SPOKEN).kinds()[1:] == AUDIO_TURN


def test_beta_names():
    got = ask(SPOKEN, "openai_beta").kinds()[1:]
    assert got == [
        "response.created",
        "rate_limits.updated",
        "response.output_item.added",
        "conversation.item.created",
        "response.content_part.added",
        "response.audio_transcript.delta",
        "response.audio.delta",
        "response.audio_transcript.delta",
        "response.audio.delta",
        "response.audio.done",
        "response.audio_transcript.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.done",
    ]


def test_new_session_speaks_and_sends_no_text_deltas():
    client = ask(SPOKEN)
    assert client.of("response.output_text.delta") == []
    assert "".join(e["delta"] for e in client.of("response.output_audio_transcript.delta")) == "Hi there!"


def test_text_session_sends_text_deltas_and_no_audio():
    client = ask(SPOKEN, output_modalities=["text"])
    assert "".join(e["delta"] for e in client.of("response.output_text.delta")) == "Hi there!"
    assert [kind for kind in client.kinds() if "audio" in kind] == []


def test_one_response_may_ask_for_other_modalities():
    client = Client(SPOKEN)
    client.send("response.create", response={"output_modalities": ["text"]})
    client.wait(5000)
    assert client.done()[0]["output_modalities"] == ["text"]
    assert client.of("response.output_text.done")[0]["text"] == "Hi there!"


def test_deltas_add_up_to_what_done_says():
    text = "It is  on its way,\nand you'll have it by noon."
    client = ask({"replies": [{"text": text, "audio_ms": 3100, "chunk_ms": 250}]})
    assert "".join(e["delta"] for e in client.of("response.output_audio_transcript.delta")) == text
    assert client.of("response.output_audio_transcript.done")[0]["transcript"] == text
    audio = b"".join(base64.b64decode(e["delta"]) for e in client.of("response.output_audio.delta"))
    assert len(audio) == 3100 * 24_000 * 2 // 1000


def test_output_is_faster_than_real_time():
    client = Client({"replies": [{"text": "A long answer, that is.", "audio_ms": 10_000}]})
    client.send("response.create")
    client.wait(3000)
    assert client.done()[0]["status"] == "completed"


def test_thinking_takes_time_and_shows_nothing():
    client = Client({"replies": [{"text": "Friday the 9th.", "reasoning_ms": 4000}]})
    client.send("response.create")
    assert client.wait(4000) == []
    assert kinds(client.wait(400))[0] == "response.output_item.added"


def test_second_response_create_is_refused_while_one_is_active():
    client = Client(SPOKEN)
    client.send("response.create")
    error = error_of(client.send("response.create", event_id="evt_2"))
    assert (error["code"], error["event_id"]) == ("conversation_already_has_active_response", "evt_2")
    client.wait(5000)
    assert kinds(client.send("response.create")) == ["response.created"]


@pytest.mark.parametrize("by_id", [True, False])
def test_cancel_closes_what_is_open_and_then_the_response(by_id):
    client = Client({"replies": [{"text": "one two three four five six", "audio_ms": 6000}]}, "openai_ga")
    [created] = client.send("response.create")
    client.wait(500)
    got = client.send("response.cancel", **({"response_id": created["response"]["id"]} if by_id else {}))
    assert kinds(got) == [
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "conversation.item.done",
        "response.output_item.done",
        "response.done",
    ]
    assert got[-2]["item"]["status"] == "incomplete"
    done = got[-1]["response"]
    assert done["status_details"] == {"type": "cancelled", "reason": "client_cancelled"}
    sent = "".join(e["delta"] for e in client.of("response.output_audio_transcript.delta"))
    assert got[1]["transcript"] == sent == done["output"][0]["content"][0]["transcript"]
    assert kinds(client.wait(60_000)) == ["rate_limits.updated"]


def test_cancel_before_any_output_gives_an_empty_response():
    client = Client(SPOKEN)
    client.send("response.create")
    [done] = client.send("response.cancel")
    assert done["response"]["output"] == []
    assert done["response"]["usage"]["total_tokens"] == 0


def test_cancel_of_nothing_or_of_another_is_refused():
    client = Client(SPOKEN)
    assert error_of(client.send("response.cancel"))["code"] == "response_cancel_not_active"
    client.send("response.create")
    assert (
        error_of(client.send("response.cancel", response_id="resp_other"))["code"]
        == "response_cancel_not_active"
    )


def test_failed_generation_is_a_response_done_and_no_error():
    error = {"type": "server_error", "code": "inference_rate_limit_exceeded"}
    client = ask({"replies": [{"status": "failed", "error": error}]})
    assert client.of("error") == []
    assert client.done()[0]["status_details"] == {"type": "failed", "error": error}
    assert client.server.closed is None


def test_failing_midway_leaves_an_incomplete_item():
    error = {"type": "server_error", "code": "server_error"}
    client = ask({"replies": [{"text": "Let me", "status": "failed", "error": error}]})
    assert client.done()[0]["output"][0]["status"] == "incomplete"


def test_incomplete_reply_says_why():
    client = ask({"replies": [{"text": "On and on", "status": "incomplete", "reason": "max_output_tokens"}]})
    assert client.done()[0]["status"] == "incomplete"
    assert client.done()[0]["status_details"]["reason"] == "max_output_tokens"


def test_out_of_band_response_runs_beside_the_reply_and_stays_out_of_history():
    script = {**SPOKEN, "out_of_band_replies": [{"text": "topic: orders"}]}
    client = Client(script, "openai_ga")
    client.send("response.create")
    [created] = client.send(
        "response.create", response={"conversation": "none", "metadata": {"for": "topic"}}
    )
    assert created["response"]["conversation_id"] is None
    assert created["response"]["metadata"] == {"for": "topic"}
    client.wait(10_000)
    side, reply = sorted(client.done(), key=lambda response: response["conversation_id"] is not None)
    assert side["metadata"] == {"for": "topic"}
    assert reply["metadata"] is None
    assert texts(client.server.history()) == [("assistant", "Hi there!")]


def test_metadata_is_not_echoed_by_dialog_rsn():
    client = Client(SPOKEN)
    [created] = client.send("response.create", response={"metadata": {"for": "topic"}})
    assert created["response"]["metadata"] is None


def test_instructions_reach_the_generation_word_for_word():
    client = Client({"replies": [{"text": "One."}, {"text": "Two."}]})
    client.update(instructions="  Speak of orders only.\n")
    client.send("response.create")
    client.wait(5000)
    client.send("response.create", response={"instructions": "Say goodbye."})
    assert [g["instructions"] for g in client.server.generations] == [
        "  Speak of orders only.\n",
        "Say goodbye.",
    ]


def test_truncate_beyond_the_audio_sent_is_refused_in_the_services_words():
    client = ask({"replies": [{"text": "one two three", "audio_ms": 1500}]}, "openai_ga")
    item_id = client.of("response.output_item.done")[0]["item"]["id"]
    cut = {"item_id": item_id, "content_index": 0}
    error = error_of(client.send("conversation.item.truncate", audio_end_ms=1501, **cut))
    assert error["message"] == "Audio content of 1500ms is already shorter than 1501ms"
    [truncated] = client.send("conversation.item.truncate", audio_end_ms=700, **cut)
    assert (truncated["type"], truncated["audio_end_ms"]) == ("conversation.item.truncated", 700)
    assert texts(client.server.history()) == [("assistant", None)]  # the transcript went with it


def test_second_truncate_goes_by_what_the_first_left():
    client = ask({"replies": [{"text": "one two three", "audio_ms": 1500}]}, "openai_ga")
    cut = {"item_id": client.of("response.output_item.done")[0]["item"]["id"], "content_index": 0}
    client.send("conversation.item.truncate", audio_end_ms=700, **cut)
    error = error_of(client.send("conversation.item.truncate", audio_end_ms=900, **cut))
    assert error["message"] == "Audio content of 700ms is already shorter than 900ms"


def test_truncated_item_keeps_no_transcript_though_the_reply_goes_on():
    client = ask({"replies": [{"text": "one two three", "audio_ms": 6000}]}, "openai_ga", wait=500)
    item_id = client.of("response.output_item.added")[0]["item"]["id"]
    client.send("conversation.item.truncate", item_id=item_id, content_index=0, audio_end_ms=100)
    client.wait(60_000)
    assert client.of("response.output_audio_transcript.done")[0]["transcript"] == "one two three"
    assert texts(client.server.history()) == [("assistant", None)]


def test_only_what_the_agent_said_can_be_truncated():
    client = Client({}, "openai_ga")
    item_id = client.say("Hello")[0]["item"]["id"]
    error = error_of(
        client.send("conversation.item.truncate", item_id=item_id, content_index=0, audio_end_ms=0)
    )
    assert error["code"] == "invalid_value"


def test_items_of_one_response_may_interleave():
    client = ask(
        {"replies": [{"text": "I will look that up now.", "calls": [CALL], "interleave": True}]}, "openai_ga"
    )
    deltas = [e["output_index"] for e in client.events if e["type"].endswith(".delta")]
    assert deltas.index(1) < len(deltas) - 1 - deltas[::-1].index(0)  # the call starts before the text ends
    assert [item["type"] for item in client.done()[0]["output"]] == ["message", "function_call"]
