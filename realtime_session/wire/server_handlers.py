"""What the scripted server does with each client event that is well formed; one function an event type.

Each either acts or raises Refusal; nothing of a refused event is applied. Which codes stand on recordings
and which are the dialect's own wording is listed in docs/protocols/dialog-rsn-1-behaviours.md.
"""

from __future__ import annotations

from realtime_session.wire import server_config as check
from realtime_session.wire.server_config import check_fields
from realtime_session.wire.server_conversation import check_item
from realtime_session.wire.server_core import Refusal, clone


def session_update(server, event) -> None:
    server.config.update(event["session"])
    server.emit("session.updated", session=clone(server.config.value))
    server.caller.detection_changed()


def input_audio_buffer_append(server, event) -> None:
    server.caller.append(event["audio"])


def input_audio_buffer_commit(server, event) -> None:
    server.caller.commit()


def input_audio_buffer_clear(server, event) -> None:
    server.caller.clear()


def conversation_item_create(server, event) -> None:
    item = clone(event["item"])
    check_item(item, server.profile.poly)
    if "id" in item and (not item["id"] or server.conversation.find(item["id"])):
        raise Refusal("invalid_value", f"Item with id '{item['id'][:80]}' cannot be created.", "item.id")
    if item["type"] == "function_call_output" and not server.conversation.has_call(item["call_id"]):
        raise Refusal(
            "invalid_value",
            f"Tool call ID '{item['call_id'][:80]}' not found in conversation.",
            "item.call_id",
        )
    item.setdefault("id", server.ids.next("item"))
    brief = item.pop("poly_knowledge", None)
    for part in item.get("content", ()):
        part.pop("audio", None)
        if part["type"] == "input_audio":
            part.setdefault("transcript", None)
    if item["type"] == "function_call":
        item.setdefault("call_id", server.ids.call(server.profile.call_id_width))
    item["status"] = "completed"
    server.add_item(item, event.get("previous_item_id"))
    if brief:
        server.conversation.briefs[item["id"]] = brief


def conversation_item_retrieve(server, event) -> None:
    item = server.conversation.need(event["item_id"], "retrieve")
    server.emit("conversation.item.retrieved", item=clone(item))


def conversation_item_delete(server, event) -> None:
    server.conversation.need(event["item_id"], "delete")
    server.conversation.remove(event["item_id"])
    server.emit("conversation.item.deleted", item_id=event["item_id"])


def conversation_item_truncate(server, event) -> None:
    server.truncate(event["item_id"], event["content_index"], event["audio_end_ms"])


def response_create(server, event) -> None:
    request = event.get("response", {})
    fields = server.profile.response_fields(server.config.text_only)
    check_fields(fields, server.profile.known_response_fields, request, "response")
    for position, item in enumerate(request.get("input", ())):
        if not (isinstance(item, dict) and item.get("type") == "item_reference"):
            check_item(item, server.profile.poly, f"response.input[{position}]")
    if request.get("conversation") != "none" and server.active:
        raise Refusal(
            "conversation_already_has_active_response",
            f"Conversation already has an active response in progress: {server.active.id}. Wait until the "
            "response is finished before creating a new one.",
            None,
        )
    server.respond(clone(request))


def response_cancel(server, event) -> None:
    wanted = event.get("response_id")
    for response in [server.active, *server.apart]:
        if response is None or response.status != "in_progress":
            continue
        if response.id == wanted or (wanted is None and response is server.active):
            response.cancel("client_cancelled")
            return
    raise Refusal("response_cancel_not_active", "Cancellation failed: no active response found", None)


def output_audio_buffer_clear(server, event) -> None:
    if server.script["transport"] != "webrtc":
        raise Refusal(
            "invalid_value", "output_audio_buffer.clear is for WebRTC and SIP sessions only.", "type"
        )
    for track in server.playback.cut():
        server.emit("output_audio_buffer.cleared", response_id=track.response_id)


def poly_output_audio_started(server, event) -> None:
    server.playback.report("started", event)


def poly_output_audio_delta(server, event) -> None:
    server.playback.report("delta", event)


def poly_output_audio_stopped(server, event) -> None:
    track = server.playback.report("stopped", event)
    if "spoken_text" in event:
        server.conversation.keep_spoken(track.items, event["spoken_text"])


MS = check.whole(0, 86_400_000)
# Type: (action, required fields, optional fields); type and event_id apart (wire.md 2).
CLIENT_EVENTS = {
    "session.update": (session_update, {"session": check.obj}, {}),
    "input_audio_buffer.append": (input_audio_buffer_append, {"audio": check.text}, {}),
    "input_audio_buffer.commit": (input_audio_buffer_commit, {}, {}),
    "input_audio_buffer.clear": (input_audio_buffer_clear, {}, {}),
    "conversation.item.create": (
        conversation_item_create,
        {"item": check.obj},
        {"previous_item_id": check.text_or_null},
    ),
    "conversation.item.retrieve": (conversation_item_retrieve, {"item_id": check.text}, {}),
    "conversation.item.delete": (conversation_item_delete, {"item_id": check.text}, {}),
    "conversation.item.truncate": (
        conversation_item_truncate,
        {"item_id": check.text, "content_index": MS, "audio_end_ms": MS},
        {},
    ),
    "response.create": (response_create, {}, {"response": check.obj}),
    "response.cancel": (response_cancel, {}, {"response_id": check.text}),
    "output_audio_buffer.clear": (output_audio_buffer_clear, {}, {}),
}

# The playback reports of Dialog-RSN-1 (seed 002, "Turn-taking").
POLY_EVENTS = {
    "poly.output_audio.started": (poly_output_audio_started, {"response_id": check.text}, {}),
    "poly.output_audio.delta": (
        poly_output_audio_delta,
        {"response_id": check.text, "audio_ms": MS},
        {"delta": check.text},
    ),
    "poly.output_audio.stopped": (
        poly_output_audio_stopped,
        {"response_id": check.text, "audio_ms": MS},
        {"dropped_ms": MS, "spoken_text": check.text},
    ),
}
