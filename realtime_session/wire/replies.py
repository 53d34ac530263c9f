"""For wires that do not announce their responses: replies, turns and barge-ins read out of what is said.

Gemini Live, ElevenLabs Agents and Twilio Media Streams have no response id, no response.created and (in
part) no end. Here a reply begins with its first output, answers the last committed turn, and everything
that the wire lacks is marked synthetic (wire protocols, "Importers" and section 9).
"""

from __future__ import annotations

from realtime_session.wire.audio import Span
from realtime_session.wire.base import Importer
from realtime_session.wire.fields import text_of
from realtime_session.wire.openai_records import Response
from realtime_session.wire.openai_tools import ToolBook

CASES = ("before_output", "mid_generation", "all_items_done", "after_completion")


class RepliesImporter(Importer):
    """Base of the importers of wires without response ids."""

    def __init__(self, dialect=None, read_only=(), clock=None):
        super().__init__(dialect, read_only, clock)
        self.book = ToolBook(self)
        self.current = None  # the last reply, ended or not; None when the wire said that its turn is over
        self.last_reply = None  # id of the last reply
        self.replies = self.history = 0
        self.ends, self.barge_ins = {}, {}
        self.microphone = Span()
        self.spoke = False  # words or detected speech lie in the open turn
        self.answering = False  # a typed turn or a tool result waits for its reply
        self.moved_on = False  # something came since the last reply began that a new reply would answer
        self.partial = {}  # the open turn's transcript so far: turn -> text
        self._rounds = set()

    # --- the caller ---

    def frame(self, payload, rate, row):
        """One piece of the caller's audio: base64 at `rate` bytes per ms (None: unknown)."""
        duration = None if rate is None else self.microphone.take(payload, rate, row.trimmed)
        self.audio_heard(duration)
        turn = self.turns.open
        self.emit(
            "audio.frame",
            {"turn_id": turn, "sequence": self.turns.frame(), "duration_ms": duration, "speech": None},
        )

    def typed(self, texts, history=False, synthetic=False):
        """A typed turn of its own; `history`: it was seeded and is not to be answered."""
        turn = self.turns.new()
        for text in texts:
            self.emit("input.text", {"turn_id": turn, "text": text}, history)
        if not texts:  # an image, or content that the trace cannot hold
            self.emit("input.text", {"turn_id": turn, "text": ""}, synthetic=True)
        self.emit("turn.commit", {"turn_id": turn, "cause": "text"}, history or synthetic)
        self.turns.close(turn)
        if history:
            self.history += 1
        else:
            self.answering = self.moved_on = True

    def transcript(self, turn, text, final, synthetic=False):
        """What the caller was understood to say, as far as known."""
        self.emit("turn.transcript", {"turn_id": turn, "text": text, "final": final}, synthetic)
        if self.turns.is_open(turn):
            self.spoke = self.moved_on = True

    def commit_open(self, cause=None, synthetic=True):
        """Closes the spoken turn. Audio that is not in the log stands as one synthetic frame; a transcript
        that was never called final is final now."""
        turn = self.turns.open
        if not self.turns.next_sequence:
            self.emit(
                "audio.frame",
                {"turn_id": turn, "sequence": self.turns.frame(), "duration_ms": None, "speech": None},
                synthetic=True,
            )
        text = self.partial.pop(turn, None)
        if text:
            self.transcript(turn, text, True, synthetic=True)
        payload = {"turn_id": turn}
        if cause is not None:
            payload["cause"] = cause
        self.emit("turn.commit", payload, synthetic)
        self.turns.close(turn)
        self.spoke, self.moved_on = False, True

    # --- replies ---

    def before_reply(self):
        """A hook: closes the turn that a beginning reply answers."""

    def begin(self):
        """A reply begins: no row announces it."""
        self.before_reply()
        self.replies += 1
        id_ = f"response-{self.replies}"
        turn = self.turns.last_committed
        payload = {"response_id": id_, "turn_id": turn}
        if turn is None and self.replies == 1:
            payload["cause"] = "opening"
        self.emit("response.started", payload, synthetic=True)
        self.current = Response(id_)
        self.last_reply = id_
        self.answering = self.moved_on = False
        return self.current

    def conclude(self, reply, status, reason=None, synthetic=False):
        """Writes the end of a reply, once."""
        if reply is None or reply.status is not None:
            return
        payload = {"response_id": reply.id}
        if reason is not None:
            payload["reason"] = reason
        self.emit(f"response.{status}", payload, synthetic)
        reply.status = status
        self.ends[status] = self.ends.get(status, 0) + 1
        reply.retire()

    def audio(self, reply, payload, rate, row):
        """A piece of the agent's audio; gives its duration or None."""
        duration = None if rate is None else reply.span.take(payload, rate, row.trimmed)
        self.emit(
            "response.audio",
            {"response_id": reply.id, "sequence": reply.next_audio, "duration_ms": duration},
        )
        reply.next_audio += 1
        return duration

    def text(self, reply, text):
        """A piece of the agent's text."""
        self.emit(
            "response.text", {"response_id": reply.id, "sequence": reply.next_text, "text": text_of(text)}
        )
        reply.next_text += 1

    def interrupt(self, reason):
        """Writes user.interrupt for the reply that is cut; one that had not begun to speak is begun here,
        so that every interruption of the wire names a reply, and each reply is cut once."""
        reply = self.current
        if (
            reply is None
            or reply.interrupted
            or reply.status is not None
            and not (reply.next_audio or reply.next_text)
        ):
            if reply is not None:
                self.conclude(reply, "cancelled", "interrupted", synthetic=True)
            reply = self.begin()
        case = reply.stage()
        self.barge_ins[case] = self.barge_ins.get(case, 0) + 1
        self.emit("user.interrupt", {"turn_id": self.turns.open, "response_id": reply.id, "reason": reason})
        reply.interrupted = True
        return reply

    # --- tools ---

    def call(self, reply, call_id, name, arguments):
        """Writes tool.call of a reply."""
        if reply.id not in self._rounds:
            self._rounds.add(reply.id)
            self.book.rounds += 1
        self.book.call(reply.id, None, call_id, name, arguments)

    def result(self, call_id, output, ok):
        """Writes tool.result; False when the log knows neither the call nor any reply."""
        self.answering = self.moved_on = True
        return self.book.result(call_id, output, ok, self.last_reply)

    def tools(self):
        return self.book.header()

    # --- the link ---

    def is_active(self):
        """Whether anything happened that a new connection could interrupt."""
        return self.replies > 0 or self.turns.count > 0

    def closed(self):
        self.current = None

    def reopened(self):
        self.microphone = Span()

    def summary(self):
        ended = sum(self.ends.values())
        return {
            **super().summary(),
            "responses": {
                "started": self.replies,
                "unfinished": self.replies - ended,
                "out_of_band": 0,
                **dict(sorted(self.ends.items())),
            },
            "barge_ins": {case: self.barge_ins.get(case, 0) for case in CASES},
            "tools": {
                "calls": self.book.made,
                "results": self.book.results,
                "rounds": self.book.rounds,
                "unanswered": self.book.unanswered(),
            },
            "history_turns": self.history,
        }
