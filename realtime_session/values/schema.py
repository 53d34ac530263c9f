"""JSON Schema for tool arguments: draft 2020-12 and draft 7 without what tool definitions never use.

A schema is read once into closures (schema_checks.py). A keyword outside the supported set is refused by name
and place: a keyword that is silently ignored would make an invalid tool call pass.
"""
from __future__ import annotations

from collections import namedtuple

from . import schema_checks as checks
from .errors import one_line, pointer, show
from .schema_reader import SchemaError, read_schema

__all__ = ["SchemaError", "SchemaFinding", "Validator", "compile_schema"]


class SchemaFinding(namedtuple("SchemaFinding", ("path", "keyword", "expected", "actual", "message"))):
    """One reason why a value is invalid; `path` is the JSON Pointer of the offending value."""

    __slots__ = ()


class Validator:
    """A compiled schema. `unchecked` names the formats that the schema asks for and nobody checks."""

    __slots__ = ("unchecked", "_check")

    def __init__(self, check, unchecked):
        self._check, self.unchecked = check, unchecked

    def errors(self, value):
        """The findings for `value`, the first problem first, at most 20; an empty list for a valid value.

        A value that cannot be judged in bounded work and depth is reported as one finding, never as valid."""
        if self._check is None:
            return []
        run = checks.Run()
        try:
            self._check(value, None, run)
            return [_finding(raw) for raw in run[:checks.MAX_FINDINGS]]
        except checks.Exhausted:
            return [_unjudged(f"a value that {checks.MAX_STEPS} steps can judge", "more work")]
        except RecursionError:
            return [_unjudged("a value nested less deeply", "a value nested too deeply to be judged")]


def _unjudged(expected, actual):
    return SchemaFinding("", "$ref", expected, actual, f"the value: expected {expected}, got {actual}")


def _pointer(at):
    tokens = []
    while at is not None:
        at, token = at
        tokens.append(token)
    return pointer(reversed(tokens))


def _finding(raw):
    at, keyword, expected, value = raw
    path, reason_at = _pointer(at), at
    while isinstance(expected, tuple) and len(expected) == 4:  # the telling reason inside anyOf or oneOf
        reason_at, _, expected, value = expected
    actual = show(value)
    if isinstance(expected, tuple):
        expected, actual = f"property {show(expected[1])}", "nothing"
    if reason_at is not at:
        expected = f"{expected} at {one_line(_pointer(reason_at))}"
    message = f"{one_line(path) or 'the value'}: expected {expected}, got {actual} ({keyword})"
    return SchemaFinding(path, keyword, expected, actual, message)


def compile_schema(schema, assert_formats=True):
    """A `Validator` for `schema`, a JSON value (an object or a boolean).

    The draft is the one of $schema; without it, draft 7 where the schema uses a construct only that draft has
    (definitions, dependencies, an array of items) and none of the newer ones, else 2020-12. With
    `assert_formats` the formats date, time, date-time, email, uuid, ipv4 and ipv6 are asserted. Raises
    SchemaError (JSON Schema 2020-12 Core and Validation; draft-handrews-json-schema-validation-01)."""
    return Validator(*read_schema(schema, assert_formats))
