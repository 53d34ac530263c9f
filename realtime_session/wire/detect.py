"""Which protocol a log speaks, from its first rows."""

from __future__ import annotations

from itertools import islice

from realtime_session.wire.elevenlabs_names import TYPES as ELEVENLABS
from realtime_session.wire.fields import camel
from realtime_session.wire.rows import LogError, unwrap

LOOKED_AT = 500  # rows: a log that shows nothing by then is of no known protocol
_ENOUGH = 20  # rows that speak for one format
_TWILIO = ("connected", "start", "media", "stop", "mark", "dtmf", "clear")
_GEMINI = (
    "setup",
    "setupComplete",
    "serverContent",
    "clientContent",
    "realtimeInput",
    "toolCall",
    "toolResponse",
    "toolCallCancellation",
    "sessionResumptionUpdate",
)
_OPENAI = (
    "session.",
    "response.",
    "conversation.",
    "input_audio_buffer.",
    "output_audio_buffer.",
    "transcription_session.",
    "rate_limits.",
    "mcp_list_tools.",
    "poly.",
)


def detect(rows):
    """The format (a key of IMPORTERS) that most of the first rows speak for, or None.

    `rows` gives (number, parsed value); at most 500 of them are taken."""
    votes = {}
    for number, value in islice(rows, LOOKED_AT):
        try:
            row = unwrap(number, value)
        except LogError:
            continue
        format_ = of_message(row.data) if row.kind != "close" else None
        if format_ is not None:
            votes[format_] = votes.get(format_, 0) + 1
            if votes[format_] >= _ENOUGH:
                break
    return max(votes, key=votes.get) if votes else None


def of_message(data):
    """The format that one wire message can only belong to, or None."""
    type_ = data.get("type")
    if type_.__class__ is str:
        if type_.startswith(_OPENAI):
            return "openai"
        if type_ in ELEVENLABS and (type_ != "ping" or "ping_event" in data):
            return "elevenlabs"
        return None
    if type_ is not None:
        return None
    if data.get("event").__class__ is str and data["event"] in _TWILIO:
        return "twilio"
    if "user_audio_chunk" in data:
        return "elevenlabs"
    return "gemini" if any(camel(key) in _GEMINI for key in data) else None
