"""`adapter-check`: judges recorded frames of the evaluation adapter protocol, version 1."""
from __future__ import annotations

import sys
from contextlib import nullcontext

from realtime_session.values.errors import InputError, one_line, show

EPILOG = """exit code: 0 conforms, 1 a rule is broken, 2 unreadable input, 3 no stop in the recording.
One JSON object a line: {"at_ms": 0, "from": "host", "text": "…"} for a text frame, as it was sent, and
{"at_ms": 20, "from": "adapter", "bytes": 640} or {…, "base64": "…"} for audio. Times are ms since the connection.
example: python -m realtime_session adapter-check frames.jsonl"""
_BLOCK = 1 << 18
_KEPT = 1000


def add_arguments(parser):
    """The arguments of `adapter-check`."""
    parser.epilog = EPILOG
    parser.add_argument("frames", metavar="FRAMES", help="recorded frames as JSON Lines, or - for stdin")
    parser.add_argument("--side", choices=("host", "adapter"), help="report only what this side did wrong")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(args):
    """Judges one recording."""
    from realtime_session.wire.agent_adapter import AdapterJudge
    judge = AdapterJudge()
    try:
        with nullcontext(sys.stdin.buffer) if args.frames == "-" else open(args.frames, "rb") as file:
            rows, total, kept = _judge(file, judge, args.side)
    except InputError as error:
        line = "" if error.line is None else f":{error.line}"
        path = f" at {one_line(error.path)}" if error.path else ""
        print(f"error: {one_line(args.frames)}{line}: {error.code}{path}: {error.message}", file=sys.stderr)
        return 2
    _report(args, rows, total, kept, judge.stopped)
    return 1 if total else 0 if judge.stopped else 3


def _judge(file, judge, side):
    from realtime_session.values.strict_json import parse
    from realtime_session.wire.rows import MAX_ROW_BYTES, split
    rows = total = number = last = 0
    kept = []

    def keep(found):
        found = [v for v in found if side is None or v.side == side]
        kept.extend((number, v) for v in found[:_KEPT - len(kept)])
        return len(found)

    for number, raw in split(iter(lambda: file.read(_BLOCK), b"")):
        try:
            at_ms, sender, frame = _frame(parse(raw, max_bytes=MAX_ROW_BYTES), last)
        except InputError as error:
            error.line = number
            raise
        rows, last = rows + 1, at_ms
        total += keep(judge.see(at_ms, sender, frame))
    total += keep(judge.finish())
    return rows, total, kept


def _frame(row, last):
    """(time, side, frame) of one recorded row; raises InputError frames/row."""
    from realtime_session.wire.audio import base64_bytes
    if row.__class__ is not dict:
        raise InputError("frames/row", f"expected an object, got {show(row)}")
    at_ms, sender = row.get("at_ms"), row.get("from")
    if at_ms.__class__ not in (int, float) or at_ms < last:
        raise InputError("frames/row", f"expected a number of {last} or more, got {show(at_ms)}", path="/at_ms")
    if sender not in ("host", "adapter"):
        raise InputError("frames/row", f"expected host or adapter, got {show(sender)}", path="/from")
    given = [key for key in ("text", "bytes", "base64") if key in row]
    if len(given) != 1:
        raise InputError("frames/row", "expected one of text, bytes and base64")
    value, key = row[given[0]], given[0]
    if value.__class__ is not (int if key == "bytes" else str) or key == "bytes" and value < 0:
        raise InputError("frames/row", f"expected {'a length' if key == 'bytes' else 'a string'}, got {show(value)}",
                         path="/" + key)
    return at_ms, sender, base64_bytes(value) if key == "base64" else value


def _report(args, rows, total, kept, stopped):
    from realtime_session.wire.agent_adapter import RULES
    if args.format == "json":
        from realtime_session.values.strict_json import canonical
        print(canonical({"file": args.frames, "frames": rows, "count": total, "stopped": stopped, "violations": [
            {"line": line, "rule": v.rule, "side": v.side, "at_ms": v.at_ms, "seen": v.seen} for line, v in kept]}))
        return
    name = one_line(args.frames)
    for line, v in kept:
        print(f"{name}:{line}: {v.rule} ({v.side}, {v.at_ms} ms): {RULES[v.rule].sentence}; got {v.seen}")
    if total > len(kept):
        print(f"… and {total - len(kept)} more")
    end = "" if stopped else ", and no stop at its end"
    print(f"{name}: {rows} frames, " + (f"{total} violation{'s' if total > 1 else ''}" if total else "conforms") + end)
