"""Each mistake of a client on a small synthetic log, and what looks like it and is none."""

import contextlib
import io
import json

import pytest

from realtime_session.cli import main
from realtime_session.doors.resources import fixture_root
from realtime_session.wire.mistakes import MISTAKES, MistakeLint
from shared_data import shared
from wire.openai_rows import Log, audio, message


def found(log, dialect=None):
    lint, out = MistakeLint(dialect), []
    for number, row in enumerate(log.rows, 1):
        out += lint.feed(number, row)
    return [(f.id, f.line) for f in out + lint.finish()]


def spoken(log, response="r1", ms=300):
    log.created(response)
    log.got("response.output_audio.delta", response_id=response, item_id="a1", content_index=0, delta=audio(ms))
    return log.done(response)


def asked(log=None):
    log = (log or Log()).sent("session.update", session={"output_modalities": ["text"]})
    return log.sent("conversation.item.create", item=message(None, "user", "hi")).sent("response.create")


def called(log=None):
    return asked(log).created("r1").call("r1", "c1", "{}").done("r1")


def output(log, call="c1"):
    return log.sent("conversation.item.create", item={"type": "function_call_output", "call_id": call, "output": "1"})


def report(log, kind, response="r1", **fields):
    return log.sent(f"poly.output_audio.{kind}", response_id=response, **fields)


def transcript(log, item="u1"):
    return log.got("conversation.item.input_audio_transcription.completed", item_id=item, transcript="hi")


def manual():
    log = Log().sent("session.update", session={"output_modalities": ["text"], "turn_detection": None})
    return log.sent("input_audio_buffer.append", audio=audio(200)).sent("input_audio_buffer.commit").got(
        "input_audio_buffer.committed", item_id="u1")


def long_reply(at=None, deltas=20, step=0.1):
    log = asked().created("r1")
    for n in range(deltas):
        log.got("response.output_text.delta", at=None if at is None else at + n * step, response_id="r1",
                item_id="a1", delta="x")
    return log.got("response.done", at=None if at is None else at + deltas * step,
                   response={"id": "r1", "status": "completed"})


def refused(log, code, **fields):
    return log.got("error", error={"type": "invalid_request_error", "code": code, **fields})


WRONG = {
    "audio session read as text": (
        lambda: spoken(Log().sent("conversation.item.create", item=message(None, "user", "hi")).sent("response.create")),
        [("text-deltas-in-audio-session", 4)]),
    "audio voiced twice": (
        lambda: report(report(spoken(Log().sent("response.create")), "started"), "stopped"),
        [("text-deltas-in-audio-session", 5)]),
    "result and nothing after it": (lambda: output(called()), [("tool-result-without-response-create", 7)]),
    "result answered only by the next turn": (
        lambda: output(called()).speech("u2").created("r2").done("r2"), [("tool-result-without-response-create", 7)]),
    "a second response.create": (
        lambda: asked().created("r1").sent("response.create").done("r1"), [("response-create-while-active", 5)]),
    "a refused response.create": (
        lambda: refused(asked(), "conversation_already_has_active_response"), [("response-create-while-active", 3)]),
    "cancel with nothing to cancel": (
        lambda: asked().created("r1").done("r1").sent("response.cancel"), [("cancel-when-idle", 6)]),
    "cancel of an old response": (
        lambda: asked().created("r1").done("r1").sent("response.create").created("r2").sent(
            "response.cancel", response_id="r1").done("r2"), [("cancel-when-idle", 8)]),
    "truncate beyond the audio": (
        lambda: spoken(Log().sent("response.create")).sent(
            "conversation.item.truncate", item_id="a1", content_index=0, audio_end_ms=400),
        [("truncate-beyond-audio", 5)]),
    "a refused truncate": (
        lambda: refused(Log(), None, message="Audio content of 300ms is already shorter than 400ms"),
        [("truncate-beyond-audio", 1)]),
    "waits for the transcript": (
        lambda: transcript(manual()).sent("response.create").created("r1").done("r1"), [("waits-for-transcript", 6)]),
    "plays a cancelled response": (
        lambda: report(report(asked().created("r1").text("r1", "a").done("r1", "cancelled"), "started"), "stopped"),
        [("late-output-played", 7)]),
    "sets reasoning": (
        lambda: Log().got("session.created", session={"model": "dialog-rsn-1"}).sent(
            "session.update", session={"reasoning": {"effort": "low"}}), [("sets-reasoning", 2)]),
    "reasoning before the model is known": (
        lambda: refused(Log().sent("session.update", session={"reasoning": {}}), "unsupported_parameter",
                        param="session.reasoning"), [("sets-reasoning", 1)]),
    "a refused field": (
        lambda: refused(Log(), "unsupported_parameter", param="session.audio.input.noise_reduction"),
        [("session-update-refused", 1)]),
    "a call without an answer": (
        lambda: called().sent("response.create").created("r2").done("r2"), [("call-unanswered", 5)]),
    "waits for the end, by count": (lambda: report(report(long_reply(), "started"), "stopped"),
                                    [("reads-only-final-text", 26)]),
    "waits for the end, by time": (lambda: report(report(long_reply(1.0, 6), "started"), "stopped"),
                                   [("reads-only-final-text", 12)]),
    "no stopped after a barge-in": (
        lambda: report(asked().created("r1").text("r1", "a"), "started").done("r1", "cancelled"),
        [("playback-reports-missing", 4)]),
    "no reports at all": (
        lambda: asked(Log().got("session.created", session={"model": "dialog-rsn-1"})).created("r1").text(
            "r1", "a").done("r1"), [("playback-reports-missing", 5)]),
    "stopped without started": (
        lambda: report(asked().created("r1").text("r1", "a").done("r1"), "stopped"),
        [("playback-reports-missing", 7)]),
    "reports after stopped": (
        lambda: report(report(report(asked().created("r1").text("r1", "a").done("r1"), "started"), "stopped"), "delta"),
        [("playback-report-after-stop", 9)]),
}
RIGHT = {
    "a tool round": lambda: output(called()).sent("response.create").created("r2").text("r2", "a").done("r2"),
    "a result while the caller speaks": lambda: output(called().speech("u2", commit=False)).created("r2").done("r2"),
    "two results, one response.create": lambda: output(output(
        asked().created("r1").call("r1", "c1", "{}").call("r1", "c2", "{}").done("r1")), "c2").sent(
            "response.create").created("r2").done("r2"),
    "a seeded call": lambda: output(Log(), "old"),
    "a response beside the conversation": lambda: asked().created("r1").sent(
        "response.create", response={"conversation": "none"}).created("r2", conversation_id=None).done("r2").done("r1"),
    "a cancel in time": lambda: asked().created("r1").sent("response.cancel", response_id="r1").done("r1", "cancelled"),
    "a truncate to what was sent": lambda: spoken(Log().sent("response.create")).sent(
        "conversation.item.truncate", item_id="a1", content_index=0, audio_end_ms=300),
    "a truncate in a log without audio": lambda: Log().sent("response.create").created("r1").got(
        "response.output_audio.delta", trimmed={"delta": 9}, response_id="r1", item_id="a1", delta="AAAA").done(
            "r1").sent("conversation.item.truncate", item_id="a1", content_index=0, audio_end_ms=9000),
    "an answer before the transcript": lambda: transcript(manual().sent("response.create").created("r1")).done("r1"),
    "reports in order": lambda: report(report(report(
        asked().created("r1").text("r1", "a"), "started").done("r1"), "delta"), "stopped"),
    "reasoning where it is known": lambda: Log().got("session.created", session={"model": "gpt-realtime"}).sent(
        "session.update", session={"reasoning": {"effort": "low"}}),
    "a short reply voiced after its end": lambda: report(report(long_reply(1.0, 3), "started"), "stopped"),
    "audio that crosses another channel": lambda: spoken(Log().speech("u1")),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_named_with_its_line(name):
    log, expected = WRONG[name]
    assert found(log()) == expected


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_no_mistake_is_not_named(name):
    assert found(RIGHT[name]()) == []


def test_every_mistake_is_found_somewhere():
    assert {mistake for _, expected in WRONG.values() for mistake, _ in expected} == set(MISTAKES)


def run(*args):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["mistakes", *map(str, args)])
    return code, out.getvalue(), err.getvalue()


