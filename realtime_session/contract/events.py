"""The event vocabulary as data, and the two ways of checking an event against it.

`EVENTS` is the only place where a payload is described (contract vocabulary; seed 003 "Unknown events,
fields ... are rejected"). From it come the generated fast checkers, which only ever say "yes, with so many
keys" or "in doubt", and `explain`, which says what is wrong.
"""
from __future__ import annotations

from collections import namedtuple
from operator import itemgetter

from realtime_session.contract.violation import Fault
from realtime_session.values.errors import escaped, show
from realtime_session.values.strict_json import MAX_EVENT_BYTES, MAX_INTEGER, JsonError, check_value

HALF, FULL = "half_duplex", "full_duplex"
PROFILES = (HALF, FULL)
ERROR_TYPES = ("invalid_request", "rate_limited", "provider_unavailable", "tool_failed", "permission_denied",
               "media_corrupt", "context_exceeded", "internal")

#: kind -> (Python test over the variable {v}, what a reader is told was expected)
KINDS = {
    "id": ("({v}.__class__ is str and {v} != '')", "a non-empty string"),
    "id?": ("({v} is None or {v}.__class__ is str and {v} != '')", "a non-empty string or null"),
    "text": ("{v}.__class__ is str", "a string"),
    "count": ("({v}.__class__ is int and 0 <= {v} <= MAX)", "an integer from 0 to 2^53-1"),
    "count?": ("({v} is None or {v}.__class__ is int and 0 <= {v} <= MAX)",
               "an integer from 0 to 2^53-1, or null"),
    "frame_ms": ("({v}.__class__ is int and 1 <= {v} <= 200)", "an integer from 1 to 200"),
    "span_ms?": ("({v} is None or {v}.__class__ is int and 0 <= {v} <= 600000)",
                 "an integer from 0 to 600000, or null"),
    "flag": ("({v} is True or {v} is False)", "true or false"),
    "flag?": ("({v} is True or {v} is False or {v} is None)", "true, false or null"),
    "digits": ("({v}.__class__ is str and {v} != '' and DIGITS({v}))", "one or more of 0-9 A-D * #"),
    "name": ("({v}.__class__ is str and 0 < len({v}) <= 80 and NAME({v}))", "1 to 80 of A-Z a-z 0-9 _ . -"),
    "object": ("{v}.__class__ is dict", "an object"),
    "json": ("True", "a JSON value"),
}
_DIGITS = frozenset("0123456789ABCD*#").issuperset
_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-").issuperset


class Field(namedtuple("Field", ("name", "half", "full", "required"))):
    """One payload field: its kind in each profile (None: the profile does not know it) and whether it
    must be there. A kind is a key of KINDS or a tuple of allowed words."""

    __slots__ = ()

    def kind(self, profile):
        """The kind in force in a profile, or None where the field does not exist there."""
        return self.half if profile == HALF else self.full


class EventSpec(namedtuple("EventSpec", ("type", "half", "meaning", "fields", "observation"))):
    """One event type: known to half_duplex or not, its fields, and whether it only observes."""

    __slots__ = ()

    def known(self, profile):
        """Whether the profile has this type at all."""
        return self.half or profile == FULL


def _field(text, half, full=None, required=True):
    return Field(text, half, half if full is None else full, required)


def _opt(text, half, full=None):
    return _field(text, half, full, required=False)


def _full(text, kind, required=True):
    return Field(text, None, kind, required)


_TURN, _RESPONSE, _CALL = _field("turn_id", "id"), _field("response_id", "id"), _field("call_id", "id")
_REASON = _field("reason", "id")
_SEQUENCE = _field("sequence", "count")
_DURATION = _field("duration_ms", "frame_ms", "span_ms?")
_SPOKEN = _full("spoken_text", "text", required=False)


def _spec(type_, meaning, *fields, half=True, observation=False):
    return EventSpec(type_, half, meaning, fields, observation)


def _playback(type_, meaning, *fields):
    return _spec(type_, meaning, _RESPONSE, *fields, half=False, observation=True)


