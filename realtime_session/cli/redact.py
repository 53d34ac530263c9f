"""`redact`: takes private content out of a trace or a session log, so that it can be shared."""
from __future__ import annotations

import os
import sys
from contextlib import contextmanager

from realtime_session.values.errors import InputError, one_line, show

EPILOG = """exit code: 0 written, 2 unreadable input (then no output file is left).
classes and what is done by default (drop, hash or keep):
{classes}
A hash is keyed (HMAC-BLAKE2b): with a fresh random key for each run unless --key-file names one. Files redacted
with one key can be compared with each other. Neither the key nor what was hashed is ever printed.
The rules that can no longer be judged are listed on stderr.
example: python -m realtime_session redact production.jsonl -o shared.jsonl --policy ids=hash"""
_BLOCK = 1 << 18


def add_arguments(parser):
    """The arguments of `redact`."""
    from realtime_session.traces.redact import CLASSES
    parser.epilog = EPILOG.format(classes="\n".join(
        f"  {name:<12} {action:<5} {what}" for name, (action, what) in CLASSES.items()))
    parser.add_argument("file", metavar="FILE", help="a trace or a session log, or - for stdin")
    parser.add_argument("-o", "--output", default="-", metavar="OUT", help="where the result goes (default: -)")
    parser.add_argument("--kind", choices=("auto", "trace", "log"), default="auto", help="of FILE (default: auto)")
    parser.add_argument("--policy", action="append", default=[], metavar="CLASS=ACTION",
                        help="what is done with a class of fields (may be given several times)")
    parser.add_argument("--key-file", metavar="KEY", help="a file whose bytes, 16 or more, are the key of the hashes")


def run(args):
    """Redacts one file; 0, or 2 when it cannot be read."""
    from realtime_session.traces.redact import Policy
    policy = Policy(_given(args.policy))
    key = _key(args.key_file)
    try:
        with _reading(args.file) as file, _writing(args.output) as write:
            if (args.kind if args.kind != "auto" else _kind(file)) == "trace":
                count, what = _trace(file, write, key, policy), "events"
            else:
                count, what = _log(file, write, key, policy), "rows"
    except InputError as error:
        line = "" if error.line is None else f":{error.line}"
        path = f" at {one_line(error.path)}" if error.path else ""
        print(f"error: {show(args.file)[1:-1]}{line}: {error.code}{path}: {error.message}", file=sys.stderr)
        return 2
    print(f"{count} {what} redacted", file=sys.stderr)
    for rule_id, why in policy.rules_off().items():
        print(f"switched off: {rule_id}: {why}", file=sys.stderr)
    return 0


def _given(words):
    given = {}
    for word in words:
        name, equals, action = word.partition("=")
        if not equals:
            raise InputError("redact/policy", f"expected CLASS=ACTION, got {show(word)}")
        given[name] = action
    return given


def _key(name):
    if name is None:
        return os.urandom(32)
    with open(name, "rb") as file:
        return file.read(1 << 16)


@contextmanager
def _reading(name):
    """The input as a binary file that can be read again from its start; a pipe is copied first."""
    import shutil
    import tempfile
    if name != "-":
        with open(name, "rb") as file:
            if file.seekable():
                yield file
                return
            with tempfile.TemporaryFile() as copy:
                shutil.copyfileobj(file, copy)
                copy.seek(0)
                yield copy
                return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.seek(0)
        yield copy


@contextmanager
def _writing(name):
    """A function that writes one text. A file appears under its name only when everything is written."""
    if name == "-":
        yield lambda text: sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()
        return
    if os.path.exists(name) and not os.path.isfile(name):
        with open(name, "wb") as file:  # a device or a pipe: nothing to put in its place
            yield lambda text: file.write(text.encode("utf-8"))
        return
    part = f"{name}.{os.getpid()}.part"
    try:
        with open(part, "xb") as file:
            yield lambda text: file.write(text.encode("utf-8"))
        os.replace(part, name)
    finally:
        if os.path.exists(part):
            os.remove(part)


def _kind(file):
    """trace or log, from the first bytes: a trace is an object that begins with one of its three keys."""
    import re
    head = file.read(1 << 16)
    file.seek(0)
    first = re.match(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(session|case|events)"\s*:', head)
    if first is None:
        return "log"
    line = head[first.start():].lstrip(b"\xef\xbb\xbf \t\r\n").split(b"\n")[0]
    from realtime_session.values.strict_json import JsonError, parse
    try:
        value = parse(line)
    except JsonError:
        return "trace"
    return "log" if "type" in value else "trace"


def _trace(file, write, key, policy):
    from json import dumps

    from realtime_session.traces.reader import read_trace
    from realtime_session.traces.redact import TraceRedactor

    def text(value):
        return dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    reader, count = read_trace(file), 0
    redactor = TraceRedactor(reader.header, key, policy)
    header = text(redactor.header())
    write('{"session":' + header + ("}\n" if reader.lines else ',"events":['))
    for event, *_ in reader:
        separator = "" if reader.lines else ",\n" if count else "\n"
        write(separator + text(redactor.event(event)) + ("\n" if reader.lines else ""))
        count += 1
    if not reader.lines:
        write("\n]}\n")
    return count


def _log(file, write, key, policy):
    from json import dumps

    from realtime_session.values.strict_json import parse
    from realtime_session.wire.redact_log import LogRedactor
    from realtime_session.wire.rows import MAX_ROW_BYTES, split

    redactor, count, line = LogRedactor(key, policy), 0, 1
    array = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    file.seek(0)
    for number, raw in split(iter(lambda: file.read(_BLOCK), b"")):
        try:
            value = redactor.row(parse(raw, max_bytes=MAX_ROW_BYTES))
        except InputError as error:
            error.line = number
            raise
        # Blank lines stay, so that a row keeps its number.
        start = "[" if array and not count else "," if array else "\n" * (number - line)
        write(start + dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n")
        count, line = count + 1, number + 1
    if array:
        write("]\n" if count else "[]\n")
    return count
