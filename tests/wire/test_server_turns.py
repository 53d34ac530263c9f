"""Turn-taking: proposed and confirmed boundaries, manual turns, the idle nudge."""

import base64

import pytest
from server_harness import Client, error_of, kinds, texts

TURN = [
    "input_audio_buffer.speech_started",
    "input_audio_buffer.speech_stopped",
    "input_audio_buffer.committed",
    "conversation.item.added",
    "conversation.item.done",
    "response.created",
]
MANUAL = {"turn_detection": {"type": "server_vad", "create_response": False}}


def speech(start, end, *pauses, **more):
    return {"kind": "speech", "from_ms": start, "to_ms": end, "pauses": list(pauses), **more}


def vad(client):
    return [event for event in client.events if event["type"].startswith("input_audio_buffer.")]


@pytest.mark.parametrize("profile", ["dialog_rsn_1", "openai_ga"])
def test_spoken_turn_is_committed_and_answered_by_itself(profile):
    client = Client({"caller": [speech(200, 1200)]}, profile)
    client.listen(2000)
    assert client.kinds()[1:7] == TURN
    ids = {event["item_id"] for event in vad(client)}
    assert ids == {client.of("conversation.item.added")[0]["item"]["id"]}


def test_speech_stopped_waits_for_the_model_on_dialog_rsn():
    # The detector proposes after half a second of silence; the model takes 250 ms to confirm.
    script = {"caller": [speech(200, 1200)], "timings": {"confirm_ms": 250}}
    client = Client(script)
    client.listen(1700)
    assert kinds(vad(client)) == ["input_audio_buffer.speech_started"]
    client.wait(149)  # 100 ms went by since the last append
    assert kinds(vad(client)) == ["input_audio_buffer.speech_started"]
    assert kinds(client.wait(1))[0] == "input_audio_buffer.speech_stopped"


def test_turn_joins_history_only_when_its_boundary_is_confirmed():
    client = Client({"caller": [speech(200, 1200)], "timings": {"confirm_ms": 250}})
    client.listen(1700)
    assert client.server.history() == []
    client.wait(150)
    assert texts(client.server.history()) == [("user", None)]


def test_speech_started_is_the_detectors_onset_while_nothing_is_audible():
    client = Client({"caller": [speech(500, 1200)], "timings": {"confirm_ms": 400}})
    client.listen(500)
    assert vad(client) == []
    client.listen(100)  # no time for the model to confirm anything
    assert [event["audio_start_ms"] for event in vad(client)] == [200]  # 300 ms of padding


def test_pause_inside_a_sentence_does_not_end_a_turn_the_model_confirms():
    client = Client({"caller": [speech(200, 3000, [1000, 1900])]})
    client.listen(5000)
    assert kinds(vad(client)) == [kind for kind in TURN if kind.startswith("input_audio_buffer.")]
    assert vad(client)[1]["audio_end_ms"] == 3500


def test_same_pause_ends_a_turn_of_a_plain_detector():
    client = Client({"caller": [speech(200, 3000, [1000, 1900])]}, "openai_ga")
    client.listen(5000)
    assert [e["audio_end_ms"] for e in client.of("input_audio_buffer.speech_stopped")] == [1200, 3200]
    assert len({event["item_id"] for event in vad(client)}) == 2


def test_short_pause_is_no_boundary_for_any_detector():
    client = Client({"caller": [speech(200, 3000, [1000, 1150])]}, "openai_ga")
    client.listen(5000)
    assert len(client.of("input_audio_buffer.speech_stopped")) == 1


def test_noise_gets_speech_started_and_no_speech_stopped():
    client = Client({"caller": [{"kind": "noise", "from_ms": 200, "to_ms": 500}, speech(3000, 3900)]})
    client.listen(2500)
    assert kinds(vad(client)) == ["input_audio_buffer.speech_started"]
    assert client.server.history() == []
    client.listen(3000)
    started, _, stopped, committed = vad(client)[0], *vad(client)[1:]
    assert stopped["item_id"] == committed["item_id"] != started["item_id"]
    assert len(client.server.history()) == 2  # one turn and its answer