_SPECS = (
    _spec("audio.frame", "one frame of the caller's microphone", _TURN, _SEQUENCE, _DURATION,
          _field("speech", "flag", "flag?"), _full("concealed", "flag", required=False)),
    _spec("turn.commit", "the caller's turn is closed and awaits an answer", _TURN,
          _opt("cause", ("speech", "client", "idle_timeout", "text"))),
    _spec("response.started", "the agent begins a response", _RESPONSE, _field("turn_id", "id", "id?"),
          _opt("cause", ("turn", "opening", "reprompt", "interjection")), _opt("out_of_band", "flag")),
    _spec("response.audio", "a piece of spoken output was sent for playback", _RESPONSE, _SEQUENCE, _DURATION),
    _spec("user.interrupt", "barge-in: the caller takes the floor", _TURN, _field("response_id", "id", "id?"),
          _REASON),
    _spec("tool.call", "the response asks for a tool", _CALL, _RESPONSE, _field("name", "name"),
          Field("arguments", "object", "object", None), Field("arguments_text", None, "text", None),
          _opt("read_only", "flag", "flag?")),
    _spec("tool.result", "the outcome of a call came back", _CALL, _RESPONSE, _field("ok", "flag", "flag?"),
          _field("result", "json"), _opt("receipt", "text")),
    _spec("response.completed", "the response was generated to its end", _RESPONSE),
    _spec("transport.disconnected", "the connection was lost", _REASON, _opt("resume_token", "id")),
    _spec("transport.resumed", "the connection is back, with the token that proves it",
          _field("resume_token", "id")),
    _spec("session.timeout", "the session ended by a time limit", _REASON),
    _spec("session.completed", "the session ended in the ordinary way", _REASON,
          _opt("by", ("agent", "caller", "server"))),
    _spec("session.transferred", "the session was handed to a person", _field("target", "id"), _REASON),
    _spec("input.text", "the caller typed instead of speaking", _TURN, _field("text", "text")),
    _spec("input.dtmf", "the caller pressed keys", _TURN, _field("digits", "digits")),
    _spec("turn.transcript", "what recognition made of a turn", _TURN, _field("text", "text"),
          _field("final", "flag"), observation=True),
    _spec("response.text", "a piece of the response's text or transcript", _RESPONSE, _SEQUENCE,
          _field("text", "text")),
    _spec("error.reported", "the other side reported an error", _field("error_type", ERROR_TYPES),
          _opt("code", "id"), _opt("message", "text"), _opt("ref_event_id", "id"), observation=True),
    _spec("speech.started", "the detector heard speech begin", _TURN, _opt("audio_ms", "count"), half=False,
          observation=True),
    _spec("speech.stopped", "the detector heard speech end", _TURN, _opt("audio_ms", "count"), half=False,
          observation=True),
    _spec("response.cancelled", "the response was cut off", _RESPONSE, _REASON, half=False),
    _spec("response.failed", "the response broke", _RESPONSE, _REASON, _field("error_type", ERROR_TYPES),
          half=False),
    _spec("response.incomplete", "the response hit a limit", _RESPONSE, _REASON, half=False),
    _playback("playback.started", "the caller begins to hear the response"),
    _playback("playback.progress", "so much of the response was heard", _field("played_ms", "count?")),
    _playback("playback.stopped", "playback reached its end or stopped", _field("played_ms", "count?"), _SPOKEN),
    _playback("playback.cleared", "what was queued was thrown away", _field("played_ms", "count?"), _SPOKEN),
    _spec("response.truncated", "the history of the response was cut to what was heard", _RESPONSE,
          _field("audio_end_ms", "count"), half=False, observation=True),
    _spec("tool.cancelled", "a call was withdrawn", _CALL, _RESPONSE, _REASON, half=False),
    _spec("annotation", "what a simulator or a person knows beside the session", _field("about", "id"),
          _field("kind", ("said", "speaker", "intent", "fixture", "caller_rule", "ended_by", "verified")),
          _field("value", "json"), half=False, observation=True),
)
EVENTS = {spec.type: spec for spec in _SPECS}
OBSERVATIONS = frozenset(spec.type for spec in _SPECS if spec.observation)

ENVELOPE = ("event_id", "type", "at_ms", "payload")
_ENVELOPE_KINDS = {"event_id": "id", "type": "id", "at_ms": "count", "payload": "object", "source": "object"}
_SOURCE_KINDS = {"line": "count", "raw_type": "text", "synthetic": "flag"}
_MISSING = object()


def count_keys(value):
    """How many object keys a JSON value holds at any depth; -1 when it holds a number that the strict
    reader would not have let pass. The caller guarantees a bounded depth."""
    kind = value.__class__
    if kind is str or value is None or value is True or value is False:
        return 0
    if kind is int:
        return 0 if -MAX_INTEGER <= value <= MAX_INTEGER else -1
    if kind is float:
        # Floats equal to an integer beyond 2^53-1 (below 1e21) and infinities are not interoperable.
        return 0 if -MAX_INTEGER <= value <= MAX_INTEGER else -1
    total = 0
    if kind is dict:
        total = len(value)
        value = value.values()
    for item in value:
        inner = count_keys(item)
        if inner < 0:
            return -1
        total += inner
    return total


