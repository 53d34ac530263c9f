"""Strict JSON by hand-written cases, and by the reference suites where they lie beside the checkout.

The places in the expectations were counted by hand: line and column from 1, the path as a JSON Pointer.
"""

import inspect
import json
import struct
import sys

import pytest
from shared_data import shared

from realtime_session.values.strict_json import (
    MAX_DEPTH,
    MAX_DOCUMENT_BYTES,
    MAX_EVENT_BYTES,
    MAX_INTEGER,
    JsonError,
    canonical,
    check_value,
    digest,
    parse,
    scan,
)

def refused(call, *args, **options):
    """The JsonError that a call raises."""
    with pytest.raises(JsonError) as caught:
        call(*args, **options)
    assert caught.value.message.isprintable()
    assert str(caught.value).isprintable()
    return caught.value


def place(error):
    return error.code, error.line, error.column, error.path


def nested(depth, opening="[", closing="]", inner=""):
    return opening * depth + inner + closing * depth


def test_limits_are_the_documented_ones():
    assert (MAX_DEPTH, MAX_EVENT_BYTES, MAX_DOCUMENT_BYTES) == (128, 1048576, 268435456)
    assert MAX_INTEGER == 9007199254740991


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, -2, 0.5, "x"], "b": {}}', {"a": [1, -2, 0.5, "x"], "b": {}}),
        ("[true, false, null]", [True, False, None]),
        (" \t\r\n[ ]\r\n", []),
        ("[[],{}]", [[], {}]),
        ('"\\ud83c\\udf78"', "\U0001f378"),
        ('"\\\\ud800"', "\\ud800"),
        ('["\\\\\\ud83c\\udf78", "\\\\"]', ["\\\U0001f378", "\\"]),
        ('"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9"', "\"\\/\b\f\n\r\tA\u00e9"),
        ('"\ufffe\uffff\u2028"', "\ufffe\uffff\u2028"),
        ("9007199254740991", 9007199254740991),
        ("-9007199254740991", -9007199254740991),
        ("9007199254740991.0", 9007199254740991.0),
        ("1e21", 1e21),
        ("-1.5E+300", -1.5e300),
        ("1e-400", 0.0),
        ("-0", 0),
        ('\ufeff{"a":1}', {"a": 1}),
    ],
)
def test_accepted(text, value):
    for data in (text, text.encode(), bytearray(text.encode())):
        result = parse(data)
        assert result == value
        assert repr(result) == repr(value)


