"""Named scripts of what goes wrong, or only unusually, on a realtime connection (wire.md 4, 5 and 11).

`fault_script(name)` gives a script for RealtimeServer; `FAULTS[name]` tells what the client lives through
and on which profiles. All of them expect the caller's audio at the pace of the virtual clock:
append 100 ms, advance 100 ms. The caller speaks from 200 to 1200 ms of audio.
"""

from __future__ import annotations

from realtime_session.wire.server_core import ServerError, clone

ALL = ("dialog_rsn_1", "openai_ga", "openai_beta")
OPENAI = ("openai_ga", "openai_beta")
LONG = "Your order left our warehouse this morning and it should reach you before noon on Thursday."


def _speech(start: int, end: int, text: str, when: str = "with_reply") -> dict:
    return {"kind": "speech", "from_ms": start, "to_ms": end, "transcript": {"text": text, "when": when}}


FIRST = _speech(200, 1200, "Where is my order?")
TOOL = {"name": "find_order", "arguments": {"number": 17}}


def _barge_in(start: int, transport: str = "websocket", **reply) -> dict:
    return {
        "version": 1,
        "transport": transport,
        "caller": [FIRST, _speech(start, start + 900, "No, wait.")],
        "replies": [{"text": LONG, **reply}, {"text": "Sure, go on."}],
    }


def _turn(*faults, caller=(FIRST,), **more) -> dict:
    script = {"version": 1, "caller": list(caller), "replies": [{"text": LONG, "audio_ms": 4000}]}
    return {**script, "faults": list(faults), **more}


def _transcripts(first: str, second: str = "with_reply") -> dict:
    caller = [_speech(200, 1200, "Where is my order?", first), _speech(9000, 9900, "Thank you.", second)]
    replies = [{"text": "On its way.", "audio_ms": 1000}, {"text": "Any time.", "audio_ms": 1000}]
    return {"version": 1, "caller": caller, "replies": replies}


def _both_deltas(fault: dict) -> list:
    """The same fault in a speaking and in a writing session."""
    return [{"at": f"response.output_{kind}.delta", **fault} for kind in ("audio_transcript", "text")]


def _named(about: str, profiles: tuple, script: dict) -> dict:
    return {"about": about, "profiles": profiles, "script": {**script, "about": about}}


