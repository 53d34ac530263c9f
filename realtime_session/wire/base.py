"""What every importer stands on: rows in, trace events out, with ids, clock, marks and counts.

A subclass names its FORMAT and handles one row at a time; it calls `emit` for each trace event. Wire line
order is the primary key of a trace (wire protocols, "Importers"): nothing is reordered. Importers are pure:
they read no file and no clock, and hold ids and small tables, never the log.
"""

from __future__ import annotations

from realtime_session.values.errors import InputError
from realtime_session.wire.fields import fingerprint, whole
from realtime_session.wire.rows import RECEIVED, SENT, close_of, unwrap
from realtime_session.wire.turns import Turns

MAX_WARNINGS = 200
MAX_TYPES = 1000
_EPOCH_S = 1e8  # a first `at` beyond this is a date, not seconds since the session began


class Importer:
    """Turns one log of one format into the events of a full_duplex trace.

    `feed(line, row)` takes each parsed row in order and returns trace events; `finish()` returns the rest.
    The header (`header()`) and `summary()` are complete only after `finish()`, because a log tells its
    tools, its dialect and its end late. `clock` fixes what at_ms rests on (recorded | audio | line); without
    it the first evidence decides. `read_only` names tools that change nothing."""

    FORMAT = ""
    DIALECTS = ()
    #: bytes in raw rows that read the microphone's clock, and in rows that declare tools (`survey`)
    AUDIO_MARKS = HEADER_MARKS = ()

    def __init__(self, dialect=None, read_only=(), clock=None):
        self.dialect = dialect
        self.read_only = frozenset(read_only)
        self.turns = Turns()
        self.clock = clock
        self.session_id = None
        self.end = "eof"
        self.lines = self.repeats = self.mapped = self.events = 0
        self.noted, self.unmapped, self.synthetic = {}, {}, {}
        self.warnings, self.warning_counts = [], {}
        self.line, self.raw_type, self.connection = 0, "", 1
        self.link_down = False
        self._out, self._line_id, self._nth = [], None, 0
        self._scopes, self._client_events = {}, {}
        self._now = self._recorded = self._audio = self._audio_base = 0
        self._epoch = None
        self._close = None
        self._first_row = ""

    # --- what callers use ---

    def feed(self, line, value):
        """The trace events of one parsed row (often none). Raises LogError when it is no row at all."""
        row = unwrap(line, value)
        if not self.lines:
            self._first_row = repr(value)[:100000]
        self.lines += 1
        self.line, self._line_id, self._nth = line, None, 0
        self._out = out = []
        if row.at is not None:
            self._record_time(row.at)
        if row.kind == "close":
            self._closed(row)
        else:
            if self.link_down and row.direction != SENT and self.is_received(row):
                self._reopen()
            self.handle(row)
        if out:
            self.mapped += 1
            self.events += len(out)
        return self.released(out)

    def finish(self):
        """The events that are known only now that the log has ended."""
        self._out, self._line_id, self._nth, self.raw_type = [], None, 0, ""
        self.line += 1
        self.at_end()
        if self._close is not None:
            line, code, reason = self._close
            self.line, self.raw_type = line, "close"
            if code == 1000:
                self.end = "completed"
                self.emit("session.completed", {"reason": reason, "by": "server"}, synthetic=True)
            else:
                self.end = "disconnected"
                self.emit("transport.disconnected", {"reason": reason}, synthetic=True)
        out = self._out
        self.events += len(out)
        return self.released(out, last=True)

    def header(self, tools=None):
        """The session header of the trace; `tools` instead of those declared so far."""
        header = {
            "session_id": self.session_id or f"import-{self.FORMAT}",
            "resume_token": self.resume_token(),
            "profile": "full_duplex",
        }
        tools = self.tools() if tools is None else tools
        if tools:
            header["tools"] = tools
        header["source"] = {
            "producer": f"import {self.FORMAT}",
            "dialect": self.dialect or self.FORMAT,
            "clock": self.clock or "line",
            "end": self.end,
        }
        return header

    def summary(self):
        """What was found, as a JSON object: counts, warnings, what was synthesised, the clock."""
        return {
            "format": self.FORMAT,
            "dialect": self.dialect or self.FORMAT,
            "clock": self.clock or "line",
            "end": self.end,
            "lines": self.lines,
            "events": self.events,
            "mapped": self.mapped,
            "noted": dict(sorted(self.noted.items())),
            "unmapped": dict(sorted(self.unmapped.items())),
            "repeats_dropped": self.repeats,
            "turns": self.turns.count,
            "turns_committed": self.turns.committed,
            "synthetic": dict(sorted(self.synthetic.items())),
            "warnings": {
                "total": sum(self.warning_counts.values()),
                "by_code": dict(sorted(self.warning_counts.items())),
                "first": list(self.warnings),
            },
        }

    # --- what a format overrides ---

    def handle(self, row):
        """Maps one message; calls `emit`, `note` or `unmap`."""
        raise NotImplementedError

    def is_received(self, row):
        """Whether a row without a direction came from the server."""
        return row.direction == RECEIVED

    def at_end(self):
        """Last words before the close of the connection is judged."""

    def reopened(self):
        """A new connection of the same session: forget what belonged to the old one."""

    def closed(self):
        """The connection was closed."""

    def released(self, events, last=False):
        """A hook for formats that must hold events back until they know what they are."""
        return events

    def tools(self):
        """The declared tools for the header: a list of {name, read_only, parameters}, may be empty."""
        return []

    # --- what handlers call ---

    def identify(self, wire_id, client, data):
        """Takes the id of the row's message; True when it is an exact repeat, which is dropped."""
        if wire_id.__class__ is not str or not wire_id:
            return False
        owner = self.connection * 2 + (1 if client else 0)
        scope = self._scopes.get(owner)
        if scope is None:
            scope = self._scopes[owner] = {}
        print_ = fingerprint(data)
        known = scope.get(wire_id)
        if known is None:
            scope[wire_id] = print_
            self._line_id = None if wire_id[:4] == "imp-" or "#" in wire_id else wire_id
            for other in self._scopes.values():
                if other is not scope and wire_id in other:
                    self._line_id = None
            return False
        if known == print_:
            self.repeats += 1
            return True
        # The contract judges one id with two contents; hiding it here would hide the fault.
        self.warn("id_reused", f"id {wire_id[:80]} was used before with another content")
        self._line_id = wire_id
        return False

    def emit(self, type_, payload, synthetic=False):
        """Writes one trace event for the current line and returns it."""
        self._nth += 1
        first = self._line_id or f"imp-{self.line}"
        source = {"line": self.line, "raw_type": self.raw_type}
        if synthetic:
            source["synthetic"] = True
            self.count_synthetic(type_)
        event = {
            "event_id": first if self._nth == 1 else f"{first}#{self._nth}",
            "type": type_,
            "at_ms": self.now(),
            "payload": payload,
            "source": source,
        }
        self._out.append(event)
        return event

    def count_synthetic(self, type_):
        """Counts an event that the wire lacks."""
        self.synthetic[type_] = self.synthetic.get(type_, 0) + 1

    def emitted(self):
        """Whether the current line has given an event."""
        return self._nth > 0

    def first_id(self):
        """The id of the current line's first event."""
        return self._line_id or f"imp-{self.line}"

    def note(self, type_):
        """Counts a message that was understood and needs no event of its own."""
        _count(self.noted, type_)

    def unmap(self, type_):
        """Counts a message that the trace cannot express or that is not known."""
        _count(self.unmapped, type_)

    def warn(self, code, message):
        """Keeps a warning with its line; the first ones in full, all of them counted."""
        self.warning_counts[code] = self.warning_counts.get(code, 0) + 1
        if len(self.warnings) < MAX_WARNINGS:
            self.warnings.append({"code": code, "line": self.line, "message": message})

    def now(self):
        """at_ms of the current line: never less than before."""
        if self.clock == "recorded":
            value = self._recorded
        elif self.clock == "audio":
            value = self._audio
        else:
            value = self.line
        if value > self._now:
            self._now = value
        return self._now

    def audio_heard(self, duration_ms):
        """The microphone went on by so many ms (None: unknown); moves an audio clock."""
        if duration_ms is not None:
            self._audio += duration_ms
            if self.clock is None:
                self.clock = "audio"

    def audio_offset(self, offset_ms):
        """The provider named a position on the microphone's clock (ms since the connection opened)."""
        if whole(offset_ms):
            self._audio = max(self._audio, self._audio_base + min(offset_ms, 10**12))
            if self.clock is None:
                self.clock = "audio"

    def resume_token(self):
        """The token of header and resumes: made from the log, the same for the same log."""
        from hashlib import blake2b

        return "imp-" + blake2b(self._first_row.encode("utf-8", "replace"), digest_size=12).hexdigest()

    # --- the link ---

    def _closed(self, row):
        code, reason = close_of(row)
        self.raw_type = "close"
        if self._close is None:
            text = f"close {code}" if code is not None else "close"
            self._close = (self.line, code, text + (f": {reason[:200]}" if reason else ""))
        self.link_down = True
        self.note("close")
        self.closed()

    def _reopen(self):
        """Rows come again after a close: the close was a loss, not the end."""
        _, _, reason = self._close
        self.emit("transport.disconnected", {"reason": reason}, synthetic=True)
        self.emit("transport.resumed", {"resume_token": self.resume_token()}, synthetic=True)
        self._new_connection()

    def reconnect(self, reason):
        """The protocol shows a new connection although the log has no close."""
        self.emit("transport.disconnected", {"reason": reason}, synthetic=True)
        self.emit("transport.resumed", {"resume_token": self.resume_token()}, synthetic=True)
        self.closed()
        self._new_connection()

    def _new_connection(self):
        self._close, self.link_down = None, False
        self.connection += 1
        self._audio_base = self._audio
        self.reopened()

    def _record_time(self, at):
        if self._epoch is None:
            self._epoch = at if at > _EPOCH_S else 0.0
        ms = (at - self._epoch) * 1000
        if 0 <= ms < 2**53:
            self._recorded = int(ms + 0.5)
        if self.clock is None:
            self.clock = "recorded"


def _count(table, type_):
    type_ = type_[:100] if type_.__class__ is str and type_ else "(no type)"
    if type_ not in table and len(table) >= MAX_TYPES:
        type_ = "(other)"  # hostile logs could invent types without end
    table[type_] = table.get(type_, 0) + 1


def survey(rows, importer, parse):
    """A quick look ahead: which clock the log has (recorded where any row has a time, else audio, else line).

    `rows` gives (number, bytes), `parse` turns bytes into a value. `importer` is a fresh one to look with:
    it is fed the few rows that declare tools or read the microphone's clock, the rest is only searched.
    Unreadable rows are for the import itself to report."""
    marks, declarations = importer.AUDIO_MARKS, importer.HEADER_MARKS
    timed, wanted = False, (b'"at"', *declarations, *marks)
    for number, raw in rows:
        for mark in wanted:
            if mark in raw:
                break
        else:
            continue
        try:
            value = parse(raw)
            timed = timed or unwrap(number, value).at is not None
            importer.feed(number, value)
        except InputError:
            continue
        if timed:
            wanted = declarations
        elif importer.clock is not None:
            wanted = (b'"at"', *declarations)
    return "recorded" if timed else importer.clock or "line"
