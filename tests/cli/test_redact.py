"""The redact command over traces and session logs."""

import contextlib
import io
import json

import pytest

from fixture_files import FOLDER, fixtures
from realtime_session.cli import main
from realtime_session.contract.session import Session
from realtime_session.wire import importer
from realtime_session.wire.redact_log import LogRedactor
from shared_data import shared
from wire.openai_rows import Imported, Log, audio, message

KEY = b"a key of 32 bytes for the tests."


def run(*args):
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["redact", *map(str, args)])
    return code, out.buffer.getvalue().decode("utf-8"), err.getvalue()


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key"
    path.write_bytes(KEY)
    return path


SLUG = "audio/numbered-frames-full"


def test_a_document_stays_a_document_and_lines_stay_lines(tmp_path):
    document = fixtures()[SLUG]
    lines = tmp_path / "t.jsonl"
    rows = [{"session": document["session"]}, *document["events"]]
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    code, out, err = run(FOLDER / f"{SLUG}.json")
    assert code == 0 and set(json.loads(out)) == {"session", "events"}
    assert "switched off: tool/arguments" in err and "switched off: event/id_conflict" in err
    code, out, _ = run(lines)
    assert code == 0 and len(out.splitlines()) == len(rows) and "resume_token" in out.splitlines()[0]


def test_one_key_file_gives_one_result_and_no_key_file_another(key):
    first, again, other = (run(FOLDER / f"{SLUG}.json", *extra)[1] for extra in
                           (["--key-file", key], ["--key-file", key], []))
    assert first == again != other
    assert KEY.decode() not in first


