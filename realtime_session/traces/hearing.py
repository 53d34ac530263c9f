"""Generated is not heard: how much audio and which words of each response reached the caller (contract 5)."""
from __future__ import annotations


class Hearing:
    """Follows text and playback of every response. Holds the texts, so it is for one conversation at a
    time, not for a million events."""

    def __init__(self, session):
        self._session = session
        self._texts, self._spoken = {}, {}

    def see(self, event, decision):
        """Takes one event that was not rejected."""
        p = event["payload"]
        if event["type"] == "response.text" and decision.kind == "accepted":
            self._texts.setdefault(p["response_id"], []).append(p["text"])
        elif "spoken_text" in p and event["type"].startswith("playback.") and decision.kind == "accepted":
            self._spoken[p["response_id"]] = p["spoken_text"]

    def heard(self):
        """response id -> {audio_ms, text, estimated}: audio_ms null when not known."""
        s = self._session.records
        return {response_id: self._one(s, response_id, record) for response_id, record in s.responses.items()}

    def _one(self, s, response_id, record):
        audio_ms, estimated = record.heard_ms(s.now_ms, s.estimates)
        if record.report == "flushed" and record.bound_ms is None and record.sent_ms:
            audio_ms, estimated = record.played_ms or 0, record.report_at is None
        if response_id in self._spoken:
            return {"audio_ms": audio_ms, "text": self._spoken[response_id], "estimated": False}
        text = "".join(self._texts.get(response_id, ()))
        if audio_ms is None:
            return {"audio_ms": None, "text": None, "estimated": True}
        share = 1.0 if not record.sent_ms else audio_ms / record.sent_ms
        if not record.next_audio and record.interrupted:
            share = 0.0  # stopped before its first sample
        return {"audio_ms": audio_ms, "text": cut_at_word(text, share),
                "estimated": estimated or bool(text) and 0 < share < 1}


def cut_at_word(text, share):
    """The share (0 to 1) of a text that was heard, cut back to a whole word."""
    if share >= 1:
        return text
    end = int(len(text) * share)
    while end > 0 and not (end == len(text) or text[end].isspace()):
        end -= 1
    return text[:end].rstrip()
