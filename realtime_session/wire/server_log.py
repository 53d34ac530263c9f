"""The wire log of a server session, in the wrapped line form that the importers read."""

from __future__ import annotations

import json

from realtime_session.wire.server_core import clone


class WireLog:
    """What crossed the wire, in order, as the client would have recorded it.

    A record is {"i", "kind": "message" | "close", "direction": "sent" | "received", "data", "at"}; "sent"
    is client to server, "at" is virtual seconds since the server was made. The data of a close is {"code"}.
    """

    __slots__ = ("records",)

    def __init__(self):
        self.records = []

    def add(self, direction: str, data, now_ms: int, kind: str = "message") -> None:
        self.records.append(
            {
                "i": len(self.records),
                "kind": kind,
                "direction": direction,
                "data": clone(data),
                "at": now_ms / 1000,
            }
        )

    def to_jsonl(self) -> str:
        """One record a line, ending in a line feed; ASCII, so it is safe in any encoding."""
        lines = [json.dumps(record, separators=(",", ":"), allow_nan=False) for record in self.records]
        return "".join(line + "\n" for line in lines)