def test_create_response_false_commits_at_each_pause_and_answers_none():
    client = Client({"caller": [speech(200, 3000, [1000, 1900])]})
    client.update(audio={"input": MANUAL})
    client.listen(5000)
    assert len(client.of("input_audio_buffer.committed")) == 2
    assert texts(client.server.history()) == [("user", None), ("user", None)]
    client.wait(60_000)
    assert client.of("response.created") == []
    assert kinds(client.send("response.create")) == ["response.created"]


def test_create_response_false_leaves_noise_to_the_detector():
    client = Client({"caller": [{"kind": "noise", "from_ms": 200, "to_ms": 500}]})
    client.update(audio={"input": MANUAL})
    client.listen(2000)
    assert len(client.of("input_audio_buffer.committed")) == 1


def test_push_to_talk_commit_makes_an_item_and_no_reply():
    client = Client({"caller": [speech(0, 700, transcript="Book a table")]})
    client.update(audio={"input": {"turn_detection": None}})
    client.listen(800)
    got = client.send("input_audio_buffer.commit")
    assert kinds(got) == ["input_audio_buffer.committed", "conversation.item.added", "conversation.item.done"]
    assert client.wait(30_000) == []
    client.send("response.create")
    client.wait(5_000)
    assert (
        client.of("conversation.item.input_audio_transcription.completed")[0]["transcript"] == "Book a table"
    )


def test_commit_of_less_than_100_ms_is_refused():
    client = Client({})
    client.update(audio={"input": {"turn_detection": None}})
    client.listen(90, step=30)
    assert error_of(client.send("input_audio_buffer.commit"))["code"] == "input_audio_buffer_commit_empty"
    client.listen(10, step=10)
    assert kinds(client.send("input_audio_buffer.commit"))[0] == "input_audio_buffer.committed"
    assert error_of(client.send("input_audio_buffer.commit"))["code"] == "input_audio_buffer_commit_empty"


def test_clear_forgets_the_open_turn():
    client = Client({"caller": [speech(100, 900)]})
    client.listen(900)
    assert kinds(client.send("input_audio_buffer.clear")) == ["input_audio_buffer.cleared"]
    client.listen(2000)
    assert client.of("input_audio_buffer.speech_stopped") == []
    assert client.server.history() == []


def test_commit_in_the_middle_of_speech_closes_one_turn_and_the_rest_is_the_next():
    client = Client({"caller": [speech(100, 2000, transcript="one two three four")]}, "openai_ga")
    client.update(audio={"input": {"transcription": {"model": "any"}}})
    client.listen(1000)
    first = client.send("input_audio_buffer.commit")[0]["item_id"]
    assert first == client.of("input_audio_buffer.speech_started")[0]["item_id"]
    client.listen(3000)
    spoken = [e["transcript"] for e in client.of("conversation.item.input_audio_transcription.completed")]
    assert spoken == ["one", "two three four"]
    assert len({event["item_id"] for event in vad(client)}) == 2


def test_audio_clock_follows_the_declared_rate():
    # 16 kHz is native; the same bytes at 8 kHz last twice as long.
    client = Client({"caller": [speech(1000, 3000)]})
    client.update(poly_input_rate=8_000)
    client.listen(600)
    assert kinds(vad(client)) == ["input_audio_buffer.speech_started"]


def test_telephony_audio_has_one_byte_a_sample():
    client = Client({"caller": [speech(1000, 3000)]}, "openai_ga")
    client.update(audio={"input": {"format": {"type": "audio/pcmu"}}})
    second = base64.b64encode(b"\xff" * 8_000).decode("ascii")
    assert client.send("input_audio_buffer.append", audio=second) == []
    assert kinds(client.send("input_audio_buffer.append", audio=second)) == [
        "input_audio_buffer.speech_started"
    ]


