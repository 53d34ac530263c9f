"""Turns, frames, transcripts, history and clocks of imported OpenAI-protocol logs."""

import pytest

from realtime_session.wire.base import survey
from realtime_session.wire.openai import OpenAIImporter

from .openai_rows import Imported, Log, audio, message


def test_spoken_turn_becomes_frames_speech_and_a_commit():
    log = Log().sent("input_audio_buffer.append", audio=audio(20)).speech("u1", 100, 900)
    log.got(
        "conversation.item.added",
        item={
            "id": "u1",
            "type": "message",
            "role": "user",
            "status": "completed",
            "content": [{"type": "input_audio", "transcript": None}],
        },
    )
    log.created("r1").done("r1")
    got = Imported(log)
    assert got.brief == [
        "audio.frame turn-1 0 20 null",
        "speech.started turn-1 100",
        "speech.stopped turn-1 900",
        "turn.commit turn-1",
        "response.started r1 turn-1",
        "response.completed r1",
    ]
    assert got.synthetic() == []
    assert got.rejected() == []


def test_frames_after_a_commit_belong_to_the_next_turn_and_count_from_zero():
    log = Log()
    for item in ("u1", "u2"):
        log.sent("input_audio_buffer.append", audio=audio(20)).sent(
            "input_audio_buffer.append", audio=audio(20)
        )
        log.speech(item)
    got = Imported(log)
    assert [(p["turn_id"], p["sequence"]) for p in got.of("audio.frame")] == [
        ("turn-1", 0),
        ("turn-1", 1),
        ("turn-2", 0),
        ("turn-2", 1),
    ]
    assert got.rejected() == []


def test_event_ids_are_the_wires_and_made_ones_name_the_line():
    log = Log().sent("input_audio_buffer.append", audio=audio(20)).speech("u1").created("r1")
    log.got("input_audio_buffer.speech_started", item_id="u2")
    ids = [(e["event_id"], e["type"], e["source"]["line"]) for e in Imported(log).events]
    assert ids == [
        ("imp-1", "audio.frame", 1),
        ("s2", "speech.started", 2),
        ("s3", "speech.stopped", 3),
        ("s4", "turn.commit", 4),
        ("s5", "response.started", 5),
        ("s6", "speech.started", 6),
        ("s6#2", "user.interrupt", 6),
    ]


def test_commit_without_its_audio_gets_one_synthetic_frame_of_unknown_length():
    got = Imported(Log().got("input_audio_buffer.committed", item_id="u1"))
    assert got.brief == ["audio.frame turn-1 0 null null", "turn.commit turn-1"]
    assert got.synthetic() == ["audio.frame"]
    assert got.rejected() == []


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        (
            lambda log: log.got(
                "input_audio_buffer.timeout_triggered", item_id="u1", audio_start_ms=0, audio_end_ms=5000
            ),
            "idle_timeout",
        ),
        (
            lambda log: log.got("conversation.item.done", item=message("sys", "system", "quiet")),
            "idle_timeout",
        ),
        (lambda log: log.sent("input_audio_buffer.commit"), "client"),
        (
            lambda log: log.sent("input_audio_buffer.commit").got(
                "error", error={"code": "input_audio_buffer_commit_empty", "message": "empty"}
            ),
            None,
        ),
    ],
)
def test_cause_of_a_commit(rows, cause):
    log = Log()
    rows(log)
    log.got("input_audio_buffer.committed", item_id="u1", previous_item_id="sys")
    (commit,) = Imported(log).of("turn.commit")
    assert commit.get("cause") == cause


def test_noise_onset_without_stop_leaves_its_turn_to_the_next_onset():
    log = Log().got("input_audio_buffer.speech_started", item_id="noise").speech("u2").created("r1")
    got = Imported(log)
    assert [p["turn_id"] for p in got.of("speech.started", "turn.commit")] == ["turn-1"] * 3
    assert got.rejected() == []


