"""Hostile logs: whatever the rows hold, the importer neither crashes nor writes an event of a wrong form."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from realtime_session.contract.events import explain
from realtime_session.contract.session import Session
from realtime_session.values.errors import InputError
from realtime_session.wire.openai import OpenAIImporter
from realtime_session.wire.openai_names import ALIASES, CLIENT_TYPES, HANDLED

WORDS = st.sampled_from(
    [
        "r1",
        "r2",
        "a1",
        "u1",
        "c1",
        "e1",
        "",
        "none",
        "completed",
        "cancelled",
        "user",
        "message",
        "function_call",
        "function_call_output",
        "mcp_call",
        "input_audio",
        "{}",
        '{"a":1}',
        "#",
        "imp-1",
    ]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 700000)
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS
)
NAMES = st.sampled_from(
    [
        "id",
        "type",
        "role",
        "status",
        "status_details",
        "reason",
        "error",
        "code",
        "content",
        "text",
        "transcript",
        "call_id",
        "name",
        "arguments",
        "output",
        "tools",
        "parameters",
        "audio",
        "input",
        "format",
        "rate",
        "turn_detection",
        "conversation_id",
        "metadata",
        "annotations",
    ]
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        "event_id",
        "response_id",
        "item_id",
        "call_id",
        "item",
        "response",
        "session",
        "delta",
        "audio",
        "audio_start_ms",
        "audio_end_ms",
        "audio_ms",
        "spoken_text",
        "transcript",
        "text",
        "arguments",
        "name",
        "error",
        "previous_item_id",
        "content_index",
        "status",
        "event",
    ]
)
TYPES = st.sampled_from(sorted(HANDLED | CLIENT_TYPES | set(ALIASES))) | LEAVES
MESSAGES = st.builds(
    lambda type_, fields: {"type": type_, **fields}, TYPES, st.dictionaries(FIELDS, VALUES, max_size=6)
)
ROWS = st.one_of(
    MESSAGES,
    st.builds(
        lambda d, m, at: {"direction": d, "data": m, "at": at},
        st.sampled_from(["sent", "received", "?"]),
        MESSAGES,
        LEAVES,
    ),
    st.builds(lambda data: {"kind": "close", "data": data}, VALUES),
    VALUES,
)


def imported(rows):
    importer, events = OpenAIImporter(), []
    for number, row in enumerate(rows, 1):
        try:
            events += importer.feed(number, row)
        except InputError as error:
            assert error.line == number
    return importer, events + importer.finish()


@settings(max_examples=300, deadline=None)
@given(st.lists(ROWS, max_size=25))
def test_hostile_rows_give_only_well_formed_events(rows):
    importer, events = imported(rows)
    assert [explain(event, "full_duplex") for event in events if explain(event, "full_duplex")] == []
    times = [event["at_ms"] for event in events]
    assert times == sorted(times)
    session = Session(importer.header())
    for event in events:
        session.receive(event)
    json.dumps(importer.summary(), allow_nan=False)


@settings(max_examples=100, deadline=None)
@given(st.lists(ROWS, max_size=15))
def test_importing_is_deterministic(rows):
    (first, events), (second, again) = imported(rows), imported(rows)
    assert events == again
    assert (first.header(), first.summary()) == (second.header(), second.summary())


# A small live server whose logs are healthy by construction: any interleaving of what really interleaves.
STEPS = st.lists(
    st.sampled_from(
        [
            "speech",
            "noise",
            "append",
            "typed",
            "reply",
            "delta",
            "sound",
            "end",
            "cancel",
            "call",
            "output",
            "transcript",
            "started",
            "stopped",
            "drop",
            "ping",
        ]
    ),
    max_size=40,
)


def healthy(steps):
    """A log in which the server keeps its own rules: one active response, ends once, refuses nothing."""
    rows, active, count, calls, sounding = [], None, 0, [], None

    def got(type_, **fields):
        rows.append({"direction": "received", "data": {"type": type_, "event_id": f"s{len(rows)}", **fields}})

    def end(status, **details):
        nonlocal active
        got("response.done", response={"id": active, "status": status, "status_details": details})
        active = None

    got("session.created", session={"id": "sess"})
    for step in steps:
        count += 1
        if step in ("speech", "noise"):
            got("input_audio_buffer.speech_started", item_id=f"u{count}", audio_start_ms=count * 10)
            if active:
                end("cancelled", reason="turn_detected")
            if sounding:
                got("output_audio_buffer.cleared", response_id=sounding)
                sounding = None
            if step == "speech":
                got("input_audio_buffer.speech_stopped", item_id=f"u{count}", audio_end_ms=count * 10 + 5)
                got("input_audio_buffer.committed", item_id=f"u{count}")
        elif step == "append":
            rows.append(
                {"direction": "sent", "data": {"type": "input_audio_buffer.append", "audio": "A" * 1280}}
            )
        elif step == "typed":
            got(
                "conversation.item.added",
                item={
                    "id": f"t{count}",
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "x"}],
                },
            )
        elif step == "reply" and not active:
            active = f"r{count}"
            got("response.created", response={"id": active})
        elif step == "delta" and active:
            got(
                "response.output_audio_transcript.delta",
                response_id=active,
                item_id=f"a{active}",
                delta="word ",
            )
        elif step == "sound" and active:
            got("response.output_audio.delta", response_id=active, item_id=f"a{active}", delta="A" * 1280)
        elif step == "started" and active and not sounding:
            sounding = active
            got("output_audio_buffer.started", response_id=active)
        elif step == "stopped" and sounding:
            got("output_audio_buffer.stopped", response_id=sounding)
            sounding = None
        elif step == "end" and active:
            end("completed")
        elif step == "cancel" and active:
            rows.append({"direction": "sent", "data": {"type": "response.cancel", "response_id": active}})
            end("cancelled", reason="client_cancelled")
        elif step == "call" and active:
            calls.append(f"c{count}")
            got(
                "response.function_call_arguments.done",
                response_id=active,
                item_id=f"f{count}",
                call_id=calls[-1],
                name="look_up",
                arguments="{}",
            )
        elif step == "output" and calls:
            got(
                "conversation.item.added",
                item={
                    "id": f"o{count}",
                    "type": "function_call_output",
                    "call_id": calls.pop(),
                    "output": "x",
                },
            )
        elif step == "transcript":
            got(
                "conversation.item.input_audio_transcription.completed",
                item_id=f"u{count - 1}",
                transcript="x",
            )
        elif step == "drop":
            rows.append({"kind": "close", "data": {"code": 1006}})
            got("session.created", session={"id": f"sess{count}"})
            got("session.updated", session={})
            active = sounding = None
        elif step == "ping":
            got("ping")
    return rows


@settings(max_examples=400, deadline=None)
@given(STEPS)
def test_healthy_logs_break_no_rule(steps):
    rows = healthy(steps)
    importer, events = imported(rows)
    session = Session(importer.header())
    broken = [
        (d.violation.rule, e["event_id"]) for e in events if (d := session.receive(e)).kind == "rejected"
    ]
    assert broken == []
    began = sum(r["data"]["type"] == "response.created" for r in rows if "direction" in r)
    assert sum(e["type"] == "response.started" for e in events) == began


def mutated(value, path, new):
    """A copy of a JSON value in which what lies at a path (indices, taken modulo) is something else."""
    if not path or not isinstance(value, (dict, list)) or not value:
        return new
    keys = list(value) if isinstance(value, dict) else range(len(value))
    key = keys[path[0] % len(value)]
    copy = value.copy()
    copy[key] = mutated(value[key], path[1:], new)
    return copy


MUTATIONS = st.lists(st.tuples(st.lists(st.integers(0, 40), min_size=1, max_size=5), VALUES), max_size=8)


@settings(max_examples=300, deadline=None)
@given(STEPS, MUTATIONS)
def test_mutated_healthy_logs_give_only_well_formed_events(steps, mutations):
    rows = healthy(steps)
    for path, new in mutations:
        rows = mutated(rows, path, new)
    importer, events = imported(rows)
    assert [found for event in events if (found := explain(event, "full_duplex"))] == []
    Session(importer.header())


@settings(max_examples=100, deadline=None)
@given(STEPS, st.data())
def test_rows_delivered_twice_change_nothing(steps, data):
    rows = healthy(steps)
    twice = [
        i for i, row in enumerate(rows) if "event_id" in (row.get("data") or {}) and data.draw(st.booleans())
    ]
    again = [row for i, row in enumerate(rows) for row in [row] * (2 if i in twice else 1)]
    importer, events = imported(again)
    assert [(e["type"], e["payload"]) for e in events] == [
        (e["type"], e["payload"]) for e in imported(rows)[1]
    ]
    assert importer.repeats == len(twice)
