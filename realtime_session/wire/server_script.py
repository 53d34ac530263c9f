"""The JSON script of the scripted realtime server: what the model says, what the caller's audio holds, what
breaks. Strictly checked: an unknown key or a value out of range is refused with its JSON Pointer.

Times are whole milliseconds. `caller` lives on the appended-audio clock (how much audio the client has sent
on this connection); all other times live on the server's virtual clock.
"""

from __future__ import annotations

import re

from realtime_session.wire.server_core import json_problem

MAX_MS = 86_400_000
MAX_TEXT = 20_000

SOUNDS = ("speech", "noise", "echo", "backchannel")
TRANSCRIPT_WHEN = (
    "early",  # deltas while the caller still speaks
    "before_reply",  # complete before the first output of the reply
    "around_reply",  # starts before the reply's text and ends after it
    "with_reply",  # after the reply's text, before response.done
    "after_reply",  # after response.done
    "after_next_turn",  # after the transcript of the next turn
    "failed",
    "never",
)
# Milliseconds. The anchors are recorded traffic (wire.md 12), rounded.
TIMINGS = {
    "created_ms": 0,  # response.create to response.created
    "first_item_ms": 300,  # to the first output item
    "first_delta_ms": 120,  # to the first text or audio
    "delta_ms": 20,  # between deltas; much faster than the audio they carry
    "done_ms": 0,  # last finished item to response.done
    "confirm_ms": 100,  # the model's look at a proposed boundary or a possible barge-in
    "transcript_ms": 400,  # transcription that runs apart from the reply
    "rate_limits_ms": 29,
}
# Where a fault can strike: the GA names of what this server sends.
SERVER_EVENTS = (
    "session.created",
    "session.updated",
    "input_audio_buffer.speech_started",
    "input_audio_buffer.speech_stopped",
    "input_audio_buffer.committed",
    "input_audio_buffer.cleared",
    "input_audio_buffer.timeout_triggered",
    "conversation.item.added",
    "conversation.item.done",
    "conversation.item.deleted",
    "conversation.item.retrieved",
    "conversation.item.truncated",
    "conversation.item.input_audio_transcription.delta",
    "conversation.item.input_audio_transcription.completed",
    "conversation.item.input_audio_transcription.failed",
    "response.created",
    "response.output_item.added",
    "response.output_item.done",
    "response.content_part.added",
    "response.content_part.done",
    "response.output_text.delta",
    "response.output_text.done",
    "response.output_audio.delta",
    "response.output_audio.done",
    "response.output_audio_transcript.delta",
    "response.output_audio_transcript.done",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.done",
    "output_audio_buffer.started",
    "output_audio_buffer.stopped",
    "output_audio_buffer.cleared",
    "rate_limits.updated",
    "error",
)
STATUSES = ("completed", "failed", "incomplete")
INCOMPLETE_REASONS = ("max_output_tokens", "content_filter")
ACTIONS = ("close", "duplicate", "insert", "add_fields", "late_delta")


class ScriptError(ValueError):
    """A script that is not as documented. `path` is an RFC 6901 JSON Pointer ("" = the whole script)."""

    def __init__(self, path: str, expected: str, actual: str):
        super().__init__(f"script{path or ' (root)'}: expected {expected}, got {actual}")
        self.path = path
        self.expected = expected
        self.actual = actual


def show(value) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _whole(low, high):
    def check(value, path):
        if type(value) is not int or not low <= value <= high:
            raise ScriptError(path, f"a whole number from {low} to {high}", show(value))
        return value

    return check


def _text(value, path):
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise ScriptError(path, f"a string of at most {MAX_TEXT} characters", show(value))
    return value


def _name(value, path):
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_.:-]{1,128}", value):
        raise ScriptError(path, "a name of 1 to 128 characters from A-Z a-z 0-9 _ . : -", show(value))
    return value


def _flag(value, path):
    if not isinstance(value, bool):
        raise ScriptError(path, "true or false", show(value))
    return value


def _one_of(*choices):
    def check(value, path):
        if not isinstance(value, str) or value not in choices:
            raise ScriptError(path, "one of " + ", ".join(choices), show(value))
        return value

    return check


def _object(value, path):
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ScriptError(path, "an object", show(value))
    return value


def _list(check, longest=1000):
    def check_list(value, path):
        if not isinstance(value, list) or len(value) > longest:
            raise ScriptError(path, f"an array of at most {longest} entries", show(value))
        return [check(item, f"{path}/{number}") for number, item in enumerate(value)]

    return check_list


def _record(fields, required=()):
    def check(value, path):
        _object(value, path)
        for key in value:
            if key not in fields:
                pointer = path + "/" + key.replace("~", "~0").replace("/", "~1")
                raise ScriptError(pointer, "one of " + ", ".join(sorted(fields)), f"unknown key {show(key)}")
        for key in required:
            if key not in value:
                raise ScriptError(f"{path}/{key}", "a value", "nothing")
        return {key: fields[key](item, f"{path}/{key}") for key, item in value.items()}

    return check


def _span(value, path):
    if not isinstance(value, list) or len(value) != 2:
        raise ScriptError(path, "[from_ms, to_ms]", show(value))
    low = _whole(0, MAX_MS)(value[0], path + "/0")
    return [low, _whole(low + 1, MAX_MS)(value[1], path + "/1")]


_transcript_record = _record(
    {"text": _text, "when": _one_of(*TRANSCRIPT_WHEN), "code": _name, "message": _text},
)


def _transcript(value, path):
    if isinstance(value, str):
        return {"text": _text(value, path), "when": "with_reply"}
    made = _transcript_record(value, path)
    made.setdefault("text", "")
    made.setdefault("when", "with_reply")
    return made