def test_an_item_that_goes_on_after_its_commit_opens_another_turn():
    got = Imported(Log().speech("u1").speech("u1"))
    assert [p["turn_id"] for p in got.of("turn.commit")] == ["turn-1", "turn-2"]
    assert got.rejected() == []


def test_typed_item_is_its_own_turn_beside_the_open_one():
    log = Log().sent("input_audio_buffer.append", audio=audio(20))
    log.sent("conversation.item.create", item=message(None, "user", "hi")).sent("response.create")
    log.typed("t1", "hi").got("conversation.item.done", item=message("t1", "user", "hi"))
    log.created("r1").done("r1").sent("input_audio_buffer.append", audio=audio(20)).speech("u1")
    got = Imported(log)
    assert got.brief == [
        "audio.frame turn-1 0 20 null",
        "input.text turn-2 hi",
        "turn.commit turn-2 text",
        "response.started r1 turn-2",
        "response.completed r1",
        "audio.frame turn-1 1 20 null",
        "speech.started turn-1",
        "speech.stopped turn-1",
        "turn.commit turn-1",
    ]
    assert got.rejected() == []


def test_items_before_the_last_user_item_are_history():
    log = (
        Log()
        .typed("h1", "I am Ann")
        .got("conversation.item.added", item=message("h2", "assistant", "Hello Ann"))
    )
    log.typed("t1", "Who am I?").created("r1").done("r1").typed("t2", "Thanks").created("r2").done("r2")
    got = Imported(log)
    marks = [
        (e["payload"]["turn_id"], bool(e["source"].get("synthetic")))
        for e in got.events
        if e["type"] == "input.text"
    ]
    assert marks == [("turn-1", True), ("turn-2", False), ("turn-3", False)]
    assert [e["source"]["line"] for e in got.events] == sorted(e["source"]["line"] for e in got.events)
    assert got.summary["history_turns"] == 1
    assert got.rejected() == []


def test_typed_item_before_a_spoken_first_turn_is_history():
    got = Imported(Log().typed("h1", "notes").speech("u1").created("r1"))
    assert got.synthetic() == ["input.text", "turn.commit", "audio.frame"]
    assert [p["turn_id"] for p in got.of("response.started")] == ["turn-2"]


def test_typed_item_without_any_response_is_no_history():
    got = Imported(Log().typed("t1", "hello"))
    assert got.brief == ["input.text turn-1 hello", "turn.commit turn-1 text"]
    assert got.synthetic() == []


def test_agent_that_speaks_first_answers_no_turn():
    got = Imported(Log().created("r1").text("r1", "Hi").done("r1"))
    assert got.brief[0] == "response.started r1 null opening"
    assert got.rejected() == []


def test_transcripts_early_late_partial_and_after_the_answer():
    name = "conversation.item.input_audio_transcription"
    log = Log().got(f"{name}.delta", item_id="u1", delta="He")
    log.got("input_audio_buffer.committed", item_id="u1").got(f"{name}.delta", item_id="u1", delta="llo")
    log.created("r1").done("r1").got(f"{name}.completed", item_id="u1", transcript="Hello.")
    got = Imported(log)
    assert [(p["turn_id"], p["text"], p["final"]) for p in got.of("turn.transcript")] == [
        ("turn-1", "He", False),
        ("turn-1", "Hello", False),
        ("turn-1", "Hello.", True),
    ]
    assert got.rejected() == []


def test_interim_completions_are_not_final():
    name = "conversation.item.input_audio_transcription"
    log = Log().speech("u1").got(f"{name}.updated", item_id="u1", transcript="Hi")
    log.got(f"{name}.completed", item_id="u1", transcript="Hi", status="in_progress")
    log.got(f"{name}.completed", item_id="u1", transcript="Hi there", status="completed")
    assert [p["final"] for p in Imported(log).of("turn.transcript")] == [False, False, True]


def test_failed_transcription_is_a_reported_error():
    log = (
        Log()
        .speech("u1")
        .got(
            "conversation.item.input_audio_transcription.failed",
            item_id="u1",
            error={"type": "server_error", "code": "DeploymentNotFound", "message": "none"},
        )
    )
    assert Imported(log).brief[-1] == "error.reported provider_unavailable DeploymentNotFound none"


