"""`replay`: run a trace through the session contract and name the first thing that is wrong."""
from __future__ import annotations

import sys

from realtime_session.cli.files import opened
from realtime_session.report.replay_text import (
    StepWriter, conversation_lines, measure_lines, state_lines, unjudged_line, verdict_lines)
from realtime_session.traces.replay import Replay
from realtime_session.traces.timeline import Timeline
from realtime_session.values.errors import InputError, one_line

EPILOG = """exit code: 0 pass, 1 a violation (or a finding with --strict), 2 unreadable input, 3 unfinished.
example: python -m realtime_session replay examples/session_fixture.json --pretty"""


def add_arguments(parser):
    """The arguments of `replay`."""
    parser.epilog = EPILOG
    parser.add_argument("files", nargs="+", metavar="FILE", help="a trace (JSON document or JSON Lines), or - for stdin")
    parser.add_argument("--pretty", action="store_true", help="also print every event unfolded, measures, state left")
    parser.add_argument("--until", type=_event_number, metavar="N", help="stop after N events")
    parser.add_argument("--turn", metavar="ID", help="print only the events of this turn")
    parser.add_argument("--conversation", action="store_true", help="print who said and heard what, turn by turn")
    parser.add_argument("--step", action="store_true", help="one event at a time: Enter goes on, q quits")
    parser.add_argument("--keep-going", action="store_true", help="skip rejected events and report all of them")
    parser.add_argument("--strict", action="store_true", help="findings fail too")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def _event_number(text):
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def run(args):
    """Replays every file; the exit code of the worst one (2, then 1, then 3)."""
    codes, reports = [], []
    for file in args.files:
        try:
            code, report = (_json if args.format == "json" else _text)(file, args)
        except BrokenPipeError:
            raise  # the reader of our output has left; that is no fault of the file
        except (InputError, OSError) as error:
            message = _message(file, error)
            print(f"error: {message}", file=sys.stderr)
            code, report = 2, {"file": _named(file), "error": _error_json(error, message)}
        codes.append(code)
        reports.append(report)
    if args.format == "json":
        from realtime_session.values.strict_json import canonical
        print(canonical(reports[0] if len(reports) == 1 else reports))
    return next((code for code in (2, 1, 3) if code in codes), 0)


def _message(file, error):
    name = one_line(file)
    if isinstance(error, InputError):
        line = "" if error.line is None else f":{error.line}"
        column = "" if error.column is None or error.line is None else f":{error.column}"
        path = error.path or ""
        path = f" at {path if len(path) <= 120 else path[:80] + '…' + path[-39:]}" if path else ""
        return f"{name}{line}{column}: {error.code}{path}: {error.message}"
    return f"{name}: {error.strerror or type(error).__name__}"


def _named(file):
    """The file's name as JSON can hold it: bytes that are no text become escapes."""
    return file.encode("utf-8", "backslashreplace").decode("utf-8")


def _error_json(error, message):
    if isinstance(error, InputError):
        return {"code": error.code, "line": error.line, "column": error.column, "path": error.path,
                "message": error.message}
    return {"code": "input/unreadable", "line": None, "column": None, "path": None, "message": message}


def _replay(handle, args):
    return Replay(handle, keep_going=args.keep_going, until=args.until)


def _json(file, args):
    from realtime_session.values.strict_json import canonical, parse
    with opened(file) as handle:
        replay = _replay(handle, args).run()
        report = replay.report(_named(file))
        text = canonical(report)
        hidden = replay.session.hide_token(text)  # an input may have used the token as an id
        return replay.exit_code(args.strict), report if hidden == text else parse(hidden)


def _text(file, args):
    with opened(file) as handle:
        if args.step:
            return _step_through(file, handle, args)
        twice = handle.seekable()
        if twice:
            replay = _replay(handle, args).run()
            _print(verdict_lines(replay, file, args.strict))
            replay = None  # its ids are the memory; the second reading collects its own
            handle.seek(0)
        replay = _replay(handle, args)
        _print_steps(replay, args)
        if not twice:
            _print(verdict_lines(replay, file, args.strict))
        if args.pretty:
            _print(measure_lines(replay.audit.measures()))
            _print(state_lines(replay.session.state(), replay.session.state_digest()))
        return replay.exit_code(args.strict), None


def _print_steps(replay, args):
    writer, session = StepWriter(fold=not args.pretty), replay.session
    timeline = Timeline(session) if args.conversation else None
    for step in replay.steps():
        if timeline is not None:
            if step.decision.violation is None:
                timeline.see(step.event, step.decision)
        elif args.turn is None or _of_turn(step.event, args.turn, replay.session.records):
            _print(writer.lines(step), session)
    _print(writer.flush(), session)
    if timeline is not None:
        _print(conversation_lines(timeline.rows()), session)
    if replay.violations and replay.stopped and args.turn is None:
        _print([unjudged_line(event) for event in _neighbours(replay)], session)


def _neighbours(replay):
    try:
        return replay.following()
    except InputError:
        return []  # what cannot be read is no neighbour; the verdict stands


def _of_turn(event, turn_id, records):
    payload = event.get("payload") if event.__class__ is dict else None
    if payload.__class__ is not dict:
        return False
    if payload.get("turn_id") == turn_id:
        return True
    response = payload.get("response_id")
    record = records.responses.get(response) if response.__class__ is str else None
    return record is not None and record.turn_id == turn_id


def _step_through(file, handle, args):
    replay = _replay(handle, args)
    writer, session = StepWriter(fold=False), replay.session
    for step in replay.steps():
        _print(writer.lines(step), session)
        if handle is not sys.stdin.buffer and sys.stdin.readline().strip() == "q":
            break
    _print(verdict_lines(replay, file, args.strict))
    return replay.exit_code(args.strict), None


def _print(lines, session=None):
    """Prints lines; with a session, those that repeat text of the trace, which might hold its token."""
    if lines:
        text = "\n".join(lines)
        print(text if session is None else session.hide_token(text))
