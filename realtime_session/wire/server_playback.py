"""What the caller can hear, as far as the server can know.

Three kinds of evidence, the best one wins per response (seed 002, "Turn-taking"):
- the client's poly.output_audio.* reports;
- replies the server voices itself: it knows how much audio it sent, and that audio plays in real time;
- text replies without reports: an estimate from the number of words at a typical speaking rate.
"""

from __future__ import annotations

from realtime_session.wire.server_core import Refusal


class Track:
    """The playback of one response."""

    __slots__ = (
        "cut",
        "items",
        "reported",
        "response_id",
        "sent_ms",
        "spoken_ms",
        "started",
        "text",
        "until_ms",
    )

    def __init__(self, response_id: str):
        self.response_id = response_id
        self.items = []
        self.text = ""
        self.started = None  # virtual ms of the first sound, as far as known
        self.until_ms = 0  # virtual ms at which what was sent so far has been said
        self.sent_ms = 0
        self.spoken_ms = 0
        self.reported = None  # None, "started" or "stopped"
        self.cut = False


class Playback:
    """All tracks of a connection; one loudspeaker, so voiced replies queue behind each other."""

    __slots__ = ("_free_ms", "_ms_per_word", "_timeline", "_tracks")

    def __init__(self, timeline, ms_per_word: int):
        self._timeline = timeline
        self._ms_per_word = ms_per_word
        self._tracks = {}
        self._free_ms = 0

    def begin(self, response_id: str) -> None:
        self._tracks[response_id] = Track(response_id)

    def written(self, response_id: str, item_id: str, text: str) -> None:
        """Text of a reply the client will voice: estimated as spoken from now on."""
        track = self._note(response_id, item_id)
        track.text += text
        if track.started is None:
            track.started = track.until_ms = max(self._free_ms, self._timeline.now_ms)
        track.until_ms = track.started + self._ms_per_word * len(track.text.split())
        self._free_ms = track.until_ms

    def voiced(self, response_id: str, item_id: str, duration_ms: int) -> None:
        """Audio the server sent: it plays after what was sent before."""
        track = self._note(response_id, item_id)
        now = self._timeline.now_ms
        if track.started is None:
            track.started = max(self._free_ms, now)
        self._free_ms = max(self._free_ms, now, track.started) + duration_ms
        track.sent_ms += duration_ms
        track.until_ms = self._free_ms

    def transcribed(self, response_id: str, item_id: str, text: str) -> None:
        """The words that belong to voiced audio."""
        self._note(response_id, item_id).text += text

    def _note(self, response_id, item_id) -> Track:
        track = self._tracks[response_id]
        if item_id not in track.items:
            track.items.append(item_id)
        return track

    def audible(self) -> list:
        """Ids of the responses the caller is hearing now."""
        now = self._timeline.now_ms
        return [
            track.response_id
            for track in self._tracks.values()
            if not track.cut
            and (
                track.reported == "started"
                if track.reported
                else track.started is not None and track.started <= now < track.until_ms
            )
        ]

    def last_end_ms(self) -> int:
        """When the last reply has been said, at the latest."""
        return max((track.until_ms for track in self._tracks.values() if not track.cut), default=0)

    def end_ms(self, response_id: str):
        """When the audio sent for a response has been played; None if it has none or was cut."""
        track = self._tracks.get(response_id)
        return None if track is None or track.started is None or track.cut else track.until_ms

    def was_cut(self, response_id: str) -> bool:
        return self._tracks[response_id].cut

    def played_ms(self, response_id: str) -> int:
        track = self._tracks[response_id]
        if track.reported:
            return track.spoken_ms
        if track.started is None or track.cut:
            return track.spoken_ms
        return max(0, min(track.sent_ms, self._timeline.now_ms - track.started))

    def cut(self) -> list:
        """The caller took the turn: everything audible or queued stops. Returns the tracks, with what was
        heard."""
        now = self._timeline.now_ms
        stopped = []
        for track in self._tracks.values():
            sounding = track.started is not None and now < track.until_ms
            if track.cut or not (track.reported == "started" or (track.reported is None and sounding)):
                continue
            track.spoken_ms = self.played_ms(track.response_id)
            track.cut = True
            stopped.append(track)
        self._free_ms = now
        return stopped

    @staticmethod
    def heard_text(track: Track) -> str:
        """The words a cut voiced reply got to: its share of the text, cut after the last whole word."""
        if not track.sent_ms:
            return ""
        spoken = track.text.split()
        count = len(spoken) * track.spoken_ms // track.sent_ms
        return " ".join(spoken[:count])

    def report(self, kind: str, event: dict):
        """A poly.output_audio report. Returns the finished track on "stopped", else None. Raises Refusal."""
        track = self._tracks.get(event["response_id"])
        if track is None:
            raise Refusal(
                "invalid_value", f"Response '{event['response_id'][:80]}' does not exist.", "response_id"
            )
        if track.reported == "stopped":
            raise Refusal(
                "invalid_value", "Playback of this response was already reported stopped.", "response_id"
            )
        if kind == "started":
            if track.reported:
                raise Refusal("invalid_value", "Playback of this response already started.", "response_id")
            track.reported = "started"
            return None
        if track.reported is None:
            raise Refusal(
                "invalid_value", "Playback of this response was not reported started.", "response_id"
            )
        track.spoken_ms = event["audio_ms"]
        if kind == "delta":
            return None
        track.reported = "stopped"
        track.until_ms = min(track.until_ms, self._timeline.now_ms)
        return track
