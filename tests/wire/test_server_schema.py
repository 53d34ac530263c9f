"""The server's events against the published field table and recorded orders (skipped where absent)."""

import json

import pytest
from server_harness import Client
from shared_data import shared

from realtime_session.wire.server_faults import FAULTS


def table(generation):
    path = shared("logs", "openai-openapi", "realtime_event_fields.json")
    found = json.loads(path.read_text(encoding="utf-8"))
    return found["events"][generation]["server"], found["beta_wire_names"]


def session_of(name, profile):
    client = Client.on_fault(name, profile)
    if profile == "openai_ga":
        detection = {"type": "server_vad", "idle_timeout_ms": 5_000 if name == "idle_nudge" else None}
        client.update(audio={"input": {"turn_detection": detection, "transcription": {"model": "any"}}})
    if not client.server.script["caller"]:
        client.say("Where is my order?")
        client.send("response.create")
    client.listen(10_000)
    client.send("response.cancel")
    client.send("input_audio_buffer.clear")
    return client


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if "openai_ga" in fault["profiles"]])
def test_ga_events_have_the_published_fields(name):
    events, _ = table("ga")
    injected = {"ping", "obfuscation", "phase"}
    for event in session_of(name, "openai_ga").events:
        if event["type"] in injected:
            continue
        spec = events[event["type"]]
        assert set(spec["required"]) <= set(event), event
        assert set(event) - injected <= set(spec["fields"]), event


def test_beta_events_have_the_names_of_the_beta_wire():
    _, beta = table("beta")
    types = {
        kind
        for name in ("transcript_late", "barge_in_after_done")
        for kind in session_of(name, "openai_beta").kinds()
    }
    assert types.isdisjoint(beta)
    assert "conversation.item.done" not in types
    assert "response.audio.delta" in types


def steps(kinds):
    """An order of types: repeats of deltas folded, what may come at any time left out."""
    free = (
        "conversation.item.input_audio_transcription.",
        "rate_limits.",
        "session.",
        "response.output_audio",
    )
    out = []
    for kind in kinds:
        if not kind.startswith(free) and (not out or out[-1] != kind):
            out.append(kind)
    return out


def test_spoken_turn_has_the_order_of_a_recorded_one():
    path = shared("logs", "pydantic-ai", "openai__audio_in_server_vad_turn.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    recorded = [row["data"]["type"] for row in rows if row["direction"] == "received"]
    script = {"caller": [{"kind": "speech", "from_ms": 1760, "to_ms": 4056}]}
    client = Client(script, "openai_ga")
    client.listen(8_000)
    assert steps(client.kinds()) == steps(recorded)
    offsets = {row["data"]["type"]: row["data"] for row in rows if row["direction"] == "received"}
    for kind, field in (("speech_started", "audio_start_ms"), ("speech_stopped", "audio_end_ms")):
        kind = f"input_audio_buffer.{kind}"
        assert client.of(kind)[0][field] == offsets[kind][field]


def test_tool_round_with_interleaved_items_has_the_order_of_a_recorded_one():
    path = shared("logs", "pydantic-ai", "parity__text_tool_round_parity--openai-current.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    recorded = [row["data"]["type"] for row in rows if row["direction"] == "received"]
    call = {"name": "get_weather", "arguments": {"city": "London"}}
    client = Client({"replies": [{"text": "I will look.", "calls": [call], "interleave": True}]}, "openai_ga")
    client.update(output_modalities=["text"])
    client.say("Weather?")
    client.send("response.create")
    client.wait(9_000)
    end = recorded.index("response.done") + 1

    def folded(kinds):
        deltas = ("response.output_text.delta", "response.function_call_arguments.delta")
        return [kind for kind in steps(kinds) if kind not in deltas]

    assert folded(client.kinds()) == folded(recorded[:end])
