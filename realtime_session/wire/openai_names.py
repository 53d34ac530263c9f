"""Names of the OpenAI Realtime protocol family: beta and GA names, directions, dialects, error types.

Rests on the typed GA specification and on recorded traffic (wire protocols, sections 2, 3, 7 and 8).
"""

from __future__ import annotations

from realtime_session.wire.fields import name_of, object_of

GA, BETA, AZURE, VOICE_LIVE, XAI, DIALOG_RSN = (
    "openai-ga",
    "openai-beta",
    "azure",
    "azure-voice-live",
    "xai",
    "dialog-rsn-1",
)
DIALECTS = (GA, BETA, AZURE, VOICE_LIVE, XAI, DIALOG_RSN)

#: beta wire name -> the name used here
ALIASES = {
    f"response.{old}.{part}": f"response.{new}.{part}"
    for old, new in (
        ("audio", "output_audio"),
        ("audio_transcript", "output_audio_transcript"),
        ("text", "output_text"),
    )
    for part in ("delta", "done")
}

CLIENT_TYPES = frozenset(
    (
        "session.update",
        "transcription_session.update",
        "input_audio_buffer.append",
        "input_audio_buffer.commit",
        "input_audio_buffer.clear",
        "conversation.item.create",
        "conversation.item.retrieve",
        "conversation.item.delete",
        "conversation.item.truncate",
        "response.create",
        "response.cancel",
        "output_audio_buffer.clear",
        "poly.output_audio.started",
        "poly.output_audio.delta",
        "poly.output_audio.stopped",
    )
)

#: message types (GA names) that have a handler: the type with dots as underscores, behind on_
HANDLED = frozenset(
    (
        "session.created",
        "session.updated",
        "session.update",
        "input_audio_buffer.append",
        "input_audio_buffer.commit",
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.timeout_triggered",
        "input_audio_buffer.committed",
        "input_audio_buffer.dtmf_event_received",
        "conversation.item.input_audio_transcription.delta",
        "conversation.item.input_audio_transcription.updated",
        "conversation.item.input_audio_transcription.completed",
        "conversation.item.input_audio_transcription.failed",
        "conversation.item.create",
        "conversation.item.added",
        "conversation.item.created",
        "conversation.item.done",
        "conversation.item.truncated",
        "response.create",
        "response.created",
        "response.cancel",
        "response.output_item.added",
        "response.output_item.done",
        "response.function_call_arguments.done",
        "response.mcp_call_arguments.done",
        "response.mcp_call.completed",
        "response.mcp_call.failed",
        "response.output_text.delta",
        "response.output_text.done",
        "response.output_audio_transcript.delta",
        "response.output_audio_transcript.done",
        "response.output_audio.delta",
        "response.content_part.added",
        "response.done",
        "error",
        "output_audio_buffer.started",
        "output_audio_buffer.stopped",
        "output_audio_buffer.cleared",
        "poly.output_audio.started",
        "poly.output_audio.delta",
        "poly.output_audio.stopped",
    )
)

#: messages that only frame others: understood, and without an event of their own
STRUCTURE = frozenset(
    (
        "conversation.created",
        "conversation.item.deleted",
        "conversation.item.retrieved",
        "input_audio_buffer.cleared",
        "response.content_part.added",
        "response.content_part.done",
        "response.output_audio.done",
        "response.function_call_arguments.delta",
        "response.mcp_call_arguments.delta",
        "response.mcp_call.in_progress",
        "conversation.item.retrieve",
        "conversation.item.delete",
        "conversation.item.truncate",
        "input_audio_buffer.clear",
        "output_audio_buffer.clear",
        "transcription_session.update",
        "transcription_session.created",
        "transcription_session.updated",
    )
)

_PERMISSION = (
    "insufficient_quota",
    "invalid_api_key",
    "account_deactivated",
    "billing",
    "permission",
    "unauthorized",
    "authentication",
    "forbidden",
)


def error_type(error, default="internal"):
    """The contract's error_type for a wire error {type, code, message}."""
    error = object_of(error)
    words = " ".join(name_of(error.get(key)) or "" for key in ("code", "type")).lower()
    if any(word in words for word in _PERMISSION):
        return "permission_denied"
    if "rate_limit" in words or "too_many" in words:
        return "rate_limited"
    if "context_length" in words or "context_exceeded" in words:
        return "context_exceeded"
    if "audio_unintelligible" in words or "transcription_error" in words or "media" in words:
        return "media_corrupt"
    if "tool" in words or "mcp" in words:
        return "tool_failed"
    if "invalid" in words or "unsupported_parameter" in words or "unknown_parameter" in words:
        return "invalid_request"
    if "server_error" in words or "unavailable" in words or "overloaded" in words or "deployment" in words:
        return "provider_unavailable"
    return default


#: refusals that arrive with a type of their own kind but are only lost races of the client
_RACES = (
    "conversation_already_has_active_response",
    "response_cancel_not_active",
    "input_audio_buffer_commit_empty",
    "integer_below_min_value",
)


def wire_error_type(error):
    """As `error_type`, for `error` messages: the ordinary races are invalid requests."""
    return "invalid_request" if object_of(error).get("code") in _RACES else error_type(error)


class DialectGuess:
    """Collects evidence of the dialect, row by row."""

    __slots__ = ("_seen",)

    def __init__(self):
        self._seen = set()

    def type(self, type_):
        """A message type was met for the first time."""
        if type_.startswith("poly."):
            self._seen.add(DIALOG_RSN)
        elif type_ == "ping":
            self._seen.add(XAI)
        elif type_ in ALIASES:
            self._seen.add("beta names")
        elif type_ == "conversation.item.created":
            self._seen.add("created")
        elif type_ in ("conversation.item.done", "conversation.item.added"):
            self._seen.add(type_)

    def part_added(self, data):
        """Azure repeats the part of content_part.added as `content`."""
        if "content" in data:
            self._seen.add(AZURE)

    def session(self, session):
        """Session objects name their model and carry fields of one vendor."""
        model = name_of(session.get("model")) or ""
        voice = session.get("voice")
        if model.startswith("dialog-rsn") or any(key.startswith("poly_") for key in session):
            self._seen.add(DIALOG_RSN)
        elif model.startswith("grok"):
            self._seen.add(XAI)
        elif "input_audio_sampling_rate" in session or voice.__class__ is dict and "type" in voice:
            self._seen.add(VOICE_LIVE)
        elif "modalities" in session or "input_audio_format" in session:
            self._seen.add("beta names")

    def result(self):
        """The dialect that the evidence points to; plain GA without any."""
        seen = self._seen
        for dialect in (DIALOG_RSN, XAI, VOICE_LIVE):
            if dialect in seen:
                return dialect
        if "created" in seen and "conversation.item.done" in seen and "conversation.item.added" not in seen:
            return VOICE_LIVE
        if "beta names" in seen or "created" in seen:
            return BETA
        return AZURE if AZURE in seen else GA
