"""The conform command over the fixtures, the examples and the reports."""

import json
import pathlib
import shutil
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from realtime_session.cli import main
from realtime_session.kit.fixture import load_cases
from realtime_session.kit.mutants import killers, table

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SUBJECTS = ROOT / "examples" / "subjects"
NODE = shutil.which("node")


def report(capsys, *argv):
    code = main(["conform", *argv, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_reference_passes_every_case(capsys):
    code, found = report(capsys)
    assert code == 0
    assert found["counts"] == {"PASS": len(load_cases()), "FAIL": 0, "UNKNOWN": 0, "SKIP": 0, "known": 0}


def example(name):
    return {
        "callable": "examples.subjects.python_callable:make",
        "process": f"cmd: {sys.executable} {SUBJECTS / 'python_process.py'}",
        "node": f"cmd: {NODE} {SUBJECTS / 'node_process.mjs'}",
    }[name]


@pytest.mark.parametrize("name", ["callable", "process", pytest.param("node", marks=pytest.mark.skipif(
    NODE is None, reason="Node.js is not installed"))])
def test_the_examples_pass_all_of_half_duplex_and_skip_the_rest(capsys, monkeypatch, name):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    code, found = report(capsys, "--subject", example(name), "--require", "rule")
    assert code == 0, [c for c in found["cases"] if c["verdict"] in ("FAIL", "UNKNOWN")][:3]
    for case in found["cases"]:
        wanted = "PASS" if case["profile"] == "half_duplex" else "SKIP"
        assert case["verdict"] == wanted, case
    assert any(case["reason"] for case in found["cases"] if case["verdict"] == "SKIP")


def test_the_wrong_example_fails_where_playback_is_cleared_and_only_there(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    code, found = report(capsys, "--subject", "examples.subjects.python_callable:make_wrong")
    failed = {case["id"] for case in found["cases"] if case["verdict"] == "FAIL"}
    cleared = {case.id for case in load_cases() if case.profile == "half_duplex" and any(
        event["type"] == "user.interrupt" and "clear_playback" in " ".join(row)
        for event, row in zip(case.events, case.rows) if isinstance(event, dict) and "type" in event)}
    assert code == 1 and failed == cleared


def test_a_decision_alone_does_not_see_forgotten_effects(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    code, found = report(capsys, "--subject", "examples.subjects.python_callable:make_wrong", "--require", "decision")
    assert code == 0 and any(case["differences"] for case in found["cases"])


def test_junit_separates_failure_from_error_and_skip(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    main(["conform", "interrupt/", "--subject", "examples.subjects.python_callable:make_wrong", "--format", "junit"])
    suite = ElementTree.fromstring(capsys.readouterr().out)
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure")) > 0
    assert int(suite.get("skipped")) == len(suite.findall("testcase/skipped")) > 0
    assert suite.get("errors") == "0"
    main(["conform", "turn/", "--subject", f"cmd: {sys.executable} -c \"import sys; sys.exit('\\x1b<&]]>')\"",
          "--format", "junit"])
    suite = ElementTree.fromstring(capsys.readouterr().out)
    assert suite.get("failures") == "0" and int(suite.get("errors")) == len(suite.findall("testcase/error")) > 0


def test_the_text_names_case_event_expected_and_got(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(["conform", "interrupt/names-active-half", "--subject",
                 "examples.subjects.python_callable:make_wrong"]) == 1
    text = capsys.readouterr().out
    assert "FAIL  interrupt/names-active-half" in text
    assert "expected cancel_response(r2), clear_playback(r2), got cancel_response(r2)" in text


def test_a_list_of_known_failures(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    known = tmp_path / "known.txt"
    known.write_text("# ticket 12\ninterrupt/names-active-half  the queue is forgotten\n", encoding="utf-8")
    argv = ["conform", "interrupt/names-active-half", "--known", str(known),
            "--subject", "examples.subjects.python_callable:make_wrong"]
    assert main(argv) == 0
    assert "1 known to fail" in capsys.readouterr().out
    known.write_text("interrupt/names-activ-half\n", encoding="utf-8")
    assert main(argv) == 2
    assert "did you mean interrupt/names-active-half" in capsys.readouterr().err


def test_cases_are_chosen_by_prefix_and_listed(capsys):
    assert main(["conform", "turn/", "link/", "--list"]) == 0
    ids = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert ids == [case.id for case in load_cases() if case.id.startswith(("turn/", "link/"))]


@pytest.mark.parametrize("argv, words", [
    (["tuurn/"], "did you mean turn/"),
    (["--subject", "collections"], "module:factory"),
    (["--subject", "cmd:"], "empty command"),
    (["--known", "/nowhere/known.txt"], "No such file"),
    (["--jobs", "0"], "invalid"),
    (["--timeout", "nan"], "invalid"),
    (["turn/", "--trace", "x.json", "--list"], "--trace"),
])
def test_usage_errors_are_2_and_say_what_is_wrong(capsys, argv, words):
    assert main(["conform", *argv]) == 2
    assert words in capsys.readouterr().err


def test_an_exported_trace_is_judged_without_a_subject(capsys, tmp_path):
    assert main(["conform", "--trace", str(ROOT / "examples" / "session_fixture.json")]) == 0
    broken = ROOT / "fixtures" / "contract" / "event" / "time-backwards-half.json"
    assert main(["conform", "--trace", str(broken)]) == 1
    assert "event/time" in capsys.readouterr().out


# --- the fixtures can fail ---


def test_every_rule_that_is_switched_off_is_noticed():
    assert [rule for rule, case in killers(load_cases()) if case is None] == []


def test_the_page_of_mutants_is_up_to_date():
    page = ROOT / "docs" / "reference" / "mutants.md"
    assert page.read_text(encoding="utf-8") == table(load_cases()), (
        "write it anew: python -m realtime_session conform --mutants > docs/reference/mutants.md")
