"""What is said about bad input: one error class with a place, and short printable forms of any value.

Everything here ends up in a terminal or a report, so a message is always one line of printable characters,
whatever the input held.
"""
from __future__ import annotations

_SHOWN_TEXT = 60     # characters of a text that a message repeats
_SHOWN_VALUE = 80    # characters of a list or object
_SHOWN_ITEMS = 6     # items of a list or object
_SHOWN_LEVELS = 3    # lists and objects inside each other
_SHOWN_PATH = 120    # characters of a path
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


class InputError(ValueError):
    """Bad input, with its place.

    `code` names the kind ("area/slug"), `message` is one printable line, `line` and `column` count from 1
    (column in characters), `path` is the JSON Pointer (RFC 6901; "" is the root) of the offending value.
    Line, column and path are None where they are unknown."""

    def __init__(self, code, message, *, line=None, column=None, path=None):
        message = one_line(message)
        super().__init__(code, message)
        self.code, self.message = code, message
        self.line, self.column, self.path = line, column, path

    def __str__(self):
        place = [f"{name} {number}" for name, number in (("line", self.line), ("column", self.column))
                 if number is not None]
        if self.path:
            place.append(_cut_middle(one_line(self.path)))
        return f"{self.code}: {self.message}" + (f" ({', '.join(place)})" if place else "")


class JsonError(InputError):
    """Text that is not strict JSON, or a Python value that JSON does not have (contract, "Reading input").

    The codes: json/syntax, json/encoding, json/duplicate_key, json/non_finite, json/integer_range,
    json/lone_surrogate, json/too_deep, json/too_large and, for Python values only, json/type."""


def one_line(text):
    """The text with every character escaped that does not print, line ends among them."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escape(character) for character in text)


def escaped(token):
    """One token of a JSON Pointer (RFC 6901 section 3)."""
    return str(token).replace("~", "~0").replace("/", "~1")


def pointer(tokens):
    """The JSON Pointer of keys and indices, outermost first (RFC 6901)."""
    return "".join("/" + escaped(token) for token in tokens)


def show(value):
    """A short one-line printable form of any value, in JSON's spelling; "…" stands for what was cut.

    What JSON does not have is shown as <name of its class>. Never raises, however large or deep the value."""
    shown = _show(value, _SHOWN_LEVELS)
    if len(shown) > _SHOWN_VALUE and shown[-1] in "]}":
        return shown[:_SHOWN_VALUE - 2] + "…" + shown[-1]
    return shown


def _show(value, levels):
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _show_text(str.__str__(value))
    if isinstance(value, int):
        # Writing out a huge integer is slow and, from some length on, refused.
        return int.__repr__(value) if int.bit_length(value) <= 128 else _show_huge(value)
    if isinstance(value, float):
        text = float.__repr__(value)
        return _NOT_FINITE.get(text, text)
    if type(value) is dict or type(value) is list:
        return _show_container(value, levels)
    return f"<{one_line(type(value).__name__)}>"


def _show_text(text):
    cut = text[:_SHOWN_TEXT].replace("\\", "\\\\").replace('"', '\\"')
    return '"' + one_line(cut) + ("…" if len(text) > _SHOWN_TEXT else "") + '"'


def _show_huge(value):
    digits = int(int.bit_length(value) * 0.30103) + 1
    return f"{'-' if value < 0 else ''}<an integer of about {digits} digits>"


def _show_container(value, levels):
    is_object = type(value) is dict
    if not levels and value:
        return "{…}" if is_object else "[…]"
    parts = []
    for item in value:
        if len(parts) == _SHOWN_ITEMS:
            parts.append("…")
            break
        shown = _show(value[item], levels - 1) if is_object else _show(item, levels - 1)
        parts.append(f"{_show(item, 0)}: {shown}" if is_object else shown)
    text = ", ".join(parts)
    return "{" + text + "}" if is_object else "[" + text + "]"


def _escape(character):
    code = ord(character)
    return _SHORT_ESCAPES.get(character) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def _cut_middle(text):
    half = _SHOWN_PATH // 2
    return text if len(text) <= _SHOWN_PATH else text[:half] + "…" + text[-half:]
