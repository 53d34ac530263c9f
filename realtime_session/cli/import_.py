"""`import`: a provider's session log becomes a trace, with a summary of what was found in it."""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext

from realtime_session.contract.events import FULL, quick_checker
from realtime_session.values.errors import InputError, one_line, show
from realtime_session.wire import IMPORTERS, importer

EPILOG = """exit code: 0 imported, 2 unreadable input.
The trace goes to -o (- is stdout); the summary goes to stdout, or to stderr when the trace goes to stdout.
example: python -m realtime_session import openai session.jsonl -o trace.jsonl"""
_BLOCK = 1 << 18
_SHOWN_ERRORS = 20
_AUTO = "auto"


def add_arguments(parser):
    """The arguments of `import`."""
    parser.epilog = EPILOG
    parser.add_argument(
        "log_format",
        choices=[_AUTO, *sorted(IMPORTERS)],
        metavar="FORMAT",
        help="the protocol of the log: " + ", ".join(sorted(IMPORTERS)) + "; auto looks at the log",
    )
    parser.add_argument("log", metavar="LOG", help="JSON Lines or one JSON array of messages, or - for stdin")
    parser.add_argument(
        "-o", "--output", default="-", metavar="TRACE", help="where the trace goes (default: -)"
    )
    parser.add_argument("--dialect", metavar="D", help="the dialect, instead of detecting it from the log")
    parser.add_argument(
        "--read-only",
        action="append",
        default=[],
        metavar="NAME",
        help="a tool that changes nothing (may be given several times)",
    )
    parser.add_argument("--keep-going", action="store_true", help="count malformed rows and go on")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="of the summary")


def run(args):
    """Imports one log; 0, or 2 when the log cannot be read."""
    try:
        if args.log_format != _AUTO:
            _maker(args.log_format, args.dialect)
        with _rereadable(args.log) as log:
            format_ = _detect(log) if args.log_format == _AUTO else args.log_format
            return _import(log, _maker(format_, args.dialect), args)
    except InputError as error:
        line = "" if error.line is None else f":{error.line}"
        column = "" if error.column is None or error.line is None else f":{error.column}"
        path = f" at {one_line(error.path)}" if error.path else ""
        print(
            f"error: {show(args.log)[1:-1]}{line}{column}: {error.code}{path}: {error.message}",
            file=sys.stderr,
        )
        return 2


def _maker(format_, dialect):
    """The importer class of a format, which must know the dialect."""
    maker = importer(format_)
    if dialect is not None and dialect not in maker.DIALECTS:
        raise InputError(
            "import/dialect",
            f"no dialect {show(dialect)}, expected one of " + ", ".join(maker.DIALECTS or ("none",)),
        )
    return maker


def _detect(log):
    """The format that the first rows of a log speak for; the log is at its start again afterwards."""
    from realtime_session.wire.detect import detect

    def values():
        for number, raw in _rows(log):
            try:
                yield number, _parse(raw)
            except InputError:
                continue  # for the import itself to report

    found = detect(values())
    log.seek(0)
    if found is None:
        raise InputError(
            "import/format", "the log is of no known protocol; name one of " + ", ".join(sorted(IMPORTERS))
        )
    return found


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

    from realtime_session.wire.base import survey
    from realtime_session.wire.rows import parse_row

    def make(clock=None):
        return maker(dialect=args.dialect, read_only=args.read_only, clock=clock)

    # A trace begins with its header, which a log tells last: clock and tools are looked up in a first quick
    # pass, and the events wait in a temporary file. Memory holds ids, never the log.
    probe = make()
    reading = make(survey(_rows(log), probe, parse_row))
    log.seek(0)
    with tempfile.TemporaryFile() as events:
        judge = _Judge(reading, probe.tools(), events)
        bad = _convert(log, reading, judge, events, args.keep_going)
        header = reading.header()
        events.seek(0)
        with nullcontext(sys.stdout.buffer) if args.output == "-" else open(args.output, "wb") as trace:
            trace.write((_encoder()({"session": header}) + "\n").encode("utf-8"))
            shutil.copyfileobj(events, trace)
            trace.flush()
    _print_summary({**reading.summary(), "malformed": bad, **judge.report()}, args)
    return 0


