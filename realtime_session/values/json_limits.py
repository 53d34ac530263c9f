"""The limits of strict JSON, and the same limits for Python values (contract, "Reading input").

I-JSON (RFC 7493) with a fixed depth and size: what is accepted reads the same in every implementation and on
every version of Python.
"""
from __future__ import annotations

from .errors import JsonError, pointer, show

#: Lists and objects inside each other; the 129th is refused.
MAX_DEPTH = 128
MAX_EVENT_BYTES = 1 << 20
MAX_DOCUMENT_BYTES = 256 << 20
#: The largest integer that a double holds without a gap (RFC 7493 section 2.2).
MAX_INTEGER = 2**53 - 1
#: From here on a whole number is written with an exponent (RFC 8785 section 3.2.2.3), so it stays a float.
EXPONENT_FROM = 1e21

SPACE = " \t\r\n"  # RFC 8259 section 2; str.strip() alone would also take other white space
TOO_DEEP = f"lists and objects nested more than {MAX_DEPTH} deep"
HALF_PAIR = "holds half of a surrogate pair"
# A small value can repeat one list so often that its text is endless. From this size on every list and object
# is remembered with its depth and size, and walked through again only where it lies deeper.
_REMEMBER_FROM = 1 << 16
_UNKNOWN = (0, 0)
_INFINITY = float("inf")


def number_problem(value):
    """(code, message) of what is wrong with an int or float, or None."""
    if -MAX_INTEGER <= value <= MAX_INTEGER:
        return None
    if isinstance(value, float):
        if not -_INFINITY < value < _INFINITY:
            return "json/non_finite", f"{show(value)} is not a JSON number"
        if not -EXPONENT_FROM < value < EXPONENT_FROM:
            return None
    return "json/integer_range", f"{show(value)} is a whole number beyond ±(2^53-1)"


def has_surrogate(text):
    """Whether a text holds half of a surrogate pair, which no encoding can carry."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def check_value(value, *, max_bytes=MAX_DOCUMENT_BYTES):
    """Raises JsonError, with the path, unless `value` is one that `parse` could have returned.

    Only dict (with str keys), list, str, int, float, bool and None are JSON, no subclass of them and no tuple
    (json/type). A value that contains itself is json/too_deep; one whose JSON text would certainly be longer
    than `max_bytes` is json/too_large, also where it is small in memory because it repeats one list."""
    survey(value, max_bytes, number_problem)


def survey(value, max_bytes, problem_of):
    """`check_value` with a rule for numbers; whether the standard encoder writes the value canonically.

    It does unless there is a float (its notation differs) or a key beyond U+FFFF (its order differs)."""
    # Iterators are held instead of recursing: the depth then never meets the interpreter's own limit.
    path, stack, room, plain = [], [iter(((None, value),))], max_bytes, True
    entered, known, remember_below = [], {}, max_bytes - _REMEMBER_FROM
    while stack:
        for key, item in stack[-1]:
            kind = type(item)
            if kind is str:
                room -= len(item) + 2
                if not item.isascii() and has_surrogate(item):
                    raise _error("json/lone_surrogate", f"{show(item)} {HALF_PAIR}", path, key)
            elif kind is int or kind is float:
                room -= 1
                if not -MAX_INTEGER <= item <= MAX_INTEGER:
                    problem = problem_of(item)
                    if problem is not None:
                        raise _error(*problem, path, key)
                plain = plain and kind is int
            elif kind is dict or kind is list:
                if len(stack) > MAX_DEPTH:
                    raise _error("json/too_deep", TOO_DEEP, path, key)
                depth, size = known.get(id(item), _UNKNOWN)
                if depth >= len(stack):
                    room -= size
                    continue
                path.append(key)
                entered.append((id(item), room))
                room -= 1 + len(item)  # its brackets and commas, at least
                if kind is dict:
                    room, plain = _survey_keys(item, room, plain, path)
                stack.append(iter(item.items() if kind is dict else enumerate(item)))
                break
            elif item is None or kind is bool:
                room -= 4
            else:
                raise _error("json/type", f"{show(item)} is not a JSON value", path, key)
        else:
            stack.pop()
            if path:
                path.pop()
                identity, before = entered.pop()
                if room < remember_below:
                    known[identity] = (len(stack), before - room)
        if room < 0:
            raise JsonError("json/too_large", f"a value of more than {max_bytes} bytes", path="")
    return plain


def _survey_keys(item, room, plain, path):
    for key in item:
        if type(key) is not str:
            raise JsonError("json/type", f"the key {show(key)} is not a string", path=pointer(path[1:]))
        room -= len(key) + 3
        if not key.isascii():
            if has_surrogate(key):
                raise JsonError("json/lone_surrogate", f"the key {show(key)} {HALF_PAIR}",
                                path=pointer(path[1:]))
            plain = plain and max(key) <= "\uffff"
    return room, plain


def _error(code, message, path, key):
    return JsonError(code, message, path=pointer([*path, key][1:]))  # the first key stands for the root
