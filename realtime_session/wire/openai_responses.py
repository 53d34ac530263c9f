"""Responses in the OpenAI family: their beginning, output, tool calls and end."""

from __future__ import annotations

from realtime_session.wire.fields import list_of, name_of, object_of, text_of
from realtime_session.wire.openai_items import content_text
from realtime_session.wire.openai_names import error_type
from realtime_session.wire.openai_records import Response

_ENDS = {
    "completed": "response.completed",
    "cancelled": "response.cancelled",
    "failed": "response.failed",
    "incomplete": "response.incomplete",
}


class Responses:
    """Mixed into the importer."""

    # --- responses ---

    def on_response_create(self, data, row):
        response = object_of(data.get("response"))
        self.book.declare(response.get("tools"))
        self.items.requests.add_create(
            response.get("conversation") == "none",
            object_of(response.get("metadata")),
            name_of(data.get("event_id")),
        )

    def on_response_created(self, data, row):
        wire = object_of(data.get("response"))
        id_ = name_of(wire.get("id"))
        if id_ is None:
            self.warn("response_without_id", "response.created without an id")
            return False
        known = self.responses.get(id_)
        if known is not None and not known.announced:
            known.announced = True  # its output came first and has begun it already
            return None
        named = "conversation_id" in wire
        request = self.items.requests.take_create(
            wire.get("conversation_id"), named, object_of(wire.get("metadata"))
        )
        aside = named and wire["conversation_id"] is None or request is not None and request[1]
        if request is not None:
            self.items.flush_before(request[0])
        self.begin_response(id_, aside)
        return None

    def begin_response(self, id_, aside, synthetic=False):
        """Writes response.started; the response names the last committed turn."""
        self.items.response_began()
        turn = self.turns.last_committed
        payload = {"response_id": id_, "turn_id": turn}
        if turn is None:
            payload["cause"] = "opening"
        if aside:
            payload["out_of_band"] = True
        self.emit("response.started", payload, synthetic)
        response = Response(id_, aside, announced=not synthetic)
        if id_ not in self.responses:  # a second start is for the contract to judge
            self.responses[id_] = response
        if not aside:
            self.active = id_
        self.last_response = id_
        return response

    def response_of(self, data, wire=None):
        """The response that a message belongs to; one that was never announced is begun here."""
        id_ = name_of(data.get("response_id")) if wire is None else name_of(wire.get("id"))
        if id_ is None:
            id_ = self.item_owner.get(name_of(data.get("item_id"))) or (self.active if wire is None else None)
            if id_ is None:
                return None
        response = self.responses.get(id_)
        if response is None:
            # Only one response writes at a time; beside an active one it can only be out of band.
            busy = (
                self.active is not None
                and self.responses[self.active].status is None
                and not self.responses[self.active].interrupted
            )
            self.warn("response_unannounced", f"response {id_[:80]} was never announced")
            response = self.begin_response(id_, busy, synthetic=True)
        return response

    def on_response_output_item_added(self, data, row):
        response = self.response_of(data)
        item = object_of(data.get("item"))
        item_id = name_of(item.get("id"))
        if response is None or item_id is None:
            return
        self.item_owner[item_id] = response.id
        response.sent.setdefault(item_id, 0)
        response.open_items[item_id] = None
        response.items_added = True
        self.items.seen.add(item_id)
        if item.get("type") in ("function_call", "mcp_call"):
            self.book.see_item(item)

    def on_response_output_item_done(self, data, row):
        response = self.response_of(data)
        item = object_of(data.get("item"))
        item_id = name_of(item.get("id"))
        if response is None:
            return
        response.open_items.pop(item_id, None)
        if item.get("type") == "function_call":
            self._late_call(response, item)
        self.server_result(item)

    def _late_call(self, response, item):
        """A function call whose arguments.done is not in the log."""
        item_id, call_id = name_of(item.get("id")), name_of(item.get("call_id"))
        if (
            (call_id or item_id)
            and not self.book.knows(call_id, item_id)
            and item.get("status") != "in_progress"
        ):
            self.book.see_item(item)
            self._call(response, item_id, call_id, item.get("name"), item.get("arguments"))

    def _call(self, response, item_id, call_id, name, arguments):
        if response.id not in self._calls_in_round:
            self._calls_in_round.add(response.id)
            self.book.rounds += 1
        self.book.call(response.id, item_id, call_id, name_of(name), arguments)

    def on_response_function_call_arguments_done(self, data, row):
        response = self.response_of(data)
        if response is None:
            return False
        self._call(
            response,
            name_of(data.get("item_id")),
            name_of(data.get("call_id")),
            data.get("name"),
            data.get("arguments"),
        )
        return None

    def on_response_mcp_call_arguments_done(self, data, row):
        response, item_id = self.response_of(data), name_of(data.get("item_id"))
        if response is None or item_id is None:
            return False
        self._call(response, item_id, item_id, data.get("name"), data.get("arguments"))
        if response.mcp is None:
            response.mcp = {}
        response.mcp[item_id] = None
        self.item_owner[item_id] = response.id
        return None

    def on_response_mcp_call_completed(self, data, row):
        self._mcp_status(name_of(data.get("item_id")), True)

    def on_response_mcp_call_failed(self, data, row):
        self._mcp_status(name_of(data.get("item_id")), False)

    def _mcp_status(self, item_id, ok):
        response = self.responses.get(self.item_owner.get(item_id))
        if response is not None and response.mcp and item_id in response.mcp:
            response.mcp[item_id] = ok

    def server_result(self, item):
        """The result of a call that the server ran itself is in its item."""
        item_id = name_of(item.get("id"))
        response = self.responses.get(self.item_owner.get(item_id))
        if (
            item.get("type") != "mcp_call"
            or response is None
            or not response.mcp
            or item_id not in response.mcp
        ):
            return
        ok = response.mcp.pop(item_id)
        error = item.get("error")
        ok = error is None if ok is None else ok
        self.book.result(item_id, item.get("output") if error is None else error, ok, response.id)

    def on_response_output_text_delta(self, data, row):
        text = data.get("delta")
        response = self.response_of(data)
        if response is None:
            return False
        if text.__class__ is not str:
            self.warn("no_content", "a text delta without its text")
            return None
        if response.texts is None:
            response.texts = set()
        response.texts.add((data.get("item_id").__class__ is str and data["item_id"], _index(data)))
        self._text(response, text)
        return None

    on_response_output_audio_transcript_delta = on_response_output_text_delta

    def on_response_output_text_done(self, data, row):
        """Text that came without deltas."""
        response = self.response_of(data)
        if response is None:
            return False
        text = data.get("text", data.get("transcript"))
        key = (data.get("item_id").__class__ is str and data["item_id"], _index(data))
        if text.__class__ is str and text and response.status is None and key not in (response.texts or ()):
            response.texts = (response.texts or set()) | {key}
            self._text(response, text)
        return None

    on_response_output_audio_transcript_done = on_response_output_text_done

    def _text(self, response, text):
        self.emit(
            "response.text",
            {"response_id": response.id, "sequence": response.next_text, "text": text_of(text)},
        )
        response.next_text += 1

    def on_response_output_audio_delta(self, data, row):
        response = self.response_of(data)
        if response is None:
            return False
        duration = data.get("audio_duration_ms")
        if duration.__class__ is not int or not 0 <= duration <= 600000:
            duration = response.span.take(data.get("delta"), self.output_rate, row.trimmed)
        item_id = name_of(data.get("item_id"))
        if item_id is not None:
            self.item_owner.setdefault(item_id, response.id)
        response.add_audio(item_id, duration)
        self.emit(
            "response.audio",
            {"response_id": response.id, "sequence": response.next_audio, "duration_ms": duration},
        )
        response.next_audio += 1
        return None

    def on_response_content_part_added(self, data, row):
        if self.guess is not None:
            self.guess.part_added(data)
        self.response_of(data)

    def on_response_done(self, data, row):
        wire = object_of(data.get("response"))
        response = self.response_of(data, wire)
        if response is None:
            self.warn("response_without_id", "response.done without an id")
            return False
        if response.status is None:
            self._missing_output(response, wire)
        status = wire.get("status")
        type_ = _ENDS.get(status) if status.__class__ is str else None
        if type_ is None:
            self.warn("response_status", "response.done without a known status: taken as completed")
            status, type_ = "completed", "response.completed"
        payload = {"response_id": response.id}
        details = object_of(wire.get("status_details"))
        error = object_of(details.get("error"))
        if status != "completed":
            reason = (
                name_of(details.get("reason")) or name_of(error.get("code")) or name_of(error.get("type"))
            )
            payload["reason"] = reason or name_of(wire.get("status_details")) or "unspecified"
        if status == "failed":
            payload["error_type"] = error_type(error)
        self.emit(type_, payload)
        if response.status is None:
            response.status = status
            self.ends[status] = self.ends.get(status, 0) + 1
            response.retire()
        if self.active == response.id:
            self.active = None
        return None

    def _missing_output(self, response, wire):
        """What response.done says and no earlier row did: calls and text."""
        for item in list_of(wire.get("output")):
            if item.get("type") == "function_call":
                self._late_call(response, item)
            self.server_result(item)
        for item_id, ok in list((response.mcp or {}).items()):
            if ok is not None:
                self.book.result(item_id, None, ok, response.id)
        if not response.next_text and not response.next_audio and response.status is None:
            text = "".join(
                content_text(item)
                for item in list_of(wire.get("output"))
                if item.get("type") in ("message", None)
            )
            if text:
                self._text(response, text)


def _index(data):
    index = data.get("content_index")
    return index if index.__class__ is int else 0
