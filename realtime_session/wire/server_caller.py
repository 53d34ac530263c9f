"""The caller's side: the input audio buffer, its clock, and the scripted voice activity detector.

The detector runs on the appended-audio clock: it hears a sound once the client has appended that much
audio. What the model does about it takes virtual time (`confirm_ms`). Boundaries are *proposed* by the
detector; where the dialect's model confirms turns (Dialog-RSN-1 with create_response), only a confirmed one
is reported (seed 002, "Turn-taking"). Elsewhere the detector's word is final, as on OpenAI.
"""

from __future__ import annotations

import base64
import binascii

from realtime_session.wire.server_config import PCM_WIDTH
from realtime_session.wire.server_core import Refusal, words

LEAST_COMMIT_MS = 100
LARGEST_APPEND = 15 * 1024 * 1024
PREFIX_PADDING_MS = 300
SILENCE_MS = {
    "openai": 200,
    "dialog": 500,
}  # recorded default; Dialog-RSN-1: about half a second (wire.md 12)

QUIET, CHECKING, OPEN, CONFIRMING, DISMISSED = "quiet", "checking", "open", "confirming", "dismissed"


class CallerAudio:
    """One connection's input audio. `server` is the RealtimeServer it belongs to."""

    __slots__ = (
        "_audio_us",
        "_buffer_start_ms",
        "_item_id",
        "_pause",
        "_segment_start",
        "_server",
        "_sounds",
        "_ticket",
        "_words_given",
        "stage",
    )

    def __init__(self, server, sounds):
        self._server = server
        self._sounds = list(sounds)
        self._audio_us = 0
        self._buffer_start_ms = 0
        self._ticket = None
        self._item_id = None
        self.stage = QUIET
        self._begin_sound()

    def _begin_sound(self) -> None:
        self._segment_start = self._sounds[0]["from_ms"] if self._sounds else None
        self._pause = 0
        self._words_given = 0
        self.stage = QUIET

    @property
    def clock_ms(self) -> int:
        """Milliseconds of audio appended on this connection."""
        return self._audio_us // 1000

    @property
    def speaking(self) -> bool:
        """Whether a sound is being followed: an open turn, or one being judged."""
        return self.stage in (CHECKING, OPEN, CONFIRMING)

    # Client events

    def append(self, audio: str) -> None:
        if len(audio) > LARGEST_APPEND:
            raise Refusal("invalid_value", "Audio exceeds 15 MiB.", "audio")
        try:
            size = len(base64.b64decode(audio, validate=True))
        except (binascii.Error, ValueError):
            raise Refusal(
                "invalid_value", "Invalid 'audio'. Expected base64-encoded audio.", "audio"
            ) from None
        per_second = self._server.config.bytes_per_second("input")
        if per_second > 8_000 and size % PCM_WIDTH:
            raise Refusal("invalid_value", "Invalid 'audio'. PCM16 needs an even number of bytes.", "audio")
        self._audio_us += size * 1_000_000 // per_second
        self.pump()

    def commit(self) -> None:
        """input_audio_buffer.commit: closes what was appended as one user item; never answers by itself."""
        held = self.clock_ms - self._buffer_start_ms
        if held < LEAST_COMMIT_MS:
            raise Refusal(
                "input_audio_buffer_commit_empty",
                "Error committing input audio buffer: buffer too small. Expected at least "
                f"{LEAST_COMMIT_MS}ms of audio, but buffer only has {held}ms of audio.",
                None,
            )
        plan = self._leave_sounds()
        item_id = self._item_id or self._server.ids.next("item")
        self._item_id = None
        self._add_item(item_id, plan, self.clock_ms)

    def clear(self) -> None:
        """input_audio_buffer.clear: what was heard of an open turn is gone, without speech_stopped."""
        self._leave_sounds()
        self._item_id = None
        self._buffer_start_ms = self.clock_ms
        self._server.emit("input_audio_buffer.cleared")

    def detection_changed(self) -> None:
        """Turn detection was switched off or on: an open turn falls back into the buffer."""
        if self._server.config.turn_detection is None and self.stage != QUIET:
            self._server.timeline.cancel(self._ticket)
            self._item_id = None
            self.stage = QUIET
        else:
            self.pump()

    def _leave_sounds(self):
        """Drop what the detector was doing, and take the sounds heard so far; returns their transcript
        plan."""
        self._server.timeline.cancel(self._ticket)
        texts, plan = [], None
        while self._sounds and self._segment_start < self.clock_ms:
            sound = self._sounds[0]
            whole = sound["to_ms"] <= self.clock_ms
            piece = self._plan(None if whole else self.clock_ms)
            if piece is not None:
                texts.append(piece["text"])
                plan = piece
            if not whole:
                self._segment_start = self.clock_ms
                break
            self._sounds.pop(0)
            self._begin_sound()
        self.stage = QUIET
        return None if plan is None else {**plan, "text": " ".join(text for text in texts if text)}

    # The detector

    def pump(self) -> None:
        """Let the detector hear everything appended so far."""
        while self._server.config.turn_detection is not None and self._step():
            pass

    def _step(self) -> bool:
        if not self._sounds or self.stage in (CHECKING, CONFIRMING):
            return False
        sound = self._sounds[0]
        if self.stage == QUIET:
            if self.clock_ms <= self._segment_start:
                return False
            self._onset(sound)
            return True
        if self.stage == DISMISSED:
            return self.clock_ms >= sound["to_ms"] and self._next_sound()
        return self._boundary(sound)

    def _next_sound(self) -> bool:
        self._sounds.pop(0)
        self._begin_sound()
        return True

    def _onset(self, sound) -> None:
        server = self._server
        self._item_id = server.ids.next("item")
        if server.profile.confirms_turns and server.playback.audible():
            self.stage = CHECKING
            self._ticket = server.timeline.after(server.script["timings"]["confirm_ms"], self._judge_onset)
            return
        self._announce()
        if not server.profile.confirms_turns:
            server.barge_in()

    def _announce(self) -> None:
        padding = self._server.config.turn_detection or {}
        start = max(0, self._segment_start - padding.get("prefix_padding_ms", PREFIX_PADDING_MS))
        self.stage = OPEN
        self._server.emit("input_audio_buffer.speech_started", audio_start_ms=start, item_id=self._item_id)

    def _judge_onset(self) -> None:
        """The model's look at a sound over an audible reply: the caller, or echo, noise, a backchannel."""
        if self._sounds[0]["kind"] == "speech":
            self._announce()
            self._server.barge_in()
        else:
            self._item_id = None
            self.stage = DISMISSED
            self._server.sound_over()
        self.pump()

    def _silence_ms(self) -> int:
        kind = "dialog" if self._server.profile.confirms_turns else "openai"
        return (self._server.config.turn_detection or {}).get("silence_duration_ms", SILENCE_MS[kind])

    def _boundary(self, sound) -> bool:
        """An open turn: has the detector heard enough silence to propose its end?"""
        silence = self._silence_ms()
        pauses = sound["pauses"]
        while self._pause < len(pauses) and (
            pauses[self._pause][1] - pauses[self._pause][0] < silence
            or pauses[self._pause][0] < self._segment_start
        ):
            self._pause += 1
        final = self._pause == len(pauses)
        at = (sound["to_ms"] if final else pauses[self._pause][0]) + silence
        if self.clock_ms < at:
            return False
        confirms = (
            self._server.profile.confirms_turns and self._server.config.turn_detection["create_response"]
        )
        if confirms and not final:
            self._pause += 1  # the model says that the caller has more to say
            return True
        if confirms and sound["kind"] in ("noise", "echo"):
            self._item_id = None  # judged to be no speech: dropped, and no speech_stopped follows
            self._buffer_start_ms = at
            self._next_sound()
            self._server.sound_over()
            return True
        if confirms:
            self.stage = CONFIRMING
            delay = self._server.script["timings"]["confirm_ms"]
            self._ticket = self._server.timeline.after(delay, lambda: self._confirmed(at, final))
            return True
        self._confirmed(at, final)
        return True

    def _confirmed(self, at: int, final: bool) -> None:
        server = self._server
        item_id, self._item_id = self._item_id, None
        plan = self._plan(None if final else at)
        server.transcripts.speech_goes_on(item_id, plan)
        server.emit("input_audio_buffer.speech_stopped", audio_end_ms=at, item_id=item_id)
        if final:
            self._next_sound()
        else:
            self._segment_start = self._sounds[0]["pauses"][self._pause][1]
            self._pause += 1
            self.stage = QUIET
        self._add_item(item_id, plan, at)
        if (server.config.turn_detection or {}).get("create_response"):
            server.answer_turn()
        self.pump()

    def _plan(self, upto_ms):
        """The transcript of the sound up to `upto_ms` (None = its end), less what was given before."""
        sound = self._sounds[0]
        plan = sound.get("transcript")
        if plan is None:
            return None
        parts = words(plan["text"])
        count = len(parts)
        if upto_ms is not None:
            share = max(0, min(upto_ms, sound["to_ms"]) - sound["from_ms"])
            count = count * share // (sound["to_ms"] - sound["from_ms"])
        given, self._words_given = self._words_given, max(count, self._words_given)
        return {**plan, "text": "".join(parts[given:count]).strip()}

    def _add_item(self, item_id, plan, end_ms: int) -> None:
        duration = max(0, end_ms - self._buffer_start_ms)
        self._buffer_start_ms = end_ms
        self.add_silent_item(item_id)
        self._server.transcripts.committed(item_id, plan, duration)

    def add_silent_item(self, item_id) -> None:
        """committed, then the user item itself."""
        server = self._server
        previous = server.conversation.last_id()
        server.emit("input_audio_buffer.committed", previous_item_id=previous, item_id=item_id)
        item = {
            "id": item_id,
            "type": "message",
            "status": "completed",
            "role": "user",
            "content": [{"type": "input_audio", "transcript": None}],
        }
        server.add_item(item)

    def take_buffer(self) -> int:
        """Where the uncommitted audio began; from here on it counts as committed (the idle nudge)."""
        start, self._buffer_start_ms = self._buffer_start_ms, self.clock_ms
        return start
