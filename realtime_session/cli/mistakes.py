"""`mistakes`: what the client got wrong in a log of its realtime session, with the reason and the fix."""
from __future__ import annotations

import sys

from realtime_session.cli.files import opened
from realtime_session.values.errors import InputError, one_line, show

EPILOG = """exit code: 0 none found, 1 mistakes found, 2 unreadable input.
For logs of the OpenAI protocol family (OpenAI, Azure, xAI, Dialog-RSN-1): JSON Lines or one JSON array.
example: python -m realtime_session mistakes session.jsonl"""
_BLOCK = 1 << 18
_KEPT = 1000


def add_arguments(parser):
    """The arguments of `mistakes`."""
    parser.epilog = EPILOG
    parser.add_argument("log", metavar="LOG", help="JSON Lines or one JSON array of messages, or - for stdin")
    parser.add_argument("--dialect", metavar="D", help="dialog-rsn-1, where the log itself does not tell")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(args):
    """Lints one log; 1 when a mistake was found, 2 when the log cannot be read."""
    from realtime_session.wire.openai_names import DIALECTS
    if args.dialect is not None and args.dialect not in DIALECTS:
        raise InputError("mistakes/dialect", f"no dialect {show(args.dialect)}, expected one of " + ", ".join(DIALECTS))
    try:
        with opened(args.log) as file:
            rows, total, found = _lint(file, args.dialect)
    except InputError as error:
        line = "" if error.line is None else f":{error.line}"
        path = f" at {one_line(error.path)}" if error.path else ""
        print(f"error: {one_line(args.log)}{line}: {error.code}{path}: {error.message}", file=sys.stderr)
        return 2
    (_json if args.format == "json" else _text)(args.log, rows, total, found)
    return 1 if total else 0


def _lint(file, dialect):
    """(rows read, mistakes found, the first 1,000 of them)."""
    from realtime_session.values.strict_json import parse
    from realtime_session.wire.mistakes import MistakeLint
    from realtime_session.wire.rows import MAX_ROW_BYTES, split
    lint, rows, total, kept = MistakeLint(dialect), 0, 0, []

    def keep(found):
        kept.extend(found[:_KEPT - len(kept)])
        return len(found)

    for number, raw in split(iter(lambda: file.read(_BLOCK), b"")):
        try:
            total += keep(lint.feed(number, parse(raw, max_bytes=MAX_ROW_BYTES)))
        except InputError as error:
            error.line = number
            raise
        rows += 1
    total += keep(lint.finish())
    return rows, total, sorted(kept, key=lambda finding: finding.line)


def _json(name, rows, total, found):
    from realtime_session.values.strict_json import canonical
    print(canonical({"file": name, "rows": rows, "count": total,
                     "mistakes": [{"id": f.id, "line": f.line, "seen": f.seen, "reason": f.reason, "fix": f.fix}
                                  for f in found]}))


def _text(name, rows, total, found):
    shown = one_line(name)
    for f in found:
        print(f"{shown}:{f.line}: {f.id}: {f.seen}\n  why: {f.reason}\n  fix: {f.fix}")
    if total > len(found):
        print(f"… and {total - len(found)} more")
    print(f"{shown}: {rows} messages, " + (f"{total} mistake{'s' if total > 1 else ''}" if total else "no mistakes"))
