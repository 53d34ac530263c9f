"""Strict JSON on made-up and damaged input, against the standard parser and a plain canonical writer."""

import json
import math
import re
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from realtime_session.values.json_reader import read_slowly
from realtime_session.values.strict_json import MAX_INTEGER, JsonError, canonical, check_value, parse, scan

whole = st.integers(-MAX_INTEGER, MAX_INTEGER)
real = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: abs(number) <= MAX_INTEGER or abs(number) >= 1e21
)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["\U0001f378", "\ufb33", "\ue000", "\uffff", "\U00010000", "\\u", "[{", '"', "a:b", "\x00", "\u2028"]
)
scalar = st.none() | st.booleans() | whole | real | text


def grown(leaf):
    return st.recursive(
        leaf, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4)
    )


values = grown(scalar)
plain_values = grown(st.none() | whole | text)
anything = grown(
    scalar
    | st.text(max_size=3)
    | st.sampled_from(["\ud800", "\udc00", math.nan, math.inf, 2**53, -(2**53), 2.0**53, 1e20, 10**400])
    | st.sampled_from([(), b"x"])
)


def identical(one, other):
    """Equal, and of equal types all the way down (True is not 1; 1.0 may come back as 1)."""
    if isinstance(one, dict):
        same_keys = type(other) is dict and one.keys() == other.keys()
        return same_keys and all(identical(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return type(other) is list and len(one) == len(other) and all(map(identical, one, other))
    if isinstance(one, (int, float)) and not isinstance(one, bool):
        return type(other) in (int, float) and one == other
    return type(one) is type(other) and one == other


def plainly(value):
    """RFC 8785 written down as it reads, without any thought of speed."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(plainly(key) + ":" + plainly(value[key]) for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(plainly, value)) + "]"
    if isinstance(value, float):
        return plain_number(value)
    if isinstance(value, str):
        short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
        return '"' + "".join(short.get(c, c if c >= " " else f"\\u{ord(c):04x}") for c in value) + '"'
    return str(value) if type(value) is int else {None: "null", True: "true", False: "false"}[value]


def plain_number(value):
    """ECMA-262, Number::toString, step by step, with the shortest digits k, s, n found by trying."""
    if value == 0:
        return "0"
    if value < 0:
        return "-" + plain_number(-value)
    s, exponent = next(filter(None, (shortest(value, precision) for precision in range(17))))
    s = s.rstrip("0")
    k, n = len(s), exponent + 1
    if k <= n <= 21:
        return s + "0" * (n - k)
    if 0 < n <= 21:
        return s[:n] + "." + s[n:]
    if -6 < n <= 0:
        return "0." + "0" * -n + s
    return s[0] + ("." + s[1:] if k > 1 else "") + "e" + ("+" if n > 0 else "-") + str(abs(n - 1))


def shortest(value, precision):
    """(digits, exponent) of the nearest decimal of so many decimal places that reads back, or None."""
    mantissa, exponent = f"{value:.{precision}e}".split("e")
    middle = int(mantissa.replace(".", ""))
    # Beside a power of two the nearest decimal may not read back where its neighbour does.
    unit = Fraction(10) ** (int(exponent) - precision)
    for digits in sorted((middle - 1, middle, middle + 1), key=lambda d: abs(d * unit - Fraction(value))):
        if float(f"{digits}e{int(exponent) - precision}") == value:
            return str(digits), int(exponent) + len(str(digits)) - precision - 1
    return None


def outcome(reader, data):
    """What a reader makes of a text: its value, or the error with its place."""
    try:
        return "value", repr(reader(data))
    except JsonError as error:
        assert error.message.isprintable()
        assert str(error).isprintable()
        assert error.line >= 1
        assert error.column >= 1
        return error.code, error.line, error.column, error.path


@given(values)
@example([1e-7, 1.5, 5e-324, -0.0])
def test_canonical_text_reads_back(value):
    written = canonical(value)
    check_value(value)
    assert identical(value, parse(written))
    assert identical(value, parse(written.encode()))
    assert canonical(parse(written)) == written


@given(values)
@example({"\ufb33": 1, "\U0001f378": 2})
def test_canonical_text_is_that_of_the_rfc(value):
    assert canonical(value) == plainly(value)


@given(plain_values)
def test_canonical_text_without_floats_is_that_of_the_rfc(value):
    assert canonical(value) == plainly(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(2.0**-24)
@example(2.0**-1074)
@example(1.7976931348623157e308)
def test_canonical_numbers_are_those_of_ecmascript(value):
    assert canonical(value) == plain_number(value)


@given(values, st.booleans(), st.sampled_from([None, 1]))
def test_accepted_text_means_what_the_standard_parser_reads(value, ascii_only, indent):
    written = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert repr(parse(written)) == repr(json.loads(written))
    assert outcome(parse, written) == outcome(read_slowly, written)


@given(anything)
def test_the_api_refuses_what_the_reader_refuses(value):
    """A Python value passes exactly when its JSON text does, and the path is the same."""

    def code_and_path(call, argument):
        try:
            call(argument)
        except JsonError as error:
            return error.code, error.path
        return None

    try:
        written = json.dumps(value)
    except TypeError:  # bytes
        assert code_and_path(check_value, value) is not None
        return
    found = code_and_path(check_value, value)
    if found is None or found[0] != "json/type":  # json.dumps writes tuples as lists
        assert found == code_and_path(parse, written)


@given(st.binary(max_size=40))
def test_random_bytes_do_not_crash(data):
    outcome(parse, data)


JSON_PIECES = st.sampled_from(
    ["{", "}", "[", "]", ",", ":", '"', '"a"', '"b":', "1", "-", "0", ".5", "e9", "1e400", "1e20"]
    + ["NaN", "Infinity", "true", "null", " ", "\n", "\r\n", "\\", "\\u", "\\ud83c", "\\udf78"]
    + ["\\u0061", "\\n", "\\\\", "\ud800", "\ufeff", "\u00e9", "\U0001f378", "\x00"]
    + ["9007199254740991", "9007199254740992", "99999999999999999999"]
)


@given(st.lists(JSON_PIECES | st.text(max_size=2), max_size=14).map("".join))
@example('"\\ud83c\\udf78')
@example('["\\\\\\ud83c"]')
def test_fast_and_slow_way_agree_on_random_text(data):
    slow = data[1:] if data[:1] == "\ufeff" else data
    assert outcome(parse, data) == outcome(read_slowly, slow)


@given(values, st.booleans(), st.data())
def test_fast_and_slow_way_agree_on_damaged_json(value, ascii_only, data):
    written = json.dumps(value, ensure_ascii=ascii_only)
    at = data.draw(st.integers(0, len(written)))
    until = data.draw(st.integers(at, min(len(written), at + 3)))
    damaged = written[:at] + data.draw(JSON_PIECES | st.just("")) + written[until:]
    slow = damaged[1:] if damaged[:1] == "\ufeff" else damaged
    assert outcome(parse, damaged) == outcome(read_slowly, slow)
    outcome(parse, damaged.encode("utf-8", "surrogatepass"))
    standard_accepts = True
    try:
        scan(slow.strip(" \t\r\n"), 0)
    except (ValueError, StopIteration):
        standard_accepts = False
    if not standard_accepts:
        assert outcome(parse, slow)[0] != "value"


@given(values, st.data())
def test_a_torn_text_is_refused_where_it_ends(value, data):
    written = json.dumps([value])
    cut = written[: data.draw(st.integers(0, len(written) - 1))]
    code, line, column, _ = outcome(parse, cut)
    assert line == 1
    if code == "json/syntax":
        # Nothing before the last token is called wrong.
        assert re.fullmatch(r'(?s)\s*|[-+.\w]*|\\?', cut[column - 1 :])
    else:
        assert code == "json/lone_surrogate"  # cut between the halves of a pair


awkward_key = st.sampled_from(['"["', '"}\\""', '"\\\\"', '"a"'])
brackets = st.recursive(
    st.just("1"),
    lambda inner: st.lists(inner, max_size=2).map(lambda items: "[" + ",".join(items) + "]")
    | st.tuples(awkward_key, inner).map(":".join).map("{{{}}}".format),
    max_leaves=6,
)


@given(brackets, st.integers(120, 132), st.text('[]{}"\\a', max_size=8))
def test_depth_is_counted_outside_strings(inner, wraps, filler):
    written = "[" * wraps + json.dumps(filler) + "," + inner + "]" * wraps
    assert outcome(parse, written) == outcome(read_slowly, written)
    assert (outcome(parse, written)[0] == "json/too_deep") is (levels(json.loads(written)) > 128)


def levels(value):
    """How many lists and objects lie inside each other."""
    if not isinstance(value, (list, dict)):
        return 0
    return 1 + max(map(levels, value.values() if isinstance(value, dict) else value), default=0)