def test_an_unreadable_trace_leaves_no_output(tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"session":{"session_id":"s","resume_token":"t"}}\n{"event_id":\n', encoding="utf-8")
    code, out, err = run(bad, "-o", tmp_path / "out.jsonl")
    assert (code, out) == (2, "") and ":2: json/syntax" in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.jsonl"]


@pytest.mark.parametrize(("policy", "part"), [("text", "CLASS=ACTION"), ("text=blur", "drop, hash or keep")])
def test_a_bad_policy_is_a_usage_error(policy, part):
    code, _, err = run(FOLDER / f"{SLUG}.json", "--policy", policy)
    assert code == 2 and part in err


def test_a_short_key_file_is_refused(tmp_path):
    (tmp_path / "key").write_bytes(b"short")
    code, _, err = run(FOLDER / f"{SLUG}.json", "--key-file", tmp_path / "key")
    assert code == 2 and "16 bytes" in err and "short" not in err.replace(str(tmp_path), "")


def private_log():
    log = Log()
    log.got("session.created", session={"id": "sess_1", "model": "gpt-realtime", "instructions": "SECRET 1",
                                        "client_secret": {"value": "SECRET2"},
                                        "tools": [{"type": "function", "name": "pay", "description": "SECRET 3",
                                                   "parameters": {"type": "object", "title": "SECRET"}}]})
    log.speech("u1", 0, 500)
    log.got("conversation.item.input_audio_transcription.completed", item_id="u1", content_index=0,
            transcript="SECRET 4")
    log.created("r1").text("r1", "SECRET 5").call("r1", "c1", '{"card": "SECRET 6"}', name="pay").done("r1")
    log.sent("conversation.item.create", item={"type": "function_call_output", "call_id": "c1",
                                               "output": '{"paid": "SECRET 7"}'})
    log.output("c1", '{"paid": "SECRET 7"}')
    log.sent("response.create")
    log.created("r2")
    log.got("response.output_audio.delta", response_id="r2", item_id="a2", content_index=0, delta=audio(300))
    log.got("response.output_audio_transcript.delta", response_id="r2", item_id="a2", content_index=0,
            delta="SECRET 8")
    log.done("r2")
    log.got("some.new.event", note="SECRET 9", inner={"SECRET 10": ["SECRET 11"]})
    log.sent("conversation.item.create", item=message(None, "user", "SECRET 12"))
    return log.close(1000)


def judged(imported):
    session = Session(imported.header, without={"tool/arguments"})
    rows = []
    for event in imported.events:
        found = session.receive(event)
        rule = found.violation.rule if found.violation else None
        rows.append((event["type"], event["at_ms"], found.kind, found.reason, rule,
                     [f.rule for f in found.findings], event["payload"].get("duration_ms")))
    return rows, [f.rule for f in session.finish()]


def hidden(rows):
    redactor = LogRedactor(KEY)
    return [redactor.row(row) for row in rows]


def test_a_redacted_log_holds_no_private_text_and_imports_alike():
    log = private_log()
    out = hidden(log.rows)
    assert "SECRET" not in json.dumps(out)
    before, after = Imported(log), Imported(out)
    assert judged(before) == judged(after)
    assert [p["duration_ms"] for p in after.of("response.audio")] == [300]
    assert after.header["tools"][0]["name"] == "pay"


def test_rows_keep_their_lines_and_an_array_stays_one(tmp_path):
    rows = [json.dumps(row) for row in private_log().rows]
    (tmp_path / "log.jsonl").write_text(rows[0] + "\n\n" + rows[1] + "\n", encoding="utf-8")
    (tmp_path / "log.json").write_text("[" + ",".join(rows) + "]", encoding="utf-8")
    code, out, _ = run(tmp_path / "log.jsonl")
    assert code == 0 and [bool(line) for line in out.splitlines()] == [True, False, True]
    code, out, _ = run(tmp_path / "log.json")
    assert code == 0 and len(json.loads(out)) == len(rows)


def test_a_log_whose_row_begins_with_session_is_no_trace(tmp_path):
    (tmp_path / "log.jsonl").write_text('{"session": {"id": "s"}, "type": "session.created"}\n', encoding="utf-8")
    code, out, err = run(tmp_path / "log.jsonl")
    assert code == 0 and "1 rows" in err and json.loads(out)["type"] == "session.created"


def imported(name, rows):
    maker = importer(name)()
    events = [event for number, row in enumerate(rows, 1) for event in maker.feed(number, row)]
    events += maker.finish()
    session, out = Session(maker.header(), without={"tool/arguments"}), []
    for event in events:
        found = session.receive(event)
        rule = found.violation.rule if found.violation else None
        out.append((event["type"], event["at_ms"], found.kind, found.reason, rule, [f.rule for f in found.findings],
                    event["payload"].get("duration_ms")))
    return out, [f.rule for f in session.finish()]


@pytest.mark.parametrize(("name", "words"), [
    ("openai", ("openai_", "azure", "xai", "openai-current")), ("gemini", ("google",)),
    ("elevenlabs", ("elevenlabs",)), ("twilio", ("twilio",))])
def test_recorded_logs_import_alike(name, words):
    for path in sorted(shared("logs").rglob("*.jsonl")):
        if not any(word in path.name for word in words):
            continue
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        assert imported(name, rows) == imported(name, hidden(rows)), path.name


def test_tools_of_other_protocols_lose_their_schemas_arguments_and_results():
    rows = [
        {"setup": {"model": "models/x", "tools": [{"functionDeclarations": [
            {"name": "pay", "description": "SECRET", "parameters": {"description": "SECRET"}}]}],
            "systemInstruction": {"parts": [{"text": "SECRET"}]}}},
        {"toolCall": {"functionCalls": [{"id": "f1", "name": "pay", "args": {"card": "SECRET"}}]}},
        {"toolResponse": {"functionResponses": [{"id": "f1", "name": "pay", "response": {"paid": "SECRET"}}]}},
        {"serverContent": {"modelTurn": {"parts": [{"text": "SECRET"}, {"inlineData": {
            "mimeType": "audio/pcm;rate=24000", "data": "SECRETSECRET"}}]}}},
        {"type": "client_tool_call", "client_tool_call": {"tool_name": "pay", "tool_call_id": "c1",
                                                          "parameters": {"card": "SECRET"}}},
        {"type": "client_tool_result", "tool_call_id": "c1", "result": "SECRET", "is_error": False},
        {"event": "start", "start": {"streamSid": "SECRET", "customParameters": {"caller": "SECRET"}}},
        {"sessionResumptionUpdate": {"newHandle": "SECRET", "resumable": True}},
        "SECRET",
    ]
    out = json.dumps(hidden(rows))
    assert "SECRET" not in out
    assert all(word in out for word in ("pay", "f1", "c1", "audio/pcm;rate=24000", "AAAAAAAAAAAA"))


def test_the_page_lists_every_class_with_its_default():
    from realtime_session.doors.resources import fixture_root
    from realtime_session.traces.redact import CLASSES

    page = fixture_root().parent / "docs" / "how-to" / "share-a-production-log.md"
    if not page.exists():
        pytest.skip("the docs are no part of an installed package")
    text = page.read_text(encoding="utf-8")
    assert [f"| `{n}` | {a} | {w} |" for n, (a, w) in CLASSES.items()] == [
        line for line in text.splitlines() if line.startswith("| `")]
