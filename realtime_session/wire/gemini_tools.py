"""Tools of Gemini Live: its OpenAPI-like schemas as JSON Schema, and what a function response says."""

from __future__ import annotations

from realtime_session.wire.fields import list_of, object_of

_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
_KEPT = ("title", "description", "enum", "required", "pattern", "minimum", "maximum")
_DEPTH = 32


def declarations(tools):
    """The function declarations of `setup.tools` as {name, parameters (JSON Schema)}."""
    found = []
    for tool in list_of(tools):
        for declared in list_of(tool.get("functionDeclarations", tool.get("function_declarations"))):
            schema = declared.get("parametersJsonSchema", declared.get("parameters_json_schema"))
            if schema.__class__ is not dict and declared.get("parameters").__class__ is dict:
                schema = json_schema(declared["parameters"])
            found.append({"name": declared.get("name"), "parameters": schema})
    return found


def json_schema(schema, depth=0):
    """An OpenAPI 3.0 subset schema (types in capitals, nullable, counts as strings) as JSON Schema."""
    schema = object_of(schema)
    if depth >= _DEPTH:
        return {}
    found = {key: schema[key] for key in _KEPT if key in schema}
    type_ = schema.get("type")
    if type_.__class__ is str and type_.lower() in _TYPES:
        found["type"] = type_.lower()
        if schema.get("nullable") is True:
            found["type"] = [found["type"], "null"]
            if found.get("enum").__class__ is list:
                found["enum"] = [*found["enum"], None]
    for key in _COUNTS:
        value = schema.get(key)
        if value.__class__ is str and value.isascii() and value.isdigit() and len(value) < 16:
            value = int(value)
        if value.__class__ is int:
            found[key] = value
    if schema.get("properties").__class__ is dict:
        found["properties"] = {
            name: json_schema(inner, depth + 1) for name, inner in schema["properties"].items()
        }
    if schema.get("items").__class__ is dict:
        found["items"] = json_schema(schema["items"], depth + 1)
    either = schema.get("anyOf", schema.get("any_of"))
    if list_of(either):
        found["anyOf"] = [json_schema(inner, depth + 1) for inner in list_of(either)]
    return found


def result_of(response):
    """(result, ok) of a function response: by convention `output` holds a result and `error` a failure."""
    if response.__class__ is dict:
        if "error" in response and "output" not in response:
            return response["error"], False
        if "output" in response:
            return response["output"], True
    return response, None
