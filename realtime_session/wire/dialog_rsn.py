"""Dialog-RSN-1 (PolyAI) as a profile of the scripted server: where it departs from OpenAI Realtime GA.

Sources: the vendor's overview page (seed 002) and the facts collected in wire.md section 8. The vendor's
reference page was not available, so what these two leave open is decided here and listed in
docs/protocols/dialog-rsn-1-behaviours.md.
"""

from __future__ import annotations

from realtime_session.wire import server_config as check
from realtime_session.wire.server_config import Nullable
from realtime_session.wire.server_profile import (
    GA_FORMAT,
    GA_RESPONSE,
    GA_SESSION,
    GA_TRANSCRIPTION,
    Profile,
    check_list,
    ga_session,
)

CALL_ID_WIDTH = 37
# No VAD tuning: the detector is infrastructure and the judgement is the model's.
DETECTION = {
    "type": check.choice("server_vad"),
    "create_response": check.flag,
    "interrupt_response": check.flag,
}
INPUT = {
    "format": GA_FORMAT,
    "transcription": Nullable(GA_TRANSCRIPTION),
    "turn_detection": Nullable(DETECTION),
}
OUTPUT = {"format": GA_FORMAT, "voice": check.text}
SESSION = {
    "type": check.choice("realtime"),
    "model": check.text,
    "instructions": check.text,
    "output_modalities": check.modalities(["audio"], ["text"]),
    "tools": check.tools,
    "tool_choice": check.tool_choice,
    "max_output_tokens": check.max_tokens,
    "audio": {"input": INPUT, "output": OUTPUT},
    "poly_knowledge": check.knowledge,
    "poly_response_language": check.text_or_null,
    "poly_input_rate": lambda value, path: value is None or check.whole(8_000, 48_000)(value, path),
}
# A deployment that only writes: it refuses the audio modality and everything about a voice.
TEXT_ONLY_SESSION = {
    **SESSION,
    "output_modalities": check.modalities(["text"]),
    "audio": {"input": INPUT},
}
RESPONSE = {
    "conversation": check.choice("auto", "none"),
    "metadata": check.obj_or_null,
    "input": check_list,
    "instructions": check.text,
    "output_modalities": check.modalities(["audio"], ["text"]),
    "tools": check.tools,
    "tool_choice": check.tool_choice,
    "max_output_tokens": check.max_tokens,
}
TEXT_ONLY_RESPONSE = {**RESPONSE, "output_modalities": check.modalities(["text"])}


def default_session(text_only: bool = False) -> dict:
    """The session object after connecting: speaks by default, server VAD that answers, 16 kHz input."""
    made = ga_session(text_only)
    made["model"] = "dialog-rsn-1"
    for absent in ("tracing", "truncation", "prompt", "include", "expires_at"):
        del made[absent]
    audio = made["audio"]
    audio["input"] = {
        "format": {"type": "audio/pcm", "rate": 16_000},
        "transcription": None,
        "turn_detection": {"type": "server_vad", "create_response": True, "interrupt_response": True},
    }
    del audio["output"]["speed"]
    audio["output"]["voice"] = "default"
    made["poly_knowledge"] = []
    made["poly_response_language"] = None
    made["poly_input_rate"] = None
    return made


DIALOG_RSN_1 = Profile(
    "dialog_rsn_1",
    default_session,
    lambda text_only: TEXT_ONLY_SESSION if text_only else SESSION,
    lambda text_only: TEXT_ONLY_RESPONSE if text_only else RESPONSE,
    call_id_width=CALL_ID_WIDTH,
    first_previous="root",
    echoes_metadata=False,
    rate_limits=None,
    confirms_turns=True,
    poly=True,
    known_session_fields=GA_SESSION,
    known_response_fields=GA_RESPONSE,
)