REFUSED = [
    ("twice", '{"id":"e1","id":"e2"}', "json/duplicate_key", 1, 12, "/id"),
    ("twice by escape", '{"id":"e1","\\u0069d":"e2"}', "json/duplicate_key", 1, 12, "/id"),
    ("twice inside", '{"a":[0,\n {"b": 1, "b": 1}]}', "json/duplicate_key", 2, 11, "/a/1/b"),
    ("pointer is escaped", '{"a/b~":{"c":1,"c":2}}', "json/duplicate_key", 1, 16, "/a~1b~0/c"),
    ("NaN", '{"a": NaN}', "json/non_finite", 1, 7, "/a"),
    ("Infinity", "[1, -Infinity]", "json/non_finite", 1, 5, "/1"),
    ("overflow", '{"a":\r\n1e400}', "json/non_finite", 2, 1, "/a"),
    ("integer", "[0,9007199254740992]", "json/integer_range", 1, 4, "/1"),
    ("negative integer", "-9007199254740992", "json/integer_range", 1, 1, ""),
    ("17 digits", "[10000000000000000]", "json/integer_range", 1, 2, "/0"),
    ("5,000 digits", '{"n":' + "9" * 5000 + "}", "json/integer_range", 1, 6, "/n"),
    ("whole float", "[9007199254740992.0]", "json/integer_range", 1, 2, "/0"),
    ("whole float with exponent", "-1e20", "json/integer_range", 1, 1, ""),
    ("high half", '{"t":"hi \\ud83d there"}', "json/lone_surrogate", 1, 10, "/t"),
    ("low half in a key", '{"a":{"\\udf78":1}}', "json/lone_surrogate", 1, 8, "/a"),
    ("two high halves", '["\\ud83c\\ud83c"]', "json/lone_surrogate", 1, 3, "/0"),
    ("high half and a letter", '["\\ud83c\\u0041"]', "json/lone_surrogate", 1, 3, "/0"),
    ("half behind a pair", '"\\ud83c\\udf78\\udf78"', "json/lone_surrogate", 1, 14, ""),
    ("129 lists", nested(129), "json/too_deep", 1, 129, "/0" * 128),
    ("129 objects", nested(129, '{"a":', "}", "1"), "json/too_deep", 1, 128 * 5 + 1, "/a" * 128),
    ("100,000 brackets", "[" * 100000, "json/too_deep", 1, 129, "/0" * 128),
    ("nothing", "", "json/syntax", 1, 1, ""),
    ("white space only", " \n ", "json/syntax", 1, 1, ""),
    ("two marks", "\ufeff\ufeff{}", "json/syntax", 1, 1, ""),
    ("no-break space", "\u00a0{}", "json/syntax", 1, 1, ""),
    ("no-break space behind", "{}\u00a0", "json/syntax", 1, 3, ""),
    ("two values", "1 2", "json/syntax", 1, 3, ""),
    ("torn", '{"a": [1, {"b":\n', "json/syntax", 1, 16, "/a/1/b"),
    ("torn string", '{"a": "tex', "json/syntax", 1, 11, "/a"),
    ("torn escape", '["\\', "json/syntax", 1, 4, "/0"),
    ("torn unicode escape", '["\\u00', "json/syntax", 1, 7, "/0"),
    ("torn object", '{"a": 1', "json/syntax", 1, 8, ""),
    ("no comma", '{"a": [1 2]}', "json/syntax", 1, 10, "/a"),
    ("comma at the end of a list", "[1,]", "json/syntax", 1, 4, "/1"),
    ("comma at the end of an object", '{"a":1,}', "json/syntax", 1, 8, ""),
    ("no colon", '{"a" 1}', "json/syntax", 1, 6, "/a"),
    ("wrong bracket", '{"a":1]', "json/syntax", 1, 7, ""),
    ("key without quotes", "[{a:1}]", "json/syntax", 1, 3, "/0"),
    ("single quotes", "['a']", "json/syntax", 1, 2, "/0"),
    ("leading zero", "[01]", "json/syntax", 1, 2, "/0"),
    ("leading plus", "+1", "json/syntax", 1, 1, ""),
    ("bare point", "[1.]", "json/syntax", 1, 2, "/0"),
    ("Python's digits", "1_000", "json/syntax", 1, 1, ""),
    ("Arabic digit", "\u0661", "json/syntax", 1, 1, ""),
    ("capital", "True", "json/syntax", 1, 1, ""),
    ("comment", "/* */ 1", "json/syntax", 1, 1, ""),
    ("raw line end", '["a\nb"]', "json/syntax", 1, 4, "/0"),
    ("unknown escape", '["\\x41"]', "json/syntax", 1, 3, "/0"),
    ("broken unicode escape", '["\\u00g0"]', "json/syntax", 1, 3, "/0"),
    ("broken second escape", '["\\ud83c\\u00g0"]', "json/syntax", 1, 9, "/0"),
    ("columns are characters", '["\u00e9\U0001f378", x]', "json/syntax", 1, 8, "/1"),
    ("only LF ends a line", '["\u2028",\r x]', "json/syntax", 1, 8, "/1"),
    ("the first fault is named", '[1e400, {"a":1,"a":2}]', "json/non_finite", 1, 2, "/0"),
]


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "path"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_refused(text, code, line, column, path):
    for data in (text, text.encode(), bytearray(text.encode())):
        assert place(refused(parse, data)) == (code, line, column, path)


@pytest.mark.parametrize(
    ("data", "line", "column", "path"),
    [
        (b'{"a": ["x\xff"]}', 1, 10, "/a/0"),
        (b'\xef\xbb\xbf["\xc3\xa9\xed\xa0\x80"]', 1, 4, "/0"),
        (b'[1, tru\xff]', 1, 8, "/1"),
        (b"{}\xff", 1, 3, ""),
        (b"[01, \xff", 1, 6, None),
        (b"\xff\xfe{\x00", 1, 1, ""),
        (b'["cut \xf0\x9f\x8d', 1, 7, "/0"),
    ],
)
def test_invalid_utf8(data, line, column, path):
    assert place(refused(parse, data)) == ("json/encoding", line, column, path)


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ('["a\ud800"]', "json/lone_surrogate", 4),
        ('["\ud83c\udf78"]', "json/lone_surrogate", 3),  # two halves in a str are two halves
        ('["\\ud83c\udf78"]', "json/lone_surrogate", 3),
        ("[\udf78]", "json/syntax", 2),
    ],
)
def test_surrogates_in_a_str(text, code, column):
    assert place(refused(parse, text)) == (code, 1, column, "/0")


