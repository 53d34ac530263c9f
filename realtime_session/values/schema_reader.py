"""The reading half of the schema validator: walks a schema once and refuses what it does not know."""
from __future__ import annotations

from . import schema_checks as checks
from .errors import InputError, escaped, show
from .pattern import PatternError, compile_pattern
from .schema_keywords import READINGS

MAX_SCHEMA_DEPTH = 64
MAX_SUBSCHEMAS = 20_000

DRAFT_7, DRAFT_2020 = "draft 7", "draft 2020-12"
_DRAFTS = {"json-schema.org/draft-07/schema": DRAFT_7, "json-schema.org/draft/2020-12/schema": DRAFT_2020}
_ANNOTATIONS = frozenset(("title", "description", "default", "examples", "deprecated", "readOnly",
                          "writeOnly", "$comment"))
_ONLY_IN = {"additionalItems": DRAFT_7, "dependencies": DRAFT_7, "prefixItems": DRAFT_2020,
            "dependentRequired": DRAFT_2020, "dependentSchemas": DRAFT_2020, "minContains": DRAFT_2020,
            "maxContains": DRAFT_2020}
_KEYWORDS = frozenset(key for keys, _ in READINGS for key in keys)
_ONE = ("items", "additionalItems", "additionalProperties", "propertyNames", "contains", "not", "if", "then",
        "else")
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")


class SchemaError(InputError):
    """A schema that cannot be used: schema/invalid (against the specification) or schema/unsupported.

    `path` is the JSON Pointer of the keyword in the schema, `keyword` its name ("" for the schema itself)."""

    def __init__(self, code, message, path="", keyword=""):
        super().__init__(code, message, path=path)
        self.keyword = keyword


def read_schema(schema, assert_formats):
    """(check, names of unchecked formats) for a schema; the check is None where every value is valid."""
    try:
        reader = _Reader(_draft(schema), assert_formats)
        check = reader.read(schema, "", 0, "")
        reader.resolve()
    except RecursionError:
        raise SchemaError("schema/invalid", "the schema is nested too deeply") from None
    return check, tuple(reader.unchecked)


def _named_draft(name, path):
    """The draft a $schema names; None for a metaschema of somebody else.

    It may add keywords, which are refused one by one; those of the standard keep their meaning."""
    key = name.partition("://")[2].removesuffix("#") if isinstance(name, str) else ""
    if not key or (key.startswith("json-schema.org/") and key not in _DRAFTS):
        raise SchemaError("schema/unsupported", f"the draft {show(name)} is none of 7 and 2020-12",
                          path, "$schema")
    return _DRAFTS.get(key)


def _draft(schema):
    """The draft by $schema, else by the constructs met; the reader then refuses a mixture."""
    if isinstance(schema, dict) and "$schema" in schema:
        named = _named_draft(schema["$schema"], "/$schema")
        if named is not None:
            return named
    old, waiting, seen = False, [(schema, 0)], 0
    while waiting:
        node, depth = waiting.pop()
        if not isinstance(node, dict) or depth > MAX_SCHEMA_DEPTH:
            continue
        seen += 1
        if seen > MAX_SUBSCHEMAS:
            break
        if "$defs" in node or any(_ONLY_IN.get(key) == DRAFT_2020 for key in node):
            return DRAFT_2020
        old = old or isinstance(node.get("items"), list) or not node.keys().isdisjoint(
            ("definitions", "additionalItems", "dependencies"))
        inner = [node[key] for key in _ONE if key in node]
        inner += [each for key in _MANY if isinstance(node.get(key), list) for each in node[key]]
        inner += [each for key in _NAMED if isinstance(node.get(key), dict) for each in node[key].values()]
        waiting += [(each, depth + 1) for each in inner]
    return DRAFT_7 if old else DRAFT_2020


