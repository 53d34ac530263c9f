"""The idle nudge: after a reply has been heard and nobody speaks, the silence is committed and answered.

Recorded behaviour (wire.md 12): `idle_timeout_ms` after the end of playback the server adds a system item,
commits the silence as a user item and answers it; the transcript of that item is empty.
"""

from __future__ import annotations

NUDGE = "Nobody has spoken for a while. Ask whether the caller is still there."


class IdleNudge:
    __slots__ = ("_server", "_ticket")

    def __init__(self, server):
        self._server = server
        self._ticket = None

    def disarm(self) -> None:
        self._server.timeline.cancel(self._ticket)
        self._ticket = None

    def arm(self) -> None:
        """A reply has ended: wait until it has been heard, and then for the time-out."""
        self.disarm()
        server = self._server
        timeout = (server.config.turn_detection or {}).get("idle_timeout_ms")
        if timeout:
            heard = max(0, server.playback.last_end_ms() - server.timeline.now_ms)
            self._ticket = server.timeline.after(heard + timeout, self._fire)

    def _fire(self) -> None:
        server = self._server
        detection = server.config.turn_detection or {}
        if not detection.get("idle_timeout_ms"):
            return  # switched off meanwhile; speech and replies disarm the timer
        item_id = server.ids.next("item")
        start, end = server.caller.take_buffer(), server.caller.clock_ms
        server.emit(
            "input_audio_buffer.timeout_triggered", audio_start_ms=start, audio_end_ms=end, item_id=item_id
        )
        content = [{"type": "input_text", "text": NUDGE}]
        system = {"id": server.ids.next("item"), "type": "message", "status": "completed", "role": "system"}
        server.add_item({**system, "content": content})
        server.caller.add_silent_item(item_id)
        server.transcripts.committed(item_id, {"text": "", "when": "with_reply"}, 0)
        if detection["create_response"]:
            server.answer_turn()
