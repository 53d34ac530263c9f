"""Responses, barge-in, playback and errors of imported OpenAI-protocol logs."""

import pytest

from .openai_rows import Imported, Log, audio


@pytest.mark.parametrize(
    ("status", "details", "expected"),
    [
        ("completed", None, "response.completed r1"),
        (
            "cancelled",
            {"type": "cancelled", "reason": "turn_detected"},
            "response.cancelled r1 turn_detected",
        ),
        ("cancelled", {"reason": "client_cancelled"}, "response.cancelled r1 client_cancelled"),
        ("incomplete", {"reason": "max_output_tokens"}, "response.incomplete r1 max_output_tokens"),
        ("incomplete", None, "response.incomplete r1 unspecified"),
        (
            "failed",
            {"error": {"type": "x", "code": "inference_rate_limit_exceeded"}},
            "response.failed r1 inference_rate_limit_exceeded rate_limited",
        ),
        (
            "failed",
            {"error": {"type": "server_error"}},
            "response.failed r1 server_error provider_unavailable",
        ),
        (
            "failed",
            {"error": {"code": "context_length_exceeded"}},
            "response.failed r1 context_length_exceeded context_exceeded",
        ),
        ("failed", "unimplemented", "response.failed r1 unimplemented internal"),
    ],
)
def test_how_a_response_ends(status, details, expected):
    got = Imported(Log().created("r1").done("r1", status, status_details=details))
    assert got.brief[-1] == expected
    assert got.summary["responses"][status] == 1
    assert got.rejected() == []


@pytest.mark.parametrize(
    "names",
    [
        ("response.output_text.delta", "response.output_audio.delta"),
        ("response.text.delta", "response.audio.delta"),
        ("response.output_audio_transcript.delta", "response.output_audio.delta"),
        ("response.audio_transcript.delta", "response.audio.delta"),
    ],
)
def test_output_is_numbered_under_both_families_of_names(names):
    text, sound = names
    log = Log().created("r1")
    for delta in ("Hel", "lo"):
        log.got(text, response_id="r1", item_id="a1", content_index=0, delta=delta)
        log.got(sound, response_id="r1", item_id="a1", content_index=0, delta=audio(100))
    got = Imported(log.done("r1"))
    assert got.brief[1:-1] == [
        "response.text r1 0 Hel",
        "response.audio r1 0 100",
        "response.text r1 1 lo",
        "response.audio r1 1 100",
    ]
    assert got.rejected() == []


def test_text_without_deltas_comes_from_the_done_row_once():
    log = Log().created("r1").text("r1", "A", item="a1")
    log.got("response.output_text.done", response_id="r1", item_id="a1", content_index=0, text="A")
    log.got("response.output_text.done", response_id="r1", item_id="a2", content_index=0, text="B")
    assert [p["text"] for p in Imported(log).of("response.text")] == ["A", "B"]


def test_text_known_only_from_response_done_is_kept():
    log = (
        Log()
        .created("r1")
        .done("r1", output=[{"type": "message", "content": [{"type": "output_text", "text": "Yes"}]}])
    )
    assert [p["text"] for p in Imported(log).of("response.text")] == ["Yes"]


@pytest.mark.parametrize(
    ("create", "fields", "aside"),
    [
        (None, {}, False),
        (None, {"conversation_id": "c1"}, False),
        (None, {"conversation_id": None}, True),
        ({"conversation": "none"}, {}, True),
        (
            {"conversation": "none", "metadata": {"k": "1"}},
            {"conversation_id": "c1", "metadata": {"k": "1"}},
            True,
        ),
        ({"conversation": "auto"}, {}, False),
    ],
)
def test_out_of_band(create, fields, aside):
    log = Log()
    if create is not None:
        log.sent("response.create", response=create)
    (started,) = Imported(log.created("r1", **fields)).of("response.started")
    assert started.get("out_of_band", False) is aside