def _test_source(kind, variable):
    if isinstance(kind, tuple):
        return f"({variable}.__class__ is str and {variable} in {frozenset(kind)!r})"
    return KINDS[kind][0].format(v=variable)


def _generate(spec, profile):
    """Writes the straight-line checker of one type: payload -> number of keys, or -1 when in doubt.

    Straight-line code with an itemgetter is several times faster than walking the table for each event;
    the table stays the only description (seed 003: only finite, JSON-compatible values)."""
    required = [f for f in spec.fields if f.required and f.kind(profile)]
    optional = [f for f in spec.fields if not f.required and f.kind(profile)]
    names = ", ".join(f"v{i}" for i in range(len(required)))
    lines = ["def check(p):", "  try:", f"    {names}{',' if len(required) == 1 else ''} = GET(p)",
             "  except KeyError:", "    return -1"]
    if len(required) == 1:
        lines[2] = "    v0 = GET(p)"
    tests = [_test_source(f.kind(profile), f"v{i}") for i, f in enumerate(required)]
    nested = {"json", "object"}
    walks = "".join(f" + WALK(v{i})" for i, f in enumerate(required) if f.kind(profile) in nested)
    lines += [f"  if not ({' and '.join(tests)}):", "    return -1"]
    if spec.type != "tool.call":  # it always has one of two keys more
        lines += [f"  if len(p) == {len(required)}:", f"    return {len(required)}{walks}"]
    lines += [f"  n = {len(required)}", f"  deep = 0{walks}"]
    for field in optional:
        lines += [f"  w = p.get({field.name!r}, MISSING)", "  if w is not MISSING:",
                  f"    if not {_test_source(field.kind(profile), 'w')}:", "      return -1", "    n += 1"]
        if field.kind(profile) in nested:
            lines.append("    deep += WALK(w)")
    lines += ["  if n != len(p):", "    return -1", "  return n + deep"]
    if spec.type == "tool.call":
        lines.insert(-1, "  if ('arguments' in p) is ('arguments_text' in p):\n    return -1")
    getter = itemgetter(*(f.name for f in required))
    scope = {"GET": getter, "MAX": MAX_INTEGER, "DIGITS": _DIGITS, "NAME": _NAME, "MISSING": _MISSING,
             "WALK": _walk_or_doubt}
    exec("\n".join(lines), scope)  # our own table is the only input
    return scope["check"]


def _walk_or_doubt(value):
    found = count_keys(value)
    # One bad number makes the whole sum negative, whatever else is added.
    return found if found >= 0 else -(1 << 60)


class Checkers(dict):
    """type -> generated payload checker of one profile, written when a type is first met."""

    def __init__(self, profile):
        super().__init__()
        self.profile = profile

    def __missing__(self, type_):
        spec = EVENTS.get(type_)
        known = spec is not None and spec.known(self.profile)
        check = _generate(spec, self.profile) if known else _never
        if known:
            self[type_] = check  # unknown types are not kept: hostile ones could fill the memory
        return check


def _never(payload):
    return -1


_get_envelope = itemgetter(*ENVELOPE)


def _make_quick(checkers, get=_get_envelope, top=MAX_INTEGER):
    def check(event):
        try:
            event_id, type_, at_ms, payload = get(event)
            if not (event_id.__class__ is str and event_id and at_ms.__class__ is int and 0 <= at_ms <= top
                    and payload.__class__ is dict):
                return -1
            keys = checkers[type_](payload)
        except (KeyError, TypeError, IndexError):
            return -1
        if keys < 0:
            return -1
        if len(event) == 4:
            return keys + 4
        source = event.get("source")
        if len(event) != 5 or source.__class__ is not dict or _source_fault(source) is not None:
            return -1
        return keys + 5 + len(source)
    return check


_QUICK = {profile: _make_quick(Checkers(profile)) for profile in PROFILES}


def quick_checker(profile):
    """The fast checker of a profile: event -> the number of keys in it, or -1 when `explain` (or the strict
    reader) must look. It trusts that nesting is bounded, and does not look into strings.

    An unknown profile gets the strictest one; the header's own check names that fault."""
    return _QUICK.get(profile) or _QUICK[HALF]