class _Reader:
    """Holds what concerns the whole schema: places of subschemas, references between them, formats met."""

    __slots__ = ("draft", "assert_formats", "unchecked", "cells", "same_value", "references")

    def __init__(self, draft, assert_formats):
        self.draft, self.assert_formats = draft, assert_formats
        self.unchecked = {}
        self.cells = {}  # place of a subschema -> [its check]
        self.same_value = {}  # place -> places of the subschemas that judge the same value
        self.references = []  # (place, path of $ref, place referred to, cell to fill)

    def invalid(self, keyword, path, wanted, value):
        raise SchemaError("schema/invalid", f"expected {wanted}, got {show(value)}", path, keyword)

    def unsupported(self, keyword, path, why):
        raise SchemaError("schema/unsupported", why, path, keyword)

    def read(self, schema, path, depth, keyword):
        """The check of the subschema at `path`, None where it lets everything pass.

        `keyword` is the one it stands under ("" at the root): a false schema speaks in its name."""
        if path in self.cells or depth > MAX_SCHEMA_DEPTH or len(self.cells) >= MAX_SUBSCHEMAS:
            self.unsupported(keyword, path, f"more than {MAX_SCHEMA_DEPTH} subschemas inside each other "
                             f"or {MAX_SUBSCHEMAS} in all")
        cell = self.cells[path] = [None]
        self.same_value[path] = []
        if schema is True:
            return None
        if schema is False:
            expected = {"additionalProperties": "no such property", "items": "no item here",
                        "additionalItems": "no item here"}.get(keyword, "no value")
            cell[0] = checks.simple(keyword or "false", expected, lambda value: False)
            return cell[0]
        if not isinstance(schema, dict):
            self.invalid(keyword, path, "a schema (an object or a boolean)", schema)
        for key in schema:
            self.allow(key, schema, path)
        made = []
        for keys, reading in READINGS:
            if any(key in schema for key in keys):
                check = reading(self, schema, path, depth + 1)
                if check is not None and ("$ref" not in schema or self.draft != DRAFT_7 or keys == ("$ref",)):
                    made.append(check)  # draft 7 ignores what stands beside $ref, but it is read all the same
        if made:
            cell[0] = made[0] if len(made) == 1 else checks.in_order(made)
        return cell[0]

    def allow(self, key, schema, path):
        place = f"{path}/{escaped(key)}"
        if key == "$schema":
            if _named_draft(schema[key], place) not in (None, self.draft):
                self.unsupported(key, place, "a second draft in one schema")
        elif key not in _ANNOTATIONS and _ONLY_IN.get(key, self.draft) != self.draft:
            self.unsupported(key, place, f"{key} is not a keyword of {self.draft}, the draft of the schema")
        elif key not in _ANNOTATIONS and key not in _KEYWORDS:
            self.unsupported(str(key), place, f"the keyword {show(key)} is not supported")

    def one(self, schema, key, path, depth, same_value=False):
        """The check of the subschema under `key`."""
        place = f"{path}/{key}"
        if same_value:
            self.same_value[path].append(place)
        return self.read(schema[key], place, depth, key)

    def many(self, schema, key, path, depth, same_value=False):
        """The checks of the list of subschemas under `key`."""
        value = schema[key]
        if not isinstance(value, list) or not value:
            self.invalid(key, f"{path}/{key}", "a list of schemas with at least one", value)
        places = [f"{path}/{key}/{index}" for index in range(len(value))]
        if same_value:
            self.same_value[path] += places
        return [self.read(each, place, depth, key) for each, place in zip(value, places, strict=True)]

    def named(self, schema, key, path, depth, same_value=False):
        """The subschemas under the names of `key`: name -> check."""
        places = {name: f"{path}/{key}/{escaped(name)}" for name in self.mapping(schema, key, path)}
        if same_value:
            self.same_value[path] += places.values()
        return {name: self.read(schema[key][name], place, depth, key) for name, place in places.items()}

    def mapping(self, schema, key, path):
        value = schema.get(key, {})
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            self.invalid(key, f"{path}/{key}", "an object", value)
        return value

    def names(self, value, key, path):
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            self.invalid(key, path, "a list of names", value)
        return tuple(value)

    def count(self, schema, key, path):
        value = schema[key]
        if not checks.is_number(value) or not value >= 0 or value != value // 1:
            self.invalid(key, f"{path}/{key}", "a whole number from 0", value)
        return int(value)

    def pattern(self, text, key, path):
        try:
            return compile_pattern(text)
        except PatternError as error:
            where = f", column {error.column} of the pattern" if error.column else ""
            code = error.code.replace("pattern/", "schema/")
            raise SchemaError(code, error.message + where, path, key) from None

    def resolve(self):
        """Fill in the references; raises SchemaError for one that leads nowhere or round in a circle."""
        for place, path, target, link in self.references:
            if target not in self.cells:
                raise SchemaError("schema/invalid", f"there is no schema at {show('#' + target)}", path,
                                  "$ref")
            link[0] = self.cells[target][0]
            self.same_value[place].append(target)
        self.refuse_circles()

    def refuse_circles(self):
        """A schema that comes back to itself without going into the value would never end."""
        done, open_places = set(), set()
        for root in self.cells:
            waiting = [root]
            while waiting:
                place = waiting[-1]
                if place in done or place in open_places:
                    waiting.pop()
                    open_places.discard(place)
                    done.add(place)
                    continue
                open_places.add(place)
                for following in self.same_value[place]:
                    if following in open_places:
                        raise SchemaError("schema/invalid", "$ref goes round in a circle", place, "$ref")
                    if following not in done:
                        waiting.append(following)
