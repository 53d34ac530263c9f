"""What the OpenAI importer remembers: responses, tool calls, and client requests without an answer yet."""

from __future__ import annotations

from realtime_session.wire.audio import Span

MAX_PENDING = 1000


class Response:
    """One response of the log."""

    __slots__ = (
        "id",
        "out_of_band",
        "status",
        "interrupted",
        "announced",
        "next_audio",
        "next_text",
        "span",
        "sounding",
        "sent",
        "open_items",
        "items_added",
        "texts",
        "mcp",
    )

    def __init__(self, id_, out_of_band=False, announced=True):
        self.id = id_
        self.out_of_band = out_of_band
        self.status = None  # None while active, else how it ended
        self.interrupted = False  # one interrupt per response
        self.announced = announced
        self.next_audio = self.next_text = 0
        self.span = Span()
        self.sounding = False  # reported, not estimated
        self.sent = {}  # item id -> ms of audio sent so far (None: unknown), in order
        self.open_items = {}  # items added and not done (values unused)
        self.items_added = False
        self.texts = None  # (item, part) of which text has arrived as deltas
        self.mcp = None  # server-side calls without a result yet: item id -> ok or None

    def stage(self):
        """How far it is, as the name of a barge-in case (wire protocols, section 5)."""
        if self.status is not None:
            return "after_completion"
        if not (self.next_audio or self.next_text or self.sent or self.sounding):
            return "before_output"
        return "mid_generation" if self.open_items or not self.items_added else "all_items_done"

    def add_audio(self, item_id, duration_ms):
        """Books audio on its item; truncation offsets on the wire are per item."""
        before = self.sent.get(item_id, 0)
        self.sent[item_id] = None if duration_ms is None or before is None else before + duration_ms

    def before(self, item_id):
        """ms of audio sent in the items before this one; None when one of them is unknown."""
        total = 0
        for other, ms in self.sent.items():
            if other == item_id:
                return total
            if ms is None:
                return None
            total += ms
        return total

    def retire(self):
        """After the end only the little that late rows may still need is kept."""
        self.texts = self.mcp = None
        self.open_items = {}


class Call:
    """One tool call: its id in the trace and where it came from."""

    __slots__ = ("trace_id", "response_id", "content", "answered", "uses", "repeats")

    def __init__(self, trace_id, response_id, content):
        self.trace_id = trace_id
        self.response_id = response_id
        self.content = content  # hash of name and arguments
        self.answered = False
        self.uses = 1  # how many payloads this wire id has named
        self.repeats = 0  # announcements dropped since the answer


class Pending:
    """A client's item.create that the server has neither taken nor refused yet."""

    __slots__ = ("order", "item_id", "role", "type", "call_id", "event_id", "item", "line", "flushed")

    def __init__(self, order, item, event_id, line):
        self.order = order
        self.item_id = item.get("id")
        self.role = item.get("role")
        self.type = item.get("type")
        self.call_id = item.get("call_id")
        self.event_id = event_id
        self.item = item
        self.line = line
        self.flushed = False  # its effect was written before the server's word came

    def matches(self, item):
        """Whether the server's item is this one."""
        if self.item_id is not None:
            return self.item_id == item.get("id")
        if self.type != item.get("type"):
            return False
        if self.type == "message" or self.type is None:
            return self.role == item.get("role")
        return self.call_id == item.get("call_id")


class Requests:
    """The client's open requests, in order: items, response.create, commits."""

    __slots__ = ("_order", "items", "creates", "commits")

    def __init__(self):
        self._order = 0
        self.items, self.creates = [], []
        self.commits = 0

    def add_item(self, item, event_id, line):
        """An item.create was sent."""
        self._order += 1
        if len(self.items) < MAX_PENDING:
            self.items.append(Pending(self._order, item, event_id, line))

    def add_create(self, none, metadata, event_id):
        """A response.create was sent; `none`: it writes to no conversation."""
        self._order += 1
        if len(self.creates) < MAX_PENDING:
            self.creates.append((self._order, none, metadata, event_id))

    def take_item(self, item):
        """The request that the server's item answers, removed; None when the client did not send it."""
        for index, pending in enumerate(self.items):
            if pending.matches(item):
                return self.items.pop(index)
        return None

    def take_create(self, conversation_id, named, metadata):
        """The request that a new response answers, removed: by metadata, else in order.

        `named`: whether the response says which conversation it writes to."""
        found = None
        if metadata:
            found = next((c for c in self.creates if c[2] == metadata), None)
        if found is None:
            wanted = None if not named else conversation_id is None
            found = next((c for c in self.creates if wanted is None or c[1] is wanted), None)
        if found is not None:
            self.creates.remove(found)
        return found

    def refuse(self, event_id, code):
        """The server refused something: by the client's event id, or by what the code is about.
        Gives the refused item.create, if it was one."""
        if event_id is not None:
            for index, pending in enumerate(self.items):
                if pending.event_id == event_id:
                    return self.items.pop(index)
        kept = [c for c in self.creates if c[3] != event_id or event_id is None]
        if (
            len(kept) == len(self.creates)
            and event_id is None
            and kept
            and (code == "conversation_already_has_active_response")
        ):
            del kept[0]
        self.creates = kept
        if code == "input_audio_buffer_commit_empty" and self.commits:
            self.commits -= 1
        return None
