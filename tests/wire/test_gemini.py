"""Gemini Live logs as traces."""

import json

import pytest

from ..shared_data import shared
from .other_rows import GEMINI, SETUP, Made, closed, content, got, mic, sent, voice


def typed(text, complete=True):
    turn = {"role": "user", "parts": [{"text": text}]}
    return sent(client_content={"turns": [turn], "turnComplete": complete})


def test_spoken_turn_tool_round_and_two_barge_ins():
    made = Made("gemini", GEMINI, clock="audio")
    assert made.brief == [
        "audio.frame turn-1 0 100 null",
        "audio.frame turn-1 1 100 null",
        "turn.transcript turn-1 A table false",
        "turn.transcript turn-1 A table for two false",
        "turn.transcript turn-1 A table for two true",
        "turn.commit turn-1",
        "response.started response-1 turn-1",
        "tool.call f1 response-1 find_table {'guests': 2} null",
        "tool.result f1 response-1 true yes",
        "response.audio response-1 0 40",
        "response.text response-1 0 There is one",
        "response.completed response-1",
        "audio.frame turn-2 0 100 null",
        "user.interrupt turn-2 response-1 interrupted",
        "turn.transcript turn-2 Wait false",
        "turn.transcript turn-2 Wait true",
        "turn.commit turn-2",
        "response.started response-2 turn-2",
        "response.audio response-2 0 40",
        "user.interrupt turn-3 response-2 interrupted",
        "response.cancelled response-2 interrupted",
        "session.completed close 1000 server",
    ]
    assert made.judged() == ([], [])
    assert [e["at_ms"] for e in made.events][:3] == [100, 200, 200]
    assert made.summary["barge_ins"] == {
        "before_output": 0,
        "mid_generation": 1,
        "all_items_done": 0,
        "after_completion": 1,
    }
    assert made.summary["tools"] == {"calls": 1, "results": 1, "rounds": 1, "unanswered": 0}
    assert made.summary["responses"] == {
        "started": 2,
        "unfinished": 0,
        "out_of_band": 0,
        "cancelled": 1,
        "completed": 1,
    }
    assert made.header["tools"] == [
        {
            "name": "find_table",
            "read_only": None,
            "parameters": {
                "type": "object",
                "properties": {"guests": {"type": "integer"}},
                "required": ["guests"],
            },
        }
    ]


def test_what_the_wire_lacks_is_marked():
    made = Made("gemini", GEMINI)
    synthetic = [(e["type"], e["source"]["line"]) for e in made.events if e["source"].get("synthetic")]
    assert synthetic == [
        ("turn.transcript", 7),
        ("turn.commit", 7),
        ("response.started", 7),
        ("turn.transcript", 15),
        ("turn.commit", 15),
        ("response.started", 15),
        ("session.completed", 18),
    ]
    assert {e["source"]["raw_type"] for e in made.events if e["type"] == "response.completed"} == {
        "serverContent.generationComplete"
    }


def test_thoughts_begin_a_response_and_are_not_said():
    thought = {"parts": [{"text": "hm", "thought": True}]}
    made = Made("gemini", [typed("Hi"), content(modelTurn=thought), content(turnComplete=True)])
    assert made.brief == [
        "input.text turn-1 Hi",
        "turn.commit turn-1 text",
        "response.started response-1 turn-1",
        "response.completed response-1",
    ]


def test_open_microphone_does_not_make_a_turn_of_a_typed_one():
    made = Made("gemini", [mic(), typed("Hi"), mic(), content(**voice()), content(turnComplete=True)])
    assert "response.started response-1 turn-2" in made.brief
    assert made.summary["turns_committed"] == 1


def test_interruption_before_any_output_names_a_response_begun_for_it():
    made = Made("gemini", [mic(), content(interrupted=True), content(turnComplete=True)], clock="line")
    assert made.brief == [
        "audio.frame turn-1 0 100 null",
        "turn.commit turn-1",
        "response.started response-1 turn-1",
        "user.interrupt turn-2 response-1 interrupted",
        "response.cancelled response-1 interrupted",
    ]
    assert made.judged() == ([], [])
    assert made.summary["barge_ins"]["before_output"] == 1


