"""Twilio Media Streams logs as traces (wire protocols, section 9, column Twilio Media Streams).

The stream carries sound, keys and marks of one call, and nothing about turns, words or tools. What the
application plays is a reply: it begins with the first `media` sent and is over when its last `mark` came
back, at a `clear`, or when the stream stops.
"""

from __future__ import annotations

from realtime_session.wire.fields import fingerprint, name_of, object_of
from realtime_session.wire.replies import RepliesImporter
from realtime_session.wire.rows import RECEIVED

MAX_MARKS = 10000
PAUSE_MS = 500  # audio sent this long after everything was played is another reply
_HANDLED = frozenset(("connected", "start", "media", "stop", "dtmf", "mark", "clear"))


class TwilioImporter(RepliesImporter):
    """Importer of Twilio Media Streams logs, as the application sees them."""

    FORMAT = "twilio"
    AUDIO_MARKS = (b'"media"',)

    def __init__(self, dialect=None, read_only=(), clock=None):
        super().__init__(dialect, read_only, clock)
        self.rate = 8.0
        self._stream = None
        self._last = None  # (sequenceNumber, fingerprint) of the last row
        self._chunks = {}  # track -> number of the last chunk
        self._marks = []  # marks sent and not returned: (name, ms sent before it or None)
        self._sent_ms = 0  # of the current reply; None: unknown
        self._stream_ms = self._drained_at = None

    # --- rows ---

    def is_received(self, row):
        if row.direction is not None:
            return row.direction == RECEIVED
        return "sequenceNumber" in row.data or row.data.get("event") == "connected"

    def handle(self, row):
        data, event = row.data, row.data.get("event")
        if event.__class__ is not str:
            self.raw_type = ""
            self.unmap("(no type)")
            return
        self.raw_type = event[:100]
        number = _number(data.get("sequenceNumber"))
        if number is not None:
            this = (number, fingerprint(data))
            if this == self._last:
                self.repeats += 1
                return
            self._last = this
        if event not in _HANDLED:
            self.unmap(event)
        elif self.link_down and event not in ("connected", "start"):
            self.warn("sent_while_down", f"{event} after the stream had stopped")
            self.unmap(event)
        elif getattr(self, "on_" + event)(data, row) is False:
            self.unmap(event)
        elif not self.emitted():
            self.note(event)

    # --- the stream ---

    def on_connected(self, data, row):
        """The WebSocket is open; the stream begins with `start`."""

    def on_start(self, data, row):
        start = object_of(data.get("start"))
        stream = name_of(data.get("streamSid")) or name_of(start.get("streamSid"))
        if self._stream is not None and not self._nth and self.is_active():
            self.warn("reconnect", "a second start without a stop: taken as a lost connection")
            self.reconnect("a new stream without a stop in the log")
        self._stream = stream or "unknown"
        if self.session_id is None:
            self.session_id = stream
        format_ = object_of(start.get("mediaFormat"))
        hertz = _number(format_.get("sampleRate"))
        if hertz is not None and 1000 <= hertz <= 768000:
            wide = "l16" in (name_of(format_.get("encoding")) or "").lower()
            self.rate = hertz * (2 if wide else 1) / 1000

    def on_stop(self, data, row):
        if self._close is None:
            self._close = (self.line, 1000, "stop")
        self.link_down = True

    def at_end(self):
        if self._close is not None and self._close[1] == 1000:
            self._over()

    def closed(self):
        """What still plays at a loss is stopped by it; at the end of the log `at_end` ends it."""
        if not self.link_down:
            self._forget()

    def reopened(self):
        super().reopened()
        self._forget()
        self._stream, self._last, self._chunks = None, None, {}
        self._stream_ms = None

    def _forget(self):
        self.current, self._marks, self._drained_at = None, [], None

    # --- sound ---

    def on_media(self, data, row):
        media = object_of(data.get("media"))
        if media.get("payload").__class__ is not str:
            return False
        track = name_of(media.get("track"))
        self._check_chunk(track, _number(media.get("chunk")))
        at = _number(media.get("timestamp"))
        if at is not None and at <= 10**12:
            self._stream_ms = at
            self.audio_offset(at)
        if _is_agent(track, media, row):
            self._play(media, row)
        else:
            self.frame(media["payload"], self.rate, row)
        return None

    def _check_chunk(self, track, chunk):
        if chunk is None:
            return
        last = self._chunks.get(track)
        if last is not None and chunk != last + 1:
            self.warn("media_gap", f"chunk {chunk} of track {track} follows chunk {last}")
        if track in self._chunks or len(self._chunks) < 16:
            self._chunks[track] = chunk

    def _play(self, media, row):
        reply = self.current
        if reply is not None and self._drained_at is not None:
            pause = None if self._stream_ms is None else self._stream_ms - self._drained_at
            if pause is None or pause >= PAUSE_MS:
                self._over()
        self._drained_at = None
        if reply is None or reply.interrupted or reply.status is not None:
            reply = self.begin()
            self._sent_ms = 0
        duration = self.audio(reply, media["payload"], self.rate, row)
        if duration is None or self._sent_ms is None:
            self._sent_ms = None
        else:
            self._sent_ms += duration

    def on_mark(self, data, row):
        name = name_of(object_of(data.get("mark")).get("name"))
        if name is None:
            return False
        returned = row.direction == RECEIVED or row.direction is None and "sequenceNumber" in data
        if returned:
            return self._returned(name)
        if len(self._marks) < MAX_MARKS:
            self._marks.append((name, self._sent_ms, self.current))
        return None

    def _returned(self, name):
        """A mark comes back when everything before it was played, or when a clear threw it away."""
        at = next((i for i, mark in enumerate(self._marks) if mark[0] == name), None)
        if at is None:
            self.warn("mark_unknown", f"mark {name[:80]} came back and was not sent")
            return False
        _, played, reply = self._marks[at]
        del self._marks[: at + 1]
        if reply is None or reply.interrupted or reply.status is not None:
            return None
        self.emit("playback.progress", {"response_id": reply.id, "played_ms": played})
        if not self._marks and played == self._sent_ms:
            self._drained_at = self._stream_ms or 0
        return None

    def on_clear(self, data, row):
        reply = self.current
        if reply is None or reply.status is not None or self._drained_at is not None:
            self.warn("clear_idle", "clear with nothing left to play")
            return
        self.interrupt("clear")
        self.emit("playback.cleared", {"response_id": reply.id, "played_ms": None}, synthetic=True)
        self.conclude(reply, "cancelled", "clear", synthetic=True)

    def _over(self):
        """The reply has ended: everything was played, or the stream stopped before the last mark."""
        reply = self.current
        if reply is None or reply.status is not None:
            return
        if self._drained_at is None and any(mark[2] is reply for mark in self._marks):
            self.conclude(reply, "incomplete", "the stream stopped before its last mark", synthetic=True)
            return
        self.conclude(reply, "completed", synthetic=True)
        if self._drained_at is not None:
            payload = {"response_id": reply.id, "played_ms": self._sent_ms}
            self.emit("playback.stopped", payload, synthetic=True)

    # --- keys ---

    def on_dtmf(self, data, row):
        digit = name_of(object_of(data.get("dtmf")).get("digit"))
        if digit is None or digit.strip("0123456789ABCD*#"):
            return False
        self.emit("input.dtmf", {"turn_id": self.turns.open, "digits": digit})
        return None


def _is_agent(track, media, row):
    """Whether a piece of sound is the application's: Twilio numbers what it sends, applications do not."""
    if track is not None:
        return track.startswith("outbound")
    if "chunk" in media or "timestamp" in media:
        return False
    return row.direction != RECEIVED


def _number(value):
    """A number that the wire writes as a string."""
    if value.__class__ is str and value.isascii() and value.isdigit() and len(value) <= 15:
        return int(value)
    return value if value.__class__ is int and 0 <= value < 10**15 else None
