"""Canonical JSON: one text for one value (RFC 8785, JSON Canonicalization Scheme)."""
from __future__ import annotations

from json.encoder import JSONEncoder, encode_basestring

from .json_limits import MAX_DOCUMENT_BYTES, number_problem, survey

_encode = JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, sort_keys=True,
                      separators=(",", ":")).encode


def canonical(value):
    """The canonical text of a value: keys in the order of their UTF-16 code units, numbers as ECMAScript
    writes them, no white space, the fewest escapes (RFC 8785 section 3.2).

    Raises JsonError for what `check_value` refuses, with one exception: floats from 2^53 up to 1e21 have a
    canonical form and get it, although no text that `parse` accepts holds one. 1.0 becomes "1", -0.0 "0"."""
    try:
        if survey(value, MAX_DOCUMENT_BYTES, _problem):
            return _encode(value)
    except RecursionError:  # the caller stood close to the interpreter's limit
        pass
    return _write(value)


def digest(value):
    """The sha256, as 64 hexadecimal digits, of the canonical text in UTF-8. Raises as `canonical` does."""
    from hashlib import sha256

    return sha256(canonical(value).encode("utf-8")).hexdigest()


def _problem(number):
    problem = number_problem(number)
    if problem is not None and problem[0] == "json/integer_range" and type(number) is float:
        return None
    return problem


def _write(value):
    out, waiting = [], [("", value, "")]  # (text before, value, text after), the next one last
    while waiting:
        before, item, after = waiting.pop()
        kind = type(item)
        if kind is dict and item:
            members = [(encode_basestring(key) + ":", item[key], ",")
                       for key in sorted(item, key=_utf16, reverse=True)]
            _replace_ends(members, before + "{", "}" + after)
            waiting += members
        elif kind is list and item:
            members = [("", each, ",") for each in reversed(item)]
            _replace_ends(members, before + "[", "]" + after)
            waiting += members
        else:
            out.append(before + (_number(item) if kind is float else _encode(item)) + after)
    return "".join(out)


def _replace_ends(members, opening, closing):
    """Puts the brackets around members that lie in reverse order."""
    before, item, after = members[-1]
    members[-1] = (opening + before, item, after)
    before, item, _ = members[0]
    members[0] = (before, item, closing)


def _utf16(key):
    return key.encode("utf-16-be")


def _number(value):
    """ECMA-262 Number::toString (RFC 8785 section 3.2.2.3); Python's repr gives the same shortest digits."""
    if value == 0:
        return "0"
    sign, text = ("-", repr(-value)) if value < 0 else ("", repr(value))
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # The value is 0.digits times ten to the power of point.
    point = len(digits) - len(fraction) + int(exponent or 0)
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        if len(digits) <= point:
            return sign + digits.ljust(point, "0")
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = "." + digits[1:] if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{point - 1:+d}"