FAULTS = {
    "barge_in_before_output": _named(
        "The caller goes on before the reply has any output: it is cancelled empty (case A).",
        OPENAI,
        _barge_in(1550),
    ),
    "barge_in_mid_generation": _named(
        "The caller speaks while the reply is generated and played by the server's own channel (case B).",
        OPENAI,
        _barge_in(2200, "webrtc", audio_ms=10_000),
    ),
    "barge_in_items_done": _named(
        "The caller speaks when every item is done and response.done is still to come (case C).",
        OPENAI,
        _barge_in(2600, "webrtc", audio_ms=4_000, timings={"done_ms": 3_000}),
    ),
    "barge_in_after_done": _named(
        "The caller speaks over audio of a response that is completed already (case D).",
        OPENAI,
        _barge_in(4000, "webrtc", audio_ms=8_000),
    ),
    "barge_in_websocket": _named(
        "The caller speaks over a reply that the client itself plays: it must stop the sound (case E).",
        ALL,
        _barge_in(2700, audio_ms=10_000),
    ),
    "transcript_early": _named(
        "The transcript streams while the caller still speaks.", ALL, _transcripts("early")
    ),
    "transcript_around_reply": _named(
        "The transcript begins before the reply's text and ends after it.", ALL, _transcripts("around_reply")
    ),
    "transcript_late": _named("The transcript comes after response.done.", ALL, _transcripts("after_reply")),
    "transcript_failed": _named(
        "The transcription fails and the reply goes on.", ALL, _transcripts("failed")
    ),
    "transcript_never": _named("No transcript ever comes.", ALL, _transcripts("never")),
    "transcripts_out_of_order": _named(
        "The first turn's transcript comes after the second turn's.", ALL, _transcripts("after_next_turn")
    ),
    "late_created": _named(
        "response.created comes long after response.create, when a client may have given up.",
        ALL,
        {"version": 1, "replies": [{"text": "Here at last.", "timings": {"created_ms": 8_000}}]},
    ),
    "duplicate_delivery": _named(
        "One event is delivered twice under one id.", ALL, _turn(*_both_deltas({"nth": 2, "do": "duplicate"}))
    ),
    "late_delta_after_cancel": _named(
        "An audio delta of a cancelled response arrives after its response.done.",
        ALL,
        {**_barge_in(2700, audio_ms=10_000), "faults": [{"at": "response.done", "do": "late_delta"}]},
    ),
    "close_mid_response": _named(
        "The connection breaks with 1011 in the middle of a reply.",
        ALL,
        _turn(*_both_deltas({"nth": 3, "do": "close", "code": 1011})),
    ),
    "close_mid_tool": _named(
        "The connection breaks with 1011 while the client runs a tool.",
        ALL,
        {
            "version": 1,
            "caller": [FIRST],
            "replies": [{"calls": [TOOL]}, {"text": "It is on its way."}],
            "faults": [{"at": "response.done", "do": "close", "code": 1011}],
        },
    ),
    "reconnect": _named(
        "The connection breaks and a second one begins: new session, item and event ids, nothing remembered.",
        ALL,
        _turn(
            *_both_deltas({"nth": 3, "do": "close", "code": 1011}),
            caller=(FIRST, {**_speech(200, 1000, "Are you there?"), "connection": 2}),
        ),
    ),
    "error_without_event_id": _named(
        "An error arrives that names no client event; the session goes on.",
        ALL,
        _turn(
            {
                "at": "response.created",
                "do": "insert",
                "event": {
                    "type": "error",
                    "error": {
                        "type": "server_error",
                        "code": None,
                        "message": "The server had an error while processing your request.",
                        "param": None,
                        "event_id": None,
                    },
                },
            }
        ),
    ),
    "unknown_event": _named(
        "An event of a type that no document names.",
        ALL,
        _turn({"at": "response.created", "do": "insert", "event": {"type": "ping", "timestamp": 1}}),
    ),
    "unknown_fields": _named(
        "Events carry fields that no document names.",
        ALL,
        _turn(
            *_both_deltas({"do": "add_fields", "fields": {"obfuscation": "x7Gq"}}),
            {"at": "response.created", "do": "add_fields", "fields": {"phase": "final_answer"}},
        ),
    ),
    "arguments_invalid_json": _named(
        "A tool call whose arguments are not JSON.",
        ALL,
        {"version": 1, "replies": [{"calls": [{"name": "find_order", "arguments_text": '{"number": 17'}]}]},
    ),
    "two_calls": _named(
        "Two tool calls in one response.",
        OPENAI,
        {
            "version": 1,
            "replies": [
                {"calls": [TOOL, {"name": "find_order", "arguments": {"number": 18}}]},
                {"text": "Both are on their way."},
            ],
        },
    ),
    "interleaved_items": _named(
        "A text item and a tool call whose deltas alternate.",
        OPENAI,
        {
            "version": 1,
            "replies": [
                {"text": "I will look that up for you.", "calls": [TOOL], "interleave": True},
                {"text": "It is on its way."},
            ],
        },
    ),
    "out_of_band_in_parallel": _named(
        "A response outside the conversation runs beside the reply; ask for it with conversation none.",
        ALL,
        {
            "version": 1,
            "replies": [{"text": LONG, "audio_ms": 4000}],
            "out_of_band_replies": [{"text": "topic: orders"}],
        },
    ),
    "response_failed": _named(
        "A generation fails: response.done says so, and no error event does.",
        ALL,
        {
            "version": 1,
            "caller": [FIRST],
            "replies": [
                {
                    "status": "failed",
                    "error": {"type": "server_error", "code": "inference_rate_limit_exceeded"},
                }
            ],
        },
    ),
    "response_incomplete": _named(
        "A reply stops at its token limit.",
        ALL,
        {"version": 1, "replies": [{"text": LONG, "status": "incomplete", "reason": "max_output_tokens"}]},
    ),
    "idle_nudge": _named(
        "Nobody speaks after a reply: the silence is committed and answered (set idle_timeout_ms).",
        ("openai_ga",),
        {
            "version": 1,
            "caller": [FIRST],
            "replies": [{"text": "What is the number?", "audio_ms": 1500}, {"text": "Are you still there?"}],
        },
    ),
    "noise_onset": _named(
        "A sound starts a turn and is judged to be noise: no speech_stopped follows.",
        ("dialog_rsn_1",),
        {
            "version": 1,
            "caller": [{"kind": "noise", "from_ms": 200, "to_ms": 500}, _speech(2000, 2900, "Hello?")],
        },
    ),
    "mid_sentence_pause": _named(
        "A pause that ends the turn for a detector and not for a model that listens.",
        ALL,
        {
            "version": 1,
            "caller": [
                {**_speech(200, 3000, "I would like to move my appointment"), "pauses": [[1000, 1900]]}
            ],
        },
    ),
    "echo_over_reply": _named(
        "The microphone hears the agent's own reply.",
        ("dialog_rsn_1",),
        {
            "version": 1,
            "caller": [FIRST, {"kind": "echo", "from_ms": 2700, "to_ms": 3500}],
            "replies": [{"text": LONG, "audio_ms": 10_000}],
        },
    ),
    "backchannel_over_reply": _named(
        "The caller says yes, go on, while the agent speaks.",
        ("dialog_rsn_1",),
        {
            "version": 1,
            "caller": [FIRST, {"kind": "backchannel", "from_ms": 2700, "to_ms": 3000, "transcript": "Mhm."}],
            "replies": [{"text": LONG, "audio_ms": 10_000}],
        },
    ),
}


def fault_script(name: str) -> dict:
    """A copy of the named script. Raises ServerError for a name that does not exist."""
    if name not in FAULTS:
        raise ServerError(f"unknown fault script {name!r}; there are {', '.join(FAULTS)}")
    return clone(FAULTS[name]["script"])
