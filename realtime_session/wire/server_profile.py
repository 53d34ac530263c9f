"""The dialects of the scripted server as data: OpenAI Realtime GA, OpenAI beta, and the registry.

Dialog-RSN-1 is in dialog_rsn.py. Facts: the typed specification and recorded traffic (wire.md 2 to 6).
"""

from __future__ import annotations

from realtime_session.wire import server_config as check
from realtime_session.wire.server_config import Nullable

GA_FORMAT = {
    "type": check.choice("audio/pcm", "audio/pcmu", "audio/pcma"),
    "rate": check.whole(8_000, 48_000),
}
GA_DETECTION = {
    "type": check.choice("server_vad", "semantic_vad"),
    "threshold": check.number(0, 1),
    "prefix_padding_ms": check.whole(0, 10_000),
    "silence_duration_ms": check.whole(0, 10_000),
    "idle_timeout_ms": lambda value, path: value is None or check.whole(5_000, 30_000)(value, path),
    "create_response": check.flag,
    "interrupt_response": check.flag,
    "eagerness": check.choice("low", "medium", "high", "auto"),
}
GA_TRANSCRIPTION = {"model": check.text, "language": check.text_or_null, "prompt": check.text_or_null}
GA_SESSION = {
    "type": check.choice("realtime"),
    "model": check.text,
    "instructions": check.text,
    "output_modalities": check.modalities(["audio"], ["text"]),
    "tools": check.tools,
    "tool_choice": check.tool_choice,
    "max_output_tokens": check.max_tokens,
    "tracing": check.anything,
    "truncation": check.anything,
    "prompt": check.obj_or_null,
    "include": check.anything,
    "reasoning": check.obj_or_null,
    "audio": {
        "input": {
            "format": GA_FORMAT,
            "transcription": Nullable(GA_TRANSCRIPTION),
            "noise_reduction": Nullable({"type": check.text}),
            "turn_detection": Nullable(GA_DETECTION),
        },
        "output": {"format": GA_FORMAT, "voice": check.text, "speed": check.number(0.25, 1.5)},
    },
}
GA_RESPONSE = {
    "conversation": check.choice("auto", "none"),
    "metadata": check.obj_or_null,
    "input": lambda value, path: check_list(value, path),
    "instructions": check.text,
    "output_modalities": check.modalities(["audio"], ["text"]),
    "tools": check.tools,
    "tool_choice": check.tool_choice,
    "max_output_tokens": check.max_tokens,
    "audio": {"output": {"format": GA_FORMAT, "voice": check.text}},
    "prompt": check.obj_or_null,
    "reasoning": check.obj_or_null,
}
BETA_FORMAT = check.choice("pcm16", "g711_ulaw", "g711_alaw")
BETA_DETECTION = {key: rule for key, rule in GA_DETECTION.items() if key != "idle_timeout_ms"}
BETA_MODALITIES = check.modalities(["audio", "text"], ["text"])
BETA_SESSION = {
    "model": check.text,
    "modalities": BETA_MODALITIES,
    "instructions": check.text,
    "voice": check.text,
    "input_audio_format": BETA_FORMAT,
    "output_audio_format": BETA_FORMAT,
    "input_audio_transcription": Nullable(GA_TRANSCRIPTION),
    "input_audio_noise_reduction": Nullable({"type": check.text}),
    "turn_detection": Nullable(BETA_DETECTION),
    "tools": check.tools,
    "tool_choice": check.tool_choice,
    "temperature": check.number(0, 2),
    "max_response_output_tokens": check.max_tokens,
    "speed": check.number(0.25, 1.5),
    "tracing": check.anything,
}
BETA_RESPONSE = {
    "conversation": check.choice("auto", "none"),
    "metadata": check.obj_or_null,
    "input": lambda value, path: check_list(value, path),
    "instructions": check.text,
    "modalities": BETA_MODALITIES,
    "voice": check.text,
    "output_audio_format": BETA_FORMAT,
    "tools": check.tools,
    "tool_choice": check.tool_choice,
    "temperature": check.number(0, 2),
    "max_response_output_tokens": check.max_tokens,
}
BETA_NAMES = {
    "response.output_audio.delta": "response.audio.delta",
    "response.output_audio.done": "response.audio.done",
    "response.output_audio_transcript.delta": "response.audio_transcript.delta",
    "response.output_audio_transcript.done": "response.audio_transcript.done",
    "response.output_text.delta": "response.text.delta",
    "response.output_text.done": "response.text.done",
    "conversation.item.added": "conversation.item.created",
}


