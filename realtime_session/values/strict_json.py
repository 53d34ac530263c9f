"""Strict JSON: the one reader for everything the kit reads, and the one canonical form it writes.

I-JSON (RFC 7493; noncharacters are accepted) with fixed limits of depth and size (contract, "Reading input").
The C scanner does the work; hooks and counts notice whatever might be wrong. They only accept: on any doubt
the slow reader in `json_reader` reads the text again, decides, and names the place.
"""
from __future__ import annotations

import re
from itertools import accumulate
from json.decoder import JSONDecoder

from .canonical_json import canonical, digest
from .errors import JsonError
from .json_limits import (MAX_DEPTH, MAX_DOCUMENT_BYTES, MAX_EVENT_BYTES, MAX_INTEGER, SPACE, check_value,
                          number_problem)

__all__ = ["MAX_DEPTH", "MAX_DOCUMENT_BYTES", "MAX_EVENT_BYTES", "MAX_INTEGER", "JsonError", "canonical",
           "check_value", "digest", "parse", "scan"]

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_BACKSLASH_OR_PAIR = re.compile(r"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..")
_NO_BRACKET = bytes(set(range(256)) - set(b'[]{}"'))
_STEP = [(byte in b"[{") - (byte in b"]}") for byte in range(256)]


def _constant(name):
    raise JsonError("json/non_finite", f"{name} is not a JSON number")


def _object(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key is there twice")
    return members


def _integer(text):
    if len(text) < 16:
        return int(text)
    if len(text) > 17 or not -MAX_INTEGER <= int(text) <= MAX_INTEGER:
        raise ValueError("integer range")
    return int(text)


def _float(text):
    value = float(text)
    if not -MAX_INTEGER <= value <= MAX_INTEGER and number_problem(value) is not None:
        raise ValueError("not finite, or a whole number out of range")
    return value


#: scan(text, index) -> (value, index behind it): the bare C scanner, for a reader with cheaper checks of its
#: own. No white space is skipped before the value, and nothing is checked but the grammar: no duplicate key,
#: no range (1e400 gives inf), no depth, no surrogate, nothing behind the value. Raises ValueError (JsonError
#: without a place for NaN, Infinity), StopIteration where no value begins, RecursionError for deep nesting.
scan = JSONDecoder(parse_constant=_constant).scan_once
_scan = JSONDecoder(parse_constant=_constant, object_pairs_hook=_object, parse_int=_integer,
                    parse_float=_float).scan_once


def parse(data, *, max_bytes=MAX_DOCUMENT_BYTES):
    """The value of a JSON text: dict, list, str, int, float, bool or None.

    `data` is UTF-8 (bytes or bytearray) or str, of at most `max_bytes` bytes in UTF-8; one byte order mark at
    its start is skipped (columns count from behind it). Raises JsonError with line, column and path for the
    first thing that is not I-JSON or is beyond a limit, and nothing else (RFC 8259, RFC 7493)."""
    if not isinstance(data, (str, bytes, bytearray)):
        raise TypeError(f"expected bytes or str, got {type(data).__name__}")
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    if isinstance(data, str):
        text = data
        if not text.isascii():
            try:
                size = len(text.encode("utf-8"))
            except UnicodeEncodeError:
                return _read_slowly(_without_mark(text))
            if size > max_bytes:
                raise _too_large(max_bytes)
    else:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _not_utf8(data, error) from None
    text = _without_mark(text)
    try:
        if text.count("[") + text.count("{") <= MAX_DEPTH or _depth(text) <= MAX_DEPTH:
            body = text.strip(SPACE)
            value, end = _scan(body, 0)
            if end == len(body) and ("\\u" not in text or not _has_lone_escape(text)):
                return value
    except (ValueError, StopIteration, RecursionError):
        pass
    return _read_slowly(text)


def _read_slowly(text):
    from .json_reader import read_slowly  # most runs never need it

    return read_slowly(text)


def _without_mark(text):
    return text[1:] if text[:1] == "\ufeff" else text


def _depth(text):
    """How deep lists and objects are nested in a valid JSON text; for an invalid one, any number."""
    raw = text.encode("utf-8").replace(rb"\\", b"").replace(rb'\"', b"")
    outside = b"".join(raw.translate(None, _NO_BRACKET).split(b'"')[::2])
    return max(accumulate(map(_STEP.__getitem__, outside)), default=0)


def _has_lone_escape(text):
    """Whether a valid JSON text escapes half of a surrogate pair."""
    return _SURROGATE.search(text) is not None and \
        _SURROGATE.search(_BACKSLASH_OR_PAIR.sub(" ", text)) is not None


def _too_large(max_bytes):
    return JsonError("json/too_large", f"a text of more than {max_bytes} bytes", line=1, column=1, path="")


def _not_utf8(data, error):
    from .json_reader import path_at_end, position

    before = _without_mark(data[:error.start].decode("utf-8"))
    line, column = position(before, len(before))
    message = f"the byte 0x{data[error.start]:02x} is not UTF-8 ({error.reason})"
    return JsonError("json/encoding", message, line=line, column=column, path=path_at_end(before))
