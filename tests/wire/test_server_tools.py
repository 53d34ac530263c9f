"""Tool rounds, knowledge with citations, and scope."""

import json

from server_harness import Client, error_of, kinds, texts

CALL = {"name": "find_order", "arguments": {"number": 17, "note": "é"}}


def round_of(profile="dialog_rsn_1", reply=None, **more):
    client = Client({"replies": [{"calls": [reply or CALL]}, {"text": "On its way."}], **more}, profile)
    client.send("response.create")
    client.wait(3000)
    return client, client.of("response.function_call_arguments.done")[0]


def answer(client, call_id, **more):
    item = {"type": "function_call_output", "call_id": call_id, "output": "{}", **more}
    return client.send("conversation.item.create", item=item)


def test_call_arrives_as_streamed_arguments_and_ends_its_response():
    client, done = round_of()
    assert (
        "".join(e["delta"] for e in client.of("response.function_call_arguments.delta")) == done["arguments"]
    )
    assert json.loads(done["arguments"]) == CALL["arguments"]
    assert len(client.of("response.function_call_arguments.delta")) > 1
    [response] = client.done()
    assert (response["status"], response["output"][0]["type"]) == ("completed", "function_call")
    assert client.kinds("response.") == [
        "response.created",
        "response.output_item.added",
        *["response.function_call_arguments.delta"]
        * len(client.of("response.function_call_arguments.delta")),
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.done",
    ]


def test_result_alone_is_never_answered():
    client, done = round_of()
    got = answer(client, done["call_id"])
    assert kinds(got) == ["conversation.item.added", "conversation.item.done"]
    assert client.wait(120_000) == []
    [created] = client.send("response.create")
    client.wait(5000)
    assert created["response"]["id"] != client.done()[0]["id"]
    assert [kind for kind, _ in texts(client.server.history())] == [
        "function_call",
        "function_call_output",
        "assistant",
    ]


def test_result_may_come_before_response_done():
    client = Client({"replies": [{"calls": [CALL], "timings": {"done_ms": 500}}]}, "openai_ga")
    client.send("response.create")
    client.wait(600)
    [done] = client.of("response.function_call_arguments.done")
    assert client.done() == []
    assert kinds(answer(client, done["call_id"])) == ["conversation.item.added", "conversation.item.done"]


def test_call_id_is_37_characters_on_dialog_rsn_and_must_come_back_verbatim():
    client, done = round_of()
    assert len(done["call_id"]) == 37
    assert error_of(answer(client, done["call_id"][:32]))["param"] == "item.call_id"
    assert len(round_of("openai_ga")[1]["call_id"]) <= 32


def test_call_may_follow_an_empty_text_part():
    client = Client({"replies": [{"calls": [CALL], "empty_part": True}]}, output_modalities=["text"])
    client.send("response.create")
    client.wait(3000)
    assert client.of("response.output_text.delta") == []
    assert client.of("response.content_part.done")[0]["part"] == {"type": "text", "text": ""}
    assert [item["type"] for item in client.done()[0]["output"]] == ["message", "function_call"]


def test_arguments_may_be_no_json():
    client, done = round_of(reply={"name": "find_order", "arguments_text": '{"number": 1'})
    assert done["arguments"] == '{"number": 1'


def test_cancelled_call_is_incomplete_with_partial_arguments():
    client = Client({"replies": [{"calls": [CALL]}]}, "openai_ga")
    client.send("response.create")
    client.wait(340)
    client.send("response.cancel")
    done = client.done()[0]
    assert done["output"][0]["status"] == "incomplete"
    assert (
        done["output"][0]["arguments"] == client.of("response.function_call_arguments.done")[0]["arguments"]
    )
    assert len(done["output"][0]["arguments"]) < len(json.dumps(CALL["arguments"]))


def passage(name):
    return {"name": name, "content": f"What we know about {name}."}


def test_passages_are_one_numbered_list_over_session_and_results():
    client, done = round_of()
    client.update(poly_knowledge=[passage("hours"), passage("returns")])
    answer(client, done["call_id"], poly_knowledge=[passage("delivery")])
    client.send("response.create")
    knowledge = client.server.generations[-1]["knowledge"]
    assert [(p["number"], p["name"]) for p in knowledge] == [(1, "hours"), (2, "returns"), (3, "delivery")]
    assert knowledge[2]["content"] == "What we know about delivery."


def test_session_knowledge_is_there_from_the_first_turn():
    client = Client({}, poly_knowledge=[passage("hours")])
    client.send("response.create")
    assert [p["name"] for p in client.server.generations[0]["knowledge"]] == ["hours"]


def test_cited_topics_are_names_and_only_where_the_reply_rests_on_passages():
    replies = [{"text": "We open at nine.", "cites": [2, 1, 2]}, {"text": "Goodbye."}]
    client = Client({"replies": replies}, poly_knowledge=[passage("hours"), passage("holidays")])
    for _ in replies:
        client.send("response.create")
        client.wait(5000)
    first, second = client.done()
    assert first["poly_cited_topics"] == ["holidays", "hours"]
    assert "poly_cited_topics" not in second


def test_out_of_domain_is_on_every_generation():
    error = {"type": "server_error", "code": "server_error"}
    replies = [
        {"text": "Sorry, I only know orders.", "out_of_domain": True},
        {"text": "Your order is here."},
        {"calls": [CALL]},
        {"status": "failed", "error": error},
        {"text": "This one is cancelled."},
    ]
    client = Client({"replies": replies})
    for _ in replies[:-1]:
        client.send("response.create")
        client.wait(9000)
    client.send("response.create")
    client.send("response.cancel")
    assert [response["poly_out_of_domain"] for response in client.done()] == [
        True,
        False,
        False,
        False,
        False,
    ]


def test_openai_has_neither_field():
    client, _ = round_of("openai_ga")
    assert not [key for key in client.done()[0] if key.startswith("poly")]


def test_knowledge_belongs_to_results_only():
    client = Client({})
    content = [{"type": "input_text", "text": "Hi"}]
    item = {"type": "message", "role": "user", "content": content, "poly_knowledge": [passage("x")]}
    assert error_of(client.send("conversation.item.create", item=item))["code"] == "unknown_parameter"


def test_tools_are_declared_by_session_update():
    tool = {"type": "function", "name": "find_order", "parameters": {"type": "object"}}
    client = Client({}, tools=[tool])
    client.send("response.create")
    assert client.server.generations[0]["tools"] == [tool]
    error = error_of(client.update(tools=[{"type": "function"}]))
    assert (error["code"], error["param"]) == ("missing_required_parameter", "session.tools[0].name")


def test_citing_a_number_without_a_passage_cites_nothing():
    client = Client(
        {"replies": [{"text": "We open at nine.", "cites": [9]}]}, poly_knowledge=[passage("hours")]
    )
    client.send("response.create")
    client.wait(5000)
    assert "poly_cited_topics" not in client.done()[0]