def test_out_of_band_response_runs_beside_an_active_one():
    log = Log().created("r1", conversation_id="c").created("r2", conversation_id=None)
    log.text("r2", "aside").done("r2").text("r1", "main").done("r1")
    got = Imported(log)
    assert got.rejected() == []
    assert got.summary["responses"]["out_of_band"] == 1


def test_response_never_announced_is_begun_by_its_first_row():
    got = Imported(Log().text("r1", "Hi").created("r1").done("r1"))
    assert got.brief == ["response.started r1 null opening", "response.text r1 0 Hi", "response.completed r1"]
    assert got.synthetic() == ["response.started"]


def test_end_of_a_response_never_announced_does_not_collide_with_the_active_one():
    got = Imported(Log().created("r1").done("r2", "cancelled").done("r1"))
    assert got.rejected() == []
    assert [p["response_id"] for p in got.of("response.started")] == ["r1", "r2"]


def test_two_active_responses_stay_visible_to_the_contract():
    assert Imported(Log().created("r1").created("r2")).rejected() == ["response/one_active"]


def test_second_end_with_other_content_stays_visible_to_the_contract():
    assert len(Imported(Log().created("r1").done("r1").done("r1", "failed")).rejected()) == 1


# --- barge-in, by situation ---


def items(log, *done):
    log.got(
        "response.output_item.added",
        response_id="r1",
        item={"id": "a1", "type": "message", "role": "assistant"},
    )
    log.text("r1", "Good", item="a1")
    for item in done:
        log.got("response.output_item.done", response_id="r1", item={"id": item, "type": "message"})
    return log


@pytest.mark.parametrize(
    ("rows", "case"),
    [
        (lambda log: log, "before_output"),
        (items, "mid_generation"),
        (lambda log: items(log, "a1"), "all_items_done"),
        (
            lambda log: items(log, "a1").got("output_audio_buffer.started", response_id="r1").done("r1"),
            "after_completion",
        ),
    ],
)
def test_barge_in_by_speech(rows, case):
    log = rows(Log().speech("u1").created("r1"))
    log.got("input_audio_buffer.speech_started", item_id="u2", audio_start_ms=50)
    log.got("input_audio_buffer.speech_started", item_id="u2")
    if case != "after_completion":
        log.done("r1", "cancelled", status_details={"reason": "turn_detected"})
    got = Imported(log)
    assert got.of("user.interrupt") == [
        {"turn_id": "turn-2", "response_id": "r1", "reason": "speech_started"}
    ]
    assert {k: v for k, v in got.summary["barge_ins"].items() if v} == {case: 1}
    assert got.rejected() == []


def test_speech_without_anything_to_stop_is_no_interrupt():
    log = Log().created("r1").text("r1", "x").done("r1").speech("u1")
    assert Imported(log).of("user.interrupt") == []


@pytest.mark.parametrize("where", ["nested", "flat"])
def test_speech_does_not_interrupt_where_the_session_says_so(where):
    detection = {"type": "server_vad", "interrupt_response": False}
    session = (
        {"audio": {"input": {"turn_detection": detection}}}
        if where == "nested"
        else {"turn_detection": detection}
    )
    log = Log().got("session.updated", session=session).created("r1").speech("u1")
    assert Imported(log).of("user.interrupt") == []


def test_client_cancel_interrupts_once_and_late_output_is_ignored_not_rejected():
    log = Log().speech("u1").created("r1").text("r1", "One").sent("response.cancel", response_id="r1")
    log.text("r1", "two").sent("response.cancel").done(
        "r1", "cancelled", status_details={"reason": "client_cancelled"}
    )
    got = Imported(log)
    assert [p["reason"] for p in got.of("user.interrupt")] == ["client_cancelled"]
    assert got.rejected() == []


def test_cancel_that_loses_the_race_is_a_warning_and_its_refusal_points_at_nothing():
    log = Log().created("r1").done("r1").sent("response.cancel", event_id="c9")
    log.got(
        "error",
        error={
            "type": "invalid_request_error",
            "code": "response_cancel_not_active",
            "message": "m",
            "event_id": "c9",
        },
    )
    got = Imported(log)
    assert got.of("user.interrupt") == []
    assert got.of("error.reported") == [
        {"error_type": "invalid_request", "code": "response_cancel_not_active", "message": "m"}
    ]