def test_the_command_prints_place_reason_and_fix(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in output(called()).rows), encoding="utf-8")
    code, out, _ = run(path)
    kind = MISTAKES["tool-result-without-response-create"]
    assert code == 1 and "log.jsonl:7: " + kind.id in out
    assert f"why: {kind.reason}" in out and f"fix: {kind.fix}" in out
    code, out, _ = run(path, "--format", "json")
    report_ = json.loads(out)
    assert code == 1 and report_["count"] == 1 and report_["mistakes"][0]["line"] == 7


def test_a_clean_log_exits_with_0_and_a_bad_one_with_2(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"type": "response.create"}) + "\n", encoding="utf-8")
    assert run(path)[0] == 0
    path.write_text('{"type": "response.create"}\n{"type":\n', encoding="utf-8")
    code, out, err = run(path)
    assert (code, out) == (2, "") and ":2: json/syntax" in err
    assert run(path, "--dialect", "klingon")[0] == 2


@pytest.mark.parametrize("value", [{}, {"type": 5}, {"type": "response.done"}, {"type": "error", "error": 7},
                                   {"type": "session.update", "session": []},
                                   {"type": "response.create", "response": {"output_modalities": 3}},
                                   {"type": "conversation.item.truncate", "audio_end_ms": True},
                                   {"type": "response.created", "response": {"id": ["r"]}},
                                   {"type": "poly.output_audio.started", "response_id": {}}])
def test_odd_messages_are_no_mistakes(value):
    lint = MistakeLint()
    assert lint.feed(1, value) == [] and lint.finish() == []


def test_recorded_sessions_are_clean():
    names = set()
    for path in sorted(shared("logs").rglob("*.jsonl")):
        lint, out = MistakeLint(), []
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.strip():
                out += lint.feed(number, json.loads(line))
        if out + lint.finish():
            names.add(path.name)
    assert names <= {"ga_event_examples.jsonl"}  # single messages from the specification, no session


def test_the_page_lists_every_mistake():
    page = fixture_root().parent / "docs" / "how-to" / "find-client-mistakes.md"
    if not page.exists():
        pytest.skip("the docs are no part of an installed package")
    text = page.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{m.id}` | {m.reason} | {m.fix} |" for m in MISTAKES.values()]
