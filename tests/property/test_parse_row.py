"""The importers' quick reading of a row agrees with the strict parser: same value, or the same refusal."""
import json

from hypothesis import given
from hypothesis import strategies as st

from realtime_session.values.strict_json import JsonError, parse
from realtime_session.wire.rows import parse_row

TEXTS = st.sampled_from(["a", "b:", "\\u0061", '"', "é", "{", "1e400", ""])
VALUES = st.recursive(st.none() | st.booleans() | st.integers(-2**60, 2**60) | st.floats(allow_nan=True) | TEXTS,
                      lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3))
PIECES = st.sampled_from(['"a":1,', "}", "{", " ", "\\ud800", "NaN", ",", "\xff", '"a":2,', "[", "]", ":"])


def outcome(read, raw):
    try:
        return "value", repr(read(raw))
    except JsonError as error:
        return error.code, error.line, error.column, error.path


@given(VALUES, st.booleans(), st.integers(0, 200), st.none() | PIECES)
def test_a_row_reads_as_the_strict_parser_reads_it(value, ascii_only, place, piece):
    text = json.dumps({"k": value}, ensure_ascii=ascii_only)
    if piece is not None:
        text = text[:place] + piece + text[place:]
    raw = text.encode("latin-1" if piece == "\xff" and ascii_only else "utf-8")
    assert outcome(parse_row, raw) == outcome(parse, raw)