def test_keys_belong_to_the_open_turn():
    got = Imported(Log().got("input_audio_buffer.dtmf_event_received", event="9"))
    assert got.brief == ["input.dtmf turn-1 9"]


# --- clocks ---


def test_recorded_times_are_taken_and_never_go_back():
    log = Log().got("session.created", at=0.0, session={}).speech("u1")
    log.rows[1]["at"], log.rows[2]["at"], log.rows[3]["at"] = 1.5, 1.4999, 2.0004
    got = Imported(log)
    assert [e["at_ms"] for e in got.events] == [1500, 1500, 2000, 2000]
    assert got.header["source"]["clock"] == "recorded"


def test_dates_count_from_the_first_row():
    log = (
        Log()
        .got("session.created", at=1785214084.5, session={})
        .got("input_audio_buffer.committed", at=1785214085.0)
    )
    assert [e["at_ms"] for e in Imported(log).events] == [500, 500]


def test_audio_clock_counts_appended_audio_and_provider_offsets():
    log = (
        Log()
        .sent("input_audio_buffer.append", audio=audio(20))
        .sent("input_audio_buffer.append", audio=audio(20))
    )
    log.speech("u1", 30, 3000).created("r1")
    got = Imported(log, clock="audio")
    assert [e["at_ms"] for e in got.events] == [20, 40, 40, 3000, 3000, 3000]
    assert got.header["source"]["clock"] == "audio"


def test_line_clock_where_nothing_tells_the_time():
    log = Log().got("session.created", session={}).typed("t1", "hi").created("r1")
    got = Imported(log)
    assert [e["at_ms"] for e in got.events] == [2, 2, 3]
    assert got.header["source"]["clock"] == "line"


@pytest.mark.parametrize(
    ("log", "clock"),
    [
        (Log().typed("t", "x"), "line"),
        (Log().sent("input_audio_buffer.append", audio="AAAA"), "line"),
        (Log().sent("input_audio_buffer.append", audio=audio(20)), "audio"),
        (Log().sent("input_audio_buffer.append", audio=audio(20), trimmed={"$.audio": 9000}), "line"),
        (Log().speech("u1", 100, 200), "audio"),
        (Log().speech("u1", 100, 200).created("r1").got("session.updated", at=7.0), "recorded"),
    ],
)
def test_survey_finds_the_clock_before_the_import(log, clock):
    import json

    rows = [(number, json.dumps(row).encode()) for number, row in enumerate(log.rows, 1)]
    assert survey(rows, OpenAIImporter(), json.loads) == clock


# --- durations ---


def test_durations_carry_their_remainder():
    log = Log()
    for _ in range(4):
        log.sent("input_audio_buffer.append", audio=audio(10.5))
    assert [p["duration_ms"] for p in Imported(log).of("audio.frame")] == [10, 11, 10, 11]


def test_cut_and_tiny_payloads_have_no_duration():
    log = Log().sent("input_audio_buffer.append", audio=audio(20), trimmed={"audio": 1280})
    log.sent("input_audio_buffer.append", audio="A" * 40).sent("input_audio_buffer.append")
    assert [p["duration_ms"] for p in Imported(log).of("audio.frame")] == [None, None, None]


@pytest.mark.parametrize(
    ("session", "rate"),
    [
        ({"audio": {"input": {"format": {"type": "audio/pcm", "rate": 16000}}}}, 32),
        ({"audio": {"input": {"format": {"type": "audio/pcmu"}}}}, 8),
        ({"input_audio_format": "g711_alaw"}, 8),
        ({"input_audio_format": "pcm16"}, 48),
        ({"poly_input_rate": 8000}, 16),
    ],
)
def test_formats_decide_the_length_of_audio(session, rate):
    log = (
        Log().sent("session.update", session=session).sent("input_audio_buffer.append", audio=audio(60, rate))
    )
    assert [p["duration_ms"] for p in Imported(log).of("audio.frame")] == [60]
