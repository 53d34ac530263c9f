"""The pages keep their word: generated parts are fresh, commands run as shown, links lead somewhere."""

import doctest
import functools
import importlib.util
import pathlib
import re
import shlex
import shutil

import pytest

import realtime_session
from realtime_session import cli
from realtime_session.contract.rules import RULES
from realtime_session.contract.state import HALF_PHASES
from realtime_session.report import state_diagram

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
WRITTEN = ("README", "trace-format", "rules", "phases", "measures", "cli", "half-duplex-phases")
COMMAND = "python -m realtime_session "
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
EDIT = re.compile(r"^<!-- edit (\S+): (after|replace) (\S+) -->\n```json\n(.*?)^```$", re.M | re.S)
EXIT = re.compile(r"\s+# exit (\d)$")


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def text_of(path):
    return path.read_text(encoding="utf-8")


# --- generated pages ---


@functools.cache
def generator():
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def generated():
    return generator().pages()


@pytest.mark.parametrize("stem", WRITTEN)
def test_generated_page_is_fresh(stem):
    (name,) = [name for name in generated() if pathlib.PurePosixPath(name).stem == stem]
    # == alone would print both pages
    fresh = text_of(DOCS / name) == generated()[name]
    assert fresh, f"docs/{name} is stale: run `python docs/generate.py`"


def test_every_generated_page_is_looked_at():
    assert sorted(WRITTEN) == sorted(pathlib.PurePosixPath(name).stem for name in generated())


def test_every_rule_has_a_case_that_keeps_it_and_one_that_breaks_it():
    page = generated()["reference/rules.md"]
    for rule in RULES:
        section = page.split(f"\n## {rule.id}\n")[1].split("\n## ")[0]
        assert "Cases that keep it" in section, rule.id
        assert "Cases that break it" in section, rule.id


def test_diagram_shows_every_phase_and_one_arrow_for_each_way():
    svg = generated()["pictures/half-duplex-phases.svg"]
    for name, _, _ in HALF_PHASES:
        assert f">{name}</text>" in svg
    arrows = {tuple(way) for way in re.findall(r"^\| \d+ \| `(\w+)` \| `(\w+)` \|", phases_page(), re.M)}
    assert svg.count("marker-end=") == len(arrows) > 20


def test_rules_prints_the_diagram(capsys, monkeypatch):
    edges = state_diagram.phase_edges(4)
    monkeypatch.setattr(state_diagram, "phase_edges", lambda: edges)
    assert cli.main(["rules", "--diagram"]) == 0
    assert capsys.readouterr() == (state_diagram.phases_svg(edges), "")


def phases_page():
    return generated()["reference/phases.md"]


def test_exploration_knows_the_ways_of_a_lost_booking_and_none_out_of_the_end():
    edges = set(state_diagram.phase_edges(7))
    assert {
        ("listening", "turn.commit", "thinking"),
        ("thinking", "response.audio", "speaking"),
        ("speaking", "user.interrupt", "listening"),
        ("speaking", "tool.call", "waiting_tool"),
        ("waiting_tool", "tool.result", "speaking"),
        ("waiting_tool", "transport.disconnected", "disconnected"),
        ("disconnected", "transport.resumed", "reconciling"),
        ("reconciling", "tool.result", "listening"),
        ("listening", "session.completed", "ended"),
    } <= edges
    assert not any(before == "ended" for before, _, _ in edges)
    assert not any(before == "disconnected" and type_ == "turn.commit" for before, type_, _ in edges)


# --- commands and their output ---


class Player:
    """Does what a reader of a page does, in a folder of its own: commands, copies, edits."""

    def __init__(self, folder, capsys):
        self.folder, self.capsys, self.ran, self.out = folder, capsys, 0, ""

    def line(self, line):
        words = shlex.split(line, comments=True)
        if line.startswith(COMMAND):
            found = EXIT.search(line)
            code = cli.main(words[3:])
            out, err = self.capsys.readouterr()
            self.ran, self.out = self.ran + 1, out + err
            assert code == int(found[1] if found else 0), f"{line}\n{self.out}"
        elif words and words[0] == "cp":
            shutil.copy(self.folder / words[1], self.folder / words[2])

    def edit(self, file, how, event_id, new):
        path = self.folder / file
        lines = text_of(path).split("\n")
        (at,) = [i for i, line in enumerate(lines) if f'"event_id": "{event_id}"' in line]
        if how == "replace":
            lines[at] = new.rstrip("\n")
        else:
            lines.insert(at + 1, new.rstrip("\n"))
        path.write_text("\n".join(lines), encoding="utf-8")

    def compare(self, shown):
        """The lines of each piece between `...` follow each other in the output, the pieces in order."""
        pieces = [piece.strip("\n").split("\n") for piece in re.split(r"^\.\.\.$", shown, flags=re.M)]
        out, at = [line.rstrip() for line in self.out.split("\n")], 0
        for piece in filter(lambda piece: piece != [""], pieces):
            size = len(piece)
            found = [i for i in range(at, len(out) - size + 1) if out[i : i + size] == piece]
            assert found, "shown but not printed:\n" + "\n".join(piece) + "\n\nprinted:\n" + self.out
            at = found[0] + size

    def block(self, language, body, after_command):
        if language == "sh":
            for line in body.splitlines():
                self.line(line)
        elif language == "console":
            for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
                command, _, shown = part.partition("\n")
                self.line(command)
                self.compare(shown)
        elif language == "text" and after_command:
            self.compare(body)


