"""Tool calls, results and declarations of imported OpenAI-protocol logs."""

import pytest

from .openai_rows import Imported, Log, message

TOOL = {
    "type": "function",
    "name": "look_up",
    "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
}


def test_tool_round_fills_the_response_from_the_call_table():
    log = Log().typed("t1", "hi").created("r1").call("r1", "c1", '{"q":"x"}')
    log.sent(
        "conversation.item.create", item={"type": "function_call_output", "call_id": "c1", "output": "fine"}
    )
    log.done("r1").sent("response.create").output("c1", "fine").created("r2").done("r2")
    got = Imported(log)
    assert got.of("tool.call", "tool.result") == [
        {"call_id": "c1", "response_id": "r1", "name": "look_up", "arguments": {"q": "x"}, "read_only": None},
        {"call_id": "c1", "response_id": "r1", "ok": None, "result": "fine"},
    ]
    assert got.summary["tools"] == {"calls": 1, "results": 1, "rounds": 1, "unanswered": 0}
    assert got.rejected() == []


@pytest.mark.parametrize("text", ['{"qty":1', "[1]", "null", "", '{"a":1,"a":2}', '{"n":1e400}', "[" * 200])
def test_arguments_that_are_no_object_stay_text(text):
    (call,) = Imported(Log().created("r1").call("r1", "c1", text)).of("tool.call")
    assert call["arguments_text"] == text
    assert "arguments" not in call


def test_deep_arguments_that_a_trace_could_not_hold_stay_text():
    text = '{"a":' * 127 + "1" + "}" * 127
    (call,) = Imported(Log().created("r1").call("r1", "c1", text)).of("tool.call")
    assert call["arguments_text"] == text


def test_read_only_comes_from_the_caller_or_from_the_log():
    tools = [
        {"type": "function", "name": "hinted", "annotations": {"readOnlyHint": True}, "read_only": True},
        {"type": "function", "name": "book", "read_only": False},
        {"type": "function", "name": "plain"},
    ]
    log = Log().sent("session.update", session={"tools": tools}).created("r1")
    for number, name in enumerate(("hinted", "book", "plain", "named")):
        log.call("r1", f"c{number}", "{}", name=name)
    got = Imported(log, read_only=["named"])
    assert [p["read_only"] for p in got.of("tool.call")] == [True, False, None, True]


def test_call_ids_that_name_another_call_are_given_a_new_id():
    log = Log().created("r1").call("r1", "c1", '{"q":"a"}').done("r1").output("c1", "A")
    log.created("r2").call("r2", "c1", '{"q":"b"}').done("r2").output("c1", "B")
    got = Imported(log)
    assert [p["call_id"] for p in got.of("tool.call", "tool.result")] == ["c1", "c1", "c1#2", "c1#2"]
    assert [p["response_id"] for p in got.of("tool.result")] == ["r1", "r2"]
    assert got.summary["warnings"]["by_code"] == {"call_id_reused": 1}
    assert got.rejected() == []


def test_call_announced_again_with_the_same_content_is_one_call():
    log = Log().created("r1").call("r1", "c1", "{}").call("r1", "c1", "{}").done("r1")
    got = Imported(log)
    assert len(got.of("tool.call")) == 1
    assert got.summary["warnings"]["by_code"] == {"call_repeated": 1}


def test_second_result_of_one_call_stays_visible_to_the_contract():
    log = Log().created("r1").call("r1", "c1", "{}").done("r1").output("c1", "A").output("c1", "B")
    assert Imported(log).rejected() == ["tool/already_answered"]


def test_result_for_a_call_nobody_made_stays_visible_to_the_contract():
    assert Imported(Log().created("r1").done("r1").output("c9", "A")).rejected() == ["tool/unknown_call"]


def test_result_from_before_the_log_began_is_only_counted():
    got = Imported(Log().output("c0", "A"))
    assert got.events == []
    assert got.summary["warnings"]["by_code"] == {"output_without_call": 1}


def test_refused_item_yields_no_result():
    log = Log().created("r1").call("r1", "c1", "{}").done("r1")
    log.sent(
        "conversation.item.create",
        event_id="k1",
        item={"type": "function_call_output", "call_id": "c1", "output": "x"},
    )
    log.got("error", error={"type": "invalid_request_error", "code": "invalid_value", "event_id": "k1"})
    got = Imported(log)
    assert got.of("tool.result") == []
    assert "ref_event_id" not in got.of("error.reported")[0]
    assert got.summary["tools"]["unanswered"] == 1


