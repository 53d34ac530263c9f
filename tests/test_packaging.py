"""What a newcomer meets first: the README's commands, the metadata, the fixtures in every kind of install."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib

import pytest

import realtime_session
from realtime_session.doors.resources import fixture_root

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

REPLAY = "python -m realtime_session replay examples/session_fixture.json --pretty"
INSTALL_AND_TEST = 'python -m pip install -e ".[dev]" && python -m pytest'
STRICT = "python -B -O -W error -m pytest"


def test_readme_gives_both_commands_as_lines_to_paste():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert lines.count(REPLAY) == 1
    assert lines.count(INSTALL_AND_TEST) == 1


def test_ci_runs_the_readme_command_and_the_strict_suite():
    script = ROOT / ".ci" / "run"
    lines = script.read_text(encoding="utf-8").splitlines()
    assert lines.count(INSTALL_AND_TEST) == 1
    assert lines.count(STRICT) == 1
    assert os.access(script, os.X_OK)


def test_every_package_on_disk_is_installed():
    on_disk = {
        ".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "realtime_session").rglob("*.py")
    }
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == on_disk | {"realtime_session._fixtures"}


def test_metadata_agrees_with_the_package():
    assert PROJECT["project"]["version"] == realtime_session.__version__
    assert PROJECT["project"]["dependencies"] == []
    assert PROJECT["project"]["scripts"] == {"realtime-session": "realtime_session.cli:main"}


def test_fixtures_are_found_from_a_clone():
    assert fixture_root() == ROOT / "fixtures"
    assert (fixture_root() / "README.md").is_file()


def installed_copy(site):
    """The module resources as an installed copy below `site` would be."""
    folder = site / "realtime_session" / "doors"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "realtime_session" / "doors" / "resources.py", folder)
    spec = importlib.util.spec_from_file_location("resources_copy", folder / "resources.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_wheel_uses_its_own_fixtures_and_not_a_stranger_beside_it(tmp_path):
    resources = installed_copy(tmp_path)
    inside = tmp_path / "realtime_session" / "_fixtures"
    inside.mkdir()
    (tmp_path / "fixtures").mkdir()
    assert resources.fixture_root() == inside.resolve()


def test_missing_fixtures_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="fixtures of realtime-session") as caught:
        installed_copy(tmp_path).fixture_root()
    assert caught.value.filename.endswith("_fixtures")


@pytest.mark.parametrize("name", sorted(set(realtime_session.__all__) - {"__version__"}))
def test_public_name_is_loaded_from_its_home(name):
    value = getattr(realtime_session, name)
    assert value.__name__ == name
    assert value.__module__.startswith("realtime_session.")
    assert name in dir(realtime_session)


def test_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'nonsense'"):
        realtime_session.nonsense  # noqa: B018


def test_import_of_the_package_loads_nothing_else():
    code = "import sys; old = set(sys.modules); import realtime_session; print(*(set(sys.modules) - old))"
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout.split(), done.stderr) == (["realtime_session"], "")