def test_output_after_an_interruption_is_late():
    rows = [typed("Hi"), content(**voice()), content(interrupted=True), content(**voice())]
    made = Made("gemini", [*rows, content(turnComplete=True), closed(1000)])
    assert made.summary["responses"]["started"] == 1
    assert made.judged() == (["ignored"], [])


def test_withdrawn_calls_failures_and_calls_without_an_id():
    rows = [
        typed("Hi"),
        got(toolCall={"functionCalls": [{"id": "f1", "name": "a"}, {"name": "b", "args": {"x": 1}}]}),
        got(toolCallCancellation={"ids": ["f1"]}),
        sent(tool_response={"function_responses": [{"name": "b", "response": {"error": "no"}}]}),
    ]
    assert Made("gemini", rows).brief[3:] == [
        "tool.call f1 response-1 a {} null",
        "tool.call imp-call-2-1 response-1 b {'x': 1} null",
        "tool.cancelled f1 response-1 toolCallCancellation",
        "tool.result imp-call-2-1 response-1 false no",
    ]


def test_seeded_contents_are_history():
    turns = [
        {"role": "user", "parts": [{"text": "one"}]},
        {"role": "model", "parts": [{"text": "two"}]},
        {"role": "user", "parts": [{"text": "three"}]},
    ]
    made = Made("gemini", [sent(clientContent={"turns": turns, "turnComplete": True}), content(**voice())])
    assert made.summary["history_turns"] == 1
    assert made.synthetic() == ["input.text", "turn.commit", "response.started"]
    assert "response.started response-1 turn-2" in made.brief


def test_activity_signals_of_client_and_server():
    rows = [
        sent(realtimeInput={"activityStart": {}}),
        mic(),
        sent(realtimeInput={"activityEnd": {}}),
        got(voiceActivity={"voiceActivityType": "ACTIVITY_START"}),
        got(voiceActivity={"voiceActivityType": "ACTIVITY_END"}),
    ]
    assert Made("gemini", rows).brief == [
        "speech.started turn-1",
        "audio.frame turn-1 0 100 null",
        "speech.stopped turn-1",
        "turn.commit turn-1 client",
        "speech.started turn-2",
        "speech.stopped turn-2",
    ]


def test_loss_and_resumption_of_a_session():
    rows = [SETUP, typed("Hi"), content(**voice()), closed(1011), SETUP, got(setupComplete={})]
    made = Made("gemini", [*rows, typed("Again"), content(**voice()), content(turnComplete=True), closed(1000)])
    assert made.brief[4:8] == [
        "transport.disconnected close 1011",
        f"transport.resumed {made.header['resume_token']}",
        "input.text turn-2 Again",
        "turn.commit turn-2 text",
    ]
    assert made.judged()[0] == []


def test_unknown_and_inexpressible_messages_are_counted():
    rows = [
        got(brandNew={}),
        got(serverContent={"groundingMetadata": {}}),
        sent(realtimeInput={"video": {"data": "AA==", "mimeType": "image/jpeg"}}),
        got(goAway={"timeLeft": "10s"}),
        got(error={"status": "RESOURCE_EXHAUSTED", "message": "slow down"}),
        got(),
    ]
    made = Made("gemini", rows)
    assert made.summary["unmapped"] == {
        "(no type)": 1,
        "brandNew": 1,
        "realtimeInput.video": 1,
        "serverContent.groundingMetadata": 1,
    }
    assert made.summary["warnings"]["by_code"] == {"go_away": 1}
    assert made.brief == ["error.reported rate_limited RESOURCE_EXHAUSTED slow down"]


def test_text_after_generation_complete_is_counted_and_not_lost_in_silence():
    rows = [typed("Hi"), content(**voice()), content(generationComplete=True)]
    made = Made("gemini", [*rows, content(outputTranscription={"text": "Hello"}), content(turnComplete=True)])
    assert made.summary["unmapped"] == {"serverContent.outputTranscription": 1}
    assert made.judged()[0] == []


@pytest.mark.parametrize("name", ["google__*.jsonl", "*google-current.jsonl"])
def test_recorded_logs_break_no_rule(name):
    paths = sorted(shared("logs").rglob(name))
    assert paths
    for path in paths:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
        made = Made("gemini", rows)
        assert made.judged() == ([], [])
        assert made.summary["unmapped"] == {}
        calls = sum(len(r["data"].get("toolCall", {}).get("functionCalls", [])) for r in rows)
        assert made.summary["tools"]["calls"] == calls