_call = _record(
    {"name": _name, "arguments": _object, "arguments_text": _text, "call_id": _name},
    required=("name",),
)


def _one_call(value, path):
    made = _call(value, path)
    if ("arguments" in made) == ("arguments_text" in made):
        raise ScriptError(
            path, "either arguments or arguments_text", "both" if "arguments" in made else "none"
        )
    return made


_error = _record({"type": _name, "code": _name, "message": _text}, required=("type", "code"))
_timings = _record({name: _whole(0, MAX_MS) for name in TIMINGS})

_reply_record = _record(
    {
        "text": _text,
        "audio_ms": _whole(1, 600_000),
        "chunk_ms": _whole(10, 5_000),
        "calls": _list(_one_call, 16),
        "empty_part": _flag,
        "interleave": _flag,
        "reasoning_ms": _whole(0, MAX_MS),
        "cites": _list(_whole(1, 100_000)),
        "out_of_domain": _flag,
        "status": _one_of(*STATUSES),
        "reason": _one_of(*INCOMPLETE_REASONS),
        "error": _error,
        "timings": _timings,
    }
)


def _reply(value, path):
    made = _reply_record(value, path)
    status = made.setdefault("status", "completed")
    if ("error" in made) != (status == "failed"):
        raise ScriptError(
            path + "/error", "an error exactly where status is failed", show(value.get("error"))
        )
    if ("reason" in made) != (status == "incomplete"):
        raise ScriptError(
            path + "/reason", "a reason exactly where status is incomplete", show(value.get("reason"))
        )
    if made.get("interleave") and not (made.get("text") and made.get("calls")):
        raise ScriptError(path + "/interleave", "a reply with text and calls", show(True))
    if made.get("empty_part") and (made.get("text") or not made.get("calls")):
        raise ScriptError(path + "/empty_part", "a reply with calls and no text", show(True))
    made.setdefault("text", "")
    made.setdefault("calls", [])
    return made


_sound_record = _record(
    {
        "kind": _one_of(*SOUNDS),
        "from_ms": _whole(0, MAX_MS),
        "to_ms": _whole(1, MAX_MS),
        "pauses": _list(_span, 100),
        "transcript": _transcript,
        "connection": _whole(1, 1000),
    },
    required=("kind", "from_ms", "to_ms"),
)


def _sound(value, path):
    made = _sound_record(value, path)
    made.setdefault("connection", 1)
    made.setdefault("pauses", [])
    if made["to_ms"] <= made["from_ms"]:
        raise ScriptError(path + "/to_ms", "an end after from_ms", show(made["to_ms"]))
    last = made["from_ms"]
    for number, (start, end) in enumerate(made["pauses"]):
        if start <= last or end >= made["to_ms"]:
            raise ScriptError(
                f"{path}/pauses/{number}", "pauses in order, inside the sound", show([start, end])
            )
        last = end
    if made["pauses"] and made["kind"] != "speech":
        raise ScriptError(path + "/pauses", "pauses only in speech", made["kind"])
    return made


def _caller(value, path):
    made = _list(_sound)(value, path)
    ends = {}
    for number, sound in enumerate(made):
        if sound["from_ms"] < ends.get(sound["connection"], 0):
            raise ScriptError(
                f"{path}/{number}/from_ms", "sounds in order that do not overlap", show(sound["from_ms"])
            )
        ends[sound["connection"]] = sound["to_ms"]
    return made


_fault_record = _record(
    {
        "at": _one_of(*SERVER_EVENTS),
        "nth": _whole(1, 1_000_000),
        "do": _one_of(*ACTIONS),
        "code": _whole(1000, 4999),
        "event": _object,
        "fields": _object,
        "connection": _whole(1, 1000),
    },
    required=("at", "do"),
)
_NEEDS = {"close": {"code"}, "insert": {"event"}, "add_fields": {"fields"}}


def _fault(value, path):
    made = _fault_record(value, path)
    made.setdefault("nth", 1)
    made.setdefault("connection", 1)
    needs = _NEEDS.get(made["do"], set())
    for key in ("code", "event", "fields"):
        if (key in made) != (key in needs):
            raise ScriptError(f"{path}/{key}", f"{key} exactly where do needs it", made["do"])
    if made["do"] == "insert" and not isinstance(made["event"].get("type"), str):
        raise ScriptError(path + "/event/type", "a string", show(made["event"].get("type")))
    return made


_version = _whole(1, 1)
_script = _record(
    {
        "version": _version,
        "about": _text,
        "replies": _list(_reply),
        "out_of_band_replies": _list(_reply),
        "caller": _caller,
        "timings": _timings,
        "faults": _list(_fault),
        "transport": _one_of("websocket", "webrtc"),
        "sideband": _flag,
        "text_only": _flag,
        "ms_per_word": _whole(1, 10_000),
        "default_text": _text,
    }
)


def read_script(value) -> dict:
    """The script with every default filled in. Raises ScriptError(path, expected, actual)."""
    problem = json_problem(value, 64)
    if problem:
        raise ScriptError("", "a JSON object", problem)
    made = _script(value, "")
    made["timings"] = {**TIMINGS, **made.get("timings", {})}
    for key in ("replies", "out_of_band_replies", "caller", "faults"):
        made.setdefault(key, [])
    made.setdefault("transport", "websocket")
    made.setdefault("sideband", False)
    made.setdefault("text_only", False)
    made.setdefault("ms_per_word", 400)  # 150 words a minute, a typical speaking rate
    made.setdefault("default_text", "All right.")
    return made