def test_item_that_was_never_acknowledged_is_written_before_the_answer_to_it():
    log = Log().created("r1").call("r1", "c1", "{}").done("r1")
    log.sent(
        "conversation.item.create", item={"type": "function_call_output", "call_id": "c1", "output": "x"}
    )
    log.sent("response.create").created("r2").output("c1", "x").done("r2")
    got = Imported(log)
    assert [e["type"] for e in got.events][3:5] == ["tool.result", "response.started"]
    assert len(got.of("tool.result")) == 1
    assert got.rejected() == []


def test_history_calls_that_the_client_wrote_are_no_calls():
    log = Log().sent(
        "conversation.item.create",
        item={"type": "function_call", "call_id": "h1", "name": "look_up", "arguments": "{}"},
    )
    log.sent(
        "conversation.item.create", item={"type": "function_call_output", "call_id": "h1", "output": "old"}
    )
    log.sent("conversation.item.create", item=message(None, "user", "go on")).sent("response.create")
    log.got(
        "conversation.item.added",
        item={"id": "x1", "type": "function_call", "call_id": "h1", "name": "look_up"},
    )
    log.output("h1", "old").typed("t1", "go on").created("r1").done("r1")
    got = Imported(log)
    assert got.of("tool.call", "tool.result") == []
    assert got.rejected() == []


def test_call_known_only_from_its_item_is_kept():
    item = {"id": "f1", "type": "function_call", "call_id": "c1", "name": "look_up", "arguments": "{}"}
    log = Log().created("r1").got("response.output_item.done", response_id="r1", item=item)
    log.done("r1", output=[item])
    assert [p["call_id"] for p in Imported(log).of("tool.call")] == ["c1"]


def test_name_missing_on_the_call_comes_from_its_item():
    log = (
        Log()
        .created("r1")
        .got(
            "response.output_item.added",
            response_id="r1",
            item={"id": "f1", "type": "function_call", "call_id": "c1", "name": "look_up"},
        )
    )
    log.got("response.function_call_arguments.done", response_id="r1", item_id="f1", arguments="{}")
    (call,) = Imported(log).of("tool.call")
    assert (call["call_id"], call["name"]) == ("c1", "look_up")


def test_tool_names_that_a_trace_does_not_allow_are_spelt_differently_with_a_warning():
    got = Imported(Log().created("r1").call("r1", "c1", "{}", name="look up!"))
    assert got.of("tool.call")[0]["name"] == "look_up_"
    assert got.summary["warnings"]["by_code"] == {"tool_name": 1}


@pytest.mark.parametrize(
    ("error", "ok", "result"), [(None, True, "page"), ({"message": "down"}, False, {"message": "down"})]
)
def test_calls_that_the_server_runs_have_their_result_in_the_item(error, ok, result):
    item = {"id": "m1", "type": "mcp_call", "name": "fetch", "output": "page", "error": error}
    log = (
        Log()
        .created("r1")
        .got(
            "response.output_item.added",
            response_id="r1",
            item={"id": "m1", "type": "mcp_call", "name": "fetch"},
        )
    )
    log.got("response.mcp_call_arguments.done", response_id="r1", item_id="m1", arguments='{"u":1}')
    log.got("response.mcp_call.completed" if ok else "response.mcp_call.failed", item_id="m1")
    log.got("response.output_item.done", response_id="r1", item=item).done("r1")
    got = Imported(log)
    assert got.of("tool.call")[0]["name"] == "fetch"
    assert got.of("tool.result") == [{"call_id": "m1", "response_id": "r1", "ok": ok, "result": result}]
    assert got.rejected() == []


def test_header_declares_the_tools_whose_schemas_compile():
    bad = {"type": "function", "name": "odd", "parameters": {"type": "no such type"}}
    log = Log().sent("session.update", session={"tools": [TOOL, bad, "junk", {"name": 5}]})
    got = Imported(log.created("r1").call("r1", "c1", "{}"))
    assert got.header["tools"] == [
        {"name": "look_up", "read_only": None, "parameters": TOOL["parameters"]},
        {"name": "odd", "read_only": None},
    ]
    assert got.importer.warning_counts["tool_schema"] == 1
    assert got.rejected() == []


def test_no_declared_tools_no_tools_in_the_header():
    assert "tools" not in Imported(Log().got("session.created", session={"tools": []})).header
