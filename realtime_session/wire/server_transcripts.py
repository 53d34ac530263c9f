"""When the caller's words come back as text: early, late, out of order, failed, never.

Dialog-RSN-1 writes the transcript in the generation that answers the turn, and only where the last item is
audio; OpenAI transcribes each committed turn apart from the reply (seed 002, "Generation and
transcription"; wire.md 4).
"""

from __future__ import annotations

from realtime_session.wire.server_core import words

PREFIX = "conversation.item.input_audio_transcription"


class Transcripts:
    """The transcripts owed on one connection."""

    __slots__ = ("_owed", "_server", "_waiting")

    def __init__(self, server):
        self._server = server
        self._owed = {}  # item id -> plan not yet carried out
        self._waiting = []  # (item id, plan) that wait for the end of a reply, or for another transcript

    def speech_goes_on(self, item_id: str, plan) -> None:
        """The caller is speaking: an early transcript streams already."""
        if plan and plan["when"] == "early" and self._server.config.transcribes:
            self._deltas(item_id, plan["text"])
            plan["streamed"] = True

    def committed(self, item_id: str, plan, duration_ms: int) -> None:
        """An audio item entered the conversation."""
        if not plan or plan["when"] == "never" or not self._server.config.transcribes:
            return
        plan = {**plan, "seconds": -(-duration_ms // 1000)}
        if self._server.profile.confirms_turns:
            self._owed[item_id] = plan  # carried out only if a generation finds it as the last item
        elif plan["when"] in ("before_reply", "early"):
            self._finish(item_id, plan)
        elif plan["when"] in ("after_reply", "after_next_turn"):
            self._waiting.append((item_id, plan))
        elif plan["when"] == "around_reply":
            self._first_half(item_id, plan)
            self._waiting.append((item_id, plan))
        else:
            delay = self._server.script["timings"]["transcript_ms"]
            self._server.timeline.after(delay, lambda: self._finish(item_id, plan))

    def generation_begins(self, last_item) -> dict | None:
        """The plan that this generation carries out (Dialog-RSN-1), if its last item is audio."""
        if not self._server.profile.confirms_turns or last_item is None:
            return None
        plan = self._owed.pop(last_item["id"], None)
        return None if plan is None else {"item_id": last_item["id"], **plan}

    def in_generation(self, plan, point: str) -> None:
        """Called with "before", "text_done" as a generation passes those points."""
        if plan is None:
            return
        when = plan["when"]
        if point == "before" and when in ("early", "before_reply"):
            self._finish(plan["item_id"], plan)
        elif point == "before" and when == "around_reply":
            self._first_half(plan["item_id"], plan)
        elif point == "text_done" and when in ("with_reply", "around_reply", "failed"):
            self._finish(plan["item_id"], plan)

    def reply_done(self, plan) -> None:
        """After response.done: what was promised for after the reply."""
        if plan is not None and plan["when"] in ("after_reply", "after_next_turn"):
            self._waiting.append((plan["item_id"], plan))
        ready = [
            (item, owed) for item, owed in self._waiting if owed["when"] in ("after_reply", "around_reply")
        ]
        self._waiting = [entry for entry in self._waiting if entry not in ready]
        for item_id, owed in ready:
            self._finish(item_id, owed)

    def _first_half(self, item_id, plan) -> None:
        parts = words(plan["text"])
        plan["streamed"] = True
        self._deltas(item_id, "".join(parts[: len(parts) // 2]))
        plan["rest"] = "".join(parts[len(parts) // 2 :])

    def _deltas(self, item_id, text) -> None:
        for part in words(text):
            self._server.emit(f"{PREFIX}.delta", item_id=item_id, content_index=0, delta=part)

    def _finish(self, item_id, plan) -> None:
        server = self._server
        if plan["when"] == "failed":
            error = {
                "type": "transcription_error",
                "code": plan.get("code", "audio_unintelligible"),
                "message": plan.get("message", "The audio could not be transcribed."),
                "param": None,
            }
            server.emit(f"{PREFIX}.failed", item_id=item_id, content_index=0, error=error)
        else:
            self._deltas(item_id, plan.pop("rest", "") if plan.get("streamed") else plan["text"])
            usage = {"type": "duration", "seconds": plan["seconds"]}
            server.emit(
                f"{PREFIX}.completed", item_id=item_id, content_index=0, transcript=plan["text"], usage=usage
            )
            item = server.conversation.find(item_id)
            if item is not None:
                item["content"][0]["transcript"] = plan["text"]
        if plan["when"] != "after_next_turn":
            late, self._waiting = (
                [entry for entry in self._waiting if entry[1]["when"] == "after_next_turn"],
                [entry for entry in self._waiting if entry[1]["when"] != "after_next_turn"],
            )
            for late_id, owed in late:
                self._finish(late_id, owed)
