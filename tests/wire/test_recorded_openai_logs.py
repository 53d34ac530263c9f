"""Recorded OpenAI-protocol logs: counts survive the import, healthy logs break no rule."""

import json

from realtime_session.contract.session import Session
from realtime_session.wire.openai import OpenAIImporter

from ..shared_data import shared

OTHERS = ("google", "gemini", "elevenlabs", "twilio", "pipecat", "ga_event_examples", "translation")


def logs():
    return [
        path
        for path in sorted(shared("logs").rglob("*.jsonl"))
        if not any(word in str(path) for word in OTHERS)
    ]


def imported(rows):
    importer = OpenAIImporter()
    events = [event for number, row in enumerate(rows, 1) for event in importer.feed(number, row)]
    return importer, events + importer.finish()


def test_counts_survive_and_no_rule_is_broken():
    wrong = []
    paths = logs()
    for path in paths:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
        data = [row.get("data", row) for row in rows]
        importer, events = imported(rows)
        types = [event["type"] for event in events]
        ids = {
            (d.get("response") or {}).get("id") or d.get("response_id")
            for d in data
            if str(d.get("type")).startswith("response.")
        } - {None}
        spoken = sum(d.get("type") == "input_audio_buffer.committed" for d in data)
        calls = {
            (d["call_id"], d["arguments"])
            for d in data
            if d.get("type") == "response.function_call_arguments.done"
        }
        session = Session(importer.header())
        rejected = [d.violation.rule for d in map(session.receive, events) if d.kind == "rejected"]
        counted = (
            importer.mapped
            + sum(importer.noted.values())
            + sum(importer.unmapped.values())
            + importer.repeats
        )
        if (
            (types.count("response.started"), types.count("tool.call")) != (len(ids), len(calls))
            or rejected
            or types.count("turn.commit") < spoken
            or counted != len(rows)
        ):
            wrong.append((path.name, rejected))
    assert paths and wrong == []
