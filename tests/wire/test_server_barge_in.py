"""Barge-in: only while audible, what is cut, and what history keeps."""

import pytest
from server_harness import Client, append, error_of, kinds, texts

TEXT = "one two three four five six seven eight nine ten"
TEN_SECONDS = {"text": TEXT, "audio_ms": 10_000}  # one word a second when spoken


def sound(kind, start, end):
    return {"kind": kind, "from_ms": start, "to_ms": end}


def over(kind, start, reply=None, **session):
    """A typed question at 0, its reply, and a sound at `start` of the microphone."""
    client = Client(
        {"caller": [sound(kind, start, start + 700)], "replies": [reply or TEN_SECONDS]}, **session
    )
    client.say("Count to ten")
    client.send("response.create")
    return client


def report(client, name, **fields):
    response_id = client.of("response.created")[0]["response"]["id"]
    return client.send(f"poly.output_audio.{name}", response_id=response_id, **fields)


def test_caller_over_an_audible_reply_is_confirmed_and_then_cancels_it():
    client = over("speech", 1000)
    client.listen(1000)
    assert client.server.receive(append(100)) == []  # the model looks first, for 100 ms
    assert "input_audio_buffer.speech_started" not in kinds(client.wait(99))
    got = kinds(client.wait(1))
    assert got.index("input_audio_buffer.speech_started") < got.index("response.done")
    assert client.done()[0]["status_details"] == {"type": "cancelled", "reason": "turn_detected"}


@pytest.mark.parametrize("kind", ["echo", "noise", "backchannel"])
def test_what_is_not_the_caller_taking_the_turn_leaves_an_audible_reply_alone(kind):
    client = over(kind, 1000)
    client.listen(12_000)
    assert [k for k in client.kinds() if k.startswith("input_audio_buffer.")] == []
    assert client.done()[0]["status"] == "completed"


def test_barge_in_can_be_switched_off():
    client = over("speech", 1000)
    detection = {"type": "server_vad", "interrupt_response": False, "create_response": False}
    client.update(audio={"input": {"turn_detection": detection}})
    client.listen(4000)
    assert client.done()[0]["status"] == "completed"


def test_sound_before_anything_is_audible_cancels_nothing():
    client = over("speech", 100)
    client.listen(200)
    assert kinds(client.events[-1:]) == ["input_audio_buffer.speech_started"]
    client.listen(400)
    assert client.done() == []


def test_voiced_reply_is_audible_until_its_audio_has_played_without_any_report():
    # The reply is generated within a second and plays for ten: sound at 9.5 s still falls on it.
    late = over("noise", 9_500)
    late.listen(11_000)
    assert late.of("input_audio_buffer.speech_started") == []
    after = over("noise", 10_600)  # it began to play at 0.42 s
    after.listen(12_000)
    assert len(after.of("input_audio_buffer.speech_started")) == 1


def test_history_of_a_voiced_reply_is_cut_to_what_had_played():
    client = over("speech", 5_000)
    client.listen(5_200)
    assert client.done()[0]["status"] == "completed"  # generated long before; only its playback stops
    assert texts(client.server.history())[-1] == ("assistant", "one two three four")


def test_voiced_reply_cut_while_it_is_generated():
    client = over("speech", 1_500, {**TEN_SECONDS, "timings": {"delta_ms": 190}})
    client.listen(1_700)
    assert client.done()[0]["status"] == "cancelled"
    # It plays from 0.42 s on; at about 1.6 s one word has been said, though more was written.
    assert texts(client.server.history())[-1] == ("assistant", "one")
    assert len(client.of("response.output_audio_transcript.done")[0]["transcript"].split()) > 1


def test_text_reply_is_taken_as_audible_for_its_speaking_time():
    # Ten words at 150 a minute last 4 seconds from the first text at 0.42 s.
    within = over("noise", 4_000, output_modalities=["text"])
    within.listen(5_000)
    assert within.of("input_audio_buffer.speech_started") == []
    after = over("noise", 4_700, output_modalities=["text"])
    after.listen(6_000)
    assert len(after.of("input_audio_buffer.speech_started")) == 1


def test_playback_reports_extend_what_is_audible_beyond_the_estimate():
    client = over("backchannel", 8_000, output_modalities=["text"])
    client.wait(1_000)
    assert report(client, "started") == []
    assert report(client, "delta", audio_ms=900, delta="one") == []
    client.listen(9_500)
    assert client.of("input_audio_buffer.speech_started") == []  # confirmed instead of cutting the agent off


def test_without_reports_the_same_backchannel_reads_as_an_onset():
    client = over("backchannel", 8_000, output_modalities=["text"])
    client.wait(1_000)
    client.listen(9_500)
    assert len(client.of("input_audio_buffer.speech_started")) == 1


def test_reported_stop_ends_what_is_audible_before_the_estimate():
    client = over("noise", 3_000, output_modalities=["text"])
    client.listen(1_000)
    report(client, "started")
    report(client, "stopped", audio_ms=300, spoken_text="one")
    client.listen(3_000)
    assert len(client.of("input_audio_buffer.speech_started")) == 1


