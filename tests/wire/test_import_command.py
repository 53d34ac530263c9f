"""The `import` command: files, pipes, arrays, malformed rows, summaries."""

import io
import json
import subprocess
import sys

import pytest

from realtime_session.cli import main
from realtime_session.traces.replay import Replay

from .openai_rows import Log, audio


def session():
    log = (
        Log()
        .got("session.created", session={"id": "sess_1"})
        .sent("input_audio_buffer.append", audio=audio(100))
    )
    log.speech("u1", 10, 90).created("r1").text("r1", "Grüße").got("brand.new", x=1)
    log.got("input_audio_buffer.speech_started", item_id="u2")
    return log.done("r1", "cancelled", status_details={"reason": "turn_detected"}).close(1000)


def write(path, rows, array=False):
    text = json.dumps(rows) if array else "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
    return str(path)


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def test_file_becomes_a_trace_that_replays(tmp_path, capsys):
    out = tmp_path / "t.jsonl"
    assert main(["import", "openai", write(tmp_path / "log.jsonl", session().rows), "-o", str(out)]) == 0
    header, *events = read(out)
    assert header["session"]["source"] == {
        "producer": "import openai",
        "dialect": "openai-ga",
        "clock": "audio",
        "end": "completed",
    }
    assert [e["type"] for e in events] == [
        "audio.frame",
        "speech.started",
        "speech.stopped",
        "turn.commit",
        "response.started",
        "response.text",
        "speech.started",
        "user.interrupt",
        "response.cancelled",
        "session.completed",
    ]
    text = capsys.readouterr().out
    assert "barge-ins   0 before output, 1 mid generation, 0 all items done, 0 after completion" in text
    assert "unmapped    1 brand.new" in text
    with open(out, "rb") as file:
        assert Replay(file).run().exit_code() == 0


def test_summary_as_json(tmp_path, capsys):
    out = tmp_path / "t.jsonl"
    log = write(tmp_path / "log.jsonl", session().rows)
    assert main(["import", "openai", log, "-o", str(out), "--format", "json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["responses"] == {"started": 1, "unfinished": 0, "out_of_band": 0, "cancelled": 1}
    assert (summary["rejected"], summary["malformed"], summary["findings_by_layer"]) == (0, 0, {})
    assert summary["unmapped"] == {"brand.new": 1}


def test_array_gives_the_same_trace(tmp_path, capsys):
    outs = []
    for array in (False, True):
        out = tmp_path / f"{array}.jsonl"
        assert main(["import", "openai", write(tmp_path / "log", session().rows, array), "-o", str(out)]) == 0
        outs.append(out.read_bytes())
    capsys.readouterr()
    assert outs[0] == outs[1]


def test_pipe_in_and_out(tmp_path):
    data = "".join(json.dumps(row) + "\n" for row in session().rows).encode()
    done = subprocess.run(
        [sys.executable, "-B", "-m", "realtime_session", "import", "openai", "-"],
        input=data,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert [json.loads(line).get("type") for line in done.stdout.split(b"\n")[:2]] == [None, "audio.frame"]
    assert b"openai (openai-ga), clock: audio" in done.stderr


BAD = [
    ("not json", "json/syntax"),
    ('{"type":"a","type":"b"}', "json/duplicate_key"),
    ("[1]", "log/row"),
    ('{"type":1e400}', "json/non_finite"),
    ("[" * 200 + "]" * 200, "json/too_deep"),
]


@pytest.mark.parametrize(("line", "code"), BAD)
def test_malformed_row_is_named_with_its_line(tmp_path, capsys, line, code):
    path = tmp_path / "log.jsonl"
    path.write_text('{"type":"ping"}\n\n' + line + "\n", encoding="utf-8")
    assert main(["import", "openai", str(path), "-o", str(tmp_path / "t.jsonl")]) == 2
    error = capsys.readouterr().err
    assert ":3" in error and code in error
    assert not (tmp_path / "t.jsonl").exists()


@pytest.mark.parametrize(("line", "code"), BAD)
def test_keep_going_counts_malformed_rows(tmp_path, capsys, line, code):
    path = tmp_path / "log.jsonl"
    path.write_text('{"type":"ping"}\n' + line + '\n{"type":"ping"}\n', encoding="utf-8")
    args = [
        "import",
        "openai",
        str(path),
        "-o",
        str(tmp_path / "t.jsonl"),
        "--keep-going",
        "--format",
        "json",
    ]
    assert main(args) == 0
    captured = capsys.readouterr()
    summary = json.loads(captured.out)
    assert (summary["malformed"], summary["unmapped"]) == (1, {"ping": 2})
    assert f"line 2 skipped: {code}" in captured.err


def test_options_reach_the_importer(tmp_path, capsys):
    log = Log().created("r1").call("r1", "c1", "{}").sent("input_audio_buffer.append", audio=audio(20, 32))
    out = tmp_path / "t.jsonl"
    args = [
        "import",
        "openai",
        write(tmp_path / "log", log.rows),
        "-o",
        str(out),
        "--dialect",
        "dialog-rsn-1",
        "--read-only",
        "look_up",
        "--read-only",
        "other",
    ]
    assert main(args) == 0
    capsys.readouterr()
    header, *events = read(out)
    assert header["session"]["source"]["dialect"] == "dialog-rsn-1"
    assert events[1]["payload"]["read_only"] is True
    assert events[2]["payload"]["duration_ms"] == 20


def test_unknown_dialect_and_missing_file_are_usage_errors(tmp_path, capsys):
    log = write(tmp_path / "log", [])
    assert main(["import", "openai", log, "--dialect", "klingon"]) == 2
    assert "openai-ga, openai-beta, azure" in capsys.readouterr().err
    assert main(["import", "openai", str(tmp_path / "none")]) == 2
    assert main(["import", "klingon", log]) == 2


def test_empty_log_is_an_empty_trace(tmp_path, capsys):
    out = tmp_path / "t.jsonl"
    assert main(["import", "openai", write(tmp_path / "log", []), "-o", str(out)]) == 0
    capsys.readouterr()
    assert len(read(out)) == 1
    assert Replay(io.BytesIO(out.read_bytes())).run().exit_code() == 3
