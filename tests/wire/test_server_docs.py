"""The page of documented behaviours names tests that exist, for every behaviour or a reason."""

import pathlib
import re

from realtime_session.wire.server import PROFILES
from realtime_session.wire.server_faults import FAULTS
from realtime_session.wire.server_script import ACTIONS, SOUNDS, TIMINGS, TRANSCRIPT_WHEN, read_script

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "protocols" / "dialog-rsn-1-behaviours.md"


def rows():
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("|") and not line.startswith(("|---", "| Behaviour")):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def test_named_tests_exist():
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(HERE.glob("test_server_*.py")))
    defined = set(re.findall(r"^def (test_\w+)", text, re.MULTILINE))
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text(encoding="utf-8")))
    assert named - defined == set()
    assert len(named) > 40


def test_every_behaviour_has_a_test_or_a_reason():
    table = list(rows())
    assert len(table) > 50
    for behaviour, answer in table:
        assert "`test_" in answer or answer.startswith("none: "), behaviour


def test_reference_page_lists_every_fault_script_and_every_key():
    text = (PAGE.parent / "scripted-server.md").read_text(encoding="utf-8")
    for name, fault in FAULTS.items():
        assert f"| `{name}` | {fault['about']} |" in text
    keys = [*read_script({"version": 1}), "about", *TIMINGS, *TRANSCRIPT_WHEN, *SOUNDS, *ACTIONS, *PROFILES]
    assert [key for key in keys if f"`{key}`" not in text and f'"{key}"' not in text] == []


def test_reference_page_example_runs():
    text = (PAGE.parent / "scripted-server.md").read_text(encoding="utf-8")
    code = text.split("```python\n")[1].split("```")[0]
    names = {}
    exec(compile(code, "scripted-server.md", "exec"), names)
    assert [event["type"] for event in names["events"]] == ["session.created", "session.updated"]
