"""Reading a trace as a stream: a header, then one event at a time (contract, "Trace format", "Reading input").

Both encodings are told apart by their content: a JSON document {"session": …, "events": […]} is decoded
event by event, JSON Lines line by line; neither is ever held whole. Core code takes an open binary file.

Reading is strict (I-JSON) without paying for it twice: a line goes through the C scanner, the number of
keys the event checker saw is compared with the number of colons in the text, and only where they differ (a
colon inside a text, or a duplicate key) or something else looks odd does the strict parser read it again.
"""
from __future__ import annotations

from collections import namedtuple

from realtime_session.contract.events import quick_check
from realtime_session.contract.header import HeaderError
from realtime_session.traces.document import BOM, DocumentReader, Source
from realtime_session.values.strict_json import MAX_DEPTH, MAX_EVENT_BYTES, JsonError, parse, scan

#: One event as read: the value, whether its form was checked, its line (from 1) and its byte offset.
Item = namedtuple("Item", ("event", "checked", "line", "offset"))
_BLOCK = 1 << 18


class TraceReader:
    """Reads one trace from an open binary file.

    `header` is the session header as found; `case` is what a fixture says about itself, or None. Iterating
    gives Items. `blank_lines` counts the blank lines skipped. Raises JsonError for text that is not strict
    JSON, HeaderError for a trace without a usable header; both carry the line."""

    def __init__(self, file, seekable=None):
        self._file = file
        self.seekable = file.seekable() if seekable is None else seekable
        source = Source(file)
        self._document = DocumentReader(source, self.seekable)
        self.header, self.case, self.lines = self._document.head()
        self.blank_lines = 0
        self.profile = self.header.get("profile", "half_duplex") if self.header.__class__ is dict else None

    def __iter__(self):
        return self._read_lines() if self.lines else self._document.events(self.profile)

    def recall(self, offset):
        """The event that was read at a byte offset; only for seekable files."""
        position = self._file.tell()
        try:
            self._file.seek(offset)
            text = self._file.read(MAX_EVENT_BYTES + 1).decode("utf-8", "replace")
        finally:
            self._file.seek(position)
        return scan(text, 0)[0]

    def _read_lines(self):
        source, profile = self._document.source, self.profile
        number, offset, rest = source.line, source.offset, source.take_rest()
        file, at_end = self._file, False
        position = offset + len(rest)
        while not at_end:
            block = file.read(_BLOCK)
            position += len(block)
            at_end = not block
            if at_end and not rest:
                return
            lines = (rest + block).split(b"\n")
            rest = b"" if at_end else lines.pop()
            if len(rest) > MAX_EVENT_BYTES:
                raise JsonError("json/too_large", f"an event of more than {MAX_EVENT_BYTES} bytes", line=number)
            for raw in lines:
                item = self._line(raw, number, offset, profile)
                if item is not None:
                    yield item
                offset += len(raw) + 1
                number += 1

    def _line(self, raw, number, offset, profile):
        try:
            text = raw.decode("utf-8")
            if text[:1] == "{" and text.count("{") + text.count("[") <= MAX_DEPTH and "\\u" not in text \
                    and len(raw) <= MAX_EVENT_BYTES:
                event, end = scan(text, 0)
                if end == len(text) or text[end:].isspace() and not text[end:].strip(" \t\r"):
                    keys = quick_check(event, profile)
                    if keys >= 0 and keys == text.count(":"):
                        return Item(event, True, number, offset)
        except (ValueError, StopIteration, RecursionError):
            pass  # the strict parser below names the fault
        if not raw.strip(b" \t\r"):
            self.blank_lines += 1
            return None
        event = _strict(raw, number)
        indent = len(raw) - len(raw.lstrip(b" \t"))
        return Item(event, quick_check(event, profile) >= 0, number, offset + indent)


def _strict(raw, number):
    """One line through the strict parser, its errors moved to the line's place in the file."""
    if raw.startswith(BOM):
        raise JsonError("json/syntax", "a byte order mark is accepted only at the start of a file", line=number,
                        column=1)
    try:
        return parse(raw, max_bytes=MAX_EVENT_BYTES)
    except JsonError as error:
        raise JsonError(error.code, error.message, line=number + (error.line or 1) - 1, column=error.column,
                        path=error.path) from None


def read_trace(file):
    """A TraceReader over an open binary file; raises JsonError or HeaderError."""
    reader = TraceReader(file)
    if reader.header is None:
        raise HeaderError("trace/header", 'expected {"session": …} first', line=1, path="")
    return reader
