"""Tools of the OpenAI family: declarations, calls, results, and calls that the server runs itself (MCP)."""

from __future__ import annotations

import re

from realtime_session.values.errors import InputError
from realtime_session.values.strict_json import check_value, parse
from realtime_session.wire.fields import MAX_TEXT, list_of, name_of, object_of, text_of
from realtime_session.wire.openai_records import Call

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,80}").fullmatch
MAX_TOOLS = 1000


class ToolBook:
    """The declared tools and the calls by wire id. `emit` and `warn` come from the importer."""

    def __init__(self, importer):
        self._importer = importer
        self._declared = {}
        self.calls = {}
        self.items = {}  # function_call and mcp_call items: item id -> (call id, name)
        self.seeded = set()  # call ids that the client put into the history itself
        self.made = self.results = self.rounds = 0

    # --- declarations ---

    def declare(self, tools):
        """Takes the tools of a session or response object; a later declaration replaces an earlier one."""
        for tool in list_of(tools):
            if tool.get("type") not in (None, "function"):
                continue
            inner = object_of(tool.get("function")) or tool
            self._declare(inner, inner.get("parameters"), inner)

    def declare_mcp(self, item):
        """The tools of an mcp_list_tools item."""
        for tool in list_of(item.get("tools")):
            self._declare(tool, tool.get("input_schema"), object_of(tool.get("annotations")))

    def _declare(self, tool, parameters, hints):
        name = name_of(tool.get("name"))
        if name is None or name not in self._declared and len(self._declared) >= MAX_TOOLS:
            return
        hint = next(
            (
                hints[key]
                for key in ("read_only", "readOnlyHint")
                if hints.get(key) in (True, False) and hints[key].__class__ is bool
            ),
            None,
        )
        self._declared[name] = (hint, parameters if parameters.__class__ is dict else None)

    def read_only(self, name):
        """True, False, or None where neither the log nor the caller says."""
        if name in self._importer.read_only:
            return True
        return self._declared.get(name, (None,))[0]

    def header(self):
        """The tools for the session header; a schema that does not compile is left out with a warning."""
        from realtime_session.values.schema import compile_schema

        tools = []
        for name, (_, parameters) in self._declared.items():
            tool = {"name": name, "read_only": self.read_only(name)}
            if parameters is not None:
                try:
                    check_value(parameters)
                    compile_schema(parameters)
                    tool["parameters"] = parameters
                except InputError as error:
                    self._importer.warn("tool_schema", f"parameters of tool {name[:80]}: {error}")
            tools.append(tool)
        return tools

    # --- calls ---

    def see_item(self, item):
        """Remembers name and call id of a call item, for rows that lack them."""
        item_id = name_of(item.get("id"))
        if item_id is not None:
            old = self.items.get(item_id, (None, None))
            self.items[item_id] = (
                name_of(item.get("call_id")) or old[0],
                name_of(item.get("name")) or old[1],
            )

    def call(self, response_id, item_id, call_id, name, arguments):
        """Writes tool.call, once per wire call; a reused id with other content gets a new one."""
        known_call, known_name = self.items.get(item_id, (None, None))
        call_id = call_id or known_call or item_id or f"imp-call-{self._importer.line}"
        name = self._clean(name or known_name)
        text = text_of(arguments)
        content = hash((name, text if text is not None else repr(arguments)))
        call = self.calls.get(call_id)
        if call is not None and call.content == content:
            self._importer.warn("call_repeated", f"call {call_id[:80]} came again with the same content")
            call.repeats += call.answered
            return
        trace_id, uses = call_id, 1
        if call is not None:
            uses = call.uses + 1
            trace_id = f"{call_id}#{uses}"
            self._importer.warn(
                "call_id_reused", f"call id {call_id[:80]} names another call now: {trace_id[:90]}"
            )
        self.calls[call_id] = call = Call(trace_id, response_id, content)
        call.uses = uses
        payload = {"call_id": trace_id, "response_id": response_id, "name": name}
        payload.update(_arguments(arguments))
        payload["read_only"] = self.read_only(name)
        self.made += 1
        self._importer.emit("tool.call", payload)

    def _clean(self, name):
        if name is None:
            self._importer.warn("tool_name", "a call without a tool name")
            return "unknown"
        if _NAME(name) is None:
            self._importer.warn(
                "tool_name", f"tool name {name[:80]!r} has characters that a trace does not allow"
            )
            return re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:80]
        return name

    def knows(self, call_id, item_id):
        """Whether the call of an item was written."""
        return (call_id or self.items.get(item_id, (None,))[0] or item_id) in self.calls

    # --- results ---

    def result(self, call_id, output, ok, fallback_response):
        """Writes tool.result. An output for a call that the client itself put into the history, or for one
        from before the log began, gives none."""
        call = self.calls.get(call_id)
        if call is None:
            if call_id in self.seeded or fallback_response is None:
                return False
            response_id, trace_id = fallback_response, call_id
        else:
            if call.answered and call_id in self.seeded:
                return False
            if call.answered and call.repeats:
                call.repeats -= 1
                return True
            if not call.answered:
                self.results += 1
            call.answered = True
            response_id, trace_id = call.response_id, call.trace_id
        self._importer.emit(
            "tool.result",
            {"call_id": trace_id, "response_id": response_id, "ok": ok, "result": _json(output)},
        )
        return True

    def unanswered(self):
        """How many calls have no result."""
        return sum(1 for call in self.calls.values() if not call.answered)


def _arguments(arguments):
    if arguments.__class__ is dict:
        value = arguments
    else:
        text = text_of(arguments)
        if text is None:
            return {"arguments_text": ""}
        try:
            value = parse(text)
        except InputError:
            return {"arguments_text": text}
        if value.__class__ is not dict:
            return {"arguments_text": text}
    try:
        check_value({"payload": {"arguments": value}})
    except InputError:
        return {"arguments_text": text_of(arguments) or ""}
    return {"arguments": value}


def _json(value):
    """A tool's output as a JSON value that a trace can hold; what is too big is cut, as text."""
    if value.__class__ is str:
        return value[:MAX_TEXT]
    try:
        check_value({"payload": {"result": value}})
    except InputError:
        return None
    text = repr(value)
    return value if len(text) <= MAX_TEXT else text[:MAX_TEXT]
