"""How each keyword of a schema is read: its argument is judged, its check is made.

A reading is called as reading(reader, schema, path, depth) where at least one of its keywords is present; it
returns a check or None. The order of READINGS is the order in which the findings for a value are reported.
"""
from __future__ import annotations

from math import isfinite

from . import schema_checks as checks
from .errors import show
from .formats import FORMATS

_KINDS = {"string": str, "array": (list, tuple), "object": dict}


def _reference(reader, schema, path, depth):
    text, place = schema["$ref"], f"{path}/$ref"
    if not isinstance(text, str):
        reader.invalid("$ref", place, "a string", text)
    if text not in ("", "#") and not text.startswith("#/"):
        reader.unsupported("$ref", place, f"{show(text)} leads out of the schema; only #/... is supported")
    target = text[1:]
    if "%" in target:
        from urllib.parse import unquote  # here, because it is rare and not free to import
        target = unquote(target)
    link = [None]
    reader.references.append((path, place, target, link))
    return checks.reference(link)


def _type(reader, schema, path, depth):
    names = schema["type"]
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, list) or not names or not all(
            isinstance(name, str) and name in checks.TYPES for name in names):
        reader.invalid("type", f"{path}/type", "one or a list of " + ", ".join(checks.TYPES), schema["type"])
    expected = " or ".join(dict.fromkeys(names))
    if len(names) == 1:
        return checks.simple("type", expected, checks.TYPES[names[0]])
    kinds = [checks.TYPES[name] for name in names]
    return checks.simple("type", expected, lambda value: any(kind(value) for kind in kinds))


def _const(reader, schema, path, depth):
    wanted = checks.frozen(schema["const"])
    return checks.simple("const", show(schema["const"]), lambda value: checks.frozen(value) == wanted)


def _enum(reader, schema, path, depth):
    values = schema["enum"]
    if not isinstance(values, list):
        reader.invalid("enum", f"{path}/enum", "a list of values", values)
    known = frozenset(map(checks.frozen, values))
    shown = ", ".join(map(show, values[:12])) + ", ..." * (len(values) > 12)
    return checks.simple("enum", f"one of {shown}", lambda value: checks.frozen(value) in known)


def _limit(keyword, words, outside):
    def read(reader, schema, path, depth):
        limit = schema[keyword]
        if not checks.is_number(limit) or not isfinite(limit):
            reader.invalid(keyword, f"{path}/{keyword}", "a number", limit)
        return checks.of_number(keyword, f"{words} {show(limit)}", outside(limit))
    return (keyword,), read


def _multiple_of(reader, schema, path, depth):
    divisor = schema["multipleOf"]
    if not checks.is_number(divisor) or not 0 < divisor < float("inf"):
        reader.invalid("multipleOf", f"{path}/multipleOf", "a number above 0", divisor)
    return checks.of_number("multipleOf", f"a multiple of {show(divisor)}",
                            lambda value: checks.is_multiple(value, divisor))


def _size(keyword, kind, unit):
    least = keyword.startswith("min")

    def read(reader, schema, path, depth):
        size = reader.count(schema, keyword, path)
        holds = (lambda value: len(value) >= size) if least else (lambda value: len(value) <= size)
        words = f"at {'least' if least else 'most'} {size} {unit}"
        return checks.of_class(_KINDS[kind], keyword, words, holds)
    return (keyword,), read


def _pattern(reader, schema, path, depth):
    text = schema["pattern"]
    search = reader.pattern(text, "pattern", f"{path}/pattern").search
    return checks.of_class(str, "pattern", f"text matching {show(text)}", search)


def _format(reader, schema, path, depth):
    name = schema["format"]
    if not isinstance(name, str):
        reader.invalid("format", f"{path}/format", "a name", name)
    if name in FORMATS and reader.assert_formats:
        return checks.of_class(str, "format", f"text in the format {name}", FORMATS[name])
    reader.unchecked[name] = True
    return None


def _required(reader, schema, path, depth):
    return checks.required(reader.names(schema["required"], "required", f"{path}/required"))


def _dependent_required(reader, schema, path, depth):
    key = "dependentRequired"
    return checks.where_present([
        (name, checks.required(reader.names(names, key, f"{path}/{key}"), key))
        for name, names in reader.mapping(schema, key, path).items()])


def _dependent_schemas(reader, schema, path, depth):
    return _present(reader.named(schema, "dependentSchemas", path, depth, same_value=True).items())


def _dependencies(reader, schema, path, depth):
    key = "dependencies"
    value = reader.mapping(schema, key, path)
    lists = {name: names for name, names in value.items() if isinstance(names, list)}
    others = {key: {name: each for name, each in value.items() if name not in lists}}
    made = [(name, checks.required(reader.names(names, key, f"{path}/{key}"), key))
            for name, names in lists.items()]
    return _present([*made, *reader.named(others, key, path, depth, same_value=True).items()])


