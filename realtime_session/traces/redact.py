"""Taking private content out of a trace, so that it can be shared and still replays alike.

A field of a class (ids, text, arguments, …) is kept, dropped, or replaced by a keyed hash (HMAC, RFC 2104, over
BLAKE2b). Equal values get equal hashes, so ids stay correlatable and two equal calls stay equal; whoever does
not hold the key can neither read nor guess a value. What a rule needs and the policy takes away is told by
`rules_off`. The form of an event never changes: a malformed one stays malformed in the same way.
"""
from __future__ import annotations

import re

from realtime_session.contract.events import EVENTS, explain, matches
from realtime_session.contract.header import open_header
from realtime_session.values.errors import InputError, show
from realtime_session.values.strict_json import canonical

DROP, HASH, KEEP = "drop", "hash", "keep"
ACTIONS = (DROP, HASH, KEEP)

#: class -> (what is done by default, what belongs to it)
CLASSES = {
    "ids": (KEEP, "ids of events, turns, responses, calls, items"),
    "session": (HASH, "the session id and ids of accounts and connections"),
    "names": (KEEP, "tool names"),
    "text": (DROP, "text, transcripts, spoken text, instructions, error messages"),
    "digits": (DROP, "keys that the caller pressed"),
    "arguments": (HASH, "arguments of tool calls"),
    "results": (HASH, "results and receipts of tool calls"),
    "schemas": (DROP, "parameter schemas and descriptions of tools"),
    "reasons": (HASH, "reasons, targets and codes that are more than one plain word"),
    "annotations": (HASH, "values of annotations that are more than one plain word"),
    "audio": (DROP, "audio in a session log: as many zero bytes instead, so that durations stay"),
}
#: payload field -> class; fields not named here are numbers, flags and words of the contract
FIELDS = {
    "turn_id": "ids", "response_id": "ids", "call_id": "ids", "ref_event_id": "ids", "about": "ids",
    "name": "names", "text": "text", "spoken_text": "text", "message": "text", "digits": "digits",
    "arguments": "arguments", "arguments_text": "arguments", "result": "results", "receipt": "results",
    "reason": "reasons", "target": "reasons", "code": "reasons", "resume_token": "token",
}
_WORD = re.compile(r"[a-z][a-z_]{0,39}").fullmatch
_TYPE = re.compile(r"[A-Za-z][A-Za-z_.]{0,59}").fullmatch
_PRODUCT = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,59}").fullmatch
_KEPT_SOURCE = ("clock", "end")
#: What a hash begins with where it stands for a value that was malformed: no name, digits or word holds it.
_MALFORMED = "~"


class Policy:
    """What is done with each class; `given` overrides the defaults (class -> drop, hash or keep).

    Raises InputError redact/policy for an unknown class or action. Schemas are kept only together with the
    arguments that they describe: a hash satisfies no schema."""

    def __init__(self, given=()):
        self.actions = {name: action for name, (action, _) in CLASSES.items()}
        for name, action in dict(given).items():
            if name not in CLASSES:
                raise InputError("redact/policy", f"no class {show(name)}, expected one of " + ", ".join(CLASSES))
            if action not in ACTIONS:
                raise InputError("redact/policy", f"{name}: expected drop, hash or keep, got {show(action)}")
            if name in ("schemas", "audio") and action == HASH:
                raise InputError("redact/policy", f"{name}: expected drop or keep, got \"hash\"")
            if name in ("ids", "session", "names") and action == DROP:
                raise InputError("redact/policy", f"{name}: expected hash or keep, got \"drop\": nothing would "
                                                  "belong together any more")
            self.actions[name] = action
        if self.actions["arguments"] != KEEP:
            self.actions["schemas"] = DROP

    def rules_off(self):
        """{rule id: why} of the rules that no longer judge what they judged in the original."""
        act, off = self.actions, {}
        dropped = [name for name in ("text", "digits", "arguments", "results", "reasons", "annotations")
                   if act[name] == DROP]
        if dropped:
            off["event/id_conflict"] = "two events under one id that differ only in what was dropped (" \
                + ", ".join(dropped) + ") look like one event sent twice"
        if act["schemas"] != KEEP:
            off["tool/arguments"] = "the schemas of the tools were removed"
        if act["arguments"] == DROP:
            off["tool/duplicate_effect"] = "without arguments no two calls are known to be equal"
            off["tool/write_replayed"] = "without arguments no two calls are known to be equal"
        return off

    def describe(self):
        """What a redacted header says about itself, as a JSON object."""
        return {"policy": dict(self.actions), "rules_off": sorted(self.rules_off())}


