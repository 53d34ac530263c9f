"""The command line: one module per command, loaded only when its command is chosen.

A command module has `add_arguments(parser)` and `run(args) -> int`. Exit codes: 0 pass, 1 fail, 2 usage or
unreadable input, 3 undecided or unfinished. stdout carries the result, stderr everything else.
"""

from __future__ import annotations

import argparse
import os
import sys

from realtime_session import __version__

PROG = "realtime-session"

# name -> (module below realtime_session.cli, one line of help)
COMMANDS = {
    "replay": ("replay", "replay event traces and name the first thing that is wrong"),
    "rules": ("rules", "list the rules of the session contract, or explain one"),
    "conform": ("conform", "judge an implementation of the session contract, case by case"),
    "explore": ("explore", "search an implementation for failures, made small"),
    "import": ("import_", "turn a provider's session log into a trace"),
    "adapter-check": ("adapter_check", "judge recorded frames of the evaluation adapter protocol"),
    "mistakes": ("mistakes", "name what a client got wrong in its session log"),
    "redact": ("redact", "remove private content from a trace or session log"),
}

_EXIT_CODES = """\
exit codes: 0 pass, 1 fail, 2 usage or unreadable input, 3 undecided or unfinished
"""


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code; `argv` defaults to the arguments of the process.

    Never raises for bad usage, unreadable input, an interrupt from the keyboard or a closed pipe.
    """
    _survive_narrow_consoles()
    try:
        code = _run(sys.argv[1:] if argv is None else list(argv))
        if sys.stdout is not None:
            sys.stdout.flush()  # a closed pipe shows here, not in a traceback at interpreter exit
        return code
    except BrokenPipeError:
        _silence_stdout()
        return 0  # the reader has seen enough (`... | head`)
    except KeyboardInterrupt:
        return 130  # 128 + SIGINT, what a shell reports for an interrupted program
    except OSError as error:
        return _fail(_describe_os_error(error))


def _run(argv: list[str]) -> int:
    name = next((word for word in argv if not word.startswith("-")), None)
    if name is not None and name not in COMMANDS:
        return _unknown_command(name)
    command = _load(name)
    try:
        args = _parser(name, command).parse_args(argv)
    except SystemExit as stop:  # argparse has printed help, the version or its complaint
        return stop.code if isinstance(stop.code, int) else 0
    if args.command is None:
        _parser(None, None).print_help(sys.stderr)
        return 2

    from realtime_session.values.errors import InputError

    try:
        return command.run(args)
    except InputError as error:
        return _fail(str(error))


def _load(name):
    if name is None:
        return None
    from importlib import import_module

    return import_module(f"{__name__}.{COMMANDS[name][0]}")


def _parser(chosen, command):
    """The whole command line as one parser; only the chosen command's own arguments are known to it."""
    parser = argparse.ArgumentParser(
        prog=PROG,
        description="Session contract for realtime voice agents.",
        epilog=_EXIT_CODES + f"'{PROG} COMMAND --help' explains a command",
        formatter_class=_formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{PROG} {__version__}")
    group = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for name, (_, line) in COMMANDS.items():
        sub = group.add_parser(
            name,
            help=line,
            description=line[0].upper() + line[1:] + ".",
            epilog=_EXIT_CODES,
            formatter_class=_formatter,
            allow_abbrev=False,
        )
        if name == chosen:
            command.add_arguments(sub)
    return parser


def _formatter(prog, **options):
    # argparse would import shutil (and with it every compression module) only to ask for the width.
    options.setdefault("width", _console_width() - 2)
    return argparse.RawDescriptionHelpFormatter(prog, **options)


def _console_width():
    try:
        columns = (
            int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size(sys.__stdout__.fileno()).columns
        )
    except (AttributeError, ValueError, OSError):
        columns = 0
    return columns if columns >= 40 else 80


def _unknown_command(name):
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.4)
    hint = f"did you mean '{near[0]}'?" if near else "commands: " + ", ".join(COMMANDS)
    return _fail(f"unknown command '{_printable(name)}'; {hint}")


def _describe_os_error(error):
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is None:
        return reason
    name = error.filename if isinstance(error.filename, (str, bytes)) else str(error.filename)
    return f"{_printable(os.fsdecode(name))}: {reason}"


def _printable(text):
    """Foreign text on one line: control characters and undecodable bytes as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _fail(message):
    if sys.stderr is not None:
        print(f"{PROG}: {message}", file=sys.stderr)
    return 2


def _survive_narrow_consoles():
    # A console in cp1252 or ASCII gets escapes for what it cannot show, instead of a UnicodeEncodeError.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _silence_stdout():
    # The interpreter flushes stdout once more when it ends; that must not fail a second time.
    try:
        target = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, target)
    os.close(null)