def _rows(log):
    from realtime_session.wire.rows import split

    return split(iter(lambda: log.read(_BLOCK), b""))


def _parse(raw):
    from realtime_session.wire.rows import parse_row

    return parse_row(raw)


def _encoder():
    """A value -> JSON text. The C encoder is made once; `JSONEncoder.encode` would make one per call."""
    from json import JSONEncoder
    from json.encoder import c_make_encoder, encode_basestring

    plain = JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if c_make_encoder is None:
        return plain.encode
    pieces = c_make_encoder(None, plain.default, encode_basestring, None, ":", ",", False, False, False)
    return lambda value: "".join(pieces(value, 0))


def _convert(log, reading, judge, events, keep_going):
    """Feeds every row, writes and judges the events; gives the number of malformed rows."""
    from realtime_session.wire.rows import parse_row

    encode, feed, bad, size = _encoder(), reading.feed, 0, 0

    def write(found):
        nonlocal size
        for event in found:
            line = (encode(event) + "\n").encode("utf-8")
            events.write(line)
            judge.see(event, size)
            size += len(line)

    for number, raw in _rows(log):
        try:
            found = feed(number, parse_row(raw))
        except InputError as error:
            error.line = number  # the reader counts lines within the row
            if not keep_going:
                raise
            bad += 1
            if bad <= _SHOWN_ERRORS:
                print(f"line {number} skipped: {error.code}: {error.message}", file=sys.stderr)
            continue
        if found:
            write(found)
    write(reading.finish())
    return bad


class _Judge:
    """What the session contract says about the trace, judged while it is written."""

    def __init__(self, reading, tools, events):
        self._reading, self._tools, self._events, self._session = reading, tools, events, None
        self._quick = quick_checker(FULL)
        self._kinds = {"accepted": 0, "ignored": 0, "rejected": 0}
        self._rejected, self._flagged = {}, {}

    def _open(self):
        from realtime_session.contract.session import Session

        return Session(self._reading.header(self._tools), recall=self._recall)

    def _recall(self, offset):
        """An event written before, for the comparison of two events with one id."""
        self._events.seek(offset)
        try:
            return _parse(self._events.readline())
        finally:
            self._events.seek(0, 2)

    def see(self, event, offset):
        """Judges one event, which lies at this offset of the events' file."""
        if self._session is None:
            self._session = self._open()
        source = event.pop("source")  # the importer's own, and no part of the content
        checked = self._quick(event) >= 0
        event["source"] = source
        if checked:
            decision = self._session.receive_checked(event, offset)
        else:
            decision = self._session.refuse_form(event)
        self._kinds[decision.kind] += 1
        if decision.violation is not None:
            rule_id = decision.violation.rule
            self._rejected[rule_id] = self._rejected.get(rule_id, 0) + 1
        if decision.findings:
            self._flag(decision.findings)

    def _flag(self, findings):
        for finding in findings:
            self._flagged[finding.rule] = self._flagged.get(finding.rule, 0) + 1

    def report(self):
        """Counts of decisions, of rules and of layers, for the summary."""
        from realtime_session.contract.rules import rule

        if self._session is None:
            self._session = self._open()
        self._flag(
            finding
            for finding in self._session.finish()
            if finding.rule != "session/unfinished" or self._reading.end != "eof"
        )
        layers = {}
        for rule_id, count in [*self._rejected.items(), *self._flagged.items()]:
            layer = rule(rule_id).layer
            layers[layer] = layers.get(layer, 0) + count
        return {
            **self._kinds,
            "rejected_by_rule": self._rejected,
            "findings_by_rule": self._flagged,
            "findings_by_layer": dict(sorted(layers.items())),
        }


def _print_summary(summary, args):
    out = sys.stderr if args.output == "-" else sys.stdout
    if args.format == "json":
        from realtime_session.values.strict_json import canonical

        print(canonical(summary), file=out)
        return
    from realtime_session.report.import_text import summary_lines

    print("\n".join(summary_lines(summary)), file=out)
