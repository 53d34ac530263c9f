"""`import`: a provider's session log becomes a trace, with a summary of what was found in it."""
from __future__ import annotations

import sys
from contextlib import contextmanager

from realtime_session.values.errors import InputError, one_line, show
from realtime_session.wire import IMPORTERS, importer

EPILOG = """exit code: 0 imported, 2 unreadable input.
The trace goes to -o (- is stdout); the summary goes to stdout, or to stderr when the trace goes to stdout.
example: python -m realtime_session import openai session.jsonl -o trace.jsonl"""
_BLOCK = 1 << 18
_SHOWN_ERRORS = 20


def add_arguments(parser):
    """The arguments of `import`."""
    parser.epilog = EPILOG
    parser.add_argument("log_format", choices=sorted(IMPORTERS), metavar="FORMAT",
                        help="the protocol of the log: " + ", ".join(sorted(IMPORTERS)))
    parser.add_argument("log", metavar="LOG", help="JSON Lines or one JSON array of messages, or - for stdin")
    parser.add_argument("-o", "--output", default="-", metavar="TRACE", help="where the trace goes (default: -)")
    parser.add_argument("--dialect", metavar="D", help="the dialect, instead of detecting it from the log")
    parser.add_argument("--read-only", action="append", default=[], metavar="NAME",
                        help="a tool that changes nothing (may be given several times)")
    parser.add_argument("--keep-going", action="store_true", help="count malformed rows and go on")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="of the summary")


def run(args):
    """Imports one log; 0, or 2 when the log cannot be read."""
    maker = importer(args.log_format)
    if args.dialect is not None and args.dialect not in maker.DIALECTS:
        raise InputError("import/dialect", f"no dialect {show(args.dialect)}, expected one of "
                         + ", ".join(maker.DIALECTS or ("none",)))
    try:
        with _rereadable(args.log) as log:
            return _import(log, maker, args)
    except InputError as error:
        line = "" if error.line is None else f":{error.line}"
        column = "" if error.column is None or error.line is None else f":{error.column}"
        path = f" at {one_line(error.path)}" if error.path else ""
        print(f"error: {show(args.log)[1:-1]}{line}{column}: {error.code}{path}: {error.message}", file=sys.stderr)
        return 2


@contextmanager
def _rereadable(name):
    """The log as a binary file that can be read twice; a pipe is first copied to a temporary file."""
    if name != "-":
        with open(name, "rb") as file:
            if file.seekable():
                yield file
                return
            source = file
            with _copy(source) as copy:
                yield copy
            return
    with _copy(sys.stdin.buffer) as copy:
        yield copy


def _copy(source):
    import shutil
    import tempfile

    copy = tempfile.TemporaryFile()
    shutil.copyfileobj(source, copy)
    copy.seek(0)
    return copy


def _import(log, maker, args):
    import shutil
    import tempfile

    from realtime_session.wire.base import survey_clock

    def make(clock=None):
        return maker(dialect=args.dialect, read_only=args.read_only, clock=clock)

    # A trace begins with its header, which a log tells last: the clock is looked up in a first quick pass,
    # and the events wait in a temporary file. Memory holds ids, never the log.
    reading = make(survey_clock(_rows(log), make, _parse))
    log.seek(0)
    with tempfile.TemporaryFile() as events:
        bad = _convert(log, reading, events, args.keep_going)
        events.seek(0)
        with (tempfile.TemporaryFile() if args.output == "-" else open(args.output, "w+b")) as trace:
            trace.write((_encoder()({"session": reading.header()}) + "\n").encode("utf-8"))
            shutil.copyfileobj(events, trace)
            trace.seek(0)
            summary = {**reading.summary(), "malformed": bad, **_judged(trace)}
            if args.output == "-":
                trace.seek(0)
                shutil.copyfileobj(trace, sys.stdout.buffer)
                sys.stdout.buffer.flush()
    _print_summary(summary, args)
    return 0


def _rows(log):
    from realtime_session.wire.rows import split

    return split(iter(lambda: log.read(_BLOCK), b""))


def _parse(raw):
    from realtime_session.values.strict_json import parse
    from realtime_session.wire.rows import MAX_ROW_BYTES

    return parse(raw, max_bytes=MAX_ROW_BYTES)


def _encoder():
    from json import JSONEncoder

    return JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def _convert(log, reading, events, keep_going):
    """Feeds every row and writes the events; gives the number of malformed rows."""
    from realtime_session.values.strict_json import parse
    from realtime_session.wire.rows import MAX_ROW_BYTES

    encode, feed, bad = _encoder(), reading.feed, 0
    for number, raw in _rows(log):
        try:
            found = feed(number, parse(raw, max_bytes=MAX_ROW_BYTES))
        except InputError as error:
            error.line = number  # the reader counts lines within the row
            if not keep_going:
                raise
            bad += 1
            if bad <= _SHOWN_ERRORS:
                print(f"line {number} skipped: {error.code}: {error.message}", file=sys.stderr)
            continue
        if found:
            events.write("".join([encode(event) + "\n" for event in found]).encode("utf-8"))
    found = reading.finish()
    events.write("".join([encode(event) + "\n" for event in found]).encode("utf-8"))
    return bad


def _judged(trace):
    """What the session contract says about the imported trace."""
    from realtime_session.contract.rules import rule
    from realtime_session.traces.replay import Replay

    replay = Replay(trace, keep_going=True, audit=False).run()
    layers = {}
    for rule_id, count in [*replay.rejected_by_rule.items(), *replay.flagged_by_rule.items()]:
        layer = rule(rule_id).layer
        layers[layer] = layers.get(layer, 0) + count
    return {"accepted": replay.accepted, "ignored": replay.ignored, "rejected": replay.rejected,
            "rejected_by_rule": dict(replay.rejected_by_rule), "findings_by_rule": dict(replay.flagged_by_rule),
            "findings_by_layer": dict(sorted(layers.items()))}


def _print_summary(summary, args):
    out = sys.stderr if args.output == "-" else sys.stdout
    if args.format == "json":
        from realtime_session.values.strict_json import canonical
        print(canonical(summary), file=out)
        return
    from realtime_session.report.import_text import summary_lines
    print("\n".join(summary_lines(summary)), file=out)
