"""The syntax of patterns: reads the regular part of ECMA-262 regular expressions into a small tree.

A tree is a tuple: ("chars", ranges), ("start",), ("end",), ("word", wanted), ("all", trees), ("any", trees)
or ("repeat", tree, least, most) with most None for no limit. Ranges are sorted pairs of code points, ends
included. Constructs that no finite automaton can match (back-references, look-around) and constructs whose
meaning differs between regex dialects are refused, so that a pattern never means something else than its
author thought.
"""
from __future__ import annotations

from .errors import InputError

MAX_GROUP_DEPTH = 60
MAX_COUNT_DIGITS = 5
LAST_CODE_POINT = 0x10FFFF

_DIGIT = ((0x30, 0x39),)
_WORD = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE = ((0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
          (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF))
_LINE_END = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
_CONTROL = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_HEX = frozenset("0123456789abcdefABCDEF")
_DECIMAL = frozenset("0123456789")
_COUNT = frozenset("0123456789,")


class PatternError(InputError):
    """A pattern that is broken (pattern/invalid) or outside the regular subset (pattern/unsupported).

    `column` counts characters of the pattern from 1."""


def _union(ranges):
    merged = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _complement(ranges):
    out, low = [], 0
    for first, last in ranges:
        if first > low:
            out.append((low, first - 1))
        low = last + 1
    if low <= LAST_CODE_POINT:
        out.append((low, LAST_CODE_POINT))
    return tuple(out)


_CLASSES = {"d": _DIGIT, "w": _WORD, "s": _SPACE,
            "D": _complement(_DIGIT), "W": _complement(_WORD), "S": _complement(_SPACE)}
_DOT = ("chars", _complement(_LINE_END))


def parse_pattern(text):
    """The tree of a pattern; raises PatternError (ECMA-262 section 22.2.1)."""
    return _Reader(text).whole()


class _Reader:
    __slots__ = ("text", "at", "depth")

    def __init__(self, text):
        self.text, self.at, self.depth = text, 0, 0

    def fail(self, what, code="invalid"):
        raise PatternError(f"pattern/{code}", what, column=self.at + 1)

    def unsupported(self, what):
        self.fail(f"{what} cannot be matched in bounded time and is not supported", "unsupported")

    def peek(self, further=0):
        """The character at the reading place or `further` on, "" at the end."""
        return self.text[self.at + further:self.at + further + 1]

    def take(self, wanted):
        found = self.text.startswith(wanted, self.at)
        if found:
            self.at += len(wanted)
        return found

    def whole(self):
        tree = self.alternatives()
        if self.at < len(self.text):
            self.fail("unmatched ')'")
        return tree

    def alternatives(self):
        branches = [self.sequence()]
        while self.take("|"):
            branches.append(self.sequence())
        if len(branches) == 1:
            return branches[0]
        if all(branch[0] == "chars" for branch in branches):  # one place for a|b|c, as for [abc]
            return ("chars", _union(pair for branch in branches for pair in branch[1]))
        return ("any", branches)

    def sequence(self):
        parts = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            can_repeat = self.text[self.at] == "("  # an assertion repeats only inside a group
            tree = self.atom()
            parts.append(self.quantified(tree, can_repeat or tree[0] not in ("start", "end", "word")))
        return parts[0] if len(parts) == 1 else ("all", parts)

    def atom(self):
        char = self.text[self.at]
        if char == "(":
            return self.group()
        if char == "[":
            return self.char_class()
        if char == "\\":
            return self.escape()
        if char in "*+?" or self.opens_count():
            self.fail(f"nothing to repeat before {char!r}")
        self.at += 1
        if char == "^":
            return ("start",)
        if char == "$":
            return ("end",)
        return _DOT if char == "." else ("chars", ((ord(char), ord(char)),))

    def group(self):
        self.depth += 1
        if self.depth > MAX_GROUP_DEPTH:
            self.fail(f"groups nested more than {MAX_GROUP_DEPTH} deep", "unsupported")
        if self.text.startswith(("(?=", "(?!", "(?<=", "(?<!"), self.at):
            self.unsupported("look-around")
        if self.take("(?<"):
            end = self.text.find(">", self.at)
            if not self.text[self.at:max(end, self.at)].isidentifier():
                self.fail("broken group name")
            self.at = end + 1
        elif not self.take("(?:"):
            self.take("(")
            if self.peek() == "?":
                self.fail("unknown kind of group", "unsupported")
        tree = self.alternatives()
        if not self.take(")"):
            self.fail("missing ')'")
        self.depth -= 1
        return tree

    def quantified(self, tree, can_repeat):
        for sign, least, most in (("*", 0, None), ("+", 1, None), ("?", 0, 1)):
            if self.take(sign):
                break
        else:
            counts = self.counts()
            if counts is None:
                return tree
            least, most = counts
        if not can_repeat:
            self.fail("a repeated assertion")
        self.take("?")  # laziness picks another span, never another verdict
        if self.peek() in ("*", "+", "?"):
            self.fail("a second quantifier")
        return ("repeat", tree, least, most)

    def number(self):
        start = self.at
        while self.peek() in _DECIMAL:
            self.at += 1
        if self.at - start > MAX_COUNT_DIGITS:
            self.fail(f"a count of more than {MAX_COUNT_DIGITS} digits", "unsupported")
        return int(self.text[start:self.at]) if self.at > start else None

    def opens_count(self):
        return self.peek() == "{" and self.peek(1) in _COUNT

    def counts(self):
        """(least, most) of a counted quantifier; None where the text goes on with something else.

        A brace that opens no count is the character itself, as every ECMA-262 engine reads it without the
        u flag; a count without its lower number is refused, because engines disagree about it."""
        if not self.opens_count():
            return None
        self.at += 1
        least = self.number()
        if least is None:
            self.fail("a count without its lower number")
        most = self.number() if self.take(",") else least
        if not self.take("}"):
            self.fail("broken count in braces")
        if most is not None and most < least:
            self.fail("counts in braces are out of order")
        return least, most

    def hexadecimal(self, length):
        digits = self.text[self.at:self.at + length]
        if len(digits) != length or not _HEX.issuperset(digits):
            self.fail("broken hexadecimal escape")
        self.at += length
        return int(digits, 16)

    def unicode_escape(self):
        if self.take("{"):
            end = self.text.find("}", self.at)
            point = self.hexadecimal(end - self.at) if 0 < end - self.at <= 6 else LAST_CODE_POINT + 1
            if point > LAST_CODE_POINT:
                self.fail("broken code point escape")
            self.at += 1
            return point
        point = self.hexadecimal(4)
        if 0xD800 <= point <= 0xDBFF and self.take("\\u"):
            low = self.hexadecimal(4)
            if not 0xDC00 <= low <= 0xDFFF:
                self.fail("a high surrogate escape without its low one")
            return 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00)
        return point

    def escape(self):
        """One escape outside a class: an assertion, a class or a character."""
        following = self.peek(1)
        if following in ("b", "B"):
            self.at += 2
            return ("word", following == "b")
        return ("chars", self.escaped_ranges())

    def escaped_ranges(self):
        start = self.at
        self.at += 1
        char = self.peek()
        self.at += 1
        if char in _CLASSES:
            return _CLASSES[char]
        if char in _CONTROL:
            point = _CONTROL[char]
        elif char == "x":
            point = self.hexadecimal(2)
        elif char == "u":
            point = self.unicode_escape()
        elif char == "0" and self.peek() not in _DECIMAL:
            point = 0
        elif char == "c" and self.peek().isascii() and self.peek().isalpha():
            point = ord(self.text[self.at]) % 32
            self.at += 1
        elif char and not char.isalnum():
            point = ord(char)
        else:
            self.at = start
            if char in _DECIMAL or char == "k":
                self.unsupported("a back-reference")
            if char in ("p", "P"):
                self.fail("a Unicode property class is not supported", "unsupported")
            self.fail(f"unknown escape '\\{char}'")
        return ((point, point),)

    def class_member(self):
        if self.peek() == "\\":
            if self.peek(1) == "b":  # a backspace inside a class
                self.at += 2
                return ((8, 8),)
            return self.escaped_ranges()
        point = ord(self.text[self.at])
        self.at += 1
        return ((point, point),)

    def char_class(self):
        opening, self.at = self.at, self.at + 1
        negated = self.take("^")
        ranges = []
        while not self.take("]"):
            if self.at >= len(self.text):
                self.at = opening
                self.fail("missing ']'")
            first = self.class_member()
            if self.peek() == "-" and self.peek(1) not in ("", "]"):
                self.at += 1
                last = self.class_member()
                if first[0][0] != first[-1][1] or last[0][0] != last[-1][1]:
                    self.fail("a class as the end of a range")
                if last[0][0] < first[0][0]:
                    self.fail("a range out of order")
                first = ((first[0][0], last[0][0]),)
            ranges.extend(first)
        ranges = _union(ranges)
        return ("chars", _complement(ranges) if negated else ranges)