def test_depth_128_is_accepted_by_the_reader_and_the_api():
    for text in (nested(128), nested(128, '{"a":', "}", "1")):
        value = parse(text)
        check_value(value)
        assert canonical(value) == text


def test_brackets_in_strings_are_no_depth():
    for text in ('["' + "[" * 500 + '"]', '["\\"' + "[{" * 500 + '\\\\"]', '{"' + "{" * 300 + '\\\\\\"":1}'):
        assert parse(text) == json.loads(text)


def test_many_brackets_side_by_side_are_no_depth():
    text = "[" + ",".join(['{"a":[]}'] * 1000) + "]"
    assert parse(text) == [{"a": []}] * 1000


def test_size_is_counted_in_bytes():
    assert parse('"abc"', max_bytes=5) == "abc"
    for data in ('"abcd"', b'"abcd"', '"\u00e9\u00e9"', '"\u00e9\u00e9"'.encode()):
        assert place(refused(parse, data, max_bytes=5)) == ("json/too_large", 1, 1, "")
    assert parse('"\u00e9a"', max_bytes=5) == "\u00e9a"


@pytest.mark.parametrize("data", [None, 1, ["{}"], memoryview(b"{}")])
def test_only_text_and_bytes_are_read(data):
    with pytest.raises(TypeError, match="expected bytes or str"):
        parse(data)


def test_a_caller_deep_in_the_stack_gets_the_same():
    text = nested(120)

    def down(levels):
        if levels:
            return down(levels - 1)
        value = parse(text)
        check_value(value)
        return canonical(value)

    # Fewer frames are left than the value has levels.
    assert down(sys.getrecursionlimit() - len(inspect.stack()) - 60) == text


def test_scan_is_the_bare_scanner():
    assert scan('x{"a":1,"a":1e400} y', 1) == ({"a": float("inf")}, 18)
    error = refused(scan, "[NaN]", 0)
    assert place(error) == ("json/non_finite", None, None, None)
    with pytest.raises(StopIteration):
        scan(" 1", 0)
    with pytest.raises(ValueError, match="Expecting"):
        scan("[1", 0)


CYCLE = []
CYCLE.append([CYCLE, CYCLE])
CYCLIC_OBJECT = {}
CYCLIC_OBJECT["a"] = {"b": CYCLIC_OBJECT}
SHARED_LISTS = []
for _ in range(100):
    SHARED_LISTS = [SHARED_LISTS, SHARED_LISTS]


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "code", "path"),
    [
        ({"a": (1, 2)}, "json/type", "/a"),
        ([1, {1: 2}], "json/type", "/1"),
        ({"a": [{"b": object()}]}, "json/type", "/a/0/b"),
        ({Text("a"): 1}, "json/type", ""),
        (Text("a"), "json/type", ""),
        ({"a": b"x"}, "json/type", "/a"),
        ([{1}], "json/type", "/0"),
        ([float("nan")], "json/non_finite", "/0"),
        ({"a": float("-inf")}, "json/non_finite", "/a"),
        ([0, 2**53], "json/integer_range", "/1"),
        (-(2**53), "json/integer_range", ""),
        ([10**5000], "json/integer_range", "/0"),
        ({"~/": ["a\ud800"]}, "json/lone_surrogate", "/~0~1/0"),
        ({"a": {"\udc00": 1}}, "json/lone_surrogate", "/a"),
        (CYCLE, "json/too_deep", "/0" * 128),
        (CYCLIC_OBJECT, "json/too_deep", "/a/b" * 64),
        (json.loads(nested(129)), "json/too_deep", "/0" * 128),
    ],
)
def test_python_values_have_the_same_limits(value, code, path):
    for check in (check_value, canonical, digest):
        assert place(refused(check, value)) == (code, None, None, path)


