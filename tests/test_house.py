"""The house rules, checked on the source itself, and proof that each check can fail."""

import ast
import os
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "realtime_session"

# A floor imports itself and the floors before it in this list.
FLOORS = (
    "values",
    "contract",
    "traces",
    "wire",
    "doors",
    "kit",
    "cases",
    "sim",
    "evals",
    "prompts",
    "runs",
    "report",
    "cli",
)
PURE = {"values", "contract", "traces", "wire", "sim", "evals", "report"}
IMPURE_MODULES = {"time", "datetime", "random", "os", "uuid", "logging", "subprocess", "socket", "pathlib"}
QUICK_START = {"values", "contract", "traces", "report", "cli"}
SLOW_MODULES = {"dataclasses", "typing", "enum", "inspect", "statistics"}
MAX_FUNCTION, MAX_MODULE = 80, 450


def imports_of(tree, package):
    """(line, absolute dotted name, at module level?) of every imported name, relative ones resolved."""
    inside_functions = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for node in ast.walk(function)
    }
    type_only = {
        id(node)
        for test in ast.walk(tree)
        if isinstance(test, ast.If) and isinstance(test.test, ast.Name) and test.test.id == "TYPE_CHECKING"
        for statement in test.body
        for node in ast.walk(statement)
    }
    for node in ast.walk(tree):
        early = id(node) not in inside_functions and id(node) not in type_only
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, early
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                anchor = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*anchor, base] if base else anchor)
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}", early


def import_problems(tree, package):
    floor = package.split(".")[1] if "." in package else None
    for line, name, early in imports_of(tree, package):
        top, _, rest = name.partition(".")
        if top == "realtime_session":
            target = rest.split(".")[0]
            if floor is None or target == "__version__":
                continue  # the package's own __init__ and __main__ stand above all floors
            if target not in FLOORS:
                yield f"{line}: imports {name}: take it from the floor where it lives"
            elif FLOORS.index(target) > FLOORS.index(floor):
                yield f"{line}: {floor} imports {target}, a floor after it"
            continue
        if top not in sys.stdlib_module_names:
            yield f"{line}: imports {top}: not in the standard library"
        if floor in PURE and top in IMPURE_MODULES:
            yield f"{line}: imports {top} on a pure floor"
        if early and (floor in QUICK_START or floor is None) and top in SLOW_MODULES:
            yield f"{line}: imports {top} at module level, which costs start-up time"


def call_problems(tree, floor):
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            yield f"{node.lineno}: assert statement (gone under -O)"
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", None)
        if name == "print" and isinstance(node.func, ast.Name) and floor != "cli":
            yield f"{node.lineno}: print outside cli"
        if name in {"open", "fdopen", "read_text", "write_text"} and not is_os_open(node.func):
            if floor in PURE:
                yield f"{node.lineno}: {name}() on a pure floor"
            if not names_encoding(node, name):
                yield f"{node.lineno}: {name}() without encoding"


def is_os_open(function):
    return isinstance(function, ast.Attribute) and ast.unparse(function) == "os.open"


def names_encoding(call, name):
    """Whether a call that opens a file says in which encoding, or opens it for bytes."""
    if any(keyword.arg == "encoding" for keyword in call.keywords):
        return True
    if name in {"read_text", "write_text"}:
        return False
    modes = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    # open(file, mode), io.open(file, mode) and os.fdopen(fd, mode), but path.open(mode)
    owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else None
    position = 1 if owner in {None, "io", "os"} else 0
    modes += call.args[position : position + 1]
    return any(
        isinstance(mode, ast.Constant) and isinstance(mode.value, str) and "b" in mode.value
        for mode in modes
    )


def size_problems(tree, source):
    lines = source.count("\n")
    if lines > MAX_MODULE:
        yield f"1: module of {lines} lines"
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = node.end_lineno - node.lineno + 1
            if lines > MAX_FUNCTION:
                yield f"{node.lineno}: {node.name} has {lines} lines"


def problems(source, package):
    """Everything wrong with a module's source; `package` is the dotted package it lies in."""
    floor = package.split(".")[1] if "." in package else None
    if floor is not None and floor not in FLOORS:
        return [f"1: {floor} is no floor of the house"]
    tree = ast.parse(source)
    return [*import_problems(tree, package), *call_problems(tree, floor), *size_problems(tree, source)]


MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=[path.relative_to(ROOT).as_posix() for path in MODULES])
def test_module_keeps_the_house_rules(path):
    package = ".".join(path.relative_to(ROOT).parent.parts)
    assert problems(path.read_text(encoding="utf-8"), package) == []


