"""The session object of the scripted server: fields, checks, merging.

An update is checked whole before anything is applied: one refused field drops all of it (seed 002, "Automatic
reasoning"; wire.md 8). Sources of the field names: the typed OpenAI specification (wire.md 2 and 3).
"""

from __future__ import annotations

from realtime_session.wire.server_core import Refusal, clone

PCM_WIDTH = 2  # bytes a sample


def refuse_type(path: str, expected: str, value) -> Refusal:
    kind = {
        dict: "an object",
        list: "an array",
        str: "a string",
        bool: "a boolean",
        int: "an integer",
        float: "a decimal",
        type(None): "null",
    }.get(type(value), "something else")
    return Refusal(
        "invalid_type", f"Invalid type for '{path}': expected {expected}, but got {kind} instead.", path
    )


def text(value, path):
    if not isinstance(value, str):
        raise refuse_type(path, "a string", value)


def text_or_null(value, path):
    if value is not None:
        text(value, path)


def flag(value, path):
    if not isinstance(value, bool):
        raise refuse_type(path, "a boolean", value)


def anything(value, path):
    pass


def choice(*allowed):
    def check(value, path):
        text(value, path)
        if value not in allowed:
            names = ", ".join(f"'{name}'" for name in allowed)
            raise Refusal(
                "invalid_value", f"Invalid value: '{value[:60]}'. Supported values are: {names}.", path
            )

    return check


def whole(low, high):
    def check(value, path):
        if type(value) is not int:
            raise refuse_type(path, "an integer", value)
        if value < low:
            raise Refusal(
                "integer_below_min_value",
                f"Invalid '{path}': integer below minimum value. Expected a value >= {low}, but got {value}.",
                path,
            )
        if value > high:
            raise Refusal(
                "invalid_value", f"Invalid '{path}': expected a value <= {high}, but got {value}.", path
            )

    return check


def number(low, high):
    def check(value, path):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise refuse_type(path, "a number", value)
        if not low <= value <= high:
            raise Refusal("invalid_value", f"Invalid '{path}': expected a value from {low} to {high}.", path)

    return check


def max_tokens(value, path):
    if value != "inf":
        whole(1, 4096)(value, path)


def modalities(*allowed):
    """Allowed lists, each in any order."""

    def check(value, path):
        if not isinstance(value, list):
            raise refuse_type(path, "an array", value)
        if not all(isinstance(item, str) for item in value) or sorted(value) not in [
            sorted(a) for a in allowed
        ]:
            raise Refusal("invalid_value", f"Invalid value for '{path}': {allowed!r} are the choices.", path)

    return check


def tools(value, path):
    if not isinstance(value, list):
        raise refuse_type(path, "an array", value)
    known = {"type": choice("function"), "name": text, "description": text, "parameters": obj}
    for position, tool in enumerate(value):
        where = f"{path}[{position}]"
        check_fields(known, known, tool, where)
        for needed in ("type", "name"):
            if needed not in tool:
                raise missing(f"{where}.{needed}")


def tool_choice(value, path):
    if isinstance(value, dict):
        check_fields({"type": text, "name": text}, {}, value, path)
    else:
        choice("auto", "none", "required")(value, path)


def obj(value, path):
    if not isinstance(value, dict):
        raise refuse_type(path, "an object", value)


def obj_or_null(value, path):
    if value is not None:
        obj(value, path)


def knowledge(value, path):
    """poly_knowledge: retrieved passages, [{name, content}] (seed 002, "Knowledge and scope")."""
    if value is None:
        return
    if not isinstance(value, list):
        raise refuse_type(path, "an array", value)
    known = {"name": text, "content": text}
    for position, passage in enumerate(value):
        where = f"{path}[{position}]"
        check_fields(known, known, passage, where)
        for needed in known:
            if needed not in passage:
                raise missing(f"{where}.{needed}")


def missing(path: str) -> Refusal:
    return Refusal("missing_required_parameter", f"Missing required parameter: '{path}'.", path)


class Nullable:
    """An object field that null switches off."""

    __slots__ = ("fields",)

    def __init__(self, fields):
        self.fields = fields