def test_history_keeps_the_spoken_text_and_the_next_turn_is_generated_from_it():
    client = over("speech", 2_000, output_modalities=["text"])
    client.listen(1_000)
    report(client, "started")
    client.listen(1_200)
    report(client, "stopped", audio_ms=1_500, dropped_ms=2_500, spoken_text="one two three")
    assert texts(client.server.history())[-1] == ("assistant", "one two three")
    client.listen(2_000)
    assert texts(client.server.generations[-1]["history"])[1] == ("assistant", "one two three")


def test_spoken_text_counts_without_a_barge_in_too():
    client = over("noise", 50_000, output_modalities=["text"])
    client.wait(5_000)
    report(client, "started")
    report(client, "stopped", audio_ms=3_900, spoken_text=TEXT)
    assert texts(client.server.history())[-1] == ("assistant", TEXT)


def test_reports_are_checked():
    client = over("noise", 50_000, output_modalities=["text"])
    client.wait(5_000)
    unknown = client.send("poly.output_audio.started", response_id="resp_x")
    assert error_of(unknown)["param"] == "response_id"
    assert error_of(report(client, "delta", audio_ms=1))["code"] == "invalid_value"  # not started
    assert error_of(report(client, "stopped", audio_ms=1))["code"] == "invalid_value"  # not started
    report(client, "started")
    assert error_of(report(client, "started"))["code"] == "invalid_value"
    assert error_of(report(client, "delta"))["code"] == "missing_required_parameter"
    assert error_of(report(client, "stopped", audio_ms=-1))["code"] == "integer_below_min_value"
    report(client, "stopped", audio_ms=100, spoken_text="one")
    assert error_of(report(client, "stopped", audio_ms=200))["code"] == "invalid_value"
    assert texts(client.server.history())[-1] == ("assistant", "one")


def barged(name, profile="openai_ga"):
    client = Client.on_fault(name, profile)
    client.listen(6_000)
    second = client.of("input_audio_buffer.speech_started")[1]
    return client, kinds(client.events[client.events.index(second) :])


def test_case_a_before_output():
    client, after = barged("barge_in_before_output")
    assert after[1] == "response.done"
    cancelled = client.done()[0]
    assert (cancelled["status"], cancelled["output"]) == ("cancelled", [])
    assert cancelled["usage"]["total_tokens"] == 0


def test_case_b_mid_generation_over_webrtc():
    client, after = barged("barge_in_mid_generation")
    assert after[1:9] == [
        "output_audio_buffer.cleared",
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "conversation.item.done",
        "response.output_item.done",
        "response.done",
        "conversation.item.truncated",
    ]
    assert client.done()[0]["output"][0]["status"] == "incomplete"
    assert client.of("response.output_audio.delta") == []  # audio does not cross the event channel


def test_case_c_items_done_and_response_open():
    client, after = barged("barge_in_items_done")
    assert after[1:4] == ["output_audio_buffer.cleared", "response.done", "conversation.item.truncated"]
    assert client.done()[0]["status"] == "cancelled"
    assert client.done()[0]["output"][0]["status"] == "completed"


def test_case_d_completed_and_still_playing():
    client, after = barged("barge_in_after_done")
    assert after[1:3] == ["output_audio_buffer.cleared", "conversation.item.truncated"]
    assert client.done()[0]["status"] == "completed"
    # Playback began at 1820 ms with the first delta; the caller came in at 4000 ms of audio.
    assert client.of("conversation.item.truncated")[0]["audio_end_ms"] == pytest.approx(2180, abs=100)


def test_case_e_websocket_leaves_playback_to_the_client():
    client, after = barged("barge_in_websocket")
    assert "output_audio_buffer.cleared" not in after
    assert "conversation.item.truncated" not in after
    assert client.done()[0]["status_details"]["reason"] == "turn_detected"


def test_webrtc_reports_start_and_stop_of_playback():
    script = {"transport": "webrtc", "replies": [{"text": "Hi there, how are you?", "audio_ms": 3_000}]}
    client = Client(script, "openai_ga")
    client.send("response.create")
    client.wait(10_000)
    order = client.kinds()
    assert order.index("output_audio_buffer.started") < order.index("response.done")
    assert order.index("output_audio_buffer.stopped") > order.index("response.done")


def test_output_buffer_can_be_cleared_on_webrtc_only():
    script = {"replies": [TEN_SECONDS]}
    client = Client({**script, "transport": "webrtc"}, "openai_ga")
    client.send("response.create")
    client.wait(3_000)
    assert kinds(client.send("output_audio_buffer.clear")) == ["output_audio_buffer.cleared"]
    assert client.wait(60_000) == []  # no stopped after cleared
    assert error_of(Client(script, "openai_ga").send("output_audio_buffer.clear"))["code"] == "invalid_value"


def test_text_reply_without_any_report_keeps_its_text_in_history():
    client = over("speech", 2_000, output_modalities=["text"])
    client.listen(2_200)
    assert texts(client.server.history())[-1] == ("assistant", TEXT)