def check_list(value, path):
    if not isinstance(value, list):
        raise check.refuse_type(path, "an array", value)


class Profile:
    """One dialect. Attributes:

    flat: session fields as the beta wire has them; names: wire name by GA name; one_item_event: an item is
    announced once (beta) instead of added and done; call_id_width: characters of a call id; first_previous:
    what previous_item_id says for the first item; echoes_metadata: response.metadata comes back;
    rate_limits: when rate_limits.updated is sent ("after_done", "after_created" or None); confirms_turns:
    the model judges boundaries and possible barge-ins, and writes the transcript itself; poly: the poly.*
    events and fields exist; session_type_required: session.update must carry type.
    """

    __slots__ = (
        "call_id_width",
        "confirms_turns",
        "default_session",
        "echoes_metadata",
        "first_previous",
        "flat",
        "known_response_fields",
        "known_session_fields",
        "name",
        "names",
        "one_item_event",
        "poly",
        "rate_limits",
        "response_fields",
        "session_fields",
        "session_type_required",
    )

    def __init__(self, name, default_session, session_fields, response_fields, **settings):
        self.name = name
        self.default_session = default_session
        self.session_fields = session_fields
        self.response_fields = response_fields
        defaults = {
            "flat": False,
            "names": {},
            "one_item_event": False,
            "call_id_width": 21,
            "first_previous": None,
            "echoes_metadata": True,
            "rate_limits": "after_done",
            "confirms_turns": False,
            "poly": False,
            "session_type_required": False,
            "known_session_fields": {},
            "known_response_fields": {},
        }
        for key, value in {**defaults, **settings}.items():
            setattr(self, key, value)


def ga_session(text_only: bool = False) -> dict:
    """The session object after connecting, as recorded (values of the service's own choosing are neutral)."""
    return {
        "type": "realtime",
        "object": "realtime.session",
        "id": "",
        "model": "gpt-realtime",
        "output_modalities": ["text" if text_only else "audio"],
        "instructions": "Be brief and kind.",
        "tools": [],
        "tool_choice": "auto",
        "max_output_tokens": "inf",
        "tracing": None,
        "truncation": "auto",
        "prompt": None,
        "expires_at": 1_800_000_000,
        "audio": {
            "input": {
                "format": {"type": "audio/pcm", "rate": 24_000},
                "transcription": None,
                "noise_reduction": None,
                "turn_detection": {
                    "type": "server_vad",
                    "threshold": 0.5,
                    "prefix_padding_ms": 300,
                    "silence_duration_ms": 200,
                    "idle_timeout_ms": None,
                    "create_response": True,
                    "interrupt_response": True,
                },
            },
            "output": {"format": {"type": "audio/pcm", "rate": 24_000}, "voice": "alloy", "speed": 1.0},
        },
        "include": None,
    }


def beta_session(text_only: bool = False) -> dict:
    """As `ga_session`, with the beta's flat fields."""
    return {
        "object": "realtime.session",
        "id": "",
        "model": "gpt-4o-realtime-preview",
        "modalities": ["text"] if text_only else ["audio", "text"],
        "instructions": "Be brief and kind.",
        "voice": "alloy",
        "input_audio_format": "pcm16",
        "output_audio_format": "pcm16",
        "input_audio_transcription": None,
        "input_audio_noise_reduction": None,
        "turn_detection": {
            "type": "server_vad",
            "threshold": 0.5,
            "prefix_padding_ms": 300,
            "silence_duration_ms": 200,
            "create_response": True,
            "interrupt_response": True,
        },
        "tools": [],
        "tool_choice": "auto",
        "temperature": 0.8,
        "max_response_output_tokens": "inf",
        "speed": 1.0,
        "tracing": None,
        "expires_at": 1_800_000_000,
    }


OPENAI_GA = Profile(
    "openai_ga",
    ga_session,
    lambda text_only: GA_SESSION,
    lambda text_only: GA_RESPONSE,
    session_type_required=True,
)
OPENAI_BETA = Profile(
    "openai_beta",
    beta_session,
    lambda text_only: BETA_SESSION,
    lambda text_only: BETA_RESPONSE,
    flat=True,
    names=BETA_NAMES,
    one_item_event=True,
    rate_limits="after_created",
)
