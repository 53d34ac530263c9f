"""A strict JSON parser that can say what is wrong and where; slow, and only asked when something looks wrong.

It decides alone: `strict_json.parse` accepts quickly what is certainly right and hands everything else here.
"""
from __future__ import annotations

import re

from .errors import JsonError, pointer, show
from .json_limits import MAX_DEPTH, SPACE, TOO_DEEP, number_problem

_SPACES = re.compile(r"[ \t\r\n]*")
_WORD = re.compile(r"[-+.0-9A-Za-z_]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_PLAIN = re.compile(r'[^"\\\x00-\x1f\ud800-\udfff]*')
_HEX = re.compile(r"[0-9A-Fa-f]{0,4}")
_LITERALS = {"true": True, "false": False, "null": None}
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LONGEST_INTEGER = 17  # characters of -(2^53-1); longer ones are not even converted


def read_slowly(text):
    """The value of a JSON text; JsonError with line, column and path for the first thing wrong in it."""
    return Reader(text).document()


def path_at_end(text):
    """The path of the place where a text was cut off; None if something is wrong before."""
    reader = Reader(text)
    try:
        reader.document()
    except JsonError as error:
        return error.path if reader.cut_off or _WORD.fullmatch(text, reader.at) else None
    return ""


def position(text, at):
    """(line, column) of an index, both from 1. Lines end in LF (or CRLF), and only there."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


class Reader:
    """One pass over a text. Open lists and objects are kept on a list: depth is data, not recursion."""

    __slots__ = ("text", "at", "containers", "keys", "cut_off")

    def __init__(self, text):
        self.text, self.at = text, 0
        self.containers, self.keys = [], []  # what is open, and where in each (None: between two members)
        self.cut_off = False

    def document(self):
        """The whole text as one value."""
        while True:
            value, complete = self.begin()
            while complete:
                if not self.containers:
                    self.peek()
                    if self.at < len(self.text):
                        raise self.unexpected("the end of the text")
                    return value
                value, complete = self.store(value)

    def begin(self):
        """(a value, True), or (None, False) where a list or object was opened and its first value follows."""
        character = self.peek()
        if character == '"':
            return self.string(), True
        if character != "{" and character != "[":
            return self.word(), True
        if len(self.containers) == MAX_DEPTH:
            raise self.error("json/too_deep", TOO_DEEP)
        self.at += 1
        value, end = ({}, "}") if character == "{" else ([], "]")
        if self.peek() == end:
            self.at += 1
            return value, True
        self.containers.append(value)
        self.keys.append(0 if character == "[" else None)
        if character == "{":
            self.key()
        return None, False

    def store(self, value):
        """Puts a value into the open container: (container, True) if that ends it, else (None, False)."""
        container, key = self.containers[-1], self.keys[-1]
        is_list = type(container) is list
        if is_list:
            container.append(value)
        else:
            container[key] = value
        self.keys[-1] = None
        character = self.peek()
        if character == ",":
            self.at += 1
            if is_list:
                self.keys[-1] = key + 1
            else:
                self.key()
            return None, False
        if character != ("]" if is_list else "}"):
            raise self.unexpected('"," or "]"' if is_list else '"," or "}"')
        self.at += 1
        self.keys.pop()
        return self.containers.pop(), True

    def key(self):
        """A key with its colon becomes the place in the innermost object."""
        if self.peek() != '"':
            raise self.unexpected("a key in double quotes")
        start = self.at
        key = self.string()
        self.keys[-1] = key
        if key in self.containers[-1]:
            raise self.error("json/duplicate_key", f"the key {show(key)} is there twice", start)
        if self.peek() != ":":
            raise self.unexpected('":"')
        self.at += 1

    def word(self):
        """A number or literal."""
        word = _WORD.match(self.text, self.at)[0]
        if word in _LITERALS:
            value = _LITERALS[word]
        elif word in _NOT_FINITE:
            raise self.error("json/non_finite", f"{word} is not a JSON number")
        elif word and word[0] in "-+.0123456789":
            value = self.number(word)
        else:
            raise self.unexpected("a value", word or None)
        self.at += len(word)
        return value

    def number(self, word):
        """The number a word spells; floats only where it has a fraction or an exponent."""
        match = _NUMBER.fullmatch(word)
        if match is None:
            raise self.unexpected("a number as JSON writes it", word)
        if match[1] is None and match[2] is None:
            if len(word) > _LONGEST_INTEGER:
                digits = len(word.lstrip("-"))
                raise self.error("json/integer_range", f"an integer of {digits} digits is beyond ±(2^53-1)")
            value = int(word)
        else:
            value = float(word)
        problem = number_problem(value)
        if problem is not None:
            raise self.error(*problem)
        return value

    def string(self):
        """A string; the cursor stands on its opening quote."""
        text, parts = self.text, []
        self.at += 1
        while True:
            plain = _PLAIN.match(text, self.at)
            parts.append(plain[0])
            self.at = plain.end()
            character = text[self.at:self.at + 1]
            if character == '"':
                self.at += 1
                return "".join(parts)
            if character == "\\":
                parts.append(self.escape())
            elif not character:
                raise self.unexpected("the closing quote of a string")
            elif character < " ":
                raise self.error("json/syntax", f"the control character {show(character)} is not escaped")
            else:
                raise self.error("json/lone_surrogate", f"{show(character)} is half of a surrogate pair")

    def escape(self):
        """The character of an escape sequence; the cursor stands on its backslash."""
        text, start = self.text, self.at
        letter = text[start + 1:start + 2]
        if letter != "u":
            if letter in _ESCAPES:
                self.at = start + 2
                return _ESCAPES[letter]
            self.at = start if letter else len(text)
            raise self.unexpected("an escape that JSON has", text[start:start + 2])
        code = self.hexadecimal(start + 2)
        if 0xD800 <= code < 0xE000:
            paired = code < 0xDC00 and text[start + 6:start + 8] == "\\u"
            low = self.hexadecimal(start + 8) if paired else 0
            if not 0xDC00 <= low < 0xE000:
                half = text[start:start + 6]
                raise self.error("json/lone_surrogate", f"{half} is half of a surrogate pair", start)
            code = 0x10000 + (code - 0xD800 << 10) + (low - 0xDC00)
            start += 6
        self.at = start + 6
        return chr(code)

    def hexadecimal(self, at):
        """The four hexadecimal digits of a \\u escape."""
        digits = _HEX.match(self.text, at)
        if len(digits[0]) < 4:
            self.at = len(self.text) if digits.end() == len(self.text) else at - 2
            raise self.unexpected("four hexadecimal digits after \\u", self.text[at - 2:at + 4])
        return int(digits[0], 16)

    def peek(self):
        """The next character that is not white space, "" at the end; the cursor moves there."""
        self.at = _SPACES.match(self.text, self.at).end()
        return self.text[self.at:self.at + 1]

    def unexpected(self, wanted, found=None):
        """A syntax error at the cursor."""
        self.cut_off = self.at >= len(self.text)
        got = "the end of the text" if self.cut_off else show(found or self.text[self.at])
        return self.error("json/syntax", f"expected {wanted}, got {got}")

    def error(self, code, message, at=None):
        """A JsonError at an index, or at the cursor; for a cut-off text behind its last visible character."""
        at = len(self.text.rstrip(SPACE)) if self.cut_off else self.at if at is None else at
        line, column = position(self.text, at)
        return JsonError(code, message, line=line, column=column,
                         path=pointer(key for key in self.keys if key is not None))