WITH_COMMANDS = [
    path
    for path in PAGES
    if any(
        COMMAND in body and language in ("sh", "console") for language, body in FENCE.findall(text_of(path))
    )
]


@pytest.fixture
def player(tmp_path, monkeypatch, capsys):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copy(ROOT / "README.md", tmp_path)
    if (ROOT / "docs" / "examples").is_dir():
        shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    monkeypatch.chdir(tmp_path)
    return Player(tmp_path, capsys)


@pytest.mark.parametrize("path", WITH_COMMANDS, ids=name_of)
def test_commands_of_a_page_do_what_it_shows(path, player):
    text, before = text_of(path), False
    edits = {found.end(): found.groups() for found in EDIT.finditer(text)}
    for found in FENCE.finditer(text):
        if found.end() in edits:
            player.edit(*edits[found.end()])
        player.block(found[1], found[2], before)
        before = found[1] in ("sh", "console") and COMMAND in found[2]
    assert player.ran


def test_tutorial_and_readme_are_among_the_pages_that_are_run():
    assert {"README.md", "docs/tutorial.md"} <= {name_of(path) for path in WITH_COMMANDS}


@pytest.mark.parametrize(
    ("shown", "good"),
    [
        ("a\nb", True),
        ("a\n...\nd", True),
        ("...\nb\nc\n...", True),
        ("a\nc", False),
        ("b\n...\na", False),
        ("e", False),
    ],
)
def test_shown_output_is_really_compared(shown, good, player):
    player.out = "a\nb\nc\nd\n"
    if good:
        player.compare(shown)
    else:
        with pytest.raises(AssertionError, match="shown but not printed"):
            player.compare(shown)


def test_wrong_exit_code_is_noticed(player):
    with pytest.raises(AssertionError):
        player.line(COMMAND + "rules audio/contiguous  # exit 1")


@pytest.mark.parametrize(
    "path", [path for path in PAGES if "```pycon" in text_of(path)], ids=name_of
)
def test_python_sessions_of_a_page_run(path):
    found = doctest.testfile(str(path), module_relative=False, encoding="utf-8")
    assert (found.failed, found.attempted > 0) == (0, True)


# --- links and names ---

LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(text):
    headings = re.findall(r"^#+ (.+)$", re.sub(FENCE, "", text), re.M)
    return {generator().anchor(heading.replace("`", "")) for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_relative_links_resolve(path):
    broken = []
    for target in LINK.findall(re.sub(FENCE, "", text_of(path))):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        ok = there.exists() and there.is_relative_to(ROOT)
        if ok and anchor and there.suffix == ".md":
            ok = anchor in anchors(text_of(there))
        if not ok:
            broken.append(target)
    assert broken == []


def test_every_page_is_reached_from_the_index():
    reached, front = set(), [DOCS / "index.md"]
    while front:
        path = front.pop()
        if path in reached:
            continue
        reached.add(path)
        for target in LINK.findall(re.sub(FENCE, "", text_of(path))):
            there = (path.parent / target.partition("#")[0]).resolve()
            front += [page for page in (there.glob("*.md") if there.is_dir() else [there]) if page in PAGES]
    assert [name_of(page) for page in PAGES if page not in reached and page != ROOT / "README.md"] == []


def test_every_public_name_is_in_the_api_page():
    page = text_of(DOCS / "python-api.md")
    assert [name for name in realtime_session.__all__ if f"`{name}`" not in page] == []


def test_every_command_is_in_the_readme():
    page = text_of(ROOT / "README.md")
    assert [name for name in cli.COMMANDS if f"| [`{name}`](" not in page] == []


def test_every_error_code_is_documented():
    page = text_of(DOCS / "reference" / "errors.md")
    code = re.compile(
        r'"((?:json|trace|checkpoint|schema|pattern|import|log|rules|redact|load)/[a-z_]+)"'
    )
    used = {c for path in (ROOT / "realtime_session").rglob("*.py") for c in code.findall(text_of(path))}
    assert {"json/syntax", "trace/header", "checkpoint/corrupt"} <= used
    assert [c for c in sorted(used) if f"`{c}`" not in page] == []
