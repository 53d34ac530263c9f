"""The end of a session, reconnects, repeats, dialects and unmapped rows of imported OpenAI-protocol logs."""

import pytest

from .openai_rows import Imported, Log, audio, message


def test_log_that_just_ends():
    got = Imported(Log().got("session.created", session={"id": "sess_1"}).created("r1").done("r1"))
    assert got.header["source"] == {
        "producer": "import openai",
        "dialect": "openai-ga",
        "clock": "line",
        "end": "eof",
    }
    assert got.header["session_id"] == "sess_1"
    assert got.header["profile"] == "full_duplex"


@pytest.mark.parametrize(
    ("code", "last", "end"),
    [
        (1000, "session.completed close 1000 server", "completed"),
        (1011, "transport.disconnected close 1011", "disconnected"),
        (None, "transport.disconnected close", "disconnected"),
    ],
)
def test_close_of_the_connection(code, last, end):
    got = Imported(Log().created("r1").done("r1").close(code))
    assert got.brief[-1] == last
    assert got.synthetic() == [last.split()[0]]
    assert got.header["source"]["end"] == end
    assert got.rejected() == []


def test_session_created_after_a_close_is_a_resume_with_the_headers_token():
    log = (
        Log()
        .got("session.created", session={"id": "sess_1"})
        .typed("t1", "hi")
        .created("r1")
        .text("r1", "Hal")
    )
    log.close(1011).sent("input_audio_buffer.append", audio=audio(20))
    log.got("session.created", session={"id": "sess_2"}).typed("t1-again", "hi").got(
        "session.updated", session={}
    )
    log.typed("t2", "still there?").created("r2").done("r2").close(1000)
    got = Imported(log)
    types = [e["type"] for e in got.events]
    at = types.index("transport.disconnected")
    assert types[at:] == [
        "transport.disconnected",
        "transport.resumed",
        "input.text",
        "turn.commit",
        "response.started",
        "response.completed",
        "session.completed",
    ]
    assert got.of("transport.resumed") == [{"resume_token": got.header["resume_token"]}]
    assert got.header["session_id"] == "sess_1"
    assert got.rejected() == []
    assert got.summary["warnings"]["by_code"] == {"sent_while_down": 1, "replayed_item": 1}


def test_new_connection_without_a_close_is_a_loss_too():
    log = Log().got("session.created", session={"id": "a"}).typed("t1", "x").created("r1")
    log.got("session.created", session={"id": "b"}).got("session.updated", session={})
    log.got("input_audio_buffer.speech_started", item_id="u1")
    got = Imported(log)
    assert [e["type"] for e in got.events][-3:] == [
        "transport.disconnected",
        "transport.resumed",
        "speech.started",
    ]
    assert got.rejected() == []


def test_token_is_the_same_for_the_same_log_and_tells_sessions_apart():
    def token(session):
        return Imported(Log().got("session.created", session={"id": session})).header["resume_token"]

    assert token("s1") == token("s1") != token("s2")


def test_answered_call_that_is_seeded_again_after_a_reconnect_has_no_second_result():
    log = (
        Log()
        .got("session.created", session={})
        .typed("t", "x")
        .created("r1")
        .call("r1", "c1", "{}")
        .done("r1")
    )
    log.output("c1", "A").close(1006).got("session.created", session={})
    log.sent(
        "conversation.item.create",
        item={"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": "{}"},
    )
    log.sent(
        "conversation.item.create", item={"type": "function_call_output", "call_id": "c1", "output": "A"}
    )
    log.got("conversation.item.added", item={"id": "n1", "type": "function_call", "call_id": "c1"})
    log.output("c1", "A").typed("t2", "y").created("r2").done("r2")
    got = Imported(log)
    assert len(got.of("tool.result")) == 1
    assert got.rejected() == []


def test_exact_repeat_is_dropped_and_counted():
    log = Log().created("r1").text("r1", "Hi").done("r1")
    log.rows.insert(2, log.rows[1])
    got = Imported(log)
    assert [p["text"] for p in got.of("response.text")] == ["Hi"]
    assert got.summary["repeats_dropped"] == 1


def test_one_id_with_two_contents_stays_visible_to_the_contract():
    log = Log().created("r1")
    log.got("response.output_text.delta", event_id="same", response_id="r1", item_id="a", delta="A")
    log.got("response.output_text.delta", event_id="same", response_id="r1", item_id="a", delta="B")
    assert Imported(log).rejected() == ["event/id_conflict"]


def test_ids_of_client_and_server_may_coincide():
    log = Log().got("response.created", event_id="1", response={"id": "r1"})
    log.sent("response.cancel", event_id="1").got(
        "response.done", event_id="2", response={"id": "r1", "status": "cancelled"}
    )
    got = Imported(log)
    assert [e["event_id"] for e in got.events] == ["1", "imp-2", "2"]
    assert got.rejected() == []


def test_unknown_types_and_fields_are_counted_never_refused():
    log = Log().got("ping", timestamp=5).got("ping", timestamp=6).got("brand.new", x=[1])
    log.created("r1", surprise={"deep": []}).got("rate_limits.updated", rate_limits=[])
    got = Imported(log)
    assert got.summary["unmapped"] == {"brand.new": 1, "ping": 2, "rate_limits.updated": 1}
    assert len(got.events) == 1


def test_raw_rows_are_told_apart_by_their_type():
    rows = [
        {"type": "conversation.item.create", "item": message(None, "user", "hi")},
        {"type": "response.create"},
        {"type": "conversation.item.added", "event_id": "e1", "item": message("t1", "user", "hi")},
        {"type": "response.created", "event_id": "e2", "response": {"id": "r1"}},
    ]
    assert Imported(rows).brief == [
        "input.text turn-1 hi",
        "turn.commit turn-1 text",
        "response.started r1 turn-1",
    ]


@pytest.mark.parametrize(
    ("log", "dialect"),
    [
        (Log().got("response.output_audio.delta", response_id="r", delta=""), "openai-ga"),
        (
            Log()
            .got("response.audio.delta", response_id="r", delta="")
            .got("conversation.item.created", item={}),
            "openai-beta",
        ),
        (
            Log()
            .got("response.audio.delta", response_id="r", delta="")
            .got("conversation.item.created", item={})
            .got("conversation.item.done", item={}),
            "azure-voice-live",
        ),
        (
            Log().got("session.created", session={"voice": {"name": "x", "type": "openai"}}),
            "azure-voice-live",
        ),
        (Log().got("response.content_part.added", response_id="r", part={}, content={}), "azure"),
        (Log().got("ping", timestamp=1), "xai"),
        (Log().got("session.created", session={"model": "grok-voice"}), "xai"),
        (Log().got("session.created", session={"model": "dialog-rsn-1"}), "dialog-rsn-1"),
    ],
)
def test_dialect_is_detected(log, dialect):
    assert Imported(log).header["source"]["dialect"] == dialect


def test_given_dialect_is_kept_and_sets_the_native_rate():
    log = Log().sent("input_audio_buffer.append", audio=audio(20, 32))
    got = Imported(log, dialect="dialog-rsn-1")
    assert got.of("audio.frame")[0]["duration_ms"] == 20
    assert got.header["source"]["dialect"] == "dialog-rsn-1"
