"""Taking private content out of a session log of any protocol, so that its import replays alike.

No schema of a protocol is needed: what a string is follows from its key. Known words of a protocol stay, texts
become as many "x" (so that pieces still add up to the whole), audio as many zero bytes (so that durations
stay), arguments and results keyed hashes; every other string becomes a keyed hash. Numbers and flags stay.
"""
from __future__ import annotations

import re

from realtime_session.traces.redact import DROP, HASH, KEEP, Policy, Pseudonyms
from realtime_session.values.strict_json import JsonError, parse

_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_./:;=-]{0,79}").fullmatch
_WORD = re.compile(r"[a-z][a-z0-9_]{0,59}").fullmatch
_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_.$\[\]-]{0,119}").fullmatch
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{200,}={0,2}").fullmatch
_SECRET = re.compile(r"token|secret|handle|api_?key|authorization|password|cookie", re.IGNORECASE).search
_SESSION = frozenset("""session_id sessionid conversation_id user_id agent_id accountsid callsid streamsid
    account_id organization_id call_sid stream_sid""".split())
_NAMES = frozenset(("name", "tool_name", "functionname"))
_STRUCTURE = frozenset("""type event role status object direction kind model voice format encoding param phase
    conversation modalities output_modalities responsemodalities input_audio_format output_audio_format mimetype
    mime_type track schema tool_choice action version protocol finish_reason language eagerness sequencenumber
    chunk timestamp digit prebuiltvoiceconfig voicename clock turncoverage""".split())
_REASONS = frozenset("reason code close_reason turncompletereason".split())
_AUDIO = frozenset("audio audio_base_64 user_audio_chunk payload data".split())
_TEXT = frozenset("""text transcript delta instructions content message prompt title description spoken_text
    agent_response user_transcript corrected_agent_response original_agent_response system_instruction greeting
    first_message obfuscation tentative_user_transcript""".split())
_ARGUMENTS = frozenset(("arguments", "args", "parameters"))
_RESULTS = frozenset(("output", "result", "response"))
_SCHEMA_KEYS = frozenset("parameters parametersjsonschema description response input_schema".split())


class LogRedactor:
    """Redacts the rows of one log: `row(value)` gives the redacted value of one parsed row.

    Holds nothing but its key. Never raises for a JSON value."""

    def __init__(self, key, policy=None):
        self.policy = policy if policy is not None else Policy()
        self._act, self._hide = self.policy.actions, Pseudonyms(key)

    def row(self, value):
        """One redacted row: wire JSON or the wrapped form, with the same shape."""
        if value.__class__ is dict and "type" not in value and value.get("data").__class__ is dict:
            out = {}
            for key, inner in value.items():
                if key == "data":
                    out[key] = self._object(inner, self._kind_of(inner))
                elif key == "trimmed_base64_chars" and inner.__class__ is dict:
                    out[key] = {self._key(path): count if count.__class__ is int else None
                                for path, count in inner.items()}
                else:
                    out[key] = self._value(key, inner, "")
            return out
        return self._value("", value, self._kind_of(value))

    @staticmethod
    def _kind_of(data):
        kind = data.get("type") if data.__class__ is dict else None
        return kind if kind.__class__ is str else ""

    def _key(self, key):
        return key if _KEY(key) else "~" + self._hide.of(key)

    def _object(self, value, kind):
        kind = self._kind_of(value) or kind
        return {self._key(key): self._value(key, inner, kind) for key, inner in value.items()}

    def _value(self, key, value, kind):
        name = key.lower()
        if name in ("tools", "functiondeclarations") and value.__class__ is list:
            return [self._tool(item, kind) for item in value]
        if name in _ARGUMENTS and (value.__class__ is str or value.__class__ is dict):
            return self._hashed(value, "arguments")
        if self._is_result(name, value, kind):
            return self._hashed(value, "results")
        if value.__class__ is list:
            return [self._value(key, item, kind) for item in value]
        if value.__class__ is dict:
            return self._object(value, kind)
        return self._string(name, value, kind) if value.__class__ is str and value else value

    @staticmethod
    def _is_result(name, value, kind):
        """Whether this is what a tool gave back, and not the response of a model."""
        if name not in _RESULTS:
            return False
        if value.__class__ is str:
            return True
        return name != "output" and value.__class__ is dict and not kind.startswith(("response.", "session.")) \
            and ("tool" in kind or kind == "") and "id" not in value

    def _tool(self, tool, kind):
        if tool.__class__ is not dict:
            return self._value("", tool, kind)
        kept = {}
        for key, value in tool.items():
            if key.lower() not in _SCHEMA_KEYS:
                kept[self._key(key)] = self._tool(value, kind) if value.__class__ is dict \
                    else self._value(key, value, kind)
            elif self._act["schemas"] == KEEP:
                kept[key] = value
        return kept

    def _hashed(self, value, class_):
        action = self._act[class_]
        if action == KEEP or value == "":
            return value
        if value.__class__ is not str:
            return {"hash": self._hide.of_json(value)} if action == HASH else {}
        try:
            parsed = parse(value)
        except JsonError:
            return "~" + self._hide.of(value) if action == HASH else "~"  # no JSON before, none after
        if parsed.__class__ is not dict:
            return '"' + self._hide.of_json(parsed) + '"' if action == HASH else "null"
        return '{"hash":"' + self._hide.of_json(parsed) + '"}' if action == HASH else "{}"

    def _string(self, name, value, kind):
        """One string that is not empty, by the name of its key in lower case."""
        if _SECRET(name):
            return self._hide.of(value, "token")
        if name in _SESSION:
            return value if self._act["session"] == KEEP else self._hide.of(value, "id")
        if name == "id" or name.endswith(("_id", "_ids")) or name in ("ids", "itemid", "callid"):
            return value if self._act["ids"] == KEEP else self._hide.of(value, "id")
        if name in _NAMES:
            return value if self._act["names"] == KEEP and _CODE(value) else self._hide.of(value, "name")
        if name in _STRUCTURE and (_CODE(value.strip()) or value.isdecimal() and len(value) < 16):
            return value
        if name in _REASONS:
            return value if _WORD(value) or self._act["reasons"] == KEEP else self._hide.of(value)
        if name in _AUDIO or _BASE64(value) or name == "delta" and "audio" in kind and "transcript" not in kind:
            return value if self._act["audio"] == KEEP else _silence(value)
        if name in _TEXT:
            return self._text(value)
        if name == "digits":
            return value if self._act["digits"] == KEEP else "0"
        return self._hide.of(value)

    def _text(self, value):
        if self._act["text"] == KEEP or value.isspace():
            return value
        return self._hide.of(value) if self._act["text"] == HASH else "x" * len(value)


def _silence(value):
    """base64 of as many zero bytes: the length, and with it the duration, stays."""
    bare = value.rstrip("=")
    return "A" * len(bare) + value[len(bare):]


__all__ = ["DROP", "HASH", "KEEP", "LogRedactor"]
