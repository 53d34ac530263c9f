"""Audio that crosses a wire as base64: how long it lasts, without decoding it."""

from __future__ import annotations

#: bytes per millisecond of the formats that name one (G.711 is 8 kHz, one byte a sample)
PCM16_24K = 48.0
_BY_NAME = {
    "pcm16": PCM16_24K,
    "g711_ulaw": 8.0,
    "g711_alaw": 8.0,
    "audio/pcmu": 8.0,
    "audio/pcma": 8.0,
    "audio/pcm": PCM16_24K,
    "pcm_16000": 32.0,
    "pcm_24000": 48.0,
    "pcm_8000": 16.0,
    "ulaw_8000": 8.0,
}
MAX_SPAN_MS = 600000


def bytes_per_ms(format_, default=PCM16_24K):
    """Bytes of audio per millisecond for a wire format: a name, or an object {type, rate} (rate in Hz)."""
    if format_.__class__ is dict:
        rate = format_.get("rate")
        base = bytes_per_ms(format_.get("type"), default)
        if rate.__class__ is int and 0 < rate <= 768000 and base != 8.0:
            return rate * 2 / 1000
        return base
    if format_.__class__ is str:
        return _BY_NAME.get(format_, default)
    return default


def base64_bytes(text):
    """How many bytes a base64 text decodes to, from its length alone."""
    return len(text) * 3 // 4 - (text.endswith("=") + text.endswith("=="))


class Span:
    """Durations of consecutive pieces in whole milliseconds; the remainder is carried from piece to piece,
    so that the sum never drifts by more than 1 ms."""

    __slots__ = ("_carry",)

    def __init__(self):
        self._carry = 0.0

    def take(self, payload, rate, trimmed=False):
        """Milliseconds of one base64 payload at `rate` bytes per ms; None when it is no text, was cut by
        the logger, lasts under 1 ms (a placeholder, not audio), or is longer than a trace may say."""
        if payload.__class__ is not str or trimmed:
            return None
        exact = base64_bytes(payload) / rate
        if exact < 1:
            return None
        exact += self._carry
        whole = int(exact + 1e-9)
        if whole > MAX_SPAN_MS:
            return None
        self._carry = exact - whole
        return whole