def test_whole_floats_that_no_text_may_hold():
    assert place(refused(check_value, [2.0**53])) == ("json/integer_range", None, None, "/0")
    check_value([1e21, -1e300, 2.0**53 - 1, 0.1, True, None, "\u00e9", {"\u00e9": -0.0}])
    assert canonical([2.0**53, -1e20]) == "[9007199254740992,-100000000000000000000]"


def test_a_value_larger_than_a_text_may_be():
    check_value(["abc", {"d": True}], max_bytes=len('["abc",{"d":true}]'))
    assert place(refused(canonical, SHARED_LISTS)) == ("json/too_large", None, None, "")
    for value in (["x" * 100], {"x" * 100: 1}, [1] * 60, SHARED_LISTS):
        assert place(refused(check_value, value, max_bytes=100)) == ("json/too_large", None, None, "")


def test_a_list_that_comes_again_counts_again():
    item = [1] * 1000  # 2,001 characters
    value = [item] * 200
    size = 200 * 2001 + 201
    check_value(value, max_bytes=size)
    assert len(canonical(value)) == size
    assert place(refused(check_value, value, max_bytes=size - 1000)) == ("json/too_large", None, None, "")
    # A list known from above is judged again where it lies deeper.
    tall = json.loads(nested(100))
    value.append(tall)
    value.append([0, tall])
    check_value([value, tall])
    deeper = value
    for _ in range(27):
        deeper = [deeper]
    assert place(refused(check_value, [tall, value, deeper]))[0] == "json/too_deep"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, "x"]}, '{"a":[true,null,"x"],"b":1}'),
        ({}, "{}"),
        ([[], {}, [1.5, {}], {"a": 0.5, "b": []}], '[[],{},[1.5,{}],{"a":0.5,"b":[]}]'),
        ([1.0, -0.0, 1e21, 1e-7, 0.000001, 123.456, -5e-324], '[1,0,1e+21,1e-7,0.000001,123.456,-5e-324]'),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        ('"\\/\b\f\n\r\t\x00\x1f\x7f\u00e9\u2028', '"\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\u00e9\u2028"'),
        # U+1F378 is D83C DF78 in UTF-16 and comes before U+FB33 there, behind it by code point.
        ({"\ufb33": 1, "\U0001f378": 2, "a": 3}, '{"a":3,"\U0001f378":2,"\ufb33":1}'),
    ],
)
def test_canonical_form(value, text):
    assert canonical(value) == text


def test_digest_is_the_sha256_of_the_canonical_text():
    # The published SHA-256 of the two bytes {}.
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert digest({"a": 1, "b": "\u00e9"}) == digest({"b": "\u00e9", "a": 1.0})
    assert digest(True) != digest(1)


SUITE_ACCEPTED_FREELY = {
    "i_number_double_huge_neg_exp.json",
    "i_number_real_underflow.json",
    "i_structure_UTF-8_BOM_empty_object.json",
}


def test_json_test_suite():
    folder = shared("oracles", "JSONTestSuite", "test_parsing")
    wrong = []
    for path in sorted(folder.iterdir()):
        wanted = path.name in SUITE_ACCEPTED_FREELY
        wanted = wanted or path.name[0] == "y" and "duplicated_key" not in path.name
        try:
            parse(path.read_bytes())
            accepted = True
        except JsonError as error:
            accepted = False
            wrong += [path.name] if error.line is None or error.column is None else []
        wrong += [path.name] if accepted is not wanted else []
    assert wrong == []


def test_canonical_documents_of_the_rfcs_author():
    folder = shared("oracles", "json-canonicalization", "testdata")
    documents = sorted((folder / "input").iterdir())
    assert documents
    for document in documents:
        wanted = (folder / "output" / document.name).read_text(encoding="utf-8")
        assert canonical(parse(document.read_bytes())) == wanted


def test_canonical_numbers_of_the_rfcs_author():
    path = shared("oracles", "json-canonicalization", "es6numbers_10000.txt")
    wrong = []
    for line in path.read_text(encoding="utf-8").split():
        bits, wanted = line.split(",")
        if canonical(struct.unpack(">d", bytes.fromhex(bits.rjust(16, "0")))[0]) != wanted:
            wrong.append(line)
    assert wrong == []
