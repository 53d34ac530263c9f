"""Which protocol a log speaks."""

import json

import pytest

from realtime_session.cli import main
from realtime_session.wire.detect import detect

from .openai_rows import Log
from .other_rows import ELEVENLABS, GEMINI, TWILIO

LOGS = {
    "gemini": GEMINI,
    "elevenlabs": ELEVENLABS,
    "twilio": TWILIO,
    "openai": Log().got("session.created", session={}).created("r1").done("r1").rows,
}


@pytest.mark.parametrize("format_", sorted(LOGS))
def test_each_format_is_known_by_its_rows_wrapped_or_raw(format_):
    rows = LOGS[format_]
    assert detect(enumerate(rows, 1)) == format_
    assert detect((n, row["data"]) for n, row in enumerate(rows, 1)) == format_


@pytest.mark.parametrize("rows", [[], [None, 3, "x"], [{"type": "error"}], [{"a": 1}]])
def test_what_nobody_speaks_is_nothing(rows):
    assert detect(enumerate(rows, 1)) is None


@pytest.mark.parametrize("format_", sorted(LOGS))
def test_import_auto(format_, tmp_path, capsys):
    log, by_name, by_look = tmp_path / "log.jsonl", tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in LOGS[format_]), encoding="utf-8")
    assert main(["import", format_, str(log), "-o", str(by_name)]) == 0
    named = capsys.readouterr().out
    assert main(["import", "auto", str(log), "-o", str(by_look)]) == 0
    assert capsys.readouterr().out == named
    assert named.startswith(format_)
    assert by_look.read_bytes() == by_name.read_bytes()


def test_import_auto_of_an_unknown_log(tmp_path, capsys):
    log = tmp_path / "log.jsonl"
    log.write_text('{"a": 1}\n', encoding="utf-8")
    assert main(["import", "auto", str(log), "-o", str(tmp_path / "t.jsonl")]) == 2
    assert "import/format" in capsys.readouterr().err
    assert not (tmp_path / "t.jsonl").exists()
