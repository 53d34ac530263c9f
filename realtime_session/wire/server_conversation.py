"""The default conversation as the server keeps it: items in order, what the caller heard of them, and the
numbered list of knowledge passages."""

from __future__ import annotations

from realtime_session.wire.server_config import check_fields, knowledge, missing, obj, refuse_type, text
from realtime_session.wire.server_core import Refusal, clone

ITEM_FIELDS = {
    "message": {"id", "type", "object", "status", "role", "content"},
    "function_call": {"id", "type", "object", "status", "call_id", "name", "arguments"},
    "function_call_output": {"id", "type", "object", "status", "call_id", "output"},
}
ITEM_NEEDS = {
    "message": ("role", "content"),
    "function_call": ("name", "arguments"),
    "function_call_output": ("call_id", "output"),
}
# Content part types by role; the second name of a pair is the beta's.
PARTS = {
    "user": {"input_text": "text", "input_audio": "audio"},
    "system": {"input_text": "text"},
    "assistant": {"output_text": "text", "text": "text", "output_audio": "transcript", "audio": "transcript"},
}


def check_item(item, poly: bool, path: str = "item") -> None:
    """Refuse a client's item that the server would not take."""
    obj(item, path)
    kind = item.get("type")
    if kind is None:
        raise missing(f"{path}.type")
    text(kind, f"{path}.type")
    if kind not in ITEM_FIELDS:
        names = ", ".join(f"'{name}'" for name in ITEM_FIELDS)
        raise Refusal(
            "invalid_value", f"Invalid value: '{kind[:60]}'. Supported values are: {names}.", f"{path}.type"
        )
    allowed = ITEM_FIELDS[kind] | ({"poly_knowledge"} if poly and kind == "function_call_output" else set())
    for key, value in item.items():
        where = f"{path}.{key}"
        if key not in allowed:
            raise Refusal("unknown_parameter", f"Unknown parameter: '{where}'.", where)
        if key == "content":
            _check_content(item.get("role"), value, where)
        elif key == "poly_knowledge":
            knowledge(value, where)
        else:
            text(value, where)
    for needed in ITEM_NEEDS[kind]:
        if needed not in item:
            raise missing(f"{path}.{needed}")


def _check_content(role, content, path) -> None:
    if not isinstance(role, str) or role not in PARTS:
        names = ", ".join(f"'{name}'" for name in PARTS)
        raise Refusal("invalid_value", f"Invalid value. Supported values are: {names}.", "item.role")
    if not isinstance(content, list) or not content:
        raise refuse_type(path, "a non-empty array", content)
    for position, part in enumerate(content):
        where = f"{path}[{position}]"
        obj(part, where)
        kind = part.get("type")
        if not isinstance(kind, str) or kind not in PARTS[role]:
            names = ", ".join(f"'{name}'" for name in PARTS[role])
            raise Refusal("invalid_value", f"Invalid value. Supported values are: {names}.", f"{where}.type")
        fields = {"type": text, "text": text, "audio": text, "transcript": text}
        check_fields(fields, {}, part, where)
        body = PARTS[role][kind]
        if body not in part and body == "text":
            raise missing(f"{where}.{body}")


def is_audio(item) -> bool:
    """Whether the item is something the caller said (rather than typed)."""
    return item.get("role") == "user" and any(
        part["type"] == "input_audio" for part in item.get("content", ())
    )


class Conversation:
    """Items in order. An item is the wire's own object; what the wire does not show lies beside it."""

    __slots__ = ("_first", "_items", "briefs", "sent_ms")

    def __init__(self, first_previous):
        self._first = first_previous
        self._items = []
        self.briefs = {}  # poly_knowledge passages by the function_call_output item they came with
        self.sent_ms = {}  # audio sent so far, by assistant item id

    def add(self, item: dict, after: str | None = None) -> str | None:
        """Insert after an item id ("root" = first, None = last); returns previous_item_id for the wire."""
        if after == "root":
            position = 0
        elif after is None:
            position = len(self._items)
        else:
            position = self._index(after)
            if position is None:
                raise Refusal(
                    "invalid_value", f"Item with item_id '{after[:80]}' does not exist.", "previous_item_id"
                )
            position += 1
        self._items.insert(position, item)
        return self._items[position - 1]["id"] if position else self._first

    def last_id(self):
        return self._items[-1]["id"] if self._items else self._first

    def last(self):
        return self._items[-1] if self._items else None

    def before(self, item_id: str):
        position = self._index(item_id)
        return self._items[position - 1]["id"] if position else self._first

    def _index(self, item_id):
        for position, item in enumerate(self._items):
            if item["id"] == item_id:
                return position
        return None

    def find(self, item_id: str):
        position = self._index(item_id)
        return None if position is None else self._items[position]

    def need(self, item_id: str, action: str) -> dict:
        item = self.find(item_id)
        if item is None:
            raise Refusal(
                f"item_{action}_invalid_item_id",
                f"Item with item_id '{item_id[:80]}' does not exist.",
                "item_id",
            )
        return item

    def remove(self, item_id: str) -> None:
        self._items.remove(self.find(item_id))

    def has_call(self, call_id: str) -> bool:
        return any(item["type"] == "function_call" and item.get("call_id") == call_id for item in self._items)

    def keep_spoken(self, item_ids, spoken: str) -> None:
        """History keeps what was said: the text of these items becomes `spoken`, in order."""
        rest = spoken
        for item_id in item_ids:
            item = self.find(item_id)
            if item is None or item["type"] != "message":
                continue
            for part in item["content"]:
                key = "transcript" if "transcript" in part else "text"
                whole = part.get(key) or ""
                last = item_id == item_ids[-1]
                kept = rest if last or not rest.startswith(whole) else whole
                rest = rest[len(kept) :] if rest.startswith(kept) else ""
                part[key] = kept

    def truncate(self, item_id: str, content_index: int, audio_end_ms: int) -> None:
        """conversation.item.truncate: also deletes the transcript (wire.md 3)."""
        item = self.need(item_id, "truncate")
        if item.get("role") != "assistant" or not any(
            part["type"].endswith("audio") for part in item["content"]
        ):
            raise Refusal("invalid_value", "Only model output audio messages can be truncated", "item_id")
        if content_index >= len(item["content"]):
            raise Refusal("invalid_value", f"Content index {content_index} does not exist.", "content_index")
        sent = self.sent_ms.get(item_id, 0)
        if audio_end_ms > sent:
            raise Refusal(
                "invalid_value", f"Audio content of {sent}ms is already shorter than {audio_end_ms}ms", None
            )
        self.sent_ms[item_id] = audio_end_ms
        item["content"][content_index].pop("transcript", None)

    def passages(self, session_knowledge) -> list:
        """Everything the model can cite, numbered from 1: the session's brief, then tool outputs in order."""
        found = list(session_knowledge or ())
        for item in self._items:
            found.extend(self.briefs.get(item["id"], ()))
        return [
            {"number": number, "name": passage["name"], "content": passage["content"]}
            for number, passage in enumerate(found, 1)
        ]

    def snapshot(self) -> list:
        return clone(self._items)