def test_turn_committed_under_a_reply_is_answered_after_it():
    script = {
        "caller": [speech(100, 700), speech(2000, 2400)],
        "replies": [{"text": "One.", "audio_ms": 20_000}],
    }
    client = Client(script, "openai_ga")
    client.update(audio={"input": {"turn_detection": {"type": "server_vad", "interrupt_response": False}}})
    client.listen(9000)
    order = [kind for kind in client.kinds() if kind in ("response.created", "response.done")]
    assert order == ["response.created", "response.done"] * 2
    assert [response["status"] for response in client.done()] == ["completed", "completed"]


def waiting_turn(second, **timings):
    """A reply that may not be interrupted, a turn committed under it, and a further sound at its end."""
    script = {
        "caller": [speech(100, 700), speech(2000, 2400), second],
        "replies": [{"text": "One.", "audio_ms": 20_000}],
        "timings": timings,
    }
    client = Client(script)
    detection = {"type": "server_vad", "create_response": True, "interrupt_response": False}
    client.update(audio={"input": {"turn_detection": detection}})
    return client


def test_waiting_turn_is_answered_when_a_sound_at_the_end_of_the_reply_turns_out_to_be_none():
    # The reply ends at about 4.4 s, while the model still looks at the sound.
    client = waiting_turn({"kind": "echo", "from_ms": 4000, "to_ms": 5000}, confirm_ms=800)
    client.listen(4600)
    assert len(client.done()) == 1
    assert len(client.of("response.created")) == 1
    client.listen(800)
    assert len(client.of("response.created")) == 2


def test_waiting_turn_is_answered_when_an_open_sound_is_dropped_as_noise():
    client = waiting_turn({"kind": "noise", "from_ms": 5200, "to_ms": 6000}, first_item_ms=5000)
    client.listen(6500)
    assert len(client.of("input_audio_buffer.speech_started")) == 3  # nothing is audible yet
    client.listen(7000)
    assert [kind for kind in client.kinds() if kind in ("response.created", "response.done")] == [
        "response.created",
        "response.done",
        "response.created",
    ]


def nudge(**more):
    detection = {"type": "server_vad", "idle_timeout_ms": 5_000, **more}
    replies = [{"text": "The number?", "audio_ms": 1_000}, {"text": "Still there?", "audio_ms": 1_000}]
    client = Client({"caller": [speech(100, 700)], "replies": replies}, "openai_ga")
    client.update(audio={"input": {"turn_detection": detection, "transcription": {"model": "any"}}})
    return client


def test_idle_nudge_commits_the_silence_and_answers_it():
    client = nudge()
    client.listen(9000)
    at = client.kinds().index("input_audio_buffer.timeout_triggered")
    # The reply is heard to its end first: audio from 1400 for a second, then five seconds.
    assert 7_000 <= client.times[at] <= 7_700
    assert kinds(client.events[at : at + 7]) == [
        "input_audio_buffer.timeout_triggered",
        "conversation.item.added",
        "conversation.item.done",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        "response.created",
    ]
    assert client.events[at + 1]["item"]["role"] == "system"
    assert client.of("conversation.item.input_audio_transcription.completed")[-1]["transcript"] == ""


def test_new_reply_starts_the_idle_clock_again():
    client = nudge()
    client.listen(3000)
    client.say("I am typing")
    client.send("response.create")
    client.listen(4500)
    assert client.of("input_audio_buffer.timeout_triggered") == []


def test_instructions_and_tools_leave_the_boundaries_alone():
    script = {"caller": [speech(200, 3000, [1000, 1900]), {"kind": "noise", "from_ms": 9000, "to_ms": 9300}]}
    plain, told = Client(script), Client(script)
    tool = {"type": "function", "name": "hang_up", "parameters": {"type": "object"}}
    told.update(instructions="Never wait: answer at the first pause.", tools=[tool])
    for client in (plain, told):
        client.listen(11_000)
    offsets = [
        [(e["type"], e.get("audio_start_ms", e.get("audio_end_ms"))) for e in vad(client)]
        for client in (plain, told)
    ]
    assert offsets[0] == offsets[1]
    assert len(offsets[0]) == 4
