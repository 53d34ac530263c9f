"""The adapter-check command over recorded frames."""

import contextlib
import io
import json

import pytest

from realtime_session.cli import main

START = {"type": "start", "version": 1, "session_id": "s", "opening": "caller", "timeout_s": 300,
         "audio": {"encoding": "pcm_s16le", "sample_rate": 16000, "channels": 1},
         "capabilities": {"transcripts": False, "tool_events": False}}
GOOD = [("host", START), ("adapter", {"type": "ready", "version": 1}), ("host", {"type": "begin"}),
        ("adapter", 640), ("host", 640), ("adapter", "AAAA" * 4), ("adapter", {"type": "end"})]
STOP = ("host", {"type": "stop"})


def check(path, frames, *args):
    rows = []
    for n, (sender, frame) in enumerate(frames):
        key = {dict: "text", int: "bytes", str: "base64"}[type(frame)]
        rows.append({"at_ms": n * 20, "from": sender, key: json.dumps(frame) if key == "text" else frame})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return run(path, *args)


def run(*args):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["adapter-check", *map(str, args)])
    return code, out.getvalue(), err.getvalue()


def test_a_good_recording_conforms(tmp_path):
    code, out, _ = check(tmp_path / "f.jsonl", [*GOOD, STOP])
    assert code == 0 and "8 frames, conforms" in out


def test_a_recording_without_stop_is_unfinished(tmp_path):
    assert check(tmp_path / "f.jsonl", GOOD)[0] == 3


def test_a_broken_rule_is_named_with_its_line(tmp_path):
    frames = [*GOOD, ("adapter", 640), STOP]
    code, out, _ = check(tmp_path / "f.jsonl", frames)
    assert code == 1 and "f.jsonl:8: end/last (adapter, 140 ms)" in out
    code, out, _ = check(tmp_path / "f.jsonl", frames, "--format", "json")
    assert [(v["line"], v["rule"]) for v in json.loads(out)["violations"]] == [(8, "end/last")]
    assert check(tmp_path / "f.jsonl", frames, "--side", "host")[0] == 0


@pytest.mark.parametrize(("row", "path"), [
    (5, ""), ({"from": "host", "bytes": 2}, "/at_ms"), ({"at_ms": 0, "from": "me", "bytes": 2}, "/from"),
    ({"at_ms": 0, "from": "host"}, ""), ({"at_ms": 0, "from": "host", "bytes": True}, "/bytes"),
    ({"at_ms": 0, "from": "host", "text": 5}, "/text"), ({"at_ms": 0, "from": ["host"], "bytes": 2}, "/from")])
def test_a_bad_row_is_one_error_with_its_line(tmp_path, row, path):
    file = tmp_path / "f.jsonl"
    file.write_text("\n" + json.dumps(row) + "\n", encoding="utf-8")
    code, out, err = run(file)
    assert (code, out) == (2, "") and ":2: frames/row" in err and path in err