class Pseudonyms:
    """Keyed hashes: HMAC over BLAKE2b, cut to 96 bits. The key (16 bytes or more) is never shown."""

    def __init__(self, key):
        if len(key) < 16:
            raise InputError("redact/key", f"expected a key of 16 bytes or more, got {len(key)}")
        from hashlib import blake2b
        from hmac import new
        self._start = new(bytes(key), None, blake2b)

    def of(self, text, kind="text"):
        """24 hexadecimal digits for a text; `kind` keeps apart what is of different kinds."""
        mac = self._start.copy()
        mac.update(f"{kind}\0{text}".encode("utf-8", "surrogatepass"))
        return mac.hexdigest()[:24]

    def of_json(self, value):
        """The same for a JSON value: equal canonical forms (RFC 8785), equal hashes."""
        return self.of(canonical(value), "json")


class TraceRedactor:
    """Redacts one trace: `header` once, then `event` for each event. Holds nothing but its key.

    Raises HeaderError for a header that no session can be opened with."""

    def __init__(self, header, key, policy=None):
        open_header(header)
        self.policy = policy if policy is not None else Policy()
        self._act, self._hide = self.policy.actions, Pseudonyms(key)
        self._given = header
        self.profile = header.get("profile", "half_duplex")

    def header(self):
        """The redacted header; its `source` tells the policy and the rules that it switches off."""
        given = self._given
        out = {"session_id": self._id(given["session_id"], "session"),
               "resume_token": self._token(given["resume_token"])}
        for key in ("profile", "limits"):
            if key in given:
                out[key] = given[key]
        if "tools" in given:
            out["tools"] = [self._tool(tool) for tool in given["tools"]]
        source = given.get("source", {})
        out["source"] = {key: value for key, value in source.items() if key in _KEPT_SOURCE
                         or key in ("producer", "dialect") and value.__class__ is str and _PRODUCT(value)}
        out["source"]["redacted"] = self.policy.describe()
        return out

    def _tool(self, tool):
        kept = {"name": self._name(tool["name"])}
        if "read_only" in tool:
            kept["read_only"] = tool["read_only"]
        if self._act["schemas"] == KEEP:
            kept.update((key, tool[key]) for key in ("parameters", "description") if key in tool)
        return kept

    def event(self, event):
        """The redacted event: it gets the same decision as the original, but for `Policy.rules_off`."""
        if explain(event, self.profile) is not None:
            return self._malformed(event)
        out = {"event_id": self._id(event["event_id"]), "type": event["type"], "at_ms": event["at_ms"],
               "payload": self._payload(event["type"], event["payload"])}
        if "source" in event:
            source = event["source"]
            out["source"] = {key: value for key, value in source.items()
                             if key != "raw_type" or _TYPE(value)}
        return out

    def _payload(self, type_, payload):
        out = {}
        for key, value in payload.items():
            if type_ == "annotation" and key == "value":
                out[key] = self._annotation(payload["kind"], value)
                continue
            spec = FIELDS.get(key)
            found = value if spec is None else self._field(type_, key, spec, value, payload)
            if found is not _GONE:
                out[key] = found
        return out

    def _field(self, type_, key, class_, value, payload):
        if class_ == "token":
            return self._token(value)
        if class_ == "ids":
            return value if value is None else self._id(value)
        if class_ == "names":
            return self._name(value)
        if class_ == "reasons" and _WORD(value) and self._act[class_] != DROP:
            return value
        action = self._act[class_]
        if action == KEEP:
            return value
        if action == HASH:
            return self._hashed(key, value)
        if any(field.name == key and not field.required for field in EVENTS[type_].fields) \
                and class_ != "arguments":
            return _GONE
        return self._empty(key, payload)

    def _hashed(self, key, value):
        if key in ("arguments", "result"):
            return {"hash": self._hide.of_json(value)}
        if key == "digits":
            return str(int(self._hide.of(value, "digits"), 16))
        return self._hide.of(value) if value else value

    def _empty(self, key, payload):
        if key == "arguments":
            return {"dropped": self._hide.of(payload["call_id"], "dropped")}
        if key == "arguments_text":
            return self._hide.of(payload["call_id"], "dropped")
        return {"result": None, "digits": "0", "text": ""}.get(key, "dropped")

    def _annotation(self, kind, value):
        action = self._act["text" if kind == "said" else "annotations"]
        if action == KEEP:
            return value
        plain = value is None or value.__class__ is bool or value.__class__ is str and _WORD(value)
        if plain and kind != "said":
            return value
        if action == HASH:
            return {"hash": self._hide.of_json(value)}
        return None

    def _id(self, value, class_="ids"):
        return value if self._act[class_] == KEEP else self._hide.of(value, "id")

    def _name(self, value):
        return value if self._act["names"] == KEEP else self._hide.of(value, "name")

    def _token(self, value):
        return self._hide.of(value, "token")

    # --- what the contract refuses for its form ---

    def _malformed(self, event):
        if event.__class__ is not dict:
            return self._scrub(event)
        spec = event.get("type")
        spec = EVENTS.get(spec) if spec.__class__ is str else None
        out = {}
        for key, value in event.items():
            if key == "payload" and value.__class__ is dict and spec is not None and spec.known(self.profile):
                value = self._malformed_payload(spec, value)
            elif key == "event_id" and matches("id", value):
                value = self._id(value)
            elif key == "source" and value.__class__ is dict:
                value = {name if _TYPE(name) else _MALFORMED + self._hide.of(name): self._scrub(inner)
                         for name, inner in value.items()}
            elif not (key == "type" and value.__class__ is str and (spec is not None or _TYPE(value))):
                value = self._scrub(value)
            out[self._key(key)] = value
        return out

    def _malformed_payload(self, spec, payload):
        """Sound fields as in any event; the others lose their texts and keep their JSON type."""
        kinds = {field.name: field.kind(self.profile) for field in spec.fields}
        out = {}
        for key, value in payload.items():
            kind = kinds.get(key)
            if kind is not None and matches(kind, value):
                class_ = FIELDS.get(key)
                if class_ is None and key != "value":
                    out[key] = value
                elif key in ("arguments", "result", "value"):
                    out[key] = self._hashed("result", value)
                elif key == "digits":
                    out[key] = "0"
                elif class_ == "token":
                    out[key] = self._token(value)
                elif class_ in ("ids", "names"):
                    hide = self._id if class_ == "ids" else self._name
                    out[key] = value if value is None else hide(value)
                else:
                    out[key] = self._hide.of(value) if value else value
            else:
                out[self._key(key)] = self._scrub(value)
        return out

    def _key(self, key):
        return key if _TYPE(key) else _MALFORMED + self._hide.of(key)

    def _scrub(self, value):
        """A value without its texts: each non-empty one becomes a hash that fits no field of the contract."""
        if value.__class__ is str:
            return _MALFORMED + self._hide.of(value) if value else value
        if value.__class__ is list:
            return [self._scrub(item) for item in value]
        if value.__class__ is dict:
            return {self._key(key): self._scrub(item) for key, item in value.items()}
        return value


_GONE = object()