# --- errors ---


def test_error_points_at_the_trace_event_of_the_line_it_names():
    log = (
        Log()
        .created("r1")
        .sent("response.cancel", event_id="c1")
        .got("error", error={"code": "x", "event_id": "c1"})
    )
    got = Imported(log)
    assert got.of("error.reported")[0]["ref_event_id"] == "c1"
    assert [e["event_id"] for e in got.events if e["type"] == "user.interrupt"] == ["c1"]


def test_error_that_names_an_unknown_line_keeps_it():
    log = Log().sent("response.create", event_id="c1").got("error", error={"code": "x", "event_id": "c7"})
    assert Imported(log).of("error.reported")[0]["ref_event_id"] == "c7"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "invalid_request_error", "code": "unsupported_parameter"}, "invalid_request"),
        ({"code": "conversation_already_has_active_response"}, "invalid_request"),
        ({"code": "rate_limit_exceeded"}, "rate_limited"),
        ({"code": "insufficient_quota"}, "permission_denied"),
        ({"type": "server_error"}, "provider_unavailable"),
        ({"type": "something_new"}, "internal"),
        ("text", "internal"),
        (None, "internal"),
    ],
)
def test_error_types(error, kind):
    assert Imported(Log().got("error", error=error)).of("error.reported")[0]["error_type"] == kind


# --- playback and truncation ---


def test_output_buffer_reports_are_playback():
    log = Log().created("r1").got("output_audio_buffer.started", response_id="r1").done("r1")
    log.got("output_audio_buffer.stopped", response_id="r1")
    log.created("r2").got("output_audio_buffer.started", response_id="r2").done("r2")
    log.got("output_audio_buffer.cleared", response_id="r2")
    got = Imported(log)
    assert [b for b in got.brief if b.startswith("playback")] == [
        "playback.started r1",
        "playback.stopped r1 null",
        "playback.started r2",
        "playback.cleared r2 null",
    ]
    assert got.rejected() == []


def test_client_reports_of_dialog_rsn_are_playback_with_what_was_heard():
    log = Log().speech("u1").created("r1").text("r1", "One two three").done("r1")
    log.sent("poly.output_audio.started", response_id="r1")
    log.sent("poly.output_audio.delta", response_id="r1", audio_ms=400, delta="One")
    log.got("input_audio_buffer.speech_started", item_id="u2")
    log.sent("poly.output_audio.stopped", response_id="r1", audio_ms=500, dropped_ms=900, spoken_text="One")
    got = Imported(log)
    assert got.brief[-5:] == [
        "playback.started r1",
        "playback.progress r1 400",
        "speech.started turn-2",
        "user.interrupt turn-2 r1 speech_started",
        "playback.stopped r1 500 One",
    ]
    assert got.header["source"]["dialect"] == "dialog-rsn-1"
    assert got.rejected() == []


def test_truncation_offsets_count_the_earlier_items_of_the_response():
    log = Log().created("r1")
    for item, ms in (("a1", 300), ("a2", 500)):
        log.got("response.output_audio.delta", response_id="r1", item_id=item, delta=audio(ms))
    log.done("r1").got("conversation.item.truncated", item_id="a2", content_index=0, audio_end_ms=200)
    got = Imported(log)
    assert got.of("response.truncated") == [{"response_id": "r1", "audio_end_ms": 500}]
    assert got.rejected() == []


def test_playback_and_truncation_of_what_is_not_in_the_log_are_counted():
    log = Log().got("output_audio_buffer.stopped", response_id="r0")
    log.got("conversation.item.truncated", item_id="a0", audio_end_ms=5)
    got = Imported(log)
    assert got.events == []
    assert got.summary["unmapped"] == {"output_audio_buffer.stopped": 1, "conversation.item.truncated": 1}
    assert got.summary["warnings"]["total"] == 2
