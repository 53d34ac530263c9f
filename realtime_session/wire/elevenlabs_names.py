"""Names of the ElevenLabs Agents protocol (wire protocols, section 9)."""

from __future__ import annotations

#: what clients send, beside audio without a type
CLIENT = frozenset(
    (
        "conversation_initiation_client_data",
        "pong",
        "user_message",
        "user_activity",
        "contextual_update",
        "client_tool_result",
        "mcp_tool_approval_result",
        "feedback",
        "multimodal_message",
    )
)
#: message types that have a handler
HANDLED = frozenset(
    (
        "conversation_initiation_metadata",
        "audio",
        "agent_response",
        "agent_chat_response_part",
        "agent_response_correction",
        "user_transcript",
        "tentative_user_transcript",
        "interruption",
        "client_tool_call",
        "client_tool_result",
        "agent_tool_request",
        "agent_tool_response",
        "mcp_tool_call",
        "user_message",
        "error",
        "client_error",
    )
)
#: understood, and without an event of their own
NOTED = frozenset(
    (
        "conversation_initiation_client_data",
        "ping",
        "pong",
        "user_activity",
        "vad_score",
        "context_usage",
        "agent_response_metadata",
        "asr_initiation_metadata",
        "internal_turn_probability",
        "feedback",
    )
)
#: message types by which a log can be told (an error could be anybody's)
TYPES = (CLIENT | HANDLED | NOTED) - {"error", "audio", "feedback"}
