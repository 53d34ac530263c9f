"""What every part of the scripted realtime server stands on: virtual time, ids, refusals."""

from __future__ import annotations

import heapq


class ServerError(Exception):
    """The harness used the server in a way no network peer could, such as connecting twice."""


class Refusal(Exception):
    """A client event the server refuses; it becomes one `error` event and leaves the session open.

    `code` is a wire code (see docs/protocols/dialog-rsn-1-behaviours.md), `param` the dotted name of the
    offending field or None.
    """

    def __init__(self, code: str, message: str, param: str | None = None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param


class Timeline:
    """A virtual clock in whole milliseconds with the actions that wait on it.

    Actions due at one instant run in the order in which they were scheduled, so a run is deterministic.
    """

    __slots__ = ("_count", "_heap", "now_ms")

    def __init__(self):
        self.now_ms = 0
        self._heap = []
        self._count = 0

    def after(self, delay_ms: int, action) -> list:
        """Run `action()` in `delay_ms`; returns a ticket for `cancel`."""
        ticket = [self.now_ms + delay_ms, self._count, action]
        self._count += 1
        heapq.heappush(self._heap, ticket)
        return ticket

    @staticmethod
    def cancel(ticket: list | None) -> None:
        """Forget a waiting action; harmless for None and for one that has run."""
        if ticket is not None:
            ticket[2] = None

    def clear(self) -> None:
        self._heap.clear()

    def due_in(self) -> int | None:
        """Milliseconds until something happens by itself; None if nothing will."""
        while self._heap and self._heap[0][2] is None:
            heapq.heappop(self._heap)
        return max(0, self._heap[0][0] - self.now_ms) if self._heap else None

    def run(self, until_ms: int) -> None:
        """Run everything due up to `until_ms` and leave the clock there."""
        while self._heap and self._heap[0][0] <= until_ms:
            due, _, action = heapq.heappop(self._heap)
            if action is not None:
                self.now_ms = max(self.now_ms, due)
                action()
        self.now_ms = max(self.now_ms, until_ms)


class Ids:
    """Deterministic ids. Counters run on over reconnects, so a new connection never repeats an id."""

    __slots__ = ("_counts", "connection")

    def __init__(self):
        self.connection = 0
        self._counts = {}

    def next(self, prefix: str) -> str:
        number = self._counts.get(prefix, 0) + 1
        self._counts[prefix] = number
        return f"{prefix}_{self.connection}x{number:06d}"

    def call(self, width: int) -> str:
        """A call id of exactly `width` characters, as the dialect has them (wire.md 6 and 8)."""
        number = self._counts.get("call", 0) + 1
        self._counts["call"] = number
        return "call_" + str(number).rjust(width - len("call_"), "0")


def json_problem(value, deepest: int = 128) -> str | None:
    """Why `value` could not stand in a JSON text (I-JSON, at most `deepest` levels), or None."""
    waiting = [(value, 1)]
    while waiting:
        item, depth = waiting.pop()
        if depth > deepest:
            return f"nesting beyond {deepest} levels"
        if isinstance(item, dict):
            for key, inner in item.items():
                if not isinstance(key, str) or not _writable(key):
                    return "an object key that is no Unicode string"
                waiting.append((inner, depth + 1))
        elif isinstance(item, list):
            waiting.extend((inner, depth + 1) for inner in item)
        elif isinstance(item, str):
            if not _writable(item):
                return "a lone surrogate"
        elif isinstance(item, float):
            if item != item or item in (float("inf"), float("-inf")):
                return "a number that is not finite"
        elif item is not None and not isinstance(item, (bool, int)):
            return f"a {type(item).__name__}, which is no JSON value"
    return None


def _writable(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


def clone(value):
    """A copy of a JSON value that shares nothing with it."""
    if isinstance(value, dict):
        return {key: clone(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clone(item) for item in value]
    return value


def words(text: str) -> list:
    """`text` cut before each word, spaces kept, so that the parts join to the text exactly."""
    parts, start = [], 0
    for position in range(1, len(text)):
        if text[position].isspace() and not text[position - 1].isspace():
            parts.append(text[start:position])
            start = position
    if text:
        parts.append(text[start:])
    return parts
