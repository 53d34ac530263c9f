"""Errors about input: always one printable line, with the place, and short however large the value is."""

import enum
import pickle

import pytest

from realtime_session.values.errors import InputError, JsonError, escaped, one_line, pointer, show


class Level(enum.IntEnum):
    HIGH = 3


class Loud(str):
    __slots__ = ()

    def __str__(self):
        raise RuntimeError("never called")

    __repr__ = __str__


def deep(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (1, "1"),
        (0, "0"),
        (-1.5, "-1.5"),
        (1e21, "1e+21"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        ("text", '"text"'),
        ("", '""'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("\n\r\t\b\f\x00\x7f\u202e\ud800\U000e0001", '"\\n\\r\\t\\b\\f\\u0000\\u007f\\u202e\\ud800\\U000e0001"'),
        ("x" * 60, '"' + "x" * 60 + '"'),
        ("x" * 61, '"' + "x" * 60 + '…"'),
        (10**38, "1" + "0" * 38),
        pytest.param(10**5000, "<an integer of about 5001 digits>", id="huge"),
        pytest.param(-(10**5000), "-<an integer of about 5001 digits>", id="huge and negative"),
        ([], "[]"),
        ({}, "{}"),
        ([1, {"a": None}], '[1, {"a": null}]'),
        (list(range(100)), "[0, 1, 2, 3, 4, 5, …]"),
        ({1: 2, (1,): 3}, "{1: 2, <tuple>: 3}"),
        ([[[[]]]], "[[[[]]]]"),
        ([[[[1]]]], "[[[[…]]]]"),
        ([[[{"a": 1}]]], "[[[{…}]]]"),
        pytest.param(deep(100000), "[[[[…]]]]", id="deep"),
        (["x" * 50, "y" * 50], '["' + "x" * 50 + '", "' + "y" * 22 + "…]"),
        ((1, 2), "<tuple>"),
        (b"secret", "<bytes>"),
        (Level.HIGH, "3"),
        pytest.param(Loud("hi"), '"hi"', id="a str that cannot be printed"),
        (type("A\nB", (), {})(), "<A\\nB>"),
    ],
)
def test_show(value, shown):
    assert show(value) == shown


def test_a_value_that_contains_itself_can_be_shown():
    value = {}
    value["a"] = [value]
    assert show(value) == '{"a": [{"a": […]}]}'


def test_one_line():
    assert one_line("plain é") == "plain é"
    assert one_line("a\nb\x1b[31m\u2028") == "a\\nb\\u001b[31m\\u2028"


def test_pointer():
    # The examples of RFC 6901 section 5.
    assert pointer([]) == ""
    assert pointer(["foo", 0]) == "/foo/0"
    assert [pointer([key]) for key in ("", "a/b", "m~n")] == ["/", "/a~1b", "/m~0n"]
    assert escaped("~1") == "~01"


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({}, "x/y: what is wrong"),
        ({"path": ""}, "x/y: what is wrong"),
        ({"line": 3, "column": 7, "path": "/a/0"}, "x/y: what is wrong (line 3, column 7, /a/0)"),
        ({"line": 3}, "x/y: what is wrong (line 3)"),
        ({"path": "/a\nb"}, "x/y: what is wrong (/a\\nb)"),
        ({"path": "/0" * 128}, "x/y: what is wrong (" + "/0" * 30 + "…" + "/0" * 30 + ")"),
    ],
)
def test_an_error_is_one_line_with_its_place(place, text):
    error = InputError("x/y", "what is wrong", **place)
    assert str(error) == text
    assert (error.code, error.message) == ("x/y", "what is wrong")
    assert (error.line, error.column, error.path) == (place.get("line"), place.get("column"), place.get("path"))


def test_control_characters_never_reach_a_message():
    error = InputError("x/y", "a\x1b[2Jb\nc")
    assert error.message == "a\\u001b[2Jb\\nc"
    assert str(error) == "x/y: a\\u001b[2Jb\\nc"


def test_errors_travel_between_processes():
    error = pickle.loads(pickle.dumps(JsonError("json/syntax", "m", line=1, column=2, path="/a")))
    assert isinstance(error, InputError)
    assert isinstance(error, ValueError)
    assert str(error) == "json/syntax: m (line 1, column 2, /a)"
