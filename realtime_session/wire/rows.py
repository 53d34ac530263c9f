"""The rows of a session log: cut out of bytes, and taken out of the logger's wrapper.

A log is one JSON object per line, or one JSON array of objects. A row is the wire JSON itself, or the
wrapped form {direction, data, at, i, kind, trimmed_base64_chars}.
"""

from __future__ import annotations

import re
from collections import namedtuple
from math import isfinite

from realtime_session.contract.events import count_keys
from realtime_session.values.errors import InputError, show
from realtime_session.values.strict_json import MAX_DEPTH, parse, scan

SENT, RECEIVED = "sent", "received"
MAX_ROW_BYTES = 64 * 1024 * 1024  # providers accept 15 MiB of audio in one message
_SHALLOW = 2 * (MAX_DEPTH + 1)

_DIRECTIONS = {
    "sent": SENT,
    "send": SENT,
    "out": SENT,
    "outgoing": SENT,
    "client": SENT,
    "received": RECEIVED,
    "receive": RECEIVED,
    "recv": RECEIVED,
    "in": RECEIVED,
    "incoming": RECEIVED,
    "server": RECEIVED,
}
_WRAPPER = ("direction", "kind", "at", "i", "trimmed_base64_chars", "schema")


class LogError(InputError):
    """A session log that cannot be read (codes log/row, log/too_large, log/array)."""


class Row(namedtuple("Row", ("line", "direction", "kind", "at", "trimmed", "data"))):
    """One row: its number from 1, sent | received | None, message | close, seconds or None, whether its
    audio was cut by the logger, and the wire JSON (an object; for a close whatever was there)."""

    __slots__ = ()


def parse_row(raw):
    """The strict JSON value of one row's bytes; raises JsonError as `parse` does, for a row beyond 64 MiB too.

    The bare scanner is twice as fast. Each key that was written needs a colon of its own: as many keys as
    colons prove that none came twice. On any doubt (a colon in a text, an escaped surrogate, a number out
    of range, depth) the strict parser reads the row."""
    try:
        text = raw.decode("utf-8")
        # One character is looked for many times faster than two; and every level takes two characters.
        if (
            ("\\" not in text or "\\u" not in text)
            and (len(text) < _SHALLOW or text.count("{") + text.count("[") <= MAX_DEPTH)
            and len(raw) <= MAX_ROW_BYTES
        ):
            value, end = scan(text, 0)
            if count_keys(value) == text.count(":") and (end == len(text) or not text[end:].strip(" \t\r\n")):
                return value
    except (ValueError, StopIteration):
        pass
    return parse(raw, max_bytes=MAX_ROW_BYTES)


def unwrap(line, value):
    """The row that a parsed JSON value stands for; raises LogError log/row when it is none."""
    if value.__class__ is dict and "type" not in value:
        data, direction = value.get("data"), value.get("direction")
        if (
            data.__class__ is dict
            and (direction == SENT or direction == RECEIVED)
            and "at" not in value
            and "trimmed_base64_chars" not in value
            and value.get("kind") != "close"
        ):
            return Row(line, direction, "message", None, False, data)
    if value.__class__ is not dict:
        raise LogError("log/row", f"expected an object per row, got {show(value)}", line=line)
    data = value.get("data")
    if "type" in value or ("data" not in value and value.get("kind") != "close"):
        return Row(line, None, "message", None, False, value)
    if not any(key in value for key in _WRAPPER):
        return Row(line, None, "message", None, False, value)
    direction = value.get("direction")
    direction = _DIRECTIONS.get(direction) if direction.__class__ is str else None
    at = value.get("at")
    if at.__class__ not in (int, float) or not isfinite(at):
        at = None
    if value.get("kind") == "close":
        return Row(
            line, direction, "close", at, False, {**value, **data} if data.__class__ is dict else value
        )
    if data.__class__ is not dict:
        raise LogError(
            "log/row", f"expected the wire message, an object, got {show(data)}", line=line, path="/data"
        )
    return Row(line, direction, "message", at, bool(value.get("trimmed_base64_chars")), data)


def close_of(row):
    """(code or None, reason text or None) of a close row, wherever the logger put them."""
    data = row.data if row.data.__class__ is dict else {}
    if data.get("data").__class__ is int:
        return data["data"], None
    code = next(
        (data[key] for key in ("code", "close_code", "status") if data.get(key).__class__ is int), None
    )
    reason = next(
        (
            data[key]
            for key in ("reason", "close_reason", "message")
            if data.get(key).__class__ is str and data[key]
        ),
        None,
    )
    return code, reason


def split(chunks):
    """Cuts a log into rows: yields (number from 1, bytes of one JSON value).

    The number is the physical line, or for an array the position of the element. Holds one row at a time;
    raises LogError for a row beyond 64 MiB. Blank lines are skipped."""
    chunks = iter(chunks)
    head = b""
    for chunk in chunks:
        head += chunk
        if head.strip(b"\xef\xbb\xbf \t\r\n"):
            break
    if head.startswith(b"\xef\xbb\xbf"):
        head = head[3:]
    if head.lstrip().startswith(b"["):
        yield from _elements(head, chunks)
    else:
        yield from _lines(head, chunks)


def _lines(rest, chunks):
    number = 0
    while True:
        pieces = rest.split(b"\n")
        rest = pieces.pop()
        for piece in pieces:
            number += 1
            if piece and not piece.isspace():
                yield number, piece[:-1] if piece.endswith(b"\r") else piece
        parts, size = [rest], len(rest)
        for chunk in chunks:
            parts.append(chunk)
            size += len(chunk)
            if b"\n" in chunk:
                break
            _bounded(size, number + 1)
        else:
            rest = b"".join(parts)
            if rest.strip():
                yield number + 1, rest
            return
        rest = b"".join(parts)


_MARKS = re.compile(rb'["{}\[\],]')
_IN_STRING = re.compile(rb'["\\]')


def _elements(rest, chunks):
    """The elements of one top-level array; the values themselves are checked by whoever parses them."""
    parts, size, number = [], 0, 0
    depth, in_string, skip = 0, False, 0
    for chunk in _prepend(rest.lstrip(), chunks):
        start = 0
        position, skip = skip, 0
        while True:
            found = (_IN_STRING if in_string else _MARKS).search(chunk, position)
            if found is None:
                break
            mark, position = found.group(), found.end()
            if in_string:
                if mark == b"\\":
                    position += 1  # the escaped character is no mark
                else:
                    in_string = False
            elif mark == b'"':
                in_string = True
            elif mark in b"{[":
                depth += 1
                if depth == 1:
                    start = position
            elif mark != b"," or depth == 1:
                if depth == 1:  # a comma or the closing bracket of the array itself
                    element = b"".join((*parts, chunk[start : found.start()]))
                    parts, size, start = [], 0, position
                    if element.strip() or mark == b",":
                        number += 1
                        yield number, element
                if mark != b",":
                    depth -= 1
                    if depth == 0:
                        _nothing_after(chunk[position:], chunks)
                        return
        skip = max(0, position - len(chunk)) if in_string else 0
        parts.append(chunk[start:])
        size += len(chunk) - start
        _bounded(size, number + 1)
    raise LogError("log/array", "the array of events is not closed", line=number + 1)


def _prepend(first, chunks):
    yield first
    yield from chunks


def _nothing_after(rest, chunks):
    for chunk in _prepend(rest, chunks):
        if chunk.strip():
            raise LogError("log/array", "something follows the array of events")


def _bounded(size, line):
    if size > MAX_ROW_BYTES:
        raise LogError("log/too_large", f"a row of more than {MAX_ROW_BYTES} bytes", line=line)
