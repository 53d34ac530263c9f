"""ElevenLabs Agents logs as traces."""

import json

from ..shared_data import shared
from .other_rows import (
    ELEVENLABS,
    METADATA,
    Made,
    answer,
    chunk,
    closed,
    got,
    interruption,
    said,
    sent,
    speech,
)


def test_greeting_tool_round_barge_in_and_end():
    made = Made("elevenlabs", ELEVENLABS, clock="audio")
    assert made.brief == [
        "response.started response-1 null opening",
        "response.audio response-1 0 50",
        "response.text response-1 0 Hello!",
        "audio.frame turn-1 0 100 null",
        "audio.frame turn-1 1 100 null",
        "turn.transcript turn-1 Is it open? true",
        "turn.commit turn-1",
        "response.completed response-1",
        "response.started response-2 turn-1",
        "tool.call t1 response-2 hours {'day': 'Monday'} null",
        "tool.result t1 response-2 true 9 to 5",
        "response.audio response-2 0 50",
        "audio.frame turn-2 0 100 null",
        "user.interrupt turn-2 response-2 interruption",
        "response.cancelled response-2 interruption",
        "response.audio response-2 1 50",  # sent before the cut
        "playback.cleared response-2 null It is op...",
        "turn.transcript turn-2 Never mind true",
        "turn.commit turn-2",
        "response.started response-3 turn-2",
        "response.audio response-3 0 50",
        "response.text response-3 0 Goodbye.",
        "response.completed response-3",
        "session.completed close 1000 server",
    ]
    assert made.judged() == (["ignored"], [])
    assert made.header["session_id"] == "conv_1"
    assert made.summary["responses"] == {
        "started": 3,
        "unfinished": 0,
        "out_of_band": 0,
        "cancelled": 1,
        "completed": 2,
    }
    assert made.summary["barge_ins"]["mid_generation"] == 1
    assert made.synthetic().count("response.completed") == 2


def test_pieces_of_one_reply_may_be_numbered_one_by_one():
    made = Made("elevenlabs", [said("Hi", 3), speech(4), speech(5), answer("Hello", 5), speech(6)])
    assert made.summary["responses"]["started"] == 1


def test_replies_follow_each_other_without_the_caller():
    rows = [said("Hi", 3), speech(4), speech(4), answer("Hello", 4), speech(9), answer("Are you there?", 9)]
    assert Made("elevenlabs", rows).summary["responses"]["started"] == 2


def test_correction_after_an_interruption_is_what_was_heard():
    correction = {"original_agent_response": "One two", "corrected_agent_response": "One...", "event_id": 4}
    rows = [
        said("Hi", 3),
        speech(4),
        answer("One two", 4),
        interruption(6),
        got(type="agent_response_correction", agent_response_correction_event=correction),
    ]
    assert Made("elevenlabs", rows).brief[-3:] == [
        "user.interrupt turn-2 response-1 interruption",
        "response.cancelled response-1 interruption",
        "playback.cleared response-1 null One...",
    ]


def test_every_interruption_cuts_one_reply():
    made = Made("elevenlabs", [said("Hi", 3), interruption(4), interruption(5), speech(4), closed(1000)])
    assert len(made.of("user.interrupt")) == 2
    assert made.judged() == (["ignored"], [])
    assert made.summary["barge_ins"]["before_output"] == 2


def test_streamed_text_is_not_said_twice():
    def part(kind, text):
        return got(
            type="agent_chat_response_part", text_response_part={"type": kind, "text": text, "event_id": 2}
        )

    rows = [sent(type="user_message", text="Hi"), part("start", ""), part("delta", "Hel")]
    made = Made("elevenlabs", [*rows, part("delta", "lo"), part("stop", ""), answer("Hello", 2)])
    assert [p["text"] for p in made.of("response.text")] == ["Hel", "lo"]
    assert made.of("input.text") == [{"turn_id": "turn-1", "text": "Hi"}]


def test_commit_without_recorded_audio_gets_a_frame():
    made = Made("elevenlabs", [said("Hi", 3)])
    assert made.brief == [
        "turn.transcript turn-1 Hi true",
        "audio.frame turn-1 0 null null",
        "turn.commit turn-1",
    ]
    assert made.synthetic() == ["audio.frame", "turn.commit"]


def test_tools_that_the_platform_runs():
    mcp = {"tool_call_id": "m1", "tool_name": "search", "parameters": {"q": "x"}}
    rows = [
        said("Hi", 3),
        got(
            type="agent_tool_response",
            agent_tool_response={
                "tool_name": "end_call",
                "tool_call_id": "s1",
                "tool_type": "system",
                "is_error": False,
            },
        ),
        got(type="mcp_tool_call", mcp_tool_call={**mcp, "state": "loading"}),
        got(type="mcp_tool_call", mcp_tool_call={**mcp, "state": "failure", "error_message": "down"}),
    ]
    made = Made("elevenlabs", rows)
    assert made.brief[-4:] == [
        "tool.call s1 response-1 end_call  null",
        "tool.result s1 response-1 true null",
        "tool.call m1 response-1 search {'q': 'x'} null",
        "tool.result m1 response-1 false down",
    ]
    assert made.judged()[0] == []


def test_new_conversation_metadata_after_a_loss():
    rows = [METADATA, said("Hi", 3), speech(4), closed(1006), METADATA, said("Hello?", 3), speech(4)]
    made = Made("elevenlabs", [*rows, closed(1000)])
    types = [event["type"] for event in made.events]
    at = types.index("transport.disconnected")
    assert types[at : at + 2] == ["transport.disconnected", "transport.resumed"]
    assert made.summary["responses"]["started"] == 2
    assert made.judged()[0] == []


def test_unknown_messages_are_counted():
    rows = [got(type="brand_new"), sent(type="contextual_update", text="x"), got(x=1), chunk()]
    made = Made("elevenlabs", rows)
    assert made.summary["unmapped"] == {"(no type)": 1, "brand_new": 1, "contextual_update": 1}
    assert made.summary["mapped"] == 1


def test_compressed_audio_has_no_known_duration():
    event = {"agent_output_audio_format": "mp3_44100", "user_input_audio_format": "ulaw_8000"}
    rows = [
        got(type="conversation_initiation_metadata", conversation_initiation_metadata_event=event),
        sent(user_audio_chunk="A" * 320),
        speech(1),
    ]
    made = Made("elevenlabs", rows)
    assert made.of("audio.frame", "response.audio") == [
        {"turn_id": "turn-1", "sequence": 0, "duration_ms": 30, "speech": None},
        {"response_id": "response-1", "sequence": 0, "duration_ms": None},
    ]


def test_recorded_barge_in():
    path = shared("logs", "pydantic-ai-later", "elevenlabs_barge_in_while_response_open.excerpt.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    made = Made("elevenlabs", rows, clock="recorded")
    assert made.judged() == ([], [])
    assert [p["response_id"] for p in made.of("user.interrupt")] == ["response-1"]
    assert made.of("playback.cleared") == [
        {"response_id": "response-1", "played_ms": None, "spoken_text": "Elias..."}
    ]
    assert made.summary["unmapped"] == {}
    at = {event["type"]: event["at_ms"] for event in made.events}
    assert at["user.interrupt"] == 6828
