"""The caller's side in the OpenAI family: microphone audio, detected speech, commits, transcripts, keys."""

from __future__ import annotations

from realtime_session.wire.fields import name_of, object_of, text_of, whole
from realtime_session.wire.openai_names import error_type


class Input:
    """Mixed into the importer."""

    # --- the caller's audio ---

    def on_input_audio_buffer_append(self, data, row):
        duration = self._microphone.take(data.get("audio"), self.input_rate, row.trimmed)
        self.audio_heard(duration)
        turns = self.turns
        turn = turns.open
        self.emit(
            "audio.frame",
            {"turn_id": turn, "sequence": turns.frame(), "duration_ms": duration, "speech": None},
        )

    def on_input_audio_buffer_commit(self, data, row):
        self.items.requests.commits += 1

    def on_input_audio_buffer_speech_started(self, data, row):
        item, offset = name_of(data.get("item_id")), data.get("audio_start_ms")
        self.items.replaying = False
        self.audio_offset(offset)
        # An onset that was judged noise has no stop: the next onset takes over the open turn.
        turn = self.turns.bind(item)
        if item is not None and not self.turns.is_open(turn):
            turn = self.turns.of_item[item] = self.turns.open  # an item that goes on after its commit
        payload = {"turn_id": turn}
        if whole(offset):
            payload["audio_ms"] = offset
        self.emit("speech.started", payload)
        if self.interrupts_by_speech:
            self.interrupt(self.standing_response(), "speech_started")

    def on_input_audio_buffer_speech_stopped(self, data, row):
        item, offset = name_of(data.get("item_id")), data.get("audio_end_ms")
        self.audio_offset(offset)
        if item is not None:
            self.stopped_items.add(item)
        payload = {"turn_id": self.turns.bind(item)}
        if whole(offset):
            payload["audio_ms"] = offset
        self.emit("speech.stopped", payload)

    def on_input_audio_buffer_timeout_triggered(self, data, row):
        self.audio_offset(data.get("audio_end_ms"))
        item = name_of(data.get("item_id"))
        if item is not None:
            self.idle_items.add(item)

    def on_input_audio_buffer_committed(self, data, row):
        item = name_of(data.get("item_id"))
        self.items.replaying = False
        requests, system = self.items.requests, self.items.system_item
        if item in self.idle_items or system is not None and data.get("previous_item_id") == system:
            cause = "idle_timeout"
        elif requests.commits and item not in self.stopped_items:
            requests.commits -= 1
            cause = "client"
        else:
            cause = None
        turn = self.turns.bind(item)
        if not self.turns.is_open(turn):
            if item in self.items.spoken:
                self.items.spoken.discard(item)
                return  # already closed when its item was announced
            turn = self.turns.of_item[item] = self.turns.open
        self.stopped_items.discard(item)
        self.idle_items.discard(item)
        self.commit(turn, cause)

    def commit(self, turn, cause):
        """Closes a spoken turn; audio that is not in the log stands as one synthetic frame."""
        self.items.settle(history=True)
        if self.turns.is_open(turn) and not self.turns.next_sequence:
            self.emit(
                "audio.frame",
                {"turn_id": turn, "sequence": self.turns.frame(), "duration_ms": None, "speech": None},
                synthetic=True,
            )
        payload = {"turn_id": turn}
        if cause is not None:
            payload["cause"] = cause
        self.emit("turn.commit", payload)
        self.turns.close(turn)

    def on_input_audio_buffer_dtmf_event_received(self, data, row):
        digits = name_of(data.get("event"))
        if digits is None or digits.strip("0123456789ABCD*#"):
            return False
        self.emit("input.dtmf", {"turn_id": self.turns.open, "digits": digits})
        return None

    # --- transcripts of the caller ---

    def on_conversation_item_input_audio_transcription_delta(self, data, row):
        item, text = name_of(data.get("item_id")), text_of(data.get("delta"))
        if text is None:
            return False
        text = text_of(self.partial.get(item, "") + text)
        self.partial[item] = text
        return self._transcript(item, text, False)

    def on_conversation_item_input_audio_transcription_updated(self, data, row):
        return self._transcript(name_of(data.get("item_id")), text_of(data.get("transcript")), False)

    def on_conversation_item_input_audio_transcription_completed(self, data, row):
        item = name_of(data.get("item_id"))
        final = data.get("status") in (None, "completed")
        if final:
            self.partial.pop(item, None)
        return self._transcript(item, text_of(data.get("transcript")), final)

    def _transcript(self, item, text, final):
        if text is None:
            return False
        self.emit("turn.transcript", {"turn_id": self.turns.bind(item), "text": text, "final": final})
        return None

    def on_conversation_item_input_audio_transcription_failed(self, data, row):
        self.partial.pop(name_of(data.get("item_id")), None)
        self._error(object_of(data.get("error")), error_type(data.get("error"), "media_corrupt"))
