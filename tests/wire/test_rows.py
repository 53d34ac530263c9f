"""Cutting a log into rows, and taking rows out of a logger's wrapper."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime_session.wire.rows import LogError, close_of, split, unwrap


def cut(data, size):
    return [data[i : i + size] for i in range(0, len(data), size)] or [b""]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b'{"a":1}\n{"b":2}\n', [(1, b'{"a":1}'), (2, b'{"b":2}')]),
        (b'{"a":1}\r\n\r\n{"b":2}', [(1, b'{"a":1}'), (3, b'{"b":2}')]),
        (b'\xef\xbb\xbf\n{"a":1}\n', [(2, b'{"a":1}')]),
        (b"", []),
        (b"\n \n", []),
        (b'[{"a":[1,2]},\n {"b":"],[\\"}"}]\n', [(1, b'{"a":[1,2]}'), (2, b'\n {"b":"],[\\"}"}')]),
        (b"[]", []),
        (b'[{"a":1},]', [(1, b'{"a":1}')]),
        (b'[,{"a":1}]', [(1, b""), (2, b'{"a":1}')]),
        ('{"a":"\u2028"}\n'.encode(), [(1, '{"a":"\u2028"}'.encode())]),
    ],
)
def test_rows_do_not_depend_on_where_the_bytes_were_cut(data, rows, size):
    assert list(split(cut(data, size))) == rows


@given(
    st.lists(
        st.dictionaries(st.text(max_size=3), st.text(alphabet='"\\[]{},a\n', max_size=6), max_size=3),
        max_size=5,
    ),
    st.integers(1, 9),
    st.booleans(),
)
def test_array_and_lines_give_the_same_rows(values, size, indent):
    array = json.dumps(values, indent=1 if indent else None).encode()
    lines = "".join(json.dumps(v) + "\n" for v in values).encode()
    assert [json.loads(raw) for _, raw in split(cut(array, size))] == values
    assert [json.loads(raw) for _, raw in split(cut(lines, size))] == values


@pytest.mark.parametrize("data", [b'[{"a":1}', b'[{"a":"', b'[{"a":1}] x'])
def test_broken_array_is_an_error(data):
    with pytest.raises(LogError) as caught:
        list(split([data]))
    assert caught.value.code == "log/array"


@pytest.mark.parametrize(
    "value", [None, 5, "x", [], True, {"direction": "sent", "data": 5}, {"direction": "sent", "data": None}]
)
def test_what_is_no_row_is_an_error_with_its_line(value):
    with pytest.raises(LogError) as caught:
        unwrap(7, value)
    assert (caught.value.code, caught.value.line) == ("log/row", 7)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"type": "x"}, (None, "message", None, False, {"type": "x"})),
        ({"direction": "sent", "data": {"type": "x"}}, ("sent", "message", None, False, {"type": "x"})),
        ({"direction": "server", "at": 1, "data": {}}, ("received", "message", 1, False, {})),
        ({"direction": 5, "at": "soon", "data": {}}, (None, "message", None, False, {})),
        ({"i": 1, "data": {}, "trimmed_base64_chars": {"a": 9}}, (None, "message", None, True, {})),
        ({"setup": {}, "data": {}}, (None, "message", None, False, {"setup": {}, "data": {}})),
    ],
)
def test_unwrapping(value, expected):
    row = unwrap(1, value)
    assert (row.direction, row.kind, row.at, row.trimmed, row.data) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"kind": "close", "data": {"code": 1000, "reason": "bye"}}, (1000, "bye")),
        ({"kind": "close", "code": 1011}, (1011, None)),
        ({"kind": "close", "data": 1006}, (1006, None)),
        ({"kind": "close", "data": None}, (None, None)),
        ({"kind": "close", "data": {"code": True, "reason": 5}}, (None, None)),
    ],
)
def test_close_code_is_found_where_loggers_put_it(value, expected):
    assert close_of(unwrap(1, value)) == expected
