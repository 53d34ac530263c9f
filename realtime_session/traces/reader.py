"""Reading a trace as a stream: a header, then one event at a time (contract, "Trace format", "Reading input").

Both encodings are told apart by their content: a JSON document {"session": …, "events": […]} is decoded
event by event, JSON Lines line by line; neither is ever held whole. Core code takes an open binary file.

Reading is strict (I-JSON) without paying for it twice: a line goes through the C scanner, the number of
keys the event checker saw is compared with the number of colons in the text, and only where they differ (a
colon inside a text, or a duplicate key) or something else looks odd does the strict parser read it again.
"""
from __future__ import annotations

from realtime_session.contract.events import quick_checker
from realtime_session.contract.header import HeaderError
from realtime_session.traces.document import DocumentReader, Source
from realtime_session.values.strict_json import MAX_DEPTH, MAX_EVENT_BYTES, JsonError, parse, scan

_BLOCK = 1 << 18
#: Few events are longer than this; a trace full of repeats reads each of them again.
_USUAL = 1 << 12
#: A line shorter than this cannot nest deeper than allowed: every level takes two characters.
_SHALLOW = 2 * (MAX_DEPTH + 1)
#: A line shorter than this cannot be too large: no character takes more than four bytes.
_SMALL = MAX_EVENT_BYTES // 4


class TraceReader:
    """Reads one trace from an open binary file.

    `header` is the session header as found; `case` is what a fixture says about itself, or None. Iterating
    gives (event, whether its form was checked, line from 1, byte offset). `blank_lines` counts the blank lines skipped. Raises JsonError for text that is not strict
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
        try:
            return scan(self._text_at(offset, _USUAL), 0)[0]
        except (ValueError, StopIteration):  # an object that was cut is none: it is a long one
            return scan(self._text_at(offset, MAX_EVENT_BYTES + 1), 0)[0]

    def _text_at(self, offset, size):
        position = self._file.tell()
        try:
            self._file.seek(offset)
            return self._file.read(size).decode("utf-8", "replace")
        finally:
            self._file.seek(position)

    def _read_lines(self):
        number, offset = self._document.source.line, self._document.source.offset
        check = quick_checker(self.profile)
        for body in self._blocks():
            try:
                text = body.decode("utf-8")
            except UnicodeDecodeError as error:
                raise _bad_line(body, error, number) from None
            ascii_only, escapes = text.isascii(), "\\u" in text
            lines = text.split("\n")
            if not lines[-1]:
                lines.pop()
            for line in lines:
                size = len(line)
                taken = size + 1 if ascii_only else len(line.encode("utf-8")) + 1
                event = None
                if (size < _SHALLOW or size < _SMALL and line.count("{") + line.count("[") <= MAX_DEPTH) and not (
                        escapes and "\\u" in line):
                    try:
                        event, end = scan(line, 0)
                    except (ValueError, StopIteration):
                        pass  # the strict parser names the fault
                if event is not None and check(event) == line.count(":") and (
                        end == size or not line[end:].strip(" \t\r")):
                    yield event, True, number, offset
                elif line.strip(" \t\r"):
                    event = _strict(line, number)
                    yield event, check(event) >= 0, number, offset + len(line) - len(line.lstrip(" \t\r"))
                else:
                    self.blank_lines += 1
                number += 1
                offset += taken

    def _blocks(self):
        """The bytes behind the header, in blocks of whole lines."""
        first_line, passed = self._document.source.line, 0
        rest = self._document.source.take_rest()
        while True:
            block = self._file.read(_BLOCK)
            data = rest + block
            cut = data.rfind(b"\n") + 1 if block else len(data)
            rest = data[cut:]
            if len(rest) > MAX_EVENT_BYTES:
                raise JsonError("json/too_large", f"an event of more than {MAX_EVENT_BYTES} bytes",
                                line=first_line + passed + data.count(b"\n", 0, cut))
            passed += data.count(b"\n", 0, cut)
            if cut:
                yield data[:cut]
            if not block:
                return


def _bad_line(body, error, number):
    """The encoding error of a block of lines, in the line where it is."""
    begin = body.rfind(b"\n", 0, error.start) + 1
    return JsonError("json/encoding", f"not UTF-8: {error.reason}", line=number + body.count(b"\n", 0, begin),
                     column=len(body[begin:error.start].decode("utf-8")) + 1)


def _strict(text, number):
    """One line through the strict parser, its errors moved to the line's place in the file."""
    if text.startswith("\ufeff"):
        raise JsonError("json/syntax", "a byte order mark is accepted only at the start of a file", line=number,
                        column=1)
    try:
        return parse(text, max_bytes=MAX_EVENT_BYTES)
    except JsonError as error:
        raise JsonError(error.code, error.message, line=number + (error.line or 1) - 1, column=error.column,
                        path=error.path) from None


def read_trace(file):
    """A TraceReader over an open binary file; raises JsonError or HeaderError."""
    reader = TraceReader(file)
    if reader.header is None:
        raise HeaderError("trace/header", 'expected {"session": …} first', line=1, path="")
    return reader