def _source_fault(source):
    for key, value in source.items():
        kind = _SOURCE_KINDS.get(key)
        if kind is None:
            return "event/unknown_field", Fault(f"/source/{escaped(key)}", "line, raw_type or synthetic", show(key))
        if not matches(kind, value):
            return "event/value", Fault(f"/source/{key}", KINDS[kind][1], show(value))
    return None


def matches(kind, value):
    """Whether a value is of a kind (the interpretive twin of the generated tests)."""
    if isinstance(kind, tuple):
        return value.__class__ is str and value in kind
    if kind == "digits":
        return value.__class__ is str and value != "" and _DIGITS(value)
    if kind == "name":
        return value.__class__ is str and 0 < len(value) <= 80 and _NAME(value)
    if kind in ("object", "json"):
        return kind == "json" or value.__class__ is dict
    if value is None:
        return kind.endswith("?")
    kind = kind.rstrip("?")
    if kind in ("id", "text"):
        return value.__class__ is str and (value != "" or kind == "text")
    if kind == "flag":
        return value is True or value is False
    low, high = {"count": (0, MAX_INTEGER), "frame_ms": (1, 200), "span_ms": (0, 600000)}[kind]
    return value.__class__ is int and low <= value <= high


def expected_text(kind):
    """What a reader is told a field should hold."""
    return "one of " + ", ".join(kind) if isinstance(kind, tuple) else KINDS[kind][1]


def explain(event, profile):
    """The first thing wrong with an event's form: (rule id, Fault), or None.

    Order: shape, unknown type, unknown field, value (contract, order of checks)."""
    if event.__class__ is not dict:
        return "event/shape", Fault("", "an object with event_id, type, at_ms, payload", show(event))
    try:
        check_value(event, max_bytes=MAX_EVENT_BYTES)
    except JsonError as error:
        return "event/value", Fault(error.path or "", "a strict JSON value", f"{error.code}: {error.message}")
    for key in ENVELOPE:
        if key not in event:
            return "event/shape", Fault("", f"the key {key}", "no such key")
    payload = event["payload"]
    if payload.__class__ is not dict:
        return "event/shape", Fault("/payload", "an object", show(payload))
    spec = EVENTS.get(event["type"]) if event["type"].__class__ is str else None
    if spec is None and event["type"].__class__ is str or spec is not None and not spec.known(profile):
        only = f" (it exists only in {FULL})" if spec is not None else ""
        return "event/unknown_type", Fault("/type", f"an event type of {profile}", show(event["type"]) + only)
    if spec is not None:
        fault = _missing_field(spec, payload, profile)
        if fault:
            return "event/shape", fault
    return _unknown_field(event, spec, profile) or _bad_value(event, spec, profile)


def _missing_field(spec, payload, profile):
    for field in spec.fields:
        if field.required and field.kind(profile) and field.name not in payload:
            return Fault("/payload", f"the key {field.name}", "no such key")
    if spec.type == "tool.call" and "arguments" not in payload and (
            profile == HALF or "arguments_text" not in payload):
        return Fault("/payload", "the key arguments" + (" or arguments_text" if profile == FULL else ""),
                     "no such key")
    return None


def _unknown_field(event, spec, profile):
    for key in event:
        if key not in _ENVELOPE_KINDS:
            return "event/unknown_field", Fault(f"/{escaped(key)}", "only event_id, type, at_ms, payload, source",
                                                show(key))
    if spec is None:
        return None
    names = [f.name for f in spec.fields if f.kind(profile)]
    for key in event["payload"]:
        if key not in names:
            return "event/unknown_field", Fault(f"/payload/{escaped(key)}", "only " + ", ".join(names), show(key))
    return None


def _bad_value(event, spec, profile):
    for key, value in event.items():
        if not matches(_ENVELOPE_KINDS[key], value):
            return "event/value", Fault(f"/{key}", KINDS[_ENVELOPE_KINDS[key]][1], show(value))
    payload = event["payload"]
    for field in spec.fields:
        kind = field.kind(profile)
        if kind and field.name in payload and not matches(kind, payload[field.name]):
            return "event/value", Fault(f"/payload/{field.name}", expected_text(kind), show(payload[field.name]))
    if spec.type == "tool.call" and "arguments" in payload and "arguments_text" in payload:
        return "event/value", Fault("/payload", "either arguments or arguments_text", "both")
    return _source_fault(event["source"]) if "source" in event else None
