"""The schema validator: verdicts by the specification, findings a reader can act on, loud refusals."""

import json

import pytest

from realtime_session.values.errors import InputError
from realtime_session.values.schema import SchemaError, SchemaFinding, compile_schema
from tests.shared_data import shared

OLD = "http://json-schema.org/draft-07/schema#"
NEW = "https://json-schema.org/draft/2020-12/schema"

VERDICTS = [
    # schema, valid values, invalid values
    (True, [None, 1, {}], []),
    (False, [], [None, 1, {}]),
    ({}, [None, 1, {}], []),
    ({"type": "integer"}, [1, 1.0, 10**400, -0.0], [1.5, True, "1", None, 1e-300]),
    ({"type": "number"}, [1, 1.5], [True, "1"]),
    ({"type": ["string", "null"]}, ["", None], [0, []]),
    ({"type": "boolean"}, [True, False], [0, 1]),
    ({"type": "array"}, [[]], [{}]),
    ({"type": "object"}, [{}], [[]]),
    ({"const": 1}, [1, 1.0], [True, "1", 2]),
    ({"const": False}, [False], [0, 0.0, None]),
    ({"const": {"a": [1, {"b": True}]}}, [{"a": [1.0, {"b": True}]}],
     [{"a": [1, {"b": 1}]}, {"a": [True, {"b": True}]}]),
    ({"enum": [[0], "x", None]}, [[0.0], "x", None], [[False], 0, [], "y"]),
    ({"enum": []}, [], [None]),
    ({"minimum": 1.5}, [1.5, 2, "0", True], [1, 1.4999]),
    ({"exclusiveMinimum": 1}, [1.1], [1, 1.0]),
    ({"maximum": 2**53}, [2**53], [2**53 + 1, 1e300]),
    ({"exclusiveMaximum": 1}, [0.9], [1]),
    ({"multipleOf": 0.1}, [0.3, 1, 1.1, -0.7, 1e22], [0.35, 1e-7]),
    ({"multipleOf": 1e-8}, [12391239123, 1e-7], [1e-9]),
    ({"multipleOf": 3}, [9.0, 3 * 10**400, "x"], [10**400, 1e308]),
    ({"multipleOf": 1}, [1e308], [float("inf"), float("nan")]),
    ({"minLength": 2, "maxLength": 3.0}, ["ab", "\U0001f600\U0001f600\U0001f600", 1], ["a", "abcd"]),
    ({"minItems": 1, "maxItems": 2}, [[1], [1, 2], "abc"], [[], [1, 2, 3]]),
    ({"minProperties": 1, "maxProperties": 1}, [{"a": 1}], [{}, {"a": 1, "b": 2}]),
    ({"pattern": "^a+$"}, ["aa", 7], ["ab", ""]),
    ({"uniqueItems": True}, [[1, True, "1", [1], {"a": 1}, None], {}],
     [[1, 1.0], [{"a": [0]}, {"a": [0.0]}]]),
    ({"uniqueItems": False}, [[1, 1]], []),
    ({"required": ["a"]}, [{"a": None}, []], [{}]),
    ({"properties": {"a": {"type": "string"}, "b": True, "c": False}}, [{"a": "", "b": 1}, 1],
     [{"a": 1}, {"c": 1}]),
    ({"properties": {"a": True}, "patternProperties": {"^x": {"type": "null"}, "^y": True, "a": True},
      "additionalProperties": False}, [{"a": 1, "x1": None, "y": 2}, 3], [{"x": 1}, {"b": 1}]),
    ({"properties": {"a": {"type": "null"}}, "additionalProperties": {"type": "integer"}}, [{"a": None,
                                                                                             "b": 1}],
     [{"b": "x"}, {"a": 1}]),
    ({"additionalProperties": True}, [{"a": 1}], []),
    ({"propertyNames": {"maxLength": 1}}, [{"a": 1}, []], [{"ab": 1}]),
    ({"propertyNames": True}, [{"ab": 1}], []),
    ({"items": {"type": "integer"}}, [[], [1], {}], [["a"]]),
    ({"items": True}, [[1]], []),
    ({"prefixItems": [{"type": "string"}, True], "items": False}, [["a"], ["a", 1]], [[1], ["a", 1, 2]]),
    ({"prefixItems": [{"type": "string"}]}, [["a", 1]], [[1]]),
    ({"items": [{"type": "string"}], "additionalItems": {"type": "null"}}, [["a"], ["a", None]], [[1],
                                                                                                  ["a", 1]]),
    ({"items": [], "additionalItems": False}, [[]], [[1]]),
    ({"items": [True]}, [[1, 2]], []),
    ({"items": {"type": "null"}, "additionalItems": False}, [[None, None]], [[1]]),
    ({"contains": {"const": 1}}, [[2, 1], 1], [[], [2]]),
    ({"contains": True}, [[2]], [[]]),
    ({"contains": {"const": 1}, "minContains": 2, "maxContains": 2}, [[1, 1]], [[1], [1, 1, 1]]),
    ({"contains": {"const": 1}, "minContains": 0}, [[]], []),
    ({"minContains": 5}, [[]], []),
    ({"dependentRequired": {"a": ["b"]}}, [{"b": 1}, {"a": 1, "b": 1}, []], [{"a": 1}]),
    ({"dependentSchemas": {"a": {"required": ["b"]}, "c": True}}, [{}, {"a": 1, "b": 1}, {"c": 1}],
     [{"a": 1}]),
    ({"dependentSchemas": {"c": True}}, [{"c": 1}], []),
    ({"dependencies": {"a": ["b"], "c": False, "d": True}}, [{}, {"a": 1, "b": 1}, {"d": 1}],
     [{"a": 1}, {"c": 1}]),
    ({"allOf": [{"minimum": 1}, {"maximum": 2}, True]}, [1, 2], [0, 3]),
    ({"allOf": [True]}, [0], []),
    ({"anyOf": [{"type": "string"}, {"minimum": 2}]}, ["", 2], [1]),
    ({"anyOf": [{"type": "string"}, True]}, [1], []),
    ({"oneOf": [{"minimum": 1}, {"maximum": 3}]}, [0, 4], [2]),
    ({"oneOf": [{"type": "string"}, {"type": "null"}]}, ["", None], [2]),
    ({"oneOf": [True, False]}, [1], []),
    ({"not": {"type": "string"}}, [1], [""]),
    ({"not": {}}, [], [1]),
    ({"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"minimum": 1}}, ["a", 1], ["", 0]),
    ({"if": {"type": "string"}, "then": {"minLength": 1}}, ["a", 0], [""]),
    ({"if": True, "then": {"minLength": 1}, "else": False}, ["a"], [""]),
    ({"if": True}, ["a"], []),
    ({"then": False, "else": False}, ["a"], []),
    ({"$ref": "#/$defs/a", "minimum": 2, "$defs": {"a": {"type": "integer"}}}, [2], [1, 2.5]),
    ({"$ref": "#/definitions/a", "minimum": 2, "definitions": {"a": {"type": "integer"}}}, [1], [2.5]),
    ({"$schema": NEW, "$ref": "#/definitions/a", "minimum": 2, "definitions": {"a": {"type": "integer"}}},
     [2], [1]),
    ({"$schema": OLD, "properties": {"a": {"$ref": "#/$defs/a", "minimum": 2}},
      "$defs": {"a": {"type": "integer"}}},
     [{"a": 1}], [{"a": "x"}]),
    ({"$defs": {"a/b~c d": {"type": "null"}, "t": True},
      "properties": {"x": {"$ref": "#/$defs/a~1b~0c%20d"},
      "y": {"$ref": "#/$defs/t"}}}, [{"x": None, "y": 1}], [{"x": 1}]),
    ({"properties": {"child": {"$ref": "#"}}, "additionalProperties": False}, [{"child": {"child": {}}}],
     [{"child": {"kid": {}}}]),
    ({"format": "date", "title": "t", "description": 1, "default": 1, "examples": [], "deprecated": True,
      "readOnly": True, "writeOnly": True, "$comment": "c"}, ["2024-02-29", 5], ["2023-02-29"]),
    ({"$schema": "https://example.com/dialect", "type": "null"}, [None], [1]),
    ({"properties": {"prefixItems": {}, "definitions": {"$schema": NEW}}}, [{}], []),
]


@pytest.mark.parametrize(("schema", "valid", "invalid"), VERDICTS)
def test_verdicts_follow_the_specification(schema, valid, invalid):
    validator = compile_schema(schema)
    assert [value for value in valid if validator.errors(value)] == []
    assert [value for value in invalid if not validator.errors(value)] == []


@pytest.mark.parametrize(("schema", "code", "path", "keyword"), [
    (3, "schema/invalid", "", ""),
    (None, "schema/invalid", "", ""),
    ({"properties": {"a/b": {"kind": 1}}}, "schema/unsupported", "/properties/a~1b/kind", "kind"),
    ({1: 2}, "schema/unsupported", "/1", "1"),
    ({"$id": "x"}, "schema/unsupported", "/$id", "$id"),
    ({"$anchor": "x"}, "schema/unsupported", "/$anchor", "$anchor"),
    ({"$dynamicRef": "#x"}, "schema/unsupported", "/$dynamicRef", "$dynamicRef"),
    ({"unevaluatedProperties": False}, "schema/unsupported", "/unevaluatedProperties",
     "unevaluatedProperties"),
    ({"contentMediaType": "text/plain"}, "schema/unsupported", "/contentMediaType", "contentMediaType"),
    ({"$ref": "https://example.com/s"}, "schema/unsupported", "/$ref", "$ref"),
    ({"$ref": "#name"}, "schema/unsupported", "/$ref", "$ref"),
    ({"$ref": 1}, "schema/invalid", "/$ref", "$ref"),
    ({"$ref": "#/$defs/b"}, "schema/invalid", "/$ref", "$ref"),
    ({"default": {}, "items": {"$ref": "#/default"}}, "schema/invalid", "/items/$ref", "$ref"),
    ({"$schema": "http://json-schema.org/draft-04/schema#"}, "schema/unsupported", "/$schema", "$schema"),
    ({"$schema": 7}, "schema/unsupported", "/$schema", "$schema"),
    ({"items": {"$schema": OLD}}, "schema/unsupported", "/items/$schema", "$schema"),
    ({"$schema": OLD, "prefixItems": [True]}, "schema/unsupported", "/prefixItems", "prefixItems"),
    ({"$schema": NEW, "dependencies": {}}, "schema/unsupported", "/dependencies", "dependencies"),
    ({"$schema": NEW, "items": [True]}, "schema/invalid", "/items", "items"),
    ({"type": "dict"}, "schema/invalid", "/type", "type"),
    ({"type": []}, "schema/invalid", "/type", "type"),
    ({"type": ["null", 1]}, "schema/invalid", "/type", "type"),
    ({"type": {}}, "schema/invalid", "/type", "type"),
    ({"enum": "a"}, "schema/invalid", "/enum", "enum"),
    ({"required": True}, "schema/invalid", "/required", "required"),
    ({"required": [1]}, "schema/invalid", "/required", "required"),
    ({"minimum": "1"}, "schema/invalid", "/minimum", "minimum"),
    ({"exclusiveMinimum": True}, "schema/invalid", "/exclusiveMinimum", "exclusiveMinimum"),
    ({"maximum": float("inf")}, "schema/invalid", "/maximum", "maximum"),
    ({"multipleOf": 0}, "schema/invalid", "/multipleOf", "multipleOf"),
    ({"multipleOf": False}, "schema/invalid", "/multipleOf", "multipleOf"),
    ({"minLength": -1}, "schema/invalid", "/minLength", "minLength"),
    ({"maxItems": 1.5}, "schema/invalid", "/maxItems", "maxItems"),
    ({"minContains": "1"}, "schema/invalid", "/minContains", "minContains"),
    ({"maxProperties": float("inf")}, "schema/invalid", "/maxProperties", "maxProperties"),
    ({"uniqueItems": 1}, "schema/invalid", "/uniqueItems", "uniqueItems"),
    ({"pattern": "("}, "schema/invalid", "/pattern", "pattern"),
    ({"pattern": 1}, "schema/invalid", "/pattern", "pattern"),
    ({"pattern": "(a)\\1"}, "schema/unsupported", "/pattern", "pattern"),
    ({"patternProperties": {"(?=a)": True}}, "schema/unsupported", "/patternProperties",
     "patternProperties"),
    ({"format": 1}, "schema/invalid", "/format", "format"),
    ({"properties": []}, "schema/invalid", "/properties", "properties"),
    ({"properties": {1: True}}, "schema/invalid", "/properties", "properties"),
    ({"properties": {"a": 1}}, "schema/invalid", "/properties/a", "properties"),
    ({"dependentRequired": {"a": "b"}}, "schema/invalid", "/dependentRequired", "dependentRequired"),
    ({"dependencies": {"a": [1]}}, "schema/invalid", "/dependencies", "dependencies"),
    ({"anyOf": []}, "schema/invalid", "/anyOf", "anyOf"),
    ({"allOf": {}}, "schema/invalid", "/allOf", "allOf"),
    ({"then": 1}, "schema/invalid", "/then", "then"),
    ({"not": []}, "schema/invalid", "/not", "not"),
    ({"items": {"type": "array", "additionalItems": 1}}, "schema/invalid", "/items/additionalItems",
     "additionalItems"),
])
def test_a_schema_that_cannot_be_used_is_refused_at_its_place(schema, code, path, keyword):
    with pytest.raises(SchemaError) as caught:
        compile_schema(schema)
    error = caught.value
    assert (error.code, error.path, error.keyword) == (code, path, keyword)
    assert isinstance(error, InputError)


@pytest.mark.parametrize("schema", [
    {"$ref": "#"},
    {"allOf": [{"$ref": "#/anyOf/0"}], "anyOf": [{"not": {"$ref": "#/allOf/0"}}]},
    {"if": {"$ref": "#/$defs/a"}, "$defs": {"a": {"oneOf": [{"$ref": "#"}, True]}}},
    {"dependentSchemas": {"a": {"$ref": "#"}}},
    {"dependencies": {"a": {"$ref": "#"}}},
])
def test_a_reference_that_goes_round_in_a_circle_is_refused(schema):
    with pytest.raises(SchemaError, match="circle"):
        compile_schema(schema)


def _deep(depth, inner):
    for _ in range(depth):
        inner = {"items": inner}
    return inner


def test_schemas_that_are_too_deep_or_too_many_are_refused():
    endless = {}
    endless["items"] = endless
    level = True
    for _ in range(20):
        level = {"anyOf": [level, level]}
    nested = []
    for _ in range(100_000):
        nested = [nested]
    for schema in (_deep(200, True), endless, level, {"const": nested}):
        with pytest.raises(SchemaError):
            compile_schema(schema)
    assert not compile_schema(_deep(60, True)).errors([[]])


def test_the_first_problem_comes_first_and_findings_are_bounded():
    validator = compile_schema({
        "required": ["id", "count"], "properties": {"id": {"type": "string"}, "count": {"minimum": 1}}})
    assert [(f.path, f.keyword) for f in validator.errors({"count": 0, "id": 5})] == [
        ("/count", "minimum"), ("/id", "type")]
    assert [(f.path, f.keyword, f.actual) for f in validator.errors({"count": 0})] == [
        ("", "required", "nothing"), ("/count", "minimum", "0")]
    many = dict.fromkeys(map(str, range(500)))
    for schema, value in (({"items": {"type": "null"}}, [1] * 500),
                          ({"items": {"additionalProperties": False}}, [many]),
                          ({"properties": dict.fromkeys(many, False)}, many),
                          ({"propertyNames": False}, many),
                          ({"allOf": [False] * 30}, 1)):
        assert len(compile_schema(schema).errors(value)) == 20


def test_a_finding_names_path_keyword_expected_and_actual():
    validator = compile_schema({"properties": {"a/b": {"items": {"type": ["string", "null"]}}}})
    (finding,) = validator.errors({"a/b": ["x", 7]})
    assert isinstance(finding, SchemaFinding)
    assert finding[:4] == ("/a~1b/1", "type", "string or null", "7")
    assert all(part in finding.message for part in ("/a~1b/1", "string or null", "7"))


@pytest.mark.parametrize(("schema", "value", "path", "keyword", "words"), [
    ({"additionalProperties": False}, {"extra": 1}, "/extra", "additionalProperties", "no such property"),
    ({"prefixItems": [True], "items": False}, [1, 2], "/1", "items", "no item"),
    ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "", "dependentRequired", "b"),
    ({"enum": list(range(30))}, 40, "", "enum", "11, ..."),
    ({"minLength": 2}, "a", "", "minLength", "at least 2 characters"),
    ({"contains": {"const": 1}, "minContains": 2}, [1], "", "minContains", "at least 2 matching items"),
    ({"contains": {"const": 1}, "maxContains": 1}, [1, 1], "", "maxContains", "at most 1 matching item"),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 4, "", "anyOf", "string or null"),
    ({"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 1}]}, "ab", "", "anyOf",
     "at most 1 characters"),
    ({"oneOf": [{"type": "null"}, {"required": ["x"]}]}, {}, "", "oneOf", "x"),
    ({"anyOf": [{"type": "null"}, {"properties": {"x": {"anyOf": [{"const": 1}, {"const": 2}]}}}]},
     {"x": 3}, "",
     "anyOf", "1 at /x"),
    ({"anyOf": [{"type": "null"}, {"items": {"type": "string"}}]}, [3], "", "anyOf", "string at /0"),
    ({"oneOf": [True, True]}, 1, "", "oneOf", "exactly one"),
])
def test_what_was_expected_is_said_in_words(schema, value, path, keyword, words):
    (finding,) = compile_schema(schema).errors(value)
    assert (finding.path, finding.keyword) == (path, keyword)
    assert words in finding.expected


def test_formats_nobody_checks_are_listed():
    schema = {"properties": {"a": {"format": "uri"}, "b": {"format": "date"}, "c": {"format": "uri"}}}
    validator = compile_schema(schema)
    assert validator.unchecked == ("uri",)
    assert not validator.errors({"a": "no uri", "b": "2024-01-01"})
    assert validator.errors({"b": "today"})
    loose = compile_schema(schema, assert_formats=False)
    assert loose.unchecked == ("uri", "date")
    assert not loose.errors({"b": "today"})


def test_work_that_multiplies_is_cut_off_and_counts_as_invalid():
    # Every level asks the next one twice: 2**40 questions about one value.
    levels = {f"l{n}": {"allOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 2} for n in range(40)}
    validator = compile_schema({"$defs": {**levels, "l40": {"type": "integer"}}, "$ref": "#/$defs/l0"})
    (finding,) = validator.errors(1)
    assert (finding.path, finding.keyword) == ("", "$ref")
    assert "steps" in finding.message


def test_a_value_nested_without_end_counts_as_invalid():
    validator = compile_schema({"items": {"$ref": "#"}})
    value = []
    for _ in range(100):
        value = [value]
    assert not validator.errors(value)
    for _ in range(100_000):
        value = [value]
    (finding,) = validator.errors(value)
    assert "less deeply" in finding.message
    endless = []
    endless.append(endless)
    assert len(validator.errors(endless)) == 1


def _groups(draft):
    folder = shared("oracles/JSON-Schema-Test-Suite")
    tiers = json.loads((folder / "derived/tiers.json").read_text(encoding="utf-8"))
    for name, info in tiers["drafts"][draft].items():
        path = folder / "tests" / draft / name
        if "/" not in name and path.is_file():
            groups = json.loads(path.read_text(encoding="utf-8"))
            yield from zip(groups, [tier for tier, _ in info["groups_tier_and_tests"]], strict=True)


@pytest.mark.parametrize(("draft", "least"), [("draft2020-12", 930), ("draft7", 850)])
def test_the_public_suite_is_judged_right_or_refused(draft, least):
    wrong, judged = [], 0
    for group, tier in _groups(draft):
        try:
            validator = compile_schema(group["schema"], assert_formats=False)
        except SchemaError:
            if tier != "out" and "\\\\p{" not in json.dumps(group["schema"]):
                wrong.append(group["description"])
            continue
        for test in group["tests"]:
            judged += 1
            if (not validator.errors(test["data"])) != test["valid"]:
                wrong.append(f"{group['description']}: {test['description']}")
    assert wrong == []
    assert judged >= least


CALLS = ["eva_airline", "tau2_airline_gpt41", "tau2_retail_gpt41", "tau2_telecom_gpt41",
         "tau_bench_airline_gpt4o"]


def _calls(name):
    return json.loads(shared("oracles/tool_calls", f"{name}.json").read_text(encoding="utf-8"))


def _places(row, findings):
    wanted = sorted(("".join(f"/{token}" for token in error["path"]), error["keyword"])
                    for error in row.get("errors") or [])
    return wanted, sorted((finding.path, finding.keyword) for finding in findings)


@pytest.mark.parametrize("name", CALLS)
def test_recorded_tool_calls_get_the_known_findings(name):
    document = _calls(name)
    validators = {tool: compile_schema(schema) for tool, schema in document["schemas"].items()}
    for row in document["rows"]:
        wanted, found = _places(row, validators[row["tool"]].errors(row["arguments"]))
        assert found == wanted
        assert (not found) is row["valid"]


def _published(name):
    return json.loads(shared("oracles/tool_schemas", f"{name}.json").read_text(encoding="utf-8"))


def test_mutated_tool_calls_get_the_known_findings():
    validators = {("tau_bench",
                   tool["name"]): compile_schema(tool["parameters"]) for tool in _published("tau_bench")}
    for name in CALLS:
        document = _calls(name)
        validators.update({(document["origin"], tool): compile_schema(schema)
                           for tool, schema in document["schemas"].items()})
    judged = 0
    for row in _calls("mutated_calls")["rows"]:
        validator = validators.get((row["schema_set"], row["tool"]))
        if validator is not None:
            wanted, found = _places(row, validator.errors(row["arguments"]))
            assert found == wanted
            assert (not found) is row["valid"]
            judged += 1
    assert judged >= 100


@pytest.mark.parametrize(("name", "refused"), [
    ("eva_params", 0), ("tau2_bench", 0), ("tau_bench", 0),
    ("livemcpbench", 1),  # exclusiveMinimum: true, which draft 7 no longer has
])
def test_published_tool_schemas_are_taken(name, refused):
    errors = []
    for tool in _published(name):
        try:
            compile_schema(tool["parameters"])
        except SchemaError as error:
            errors.append(error)
    assert len(errors) == refused


def test_invented_types_are_refused():
    for tool in _published("bfcl_nonstandard_sample"):
        with pytest.raises(SchemaError, match="type"):
            compile_schema(tool["parameters"])