VALUES, TRACES, DOORS, CLI = (f"realtime_session.{floor}" for floor in ("values", "traces", "doors", "cli"))
LONG_FUNCTION = "def f():\n" + "    pass\n" * MAX_FUNCTION
PLANTED = [
    ("upward import", VALUES, "import realtime_session.contract.session", "values imports contract"),
    ("upward import from", VALUES, "from realtime_session.cli import main", "values imports cli"),
    ("upward import of a floor", VALUES, "from realtime_session import traces", "values imports traces"),
    ("upward relative import", VALUES, "from ..contract import rules", "values imports contract"),
    ("upward relative import of a floor", VALUES, "from .. import contract", "values imports contract"),
    (
        "upward import in a function",
        VALUES,
        "def f():\n    import realtime_session.wire",
        "values imports wire",
    ),
    ("name from the facade", CLI, "from realtime_session import parse", "from the floor where it lives"),
    ("unknown floor", "realtime_session.utils", "", "no floor"),
    ("third party", DOORS, "import requests", "standard library"),
    ("third party submodule", DOORS, "from yaml.nodes import Node", "standard library"),
    ("assert", CLI, "assert True", "assert"),
    ("print", DOORS, "print('x')", "print"),
    ("typing early", CLI, "from typing import Any", "start-up"),
    ("enum in a class body", VALUES, "class A:\n    import enum", "start-up"),
    (
        "dataclasses behind a try",
        TRACES,
        "try:\n    import dataclasses\nexcept ImportError:\n    pass",
        "start-up",
    ),
    ("typing in the facade", "realtime_session", "import typing", "start-up"),
    ("open without encoding", DOORS, "open('f')", "without encoding"),
    ("open for text", DOORS, "open('f', 'w')", "without encoding"),
    ("open with an unknown mode", DOORS, "open('f', mode)", "without encoding"),
    ("open of a file whose name has a b", DOORS, "open('b', 'r')", "without encoding"),
    ("path.open", DOORS, "path.open()", "without encoding"),
    ("path.open for text", DOORS, "path.open('w')", "without encoding"),
    ("fdopen", DOORS, "os.fdopen(3, 'w')", "without encoding"),
    ("read_text", DOORS, "path.read_text()", "without encoding"),
    ("open on a pure floor", TRACES, "open('f', 'rb')", "pure floor"),
    ("long function", CLI, LONG_FUNCTION, "lines"),
    ("long module", CLI, "x = 1\n" * (MAX_MODULE + 1), "module of"),
    *(
        (f"{name} on a pure floor", TRACES, f"def f():\n    import {name}", "pure floor")
        for name in IMPURE_MODULES
    ),
    *((f"{name} early", VALUES, f"import {name}", "start-up") for name in SLOW_MODULES),
]


@pytest.mark.parametrize(
    ("package", "source", "part"), [p[1:] for p in PLANTED], ids=[p[0] for p in PLANTED]
)
def test_planted_fault_is_found(package, source, part):
    found = problems(source, package)
    assert len(found) == 1
    assert part in found[0]


@pytest.mark.parametrize(
    ("package", "source"),
    [
        (
            CLI,
            "from realtime_session.values import errors\nfrom realtime_session import __version__\nprint(1)",
        ),
        (CLI, "def f():\n    import dataclasses"),
        (TRACES, "from ..values import strict_json\nfrom . import replay"),
        (VALUES, "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from typing import Any"),
        (VALUES, "import math\nfrom json.encoder import c_make_encoder"),
        (
            DOORS,
            "import os\nopen('f', 'rb')\nopen('f', encoding='utf-8')\npath.open(mode='rb')\nos.open('f', 0)",
        ),
        (DOORS, "path.open('xb')\npath.read_text(encoding='utf-8')\npath.read_bytes()\nos.fdopen(3, 'wb')"),
        ("realtime_session", "from realtime_session.cli import main"),
        (CLI, "def f():\n" + "    pass\n" * (MAX_FUNCTION - 1)),
    ],
)
def test_good_source_passes(package, source):
    assert problems(source, package) == []


# What no file of the repository may say: where a machine keeps its things, or which registry it asks.
# A class of one letter keeps a pattern from finding itself.
MACHINE_PATH = re.compile(
    r"(?<![\w.~*$}-])/(?:work|root|home/\w+|Users/\w+)/|/tmp/pla[n]\b|\bC:\\\\?Users\b|\.pyen[v]\b"
)
REGISTRY_HOST = re.compile(
    r"\b(?:pypi\.(?:org|python\.org)|pythonhosted\.org|registry\.npmjs\.(?:org|com)|proxy\.golang\.org"
    r"|crates\.io|rubygems\.org|anaconda\.org)\b"
)
NOT_OURS = {
    ".git",
    "__pycache__",
    "build",
    "dist",
    "failures",
    ".venv",
    "venv",
    ".hypothesis",
    ".pytest_cache",
    "htmlcov",
}


def text_problems(text):
    for number, line in enumerate(text.split("\n"), 1):
        for what, pattern in (("machine path", MACHINE_PATH), ("registry host", REGISTRY_HOST)):
            if pattern.search(line):
                yield f"{number}: {what}: {line.strip()[:80]}"


def repository_texts():
    for folder, names, files in os.walk(ROOT):
        names[:] = sorted(n for n in names if n not in NOT_OURS and not n.endswith(".egg-info"))
        for name in sorted(files):
            path = pathlib.Path(folder, name)
            data = path.read_bytes() if path.is_file() else b"\0"
            if b"\0" not in data:
                # Fixtures may hold invalid UTF-8 on purpose; the rest of such a file is still looked at.
                yield path.relative_to(ROOT).as_posix(), data.decode("utf-8", "replace")


def test_repository_names_no_machine_and_no_registry():
    texts = dict(repository_texts())
    assert {"README.md", "pyproject.toml", ".ci/run", "tests/test_house.py"} <= texts.keys()
    assert [f"{name}:{problem}" for name, text in texts.items() for problem in text_problems(text)] == []


@pytest.mark.parametrize(
    "parts",
    [
        ("see /wo", "rk/main"),
        ('"/ro', 'ot/x"'),
        ("/tmp", "/plan"),
        ("/home/", "ann/x"),
        ("C:", "\\Users\\ann"),
        ("~/.py", "env/versions"),
        ("https://py", "pi.org/simple"),
        ("files.python", "hosted.org"),
        ("registry.npm", "js.org"),
        ("proxy.go", "lang.org"),
    ],
)
def test_planted_text_is_found(parts):
    assert len(list(text_problems("fine\n" + "".join(parts)))) == 1


@pytest.mark.parametrize(
    "text", ["docs/work/notes", "a/root/b", "../work/x", "/tmp/x", "teamwork/ and root/"]
)
def test_harmless_text_passes(text):
    assert list(text_problems(text)) == []
