"""The floor and the loudspeaker in the OpenAI family: barge-in, playback reports, truncation."""

from __future__ import annotations

from realtime_session.wire.fields import name_of, text_of, whole


class Playback:
    """Mixed into the importer: what stops a response, and what was heard of it."""

    def standing_response(self):
        """The response whose floor the caller takes: the active one, else one reported sounding."""
        active = self.responses.get(self.active)
        if active is not None and active.status is None:
            return active
        return next(reversed(self.sounding.values()), None)

    def sounds(self, response, on):
        """A report said that a response is heard, or no longer heard; `sounding` keeps them oldest first."""
        response.sounding = on
        if on:
            self.sounding[response.id] = response
        else:
            self.sounding.pop(response.id, None)

    def interrupt(self, response, reason):
        """Writes user.interrupt, one per response; a later cause writes none."""
        if response is None or response.interrupted:
            return
        case = response.stage()
        self.barge_ins[case] = self.barge_ins.get(case, 0) + 1
        self.emit(
            "user.interrupt", {"turn_id": self.turns.open, "response_id": response.id, "reason": reason}
        )
        response.interrupted = True
        for other in list(self.sounding.values()):  # one interrupt clears everything that is queued
            other.interrupted = True
            self.sounds(other, False)

    def on_response_cancel(self, data, row):
        id_ = name_of(data.get("response_id"))
        response = self.responses.get(id_) if id_ is not None else self.standing_response()
        if response is None or response.status is not None and not response.sounding:
            self.warn("cancel_idle", "response.cancel with nothing to cancel")
            return
        self.interrupt(response, "client_cancelled")

    # --- reports ---

    def _reported(self, data):
        id_ = name_of(data.get("response_id"))
        if id_ is None:
            return self.standing_response()
        response = self.responses.get(id_)
        if response is None:
            self.warn("playback_unknown", f"playback of response {id_[:80]}, which is not in the log")
        return response

    def on_output_audio_buffer_started(self, data, row):
        response = self._reported(data)
        if response is None:
            return False
        self.sounds(response, not response.interrupted)
        self.emit("playback.started", {"response_id": response.id})
        return None

    on_poly_output_audio_started = on_output_audio_buffer_started

    def on_output_audio_buffer_stopped(self, data, row):
        return self._silent(data, "playback.stopped")

    def on_output_audio_buffer_cleared(self, data, row):
        return self._silent(data, "playback.cleared")

    def on_poly_output_audio_stopped(self, data, row):
        return self._silent(data, "playback.stopped")

    def _silent(self, data, type_):
        response = self._reported(data)
        if response is None:
            return False
        self.sounds(response, False)
        payload = {"response_id": response.id, "played_ms": _ms(data.get("audio_ms"))}
        if text_of(data.get("spoken_text")) is not None:
            payload["spoken_text"] = text_of(data["spoken_text"])
        self.emit(type_, payload)
        return None

    def on_poly_output_audio_delta(self, data, row):
        response = self._reported(data)
        if response is None:
            return False
        self.sounds(response, not response.interrupted)
        self.emit("playback.progress", {"response_id": response.id, "played_ms": _ms(data.get("audio_ms"))})
        return None

    # --- truncation ---

    def on_conversation_item_truncated(self, data, row):
        item_id, end = name_of(data.get("item_id")), data.get("audio_end_ms")
        response = self.responses.get(self.item_owner.get(item_id))
        if response is None or not whole(end):
            self.warn("truncated_unknown", "a truncation of an item that is not in the log")
            return False
        before = response.before(item_id)
        if before is None:
            self.warn(
                "truncation_offset", "the length of an earlier item is unknown: the offset is the item's own"
            )
        self.emit("response.truncated", {"response_id": response.id, "audio_end_ms": end + (before or 0)})
        return None


def _ms(value):
    """A reported position in whole ms, or None."""
    if whole(value):
        return value
    if value.__class__ is float and 0 <= value < 2**53:
        return int(value)
    return None