def _present(pairs):
    pairs = [(name, check) for name, check in pairs if check is not None]
    return checks.where_present(pairs) if pairs else None


def _unique_items(reader, schema, path, depth):
    wanted = schema["uniqueItems"]
    if wanted is not True and wanted is not False:
        reader.invalid("uniqueItems", f"{path}/uniqueItems", "true or false", wanted)
    return checks.unique_items() if wanted else None


def _items(reader, schema, path, depth):
    prefix, rest = [], None
    if "prefixItems" in schema:
        prefix = reader.many(schema, "prefixItems", path, depth)
    if reader.draft == "draft 7" and isinstance(schema.get("items"), list):
        prefix = reader.many(schema, "items", path, depth) if schema["items"] else []
        if "additionalItems" in schema:
            rest = reader.one(schema, "additionalItems", path, depth)
    else:
        if "additionalItems" in schema:
            reader.one(schema, "additionalItems", path, depth)  # means nothing here, but must be a schema
        if "items" in schema:
            rest = reader.one(schema, "items", path, depth)
    return checks.items(prefix, rest) if rest is not None or any(prefix) else None


def _contains(reader, schema, path, depth):
    least = reader.count(schema, "minContains", path) if "minContains" in schema else 1
    most = reader.count(schema, "maxContains", path) if "maxContains" in schema else None
    if "contains" not in schema:
        return None
    return checks.contains(reader.one(schema, "contains", path, depth), least, most)


def _properties(reader, schema, path, depth):
    by_name = reader.named(schema, "properties", path, depth)
    place = f"{path}/patternProperties"
    patterns = [(reader.pattern(text, "patternProperties", place), check)
                for text, check in reader.named(schema, "patternProperties", path, depth).items()]
    rest = None
    if "additionalProperties" in schema:
        rest = reader.one(schema, "additionalProperties", path, depth)
    if patterns or rest is not None:
        return checks.all_properties(by_name, patterns, rest)
    by_name = {name: check for name, check in by_name.items() if check is not None}
    return checks.properties(by_name) if by_name else None


def _property_names(reader, schema, path, depth):
    check = reader.one(schema, "propertyNames", path, depth)
    return None if check is None else checks.property_names(check)


def _all_of(reader, schema, path, depth):
    branches = reader.many(schema, "allOf", path, depth, same_value=True)
    made = [check for check in branches if check is not None]
    return checks.in_order(made) if made else None


def _any_of(reader, schema, path, depth):
    branches = reader.many(schema, "anyOf", path, depth, same_value=True)
    return None if None in branches else checks.any_of(branches)


def _one_of(reader, schema, path, depth):
    return checks.one_of(reader.many(schema, "oneOf", path, depth, same_value=True))


def _not(reader, schema, path, depth):
    return checks.negated(reader.one(schema, "not", path, depth, same_value=True))


def _if(reader, schema, path, depth):
    made = {key: reader.one(schema, key, path, depth, same_value=True) for key in ("if", "then", "else")
            if key in schema}
    if "if" not in made:
        return None
    if made["if"] is None:
        return made.get("then")
    return checks.conditional(made["if"], made.get("then"), made.get("else"))


def _definitions(key):
    def read(reader, schema, path, depth):
        reader.named(schema, key, path, depth)
    return (key,), read


READINGS = (
    (("$ref",), _reference),
    (("type",), _type),
    (("const",), _const),
    (("enum",), _enum),
    (("required",), _required),
    (("dependentRequired",), _dependent_required),
    _limit("minimum", "at least", lambda limit: lambda value: value >= limit),
    _limit("exclusiveMinimum", "more than", lambda limit: lambda value: value > limit),
    _limit("maximum", "at most", lambda limit: lambda value: value <= limit),
    _limit("exclusiveMaximum", "less than", lambda limit: lambda value: value < limit),
    (("multipleOf",), _multiple_of),
    _size("minLength", "string", "characters"),
    _size("maxLength", "string", "characters"),
    _size("minItems", "array", "items"),
    _size("maxItems", "array", "items"),
    _size("minProperties", "object", "properties"),
    _size("maxProperties", "object", "properties"),
    (("pattern",), _pattern),
    (("format",), _format),
    (("uniqueItems",), _unique_items),
    (("properties", "patternProperties", "additionalProperties"), _properties),
    (("propertyNames",), _property_names),
    (("items", "prefixItems", "additionalItems"), _items),
    (("contains", "minContains", "maxContains"), _contains),
    (("dependentSchemas",), _dependent_schemas),
    (("dependencies",), _dependencies),
    (("allOf",), _all_of),
    (("anyOf",), _any_of),
    (("oneOf",), _one_of),
    (("not",), _not),
    (("if", "then", "else"), _if),
    _definitions("$defs"),
    _definitions("definitions"),
)
