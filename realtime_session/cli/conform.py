"""`conform`: judge an implementation of the session contract, case by case."""
from __future__ import annotations

import sys

from realtime_session.values.errors import InputError, show

EPILOG = """exit code: 0 pass, 1 a case fails, 2 usage, 3 undecided (crash, time-out, unreadable answers, all skipped).
examples:
  python -m realtime_session conform turn/ --subject mypackage.session:factory
  python -m realtime_session conform --subject "cmd: node examples/subjects/node_process.mjs"
how to write a subject: docs/protocol-subject.md"""


def add_arguments(parser):
    """The arguments of `conform`."""
    parser.epilog = EPILOG
    parser.add_argument("prefixes", nargs="*", metavar="PREFIX", help="only cases whose id begins so, e.g. tool/")
    parser.add_argument("--subject", metavar="WHAT", help='module:factory, or "cmd: program arguments"; '
                        "without it this package's own session")
    parser.add_argument("--trace", nargs="+", metavar="FILE", help="judge exported traces instead")
    parser.add_argument("--file", nargs="+", metavar="FILE", help="cases from these files instead of the fixtures")
    parser.add_argument("--list", action="store_true", help="list the cases and run nothing")
    parser.add_argument("--mutants", action="store_true", help="print which fixture notices the loss of each rule")
    parser.add_argument("--require", choices=("decision", "effects", "rule"),
                        help="what decides: decisions only, effects too, rule ids too (default: effects; "
                        "rule for this package's own session)")
    parser.add_argument("--known", metavar="FILE", help="ids of cases known to fail, one a line, # for comments")
    parser.add_argument("--jobs", type=_positive, default=1, metavar="N", help="subjects side by side (processes only)")
    parser.add_argument("--timeout", type=_seconds, default=5.0, metavar="S", help="wait for one answer (default 5)")
    parser.add_argument("--format", choices=("text", "json", "junit"), default="text")


def _positive(text):
    number = int(text)
    if not 1 <= number <= 256:
        raise ValueError
    return number


def _seconds(text):
    number = float(text)
    if not 0 < number <= 86400:
        raise ValueError
    return number


def run(args):
    """Runs the cases; the exit code of the run."""
    if args.trace:
        return _traces(args)
    from realtime_session.kit.fixture import load_cases
    cases = _from_files(args.file) if args.file else load_cases(args.prefixes)
    if args.list:
        for case in cases:
            print(f"{case.id:<52} {case.profile:<12} {case.level:<7} {case.title}")
        return 0
    if args.mutants:
        from realtime_session.kit.mutants import table
        print(table(cases), end="")
        return 0
    known = _known(args.known, load_cases() if args.prefixes else cases) if args.known else frozenset()
    make, single, require = _subject(args)
    from time import perf_counter

    from realtime_session.kit.conform import conform
    started = perf_counter()
    result = conform(make, cases, require=require, known=known, jobs=1 if single else args.jobs)
    seconds = perf_counter() - started
    _print(result, args.format)
    events = sum(r.events for r in result.results)
    print(f"{events} events in {seconds:.2f} s, {events / seconds:,.0f} a second", file=sys.stderr)
    return result.exit_code


def _from_files(files):
    from realtime_session.kit.fixture import case_of
    from realtime_session.values.strict_json import parse
    cases = []
    for file in files:
        with open(file, "rb") as handle:
            cases.append(case_of(file, parse(handle.read())))
    return cases


def _subject(args):
    """(a function that makes a subject, whether only one makes sense, what is required)."""
    from realtime_session.kit import subject as kinds
    if args.subject is None:
        return kinds.Reference, True, args.require or "rule"
    require = args.require or "effects"
    if args.subject.startswith("cmd:"):
        from realtime_session.doors.process import ChildProcess
        command = args.subject[len("cmd:"):].strip()
        ChildProcess(command, args.timeout)  # an unreadable command is said at once
        return lambda: kinds.Process(ChildProcess(command, args.timeout)), False, require
    from realtime_session.doors.load import load_factory
    from realtime_session.doors.trouble import Trouble
    factory = load_factory(args.subject)
    try:
        subject = kinds.Callable(factory, args.subject)
    except Trouble as trouble:
        raise InputError(trouble.code, trouble.message) from None
    return lambda: subject, True, require


def _known(file, cases):
    """The ids of a list of known failures; an id that no case has is an error, for it would rot."""
    from realtime_session.kit.fixture import near
    try:
        with open(file, encoding="utf-8") as handle:
            lines = handle.read().split("\n")
    except UnicodeDecodeError:
        raise InputError("known/encoding", f"{show(file)} is not UTF-8") from None
    ids, names = set(), {case.id for case in cases}
    for number, line in enumerate(lines, 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if words[0] not in names:
            raise InputError("known/no_case", f"no case {show(words[0])}{near(words[0], names)}", line=number)
        ids.add(words[0])
    return ids


def _print(result, format_):
    from realtime_session.report import conform_report as report
    if format_ == "json":
        from realtime_session.values.strict_json import canonical
        print(canonical(report.json_report(result)))
    elif format_ == "junit":
        print(report.junit(result))
    else:
        print("\n".join(report.text_lines(result)))


def _traces(args):
    """The first door: a trace that somebody's session exported is replayed whole."""
    from argparse import Namespace

    from realtime_session.cli import replay
    if args.subject or args.list or args.prefixes:
        raise InputError("conform/usage", "--trace judges recorded traces; it takes no prefix, --subject or --list")
    if args.format == "junit":
        raise InputError("conform/usage", "--trace reports text or json")
    return replay.run(Namespace(files=args.trace, pretty=False, until=None, turn=None, conversation=False, step=False,
                                keep_going=True, strict=False, format=args.format))
