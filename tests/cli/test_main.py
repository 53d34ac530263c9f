"""The command line as a whole: choosing a command, and every way in which a run can end badly."""

import errno
import io
import os
import pathlib
import subprocess
import sys
import types

import pytest

from realtime_session import __version__, cli
from realtime_session.values.errors import InputError

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def python(*args, **options):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 60, "cwd": ROOT} | options
    return subprocess.run([sys.executable, "-B", *args], stdin=subprocess.DEVNULL, text=True, **options)


@pytest.fixture
def probe(monkeypatch):
    """Registers the command `probe`, which runs the function given to it."""

    def register(run, add_arguments=lambda parser: None):
        module = types.SimpleNamespace(add_arguments=add_arguments, run=run)
        monkeypatch.setitem(sys.modules, "realtime_session.cli.probe_", module)
        monkeypatch.setattr(
            cli, "COMMANDS", {**cli.COMMANDS, "probe": ("probe_", "a command for the tests")}
        )

    return register


def raising(error):
    def run(args):
        raise error

    return run


def test_help_names_every_command(capsys):
    assert cli.main(["--help"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for name, (_, line) in cli.COMMANDS.items():
        assert name in out
        assert line in " ".join(out.split())  # however wide the console, lines may wrap


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr() == (f"realtime-session {__version__}\n", "")


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_no_command_and_nothing_slow(option):
    code = (
        "import sys; from realtime_session.cli import main; main([sys.argv[1]]);"
        "sys.stderr.write(' '.join(sorted(sys.modules)))"
    )
    # -I -S: only what the program itself imports, not what this machine's site configuration adds
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"
    loaded = set(python("-I", "-S", "-c", code, option).stderr.split())
    assert {name for name in loaded if name.startswith("realtime_session")} == {
        "realtime_session",
        "realtime_session.cli",
    }
    assert "argparse" in loaded
    assert loaded.isdisjoint(
        {"dataclasses", "typing", "inspect", "statistics", "pathlib", "shutil", "json", "difflib"}
    )


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_explains_itself(name, capsys):
    assert cli.main([name, "--help"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"usage: realtime-session {name} ")
    assert err == ""


def test_module_and_command_are_the_same_program():
    done = python("-m", "realtime_session", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"realtime-session {__version__}\n", "")


def test_no_command_is_a_usage_error_that_shows_the_help(capsys):
    assert cli.main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "commands:" in err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("repaly", "replay"), ("rule", "rules"), ("imports", "import"), ("Replay", "replay")],
)
def test_unknown_command_hints_at_the_nearest(typed, meant, capsys):
    assert cli.main([typed, "x.json"]) == 2
    assert capsys.readouterr() == (
        "",
        f"realtime-session: unknown command '{typed}'; did you mean '{meant}'?\n",
    )


def test_unknown_command_like_no_other_lists_all(capsys):
    assert cli.main(["\x1b[2Jzzz\udc80"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert (
        err
        == f"realtime-session: unknown command '\\x1b[2Jzzz\\udc80'; commands: {', '.join(cli.COMMANDS)}\n"
    )


@pytest.mark.parametrize(
    "argv", [["--bogus"], ["probe", "--bogus"], ["probe", "--limit", "x"], ["probe", "--lim", "1"]]
)
def test_bad_arguments_are_a_usage_error(argv, probe, capsys):
    probe(lambda args: 0, lambda parser: parser.add_argument("--limit", type=int))
    assert cli.main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: realtime-session")


@pytest.mark.parametrize("code", [0, 1, 2, 3])
def test_exit_code_of_the_command_is_handed_on(code, probe):
    seen = []
    probe(
        lambda args: seen.append(args.limit) or code,
        lambda parser: parser.add_argument("--limit", type=int),
    )
    assert cli.main(["probe", "--limit", "7"]) == code
    assert seen == [7]


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "a.json"),
            "a.json: No such file or directory",
        ),
        (
            IsADirectoryError(errno.EISDIR, "Is a directory", pathlib.PurePosixPath("d")),
            "d: Is a directory",
        ),
        (PermissionError(errno.EACCES, "Permission denied", b"x\ny"), "x\\ny: Permission denied"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (OSError("no such device"), "no such device"),
        (OSError(), "OSError"),
    ],
)
def test_os_error_is_one_line_and_exit_2(error, line, probe, capsys):
    probe(raising(error))
    assert cli.main(["probe"]) == 2
    assert capsys.readouterr() == ("", f"realtime-session: {line}\n")


def test_input_error_is_one_line_and_exit_2(probe, capsys):
    class Unreadable(InputError):
        def __init__(self):
            Exception.__init__(self)

        def __str__(self):
            return "a.json:3:7: duplicate key"

    probe(raising(Unreadable()))
    assert cli.main(["probe"]) == 2
    assert capsys.readouterr() == ("", "realtime-session: a.json:3:7: duplicate key\n")


def test_keyboard_interrupt_is_quiet(probe, capsys):
    probe(raising(KeyboardInterrupt()))
    assert cli.main(["probe"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_fault_of_our_own_is_not_hidden(probe):
    probe(raising(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        cli.main(["probe"])


@pytest.mark.skipif(os.name != "posix", reason="needs a pipe whose reader is gone")
def test_closed_pipe_is_quiet():
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = python("-W", "error", "-m", "realtime_session", "--help", stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_narrow_console_gets_escapes(encoding, probe, monkeypatch):
    probe(lambda args: print("caf\u00e9 \u2192") or 0)
    raw = io.BytesIO()
    monkeypatch.setattr(
        sys, "stdout", io.TextIOWrapper(raw, encoding=encoding, errors="strict", newline="")
    )
    assert cli.main(["probe"]) == 0
    expected = {"ascii": b"caf\\xe9 \\u2192", "cp1252": b"caf\xe9 \\u2192"}[encoding]
    assert raw.getvalue().rstrip() == expected


def test_missing_streams_are_survived(probe, monkeypatch):
    probe(raising(OSError(errno.EIO, "Input/output error")))
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert cli.main(["probe"]) == 2


@pytest.mark.parametrize("columns", ["0", "7", "junk", "60", "200"])
def test_help_fits_any_width(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", columns)
    assert cli.main(["--help"]) == 0
    assert "replay" in capsys.readouterr().out
