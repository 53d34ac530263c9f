"""Properties of the schema validator and its pattern engine."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from realtime_session.values.pattern import compile_pattern
from realtime_session.values.pattern_syntax import PatternError
from realtime_session.values.schema import SchemaError, compile_schema

SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=4)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
    st.sampled_from(["a", "b", "c"]) | st.text(max_size=3), inner, max_size=4), max_leaves=12)
COUNTS = st.integers(0, 3) | VALUES
KEYWORDS = ["type", "enum", "const", "required", "minimum", "maxLength", "minItems", "multipleOf",
            "pattern", "format",
            "uniqueItems", "properties", "patternProperties", "additionalProperties", "propertyNames",
            "items",
            "prefixItems", "additionalItems", "contains", "minContains", "dependencies",
            "dependentRequired", "allOf",
            "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "$defs", "definitions", "$schema",
            "title", "$id"]


def _schema_of(inner):
    names = st.sampled_from(["a", "b", "c"])
    mapping = st.dictionaries(names, inner, max_size=3)
    many = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries({}, optional={
        "type": st.sampled_from(["string", "object", "array", "integer", "number", "boolean", "null"]),
        "enum": st.lists(VALUES, max_size=3), "const": VALUES, "required": st.lists(names, max_size=2),
        "minimum": st.integers(-3, 3), "multipleOf": st.sampled_from([1, 2, 0.1, 0.5, 1e-8]),
        "maxLength": st.integers(0, 3), "minItems": st.integers(0, 3), "pattern": st.sampled_from(["^a",
                                                                                                   "b+$",
                                                                                                   ""]),
        "format": st.sampled_from(["date", "time", "date-time", "email", "uuid", "ipv4", "ipv6", "uri"]),
        "uniqueItems": st.booleans(), "properties": mapping, "patternProperties": mapping,
        "additionalProperties": inner, "propertyNames": inner, "items": inner, "contains": inner,
        "allOf": many,
        "anyOf": many, "oneOf": many, "not": inner, "if": inner, "then": inner, "else": inner,
        "$ref": st.sampled_from(["#", "#/items", "#/properties/a", "#/anyOf/0", "#/definitions/a"]),
    })


SCHEMAS = st.recursive(st.booleans() | st.just({}), _schema_of, max_leaves=8)


@given(st.dictionaries(st.sampled_from(KEYWORDS), VALUES, max_size=4) | VALUES, VALUES)
def test_any_json_value_as_a_schema_is_compiled_or_refused(schema, value):
    try:
        validator = compile_schema(schema)
    except SchemaError as error:
        assert error.code in ("schema/invalid", "schema/unsupported")
        assert str(error)
        return
    assert isinstance(validator.errors(value), list)


@given(SCHEMAS, VALUES)
def test_findings_are_bounded_texts_whose_path_exists(schema, value):
    try:
        findings = compile_schema(schema).errors(value)
    except SchemaError:
        return
    assert len(findings) <= 20
    for finding in findings:
        found = value
        for token in finding.path.split("/")[1:]:
            token = token.replace("~1", "/").replace("~0", "~")
            found = found[int(token)] if isinstance(found, list) else found[token]
        assert all(text.isprintable() for text in finding[1:])


@given(SCHEMAS, VALUES)
def test_applicators_obey_logic(schema, value):
    def valid(outer):
        return not compile_schema(outer).errors(value)

    try:
        verdict = valid({"allOf": [schema], "$defs": {}})
    except SchemaError:
        return
    if "$ref" in json.dumps(schema):
        return  # a reference means something else one level deeper
    assert valid({"not": schema, "$defs": {}}) is not verdict
    assert valid({"anyOf": [schema, schema, False], "$defs": {}}) is verdict
    assert valid({"oneOf": [schema, False], "$defs": {}}) is verdict
    assert not valid({"oneOf": [schema, schema], "$defs": {}})
    assert valid({"if": schema, "then": True, "else": False, "$defs": {}}) is verdict


@given(VALUES, VALUES)
def test_const_is_equality_of_canonical_json(first, second):
    def plain(value):  # an independent notion of equality: 1 and 1.0 are the same text, true is another
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, list):
            return list(map(plain, value))
        return {name: plain(item) for name, item in value.items()} if isinstance(value, dict) else value

    same = json.dumps(plain(first), sort_keys=True) == json.dumps(plain(second), sort_keys=True)
    assert (not compile_schema({"const": first}).errors(second)) is same
    assert (not compile_schema({"enum": [None, first]}).errors(second)) is (same or second is None)
    assert (not compile_schema({"uniqueItems": True}).errors([first, second])) is not same


ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "\\d", "\\w", "\\W", "\\b", "\\B", "^", "$", "-",
                         "\\-"])
QUANTIFIERS = st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "{0}"])


def _longer(inner):
    group = inner.map(lambda text: f"({text})") | inner.map(lambda text: f"(?:{text})")
    return (st.lists(inner, max_size=4).map("".join) | st.lists(inner, min_size=1, max_size=3).map("|".join)
            | st.tuples(group, QUANTIFIERS).map("".join))


PATTERNS = st.recursive(ATOMS, _longer, max_leaves=8)
# Not the empty text: before Python 3.14 its re holds that \\B does not match there, against ECMA-262.
TEXTS = st.text(alphabet="ab1-_ ", min_size=1, max_size=8)


@given(PATTERNS, TEXTS)
def test_verdicts_agree_with_the_standard_library(pattern, text):
    # $ of the standard library also holds before a last line feed, so no text here has one.
    expected = re.search(pattern, text, re.ASCII)
    compiled = compile_pattern(pattern)
    assert compiled.search(text) is (expected is not None)
    assert compiled.search(text) is (expected is not None)  # the second time from the kept states
    span = compiled.match_span(text)
    assert (span is None) is (expected is None)
    if span is not None:
        assert span[0] == expected.start()
        ends = [end for end in range(span[0], len(text) + 1) if _matches_exactly(pattern, text, span[0],
                                                                                 end)]
        assert span[1] == max(ends)


def _matches_exactly(pattern, text, start, end):
    """Whether text[start:end] can be the match of the standard library, with the text around it in sight."""
    # ^ stands behind other text here, so it is spelled as "no character of the alphabet before".
    spelled = pattern.replace("[^a]", "[b1\\-_ ]").replace("^", "(?<![ab1\\-_ ])")
    whole = f".{{{start}}}(?:{spelled})(?=.{{{len(text) - end}}}\\Z)"
    return re.compile(whole, re.ASCII).match(text) is not None


@given(st.text(alphabet="ab(|)[]{}^$*+?\\-,.0123wdspkux:<=!", max_size=14), TEXTS)
def test_any_text_as_a_pattern_is_compiled_or_refused(pattern, text):
    try:
        compiled = compile_pattern(pattern)
    except PatternError as error:
        assert error.code in ("pattern/invalid", "pattern/unsupported")
        return
    assert compiled.search(text) is (compiled.match_span(text) is not None)
