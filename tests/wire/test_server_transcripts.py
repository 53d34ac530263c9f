"""When the caller's words come back, and when they never do."""

import pytest
from server_harness import Client

PREFIX = "conversation.item.input_audio_transcription"
COMPLETED, DELTA, FAILED = f"{PREFIX}.completed", f"{PREFIX}.delta", f"{PREFIX}.failed"
PROFILES = ("dialog_rsn_1", "openai_ga")


def two_turns(name, profile):
    client = Client.on_fault(name, profile)
    if profile == "openai_ga":
        client.update(audio={"input": {"transcription": {"model": "any"}}})
    client.listen(13_000)
    return client


def first_turn(client):
    """The events up to the second speech_started."""
    kinds = client.kinds()
    return kinds[: kinds.index("input_audio_buffer.speech_started", kinds.index("response.done"))]


@pytest.mark.parametrize("profile", PROFILES)
def test_early_transcript_streams_before_the_turn_ends(profile):
    got = first_turn(two_turns("transcript_early", profile))
    assert got.index(DELTA) < got.index("input_audio_buffer.speech_stopped")
    assert got.index(COMPLETED) < got.index("response.output_item.added")


@pytest.mark.parametrize("profile", PROFILES)
def test_transcript_may_straddle_the_reply(profile):
    got = first_turn(two_turns("transcript_around_reply", profile))
    text = got.index("response.output_audio_transcript.delta")
    assert got.index(DELTA) < text < got.index(COMPLETED)


@pytest.mark.parametrize("profile", PROFILES)
def test_late_transcript_comes_after_response_done(profile):
    got = first_turn(two_turns("transcript_late", profile))
    assert got.index("response.done") < got.index(DELTA)


@pytest.mark.parametrize("profile", PROFILES)
def test_failed_transcription_does_not_stop_the_reply(profile):
    client = two_turns("transcript_failed", profile)
    [failed] = client.of(FAILED)
    assert failed["error"]["code"] == "audio_unintelligible"
    assert [response["status"] for response in client.done()] == ["completed", "completed"]


@pytest.mark.parametrize("profile", PROFILES)
def test_transcript_may_never_come(profile):
    client = two_turns("transcript_never", profile)
    assert len(client.of(COMPLETED)) == 1  # the second turn's
    assert client.of(COMPLETED)[0]["transcript"] == "Thank you."


@pytest.mark.parametrize("profile", PROFILES)
def test_transcripts_may_come_out_of_order(profile):
    client = two_turns("transcripts_out_of_order", profile)
    assert [event["transcript"] for event in client.of(COMPLETED)] == ["Thank you.", "Where is my order?"]


@pytest.mark.parametrize("profile", PROFILES)
def test_deltas_add_up_to_the_transcript(profile):
    client = two_turns("transcript_around_reply", profile)
    for done in client.of(COMPLETED):
        deltas = [event["delta"] for event in client.of(DELTA) if event["item_id"] == done["item_id"]]
        assert "".join(deltas) == done["transcript"]


def test_dialog_rsn_writes_the_transcript_within_the_generation_after_the_text():
    script = {"caller": [{"kind": "speech", "from_ms": 0, "to_ms": 900, "transcript": "Are you open?"}]}
    client = Client(script)
    client.listen(4000)
    kinds = client.kinds()
    assert (
        kinds.index("response.output_audio_transcript.done")
        < kinds.index(COMPLETED)
        < kinds.index("response.done")
    )


def test_typed_turn_yields_no_transcript():
    client = Client({})
    client.say("Are you open?")
    client.send("response.create")
    client.wait(9000)
    assert [kind for kind in client.kinds() if kind.startswith(PREFIX)] == []


def test_audio_turn_followed_by_text_yields_no_transcript():
    client = Client(
        {"caller": [{"kind": "speech", "from_ms": 0, "to_ms": 900, "transcript": "Are you open?"}]}
    )
    client.update(audio={"input": {"turn_detection": {"type": "server_vad", "create_response": False}}})
    client.listen(2000)
    client.say("On Sundays, I mean.")
    client.send("response.create")
    client.wait(9000)
    assert [kind for kind in client.kinds() if kind.startswith(PREFIX)] == []


def test_audio_turn_alone_yields_its_transcript_with_the_answer_and_not_before():
    client = Client(
        {"caller": [{"kind": "speech", "from_ms": 0, "to_ms": 900, "transcript": "Are you open?"}]}
    )
    client.update(audio={"input": {"turn_detection": {"type": "server_vad", "create_response": False}}})
    client.listen(2000)
    client.wait(60_000)
    assert client.of(COMPLETED) == []
    client.send("response.create")
    client.wait(9000)
    assert [event["transcript"] for event in client.of(COMPLETED)] == ["Are you open?"]


def test_only_the_last_of_several_audio_items_is_transcribed():
    script = {
        "caller": [
            {"kind": "speech", "from_ms": 0, "to_ms": 900, "transcript": "Are you open"},
            {"kind": "speech", "from_ms": 2000, "to_ms": 2900, "transcript": "on Sundays?"},
        ]
    }
    client = Client(script)
    client.update(audio={"input": {"turn_detection": {"type": "server_vad", "create_response": False}}})
    client.listen(4000)
    for _ in range(2):
        client.send("response.create")
        client.wait(9000)
    assert [event["transcript"] for event in client.of(COMPLETED)] == ["on Sundays?"]


def test_openai_transcribes_only_where_the_session_asks_for_it():
    script = {"caller": [{"kind": "speech", "from_ms": 0, "to_ms": 900, "transcript": "Are you open?"}]}
    client = Client(script, "openai_ga")
    client.listen(4000)
    assert client.of(COMPLETED) == []


def test_transcript_becomes_part_of_the_item():
    client = Client(
        {"caller": [{"kind": "speech", "from_ms": 0, "to_ms": 900, "transcript": "Are you open?"}]}
    )
    client.listen(4000)
    assert client.server.history()[0]["content"][0]["transcript"] == "Are you open?"


def test_generation_cut_before_its_transcript_section_yields_none():
    client = Client(
        {"caller": [{"kind": "speech", "from_ms": 0, "to_ms": 900, "transcript": "Are you open?"}]}
    )
    client.listen(1800)
    assert client.of("response.created") != []
    client.send("response.cancel")
    client.wait(60_000)
    assert client.of(COMPLETED) == []
