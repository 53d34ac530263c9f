"""The judging half of the schema validator: one closure a keyword, made from arguments already checked.

A check is called as check(value, at, run). `at` is where the value stands, as nested (parent, token) pairs,
made into a JSON Pointer only for a finding. `run` collects raw findings (at, keyword, expected, value) and
counts the work; a check that tries alternatives cuts the findings of the losers off again.
"""
from __future__ import annotations

from math import isfinite

MAX_FINDINGS = 20
MAX_STEPS = 1_000_000


class Run(list):
    """The raw findings of one validation and the steps it may still take."""

    __slots__ = ("left",)

    def __init__(self):
        self.left = MAX_STEPS

    def spend(self, steps):
        """Count work that a hostile schema could multiply; raises Exhausted when there is none left."""
        self.left -= steps
        if self.left < 0:
            raise Exhausted


class Exhausted(Exception):
    """Validation took more than MAX_STEPS steps."""


def is_number(value):
    """True for a JSON number; a Python bool is none."""
    return isinstance(value, (int, float)) and value is not True and value is not False


def _is_integer(value):
    return is_number(value) and (isinstance(value, int) or value.is_integer())


TYPES = {
    "string": lambda value: isinstance(value, str),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, (list, tuple)),
    "integer": _is_integer,
    "number": is_number,
    "boolean": lambda value: value is True or value is False,
    "null": lambda value: value is None,
}


def frozen(value):
    """A hashable stand-in, equal exactly for equal JSON values: 1 equals 1.0, true equals only true."""
    if isinstance(value, str):
        return value
    if value is True or value is False:
        return (value,)
    if isinstance(value, dict):
        return frozenset([(name, frozen(item)) for name, item in value.items()])
    if isinstance(value, (list, tuple)):
        return ("[", *map(frozen, value))
    return value


def _decimal(value):
    """(m, e) with value == m * 10**e by the shortest decimal text of a float, as JSON writes it."""
    if isinstance(value, int):
        return value, 0
    digits, _, exponent = repr(value).partition("e")
    whole, _, fraction = digits.partition(".")
    return int(whole + fraction), int(exponent or 0) - len(fraction)


def is_multiple(value, divisor):
    """True when `value` is a whole multiple of `divisor`, in decimal arithmetic: 0.3 is a multiple of 0.1."""
    if isinstance(value, float) and not isfinite(value):
        return False
    (mantissa, exponent), (by, by_exponent) = _decimal(value), _decimal(divisor)
    shift = min(exponent, by_exponent)
    return mantissa * 10 ** (exponent - shift) % (by * 10 ** (by_exponent - shift)) == 0


def simple(keyword, expected, holds):
    """A check that asks one question of the whole value."""
    def check(value, at, run):
        if not holds(value):
            run.append((at, keyword, expected, value))
    return check


def of_class(kinds, keyword, expected, holds):
    """A check that asks one question of values of some Python classes and lets all others pass."""
    def check(value, at, run):
        if isinstance(value, kinds) and not holds(value):
            run.append((at, keyword, expected, value))
    return check


def of_number(keyword, expected, holds):
    """A check that asks one question of numbers."""
    def check(value, at, run):
        if is_number(value) and not holds(value):
            run.append((at, keyword, expected, value))
    return check


def unique_items():
    """The check for uniqueItems."""
    def check(value, at, run):
        if not isinstance(value, (list, tuple)):
            return
        seen = set()
        for index, item in enumerate(value):
            key = frozen(item)
            if key in seen:
                run.append(((at, index), "uniqueItems", "an item unlike those before it", item))
                return
            seen.add(key)
    return check


def required(names, keyword="required"):
    """The check that an object has all of `names`."""
    def check(value, at, run):
        if isinstance(value, dict):
            for name in names:
                if name not in value:
                    run.append((at, keyword, ("property", name), value))
    return check


def where_present(by_name):
    """Checks of the whole object, each of which counts only where a property is present."""
    def check(value, at, run):
        if isinstance(value, dict):
            for name, inner in by_name:
                if name in value:
                    inner(value, at, run)
    return check


def properties(by_name):
    """The check for properties alone; names without a check may be left out of `by_name`."""
    known = by_name.get
    def check(value, at, run):
        if isinstance(value, dict):
            run.spend(len(value))
            for name, item in value.items():
                inner = known(name)
                if inner is not None:
                    inner(item, (at, name), run)
                    if len(run) >= MAX_FINDINGS:
                        return
    return check