def check_fields(fields, known, value, path) -> None:
    """Refuse what is not in `fields`: unsupported where the wider schema `known` has it, unknown
    elsewhere."""
    obj(value, path)
    for key, item in value.items():
        where = f"{path}.{key}" if path else key
        wide = known.get(key) if isinstance(known, dict) else None
        if key not in fields:
            if wide is not None:
                raise Refusal("unsupported_parameter", f"Unsupported parameter: '{where}'.", where)
            raise Refusal("unknown_parameter", f"Unknown parameter: '{where}'.", where)
        rule = fields[key]
        if isinstance(rule, Nullable):
            if item is not None:
                check_fields(rule.fields, wide.fields if isinstance(wide, Nullable) else {}, item, where)
        elif isinstance(rule, dict):
            check_fields(rule, wide, item, where)
        else:
            rule(item, where)


class SessionConfig:
    """The effective session object of one connection, and the questions the server asks it."""

    __slots__ = ("_defaults", "_profile", "text_only", "value", "voice_frozen")

    def __init__(self, profile, session_id: str, text_only: bool):
        self._profile = profile
        self.value = profile.default_session(text_only)
        self.value["id"] = session_id
        self._defaults = clone(self.value)
        self.text_only = text_only
        self.voice_frozen = False

    def update(self, change) -> None:
        """Merge a session.update, or raise Refusal with nothing applied."""
        profile = self._profile
        fields = profile.session_fields(self.text_only)
        check_fields(fields, profile.known_session_fields, change, "session")
        if profile.session_type_required and "type" not in change:
            raise missing("session.type")
        if "model" in change and change["model"] != self.value["model"]:
            raise Refusal("invalid_value", "The model of a session cannot be changed.", "session.model")
        merged = self._merge(self.value, change, self._defaults)
        detection = self._detection_of(merged)
        if detection is not None and "type" not in detection:
            raise missing("session.audio.input.turn_detection.type")
        if self.voice_frozen and self._voice_of(merged) != self.voice:
            raise Refusal(
                "cannot_update_voice",
                "Cannot update a conversation's voice if assistant audio is present.",
                None,
            )
        self.value = merged

    def _merge(self, old, change, defaults):
        made = dict(old)
        for key, item in change.items():
            base = defaults.get(key) if isinstance(defaults, dict) else None
            if key == "instructions" and item == "":
                made[key] = base  # an empty instruction goes back to the service's own
            elif isinstance(item, dict) and key not in ("parameters", "tool_choice", "transcription"):
                start = made.get(key) if isinstance(made.get(key), dict) else base
                made[key] = self._merge(start or {}, item, base or {})
            else:
                made[key] = clone(item)
        return made

    def _detection_of(self, value):
        return value["turn_detection"] if self._profile.flat else value["audio"]["input"]["turn_detection"]

    def _voice_of(self, value):
        return value["voice"] if self._profile.flat else value["audio"]["output"]["voice"]

    @property
    def voice(self):
        return self._voice_of(self.value)

    @property
    def turn_detection(self):
        """The turn detection object, or None where turns are the client's."""
        return self._detection_of(self.value)

    @property
    def modalities(self) -> list:
        return list(self.value["modalities" if self._profile.flat else "output_modalities"])

    @property
    def transcribes(self) -> bool:
        """Whether caller turns get a transcript: always where the reply's own generation writes it."""
        if self._profile.confirms_turns:
            return True
        if self._profile.flat:
            return self.value["input_audio_transcription"] is not None
        return self.value["audio"]["input"]["transcription"] is not None

    def bytes_per_second(self, side: str) -> int:
        """Of the caller's audio ("input") or of the agent's ("output")."""
        if self._profile.flat:
            name = self.value[f"{side}_audio_format"]
            return 24_000 * PCM_WIDTH if name == "pcm16" else 8_000
        stated = self.value["audio"][side].get("format") or {}
        if side == "input" and self.value.get("poly_input_rate"):
            return self.value["poly_input_rate"] * PCM_WIDTH
        if stated.get("type") in ("audio/pcmu", "audio/pcma"):
            return 8_000
        return stated.get("rate", 24_000) * PCM_WIDTH
