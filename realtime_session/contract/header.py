"""The session header: what a trace says about its session before the first event."""
from __future__ import annotations

from realtime_session.contract.checkpoint import short_digest
from realtime_session.contract.events import HALF, PROFILES
from realtime_session.contract.state import DEFAULT_LIMITS
from realtime_session.values.errors import InputError, show
from realtime_session.values.strict_json import MAX_INTEGER, JsonError, check_value

CLOCKS = ("recorded", "audio", "line")
_KEYS = ("session_id", "resume_token", "profile", "limits", "tools", "source")
_PAST_TOKENS, _SECRET_FROM = 8, 8
_TOOL_KEYS = ("name", "read_only", "parameters", "description")


class HeaderError(InputError):
    """A session header that cannot be used (code trace/header)."""


class Token:
    """The resume token: a secret that is compared in constant time and never shown."""

    __slots__ = ("_plain", "_sha256", "_past")

    def __init__(self, plain=None, sha256=None, past=()):
        self._plain, self._sha256, self._past = plain, sha256, past

    def replaced_by(self, plain):
        """The token that takes this one's place, and goes on hiding the last few that it replaced."""
        return Token(plain, past=(self._plain, *self._past)[:_PAST_TOKENS])

    def hide(self, text):
        """The text without this token and those it replaced, wherever an input repeats one; what is shorter
        than eight characters is no secret, and would take ordinary words with it."""
        for plain in (self._plain, *self._past):
            if plain is not None and len(plain) >= _SECRET_FROM:
                for form in (plain, show(plain)[1:-1].rstrip("…")):
                    text = text.replace(form, "(resume token)")
        return text

    def sha256(self):
        """The token's digest, which is all a checkpoint may hold."""
        if self._sha256 is None:
            from hashlib import sha256
            self._sha256 = sha256(self._plain.encode("utf-8")).hexdigest()
        return self._sha256

    def matches(self, plain):
        """Constant-time comparison with a token that somebody presents."""
        from _operator import _compare_digest  # hmac's own, without the OpenSSL that hmac loads
        if self._plain is None:
            return _compare_digest(Token(plain).sha256(), self._sha256)
        return _compare_digest(short_digest(plain.encode("utf-8")), short_digest(self._plain.encode("utf-8")))


def open_header(header):
    """(the header with its defaults, its clock, its tools); raises HeaderError with the path of the fault.

    tools: None when undeclared, else name -> (read_only, validator or None)."""
    if header.__class__ is not dict:
        raise _error("", "expected the session header, an object")  # what is there instead may be the token
    try:
        check_value(header)
    except JsonError as error:
        raise _error(error.path or "", f"{error.code}: {error.message}") from None
    for key in ("session_id", "resume_token"):
        if not (header.get(key).__class__ is str and header[key]):
            got = "another value" if key == "resume_token" and key in header else show(header.get(key))
            raise _error(f"/{key}", f"expected a non-empty string, got {got}")
    for key in header:
        if key not in _KEYS:
            raise _error(f"/{key}", f"unknown key, expected only {', '.join(_KEYS)}")
    profile = header.get("profile", HALF)
    if profile not in PROFILES:
        raise _error("/profile", f"expected one of {', '.join(PROFILES)}, got {show(profile)}")
    source = header.get("source", {})
    if source.__class__ is not dict:
        raise _error("/source", f"expected an object, got {show(source)}")
    clock = source.get("clock")
    if clock is not None and clock not in CLOCKS:
        raise _error("/source/clock", f"expected one of {', '.join(CLOCKS)}, got {show(clock)}")
    full = {**header, "profile": profile, "limits": _limits(header.get("limits", {}))}
    return full, clock, _tools(header["tools"]) if "tools" in header else None


def _error(path, message):
    return HeaderError("trace/header", message, path="/session" + path)


def _limits(limits):
    if limits.__class__ is not dict:
        raise _error("/limits", f"expected an object, got {show(limits)}")
    for key, value in limits.items():
        if key not in DEFAULT_LIMITS:
            raise _error(f"/limits/{key}", f"unknown limit, expected only {', '.join(DEFAULT_LIMITS)}")
        if value.__class__ is not int or not 0 <= value <= MAX_INTEGER:
            raise _error(f"/limits/{key}", f"expected an integer of 0 or more, got {show(value)}")
    return {**DEFAULT_LIMITS, **limits}


def _tools(tools):
    from realtime_session.values.schema import SchemaError, compile_schema
    if tools.__class__ is not list:
        raise _error("/tools", f"expected a list, got {show(tools)}")
    table = {}
    for index, tool in enumerate(tools):
        path = f"/tools/{index}"
        if tool.__class__ is not dict or not (tool.get("name").__class__ is str and tool["name"]):
            raise _error(path, f"expected an object with a name, got {show(tool)}")
        for key in tool:
            if key not in _TOOL_KEYS:
                raise _error(f"{path}/{key}", f"unknown key, expected only {', '.join(_TOOL_KEYS)}")
        if tool["name"] in table:
            raise _error(f"{path}/name", f"{show(tool['name'])} is declared twice")
        if tool.get("read_only") is not None and tool["read_only"].__class__ is not bool:
            raise _error(f"{path}/read_only", f"expected true, false or null, got {show(tool['read_only'])}")
        try:
            validator = compile_schema(tool["parameters"]) if tool.get("parameters") is not None else None
        except SchemaError as error:
            raise _error(f"{path}/parameters{error.path or ''}", error.message) from None
        table[tool["name"]] = (tool.get("read_only"), validator)
    return table