def all_properties(by_name, patterns, rest):
    """The check for properties with patternProperties and additionalProperties.

    `by_name` holds every declared name, with None where nothing is asked of it."""
    def check(value, at, run):
        if not isinstance(value, dict):
            return
        run.spend(len(value) * (1 + len(patterns)))
        for name, item in value.items():
            if len(run) >= MAX_FINDINGS:
                return
            known = name in by_name
            inner = by_name[name] if known else None
            if inner is not None:
                inner(item, (at, name), run)
            for pattern, inner in patterns:
                if pattern.search(name):
                    known = True
                    if inner is not None:
                        inner(item, (at, name), run)
            if rest is not None and not known:
                rest(item, (at, name), run)
    return check


def property_names(inner):
    """The check for propertyNames; a finding stands at the property."""
    def check(value, at, run):
        if isinstance(value, dict):
            run.spend(len(value))
            for name in value:
                if len(run) >= MAX_FINDINGS:
                    return
                inner(name, (at, name), run)
    return check


def items(prefix, rest):
    """The check for the items of an array: one check an index first, then `rest` for all others."""
    def check(value, at, run):
        if not isinstance(value, (list, tuple)):
            return
        run.spend(len(value))
        for index, item in enumerate(value):
            if len(run) >= MAX_FINDINGS:
                return
            inner = prefix[index] if index < len(prefix) else rest
            if inner is not None:
                inner(item, (at, index), run)
    return check


def contains(inner, least, most):
    """The check for contains with minContains and maxContains; `most` None is no limit."""
    def check(value, at, run):
        if not isinstance(value, (list, tuple)):
            return
        run.spend(len(value))
        mark, found = len(run), 0
        for index, item in enumerate(value):
            if inner is not None:
                inner(item, (at, index), run)
            if len(run) == mark:
                found += 1
            del run[mark:]
        if found < least:
            run.append((at, "contains" if least == 1 else "minContains",
                        f"at least {least} matching item{'s' * (least != 1)}", value))
        if most is not None and found > most:
            run.append((at, "maxContains", f"at most {most} matching item{'s' * (most != 1)}", value))
    return check


def in_order(checks):
    """All checks one after another: a schema with several keywords, and allOf."""
    steps = len(checks)
    def check(value, at, run):
        run.spend(steps)
        for inner in checks:
            inner(value, at, run)
    return check


def any_of(branches):
    """The check for anyOf."""
    def check(value, at, run):
        mark = len(run)
        run.spend(len(branches))
        for inner in branches:
            before = len(run)
            inner(value, at, run)
            if len(run) == before:
                del run[mark:]
                return
        _blame(run, mark, at, "anyOf", value)
    return check


def one_of(branches):
    """The check for oneOf; a branch of None always matches."""
    def check(value, at, run):
        mark, matching = len(run), 0
        run.spend(len(branches))
        for inner in branches:
            before = len(run)
            if inner is not None:
                inner(value, at, run)
            matching += len(run) == before
        if matching == 0:
            _blame(run, mark, at, "oneOf", value)
            return
        del run[mark:]
        if matching > 1:
            run.append((at, "oneOf", f"a match of exactly one alternative, not of {matching}", value))
    return check


def _blame(run, mark, at, keyword, value):
    """Put one finding in the place of those of all failed alternatives, keeping the most telling reason.

    Most telling is the first that is more than a wrong type of the value itself: that one was meant."""
    reasons = run[mark:]
    del run[mark:]
    for reason in reasons:
        if reason[1] != "type" or reason[0] is not at:
            run.append((at, keyword, reason, value))
            return
    expected = " or ".join(dict.fromkeys(reason[2] for reason in reasons))
    run.append((at, keyword, expected, value))


def negated(inner):
    """The check for not; `inner` None is a schema that everything matches."""
    def check(value, at, run):
        mark = len(run)
        run.spend(1)
        if inner is not None:
            inner(value, at, run)
        if len(run) > mark:
            del run[mark:]
        else:
            run.append((at, "not", "a value that the schema under \"not\" does not match", value))
    return check


def conditional(condition, then, otherwise):
    """The check for if, then, else."""
    def check(value, at, run):
        mark = len(run)
        run.spend(1)
        condition(value, at, run)
        branch = then if len(run) == mark else otherwise
        del run[mark:]
        if branch is not None:
            branch(value, at, run)
    return check


def reference(cell):
    """The check for $ref; `cell` holds the check of its target once the whole schema is read."""
    def check(value, at, run):
        run.spend(1)
        inner = cell[0]
        if inner is not None:
            inner(value, at, run)
    return check
