"""The documented few lines, run inside a pytest suite of their own."""

import pathlib
import subprocess
import sys

import pytest

from realtime_session.kit.pytest_door import ContractFailure, NotJudged, cases, check

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "how-to" / "judge-your-implementation.md"


def documented_lines():
    return PAGE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]


def suite(tmp_path, factory):
    (tmp_path / "mypackage").mkdir()
    (tmp_path / "mypackage" / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "mypackage" / "adapter.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nsys.dont_write_bytecode = True\n"
        f"from examples.subjects.python_callable import {factory} as make\n", encoding="utf-8")
    (tmp_path / "test_mine.py").write_text(
        f"import sys\nsys.path[:0] = [{str(ROOT)!r}, {str(tmp_path)!r}]\n" + documented_lines(), encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", str(tmp_path / "test_mine.py")],
        cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", timeout=120)


def test_one_test_for_each_case(tmp_path):
    done = suite(tmp_path, "make")
    assert done.returncode == 0, done.stdout
    assert f"{len(cases(profile='half_duplex'))} passed" in done.stdout


def test_a_wrong_session_fails_under_the_case_id(tmp_path):
    done = suite(tmp_path, "make_wrong")
    assert done.returncode == 1
    assert "test_contract[interrupt/names-active-half]" in done.stdout
    assert "expected cancel_response(r2), clear_playback(r2), got cancel_response(r2)" in done.stdout


def test_failing_and_not_being_judged_are_two_errors():
    class Wrong:
        def receive(self, event):
            return {"decision": "ignored", "reason": "whim"}

    class Broken:
        def receive(self, event):
            raise RuntimeError("no session")

    case = cases("turn/")[0]
    with pytest.raises(ContractFailure, match="expected accepted, got ignored"):
        check(case, lambda header: Wrong())
    with pytest.raises(NotJudged, match="RuntimeError: no session"):
        check(case, lambda header: Broken())
