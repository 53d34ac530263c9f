"""Pattern matching in time linear in the text, whatever the pattern and the text.

The engine keeps the set of all places in the pattern that the text read so far can have reached (Glushkov's
position automaton), one bit a place, so there is nothing to backtrack into. Sets met before are kept as the
states of a lazily built deterministic automaton, in bounded memory. Patterns that would need too many places
are refused.
"""
from __future__ import annotations

from .pattern_syntax import PatternError, parse_pattern

MAX_PATTERN_CHARACTERS = 10_000
MAX_POSITIONS = 5_000
MAX_GROUPS = 512
MAX_CLOSURE_STEPS = 400_000
MAX_KEPT_MOVES = 20_000
MAX_KEPT_MASKS = 4_000

_WORD_CHARACTERS = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")
# What stands beside a place in the text: its edge, a character that is no word character, a word character.
_EDGE, _OTHER, _WORD = 0, 1, 2


def compile_pattern(text):
    """A `Pattern` for `text`, the regular subset of ECMA-262 regular expressions.

    Supported: literals, classes, escapes, groups, alternation, greedy and lazy quantifiers, ^ $ \\b \\B.
    \\d and \\w are ASCII, $ holds only at the very end. Raises PatternError for a broken pattern, for
    back-references, look-around and Unicode property classes, and for a pattern that grows too large when its
    counts are written out."""
    if not isinstance(text, str):
        raise PatternError("pattern/invalid", "a pattern is a string")
    if len(text) > MAX_PATTERN_CHARACTERS:
        raise _too_large()
    return Pattern(text, _Places(parse_pattern(text)))


def _too_large():
    return PatternError("pattern/unsupported", "the pattern is too large to be matched in bounded time")


class _Places:
    """The places of a pattern and, for each context, which places can follow which.

    Place 0 is before the pattern, 1 to n are its characters from left to right, n + 1 is its end."""

    __slots__ = ("nodes", "characters", "assertions", "tables", "classes", "end", "steps")

    def __init__(self, tree):
        self.nodes = [("end",)]
        self.characters = []
        self.assertions = set()
        self.steps = 0
        start = self.build(tree, 0)
        count = len(self.characters)
        self.end = count + 1
        # A pattern is built from its end, so the last node made is the first place.
        place_of = {node: count - made for made, node in enumerate(self.characters)}
        place_of[0] = self.end
        self.classes = {}
        follows = [start] * (count + 1)
        for node, place in place_of.items():
            if node:
                _, ranges, follows[place] = self.nodes[node]
                self.classes[ranges] = self.classes.get(ranges, 0) | 1 << place
        self.tables = self.all_tables(place_of, follows)

    def add(self, node):
        if len(self.nodes) >= 4 * MAX_POSITIONS or len(self.characters) > MAX_POSITIONS:
            raise _too_large()
        self.nodes.append(node)
        return len(self.nodes) - 1

    def build(self, tree, after):
        """The entry node of `tree`, whose exits lead to the node `after`."""
        kind = tree[0]
        if kind == "chars":
            node = self.add(("chars", tree[1], after))
            self.characters.append(node)
            return node
        if kind == "all":
            for part in reversed(tree[1]):
                after = self.build(part, after)
            return after
        if kind == "any":
            return self.add(("split", [self.build(part, after) for part in reversed(tree[1])]))
        if kind == "repeat":
            return self.build_repeat(tree[1], tree[2], tree[3], after)
        self.assertions.add(kind)
        return self.add((*tree, after))

    def build_repeat(self, tree, least, most, after):
        entry = after
        if most is None:
            ways = []
            loop = self.add(("split", ways))
            entry = self.build(tree, loop)
            ways += (entry, after)
            if least == 0:
                return loop
            least -= 1
        else:
            for _ in range(most - least):
                entry = self.add(("split", [self.build(tree, entry), after]))
        for _ in range(least):
            before, entry = entry, self.build(tree, entry)
            if entry == before:
                break  # an empty body: writing it out again changes nothing
        return entry

    def all_tables(self, place_of, follows):
        befores = (_EDGE, _OTHER, _WORD) if "word" in self.assertions else (_EDGE, _OTHER)
        if not self.assertions:
            return [[self.table(_OTHER, _OTHER, place_of, follows)] * 3] * 3
        made = [[self.table(before, after, place_of, follows) for after in befores] for before in befores]
        return made

    def table(self, before, after, place_of, follows):
        """(linear, groups) for one context: the places followed by their neighbour, and every other follower
        as pairs (places, followers). Counted repetition makes few distinct pairs, however long it is."""
        known, linear, groups = {}, 0, {}
        for place, node in enumerate(follows):
            reached = known.get(node)
            if reached is None:
                reached = known[node] = self.closure(node, before, after, place_of)
            neighbour = 1 << place + 1
            if reached & neighbour:
                linear |= 1 << place
                reached ^= neighbour
            if reached:
                groups[reached] = groups.get(reached, 0) | 1 << place
        if len(groups) > MAX_GROUPS:
            raise _too_large()
        return linear, tuple((places, followers) for followers, places in groups.items())

    def closure(self, start, before, after, place_of):
        """The places reachable from a node without reading a character, as bits."""
        reached, seen, waiting = 0, {start}, [start]
        while waiting:
            node = waiting.pop()
            place = place_of.get(node)
            if place is not None:
                reached |= 1 << place
                continue
            kind = self.nodes[node]
            if kind[0] == "split":
                ways = kind[1]
            else:
                ways = kind[-1:] if _holds(kind, before, after) else ()
            for way in ways:
                if way not in seen:
                    seen.add(way)
                    waiting.append(way)
        self.steps += len(seen)
        if self.steps > MAX_CLOSURE_STEPS:
            raise _too_large()
        return reached


def _holds(assertion, before, after):
    if assertion[0] == "start":
        return before == _EDGE
    if assertion[0] == "end":
        return after == _EDGE
    return ((before == _WORD) != (after == _WORD)) == assertion[1]


class _State:
    """A set of reached places, with the moves already worked out: character -> state ("" = end of text)."""

    __slots__ = ("bits", "before", "moves")

    def __init__(self, bits, before):
        self.bits, self.before, self.moves = bits, before, {}


_MATCHED = _State(0, _EDGE)
_DEAD = _State(0, _EDGE)


class Pattern:
    """A compiled pattern: `search` for a verdict, `match_span` for the place of the match."""

    __slots__ = ("text", "_tables", "_classes", "_words", "_end", "_anchored", "_masks", "_first", "_states",
                 "_room")

    def __init__(self, text, places):
        self.text = text
        self._tables = places.tables
        self._classes = tuple((bits, ranges) for ranges, bits in places.classes.items())
        self._words = "word" in places.assertions
        self._end = 1 << places.end
        sides = (_OTHER, _WORD) if self._words else (_OTHER,)
        self._anchored = not any(
            self._reach(1, before, after) for before in sides for after in (_EDGE, *sides))
        self._masks = {}
        self._first = _State(0, _EDGE)
        self._states = {}
        self._room = MAX_KEPT_MOVES

    def __repr__(self):
        return f"Pattern({self.text!r})"

    def search(self, text):
        """True when the pattern matches anywhere in `text`."""
        state = self._first
        for char in text:
            following = state.moves.get(char) or self._move(state, char)
            if following is _MATCHED:
                return True
            if following is _DEAD:
                return False
            state = following
        return (state.moves.get("") or self._move(state, "")) is _MATCHED

    def match_span(self, text):
        """(start, end) of the leftmost match, the longest one from that start; None without a match.

        Offsets count code points of `text`. One pass from the end finds the start, one from there the end."""
        start, live_next = None, self._end
        sides = [_EDGE, *map(self._side, text), _EDGE]
        for place in range(len(text), -1, -1):
            live = self._lead_to(live_next, sides[place], sides[place + 1])
            if live & 1:
                start = place
            if place:
                live_next = live & self._mask(text[place - 1]) | self._end
        if start is None:
            return None
        bits, place, end = 1, start, start
        while bits:  # no place reads the end of the text, so the loop ends there at the latest
            reached = self._reach(bits, sides[place], sides[place + 1])
            if reached & self._end:
                end = place
            bits = reached & self._mask(text[place:place + 1])
            place += 1
        return start, end

    def _side(self, char):
        return _WORD if self._words and char in _WORD_CHARACTERS else _OTHER

    def _reach(self, bits, before, after):
        linear, groups = self._tables[before][after]
        reached = (bits & linear) << 1
        for places, followers in groups:
            if bits & places:
                reached |= followers
        return reached

    def _lead_to(self, bits, before, after):
        linear, groups = self._tables[before][after]
        leading = (bits >> 1) & linear
        for places, followers in groups:
            if bits & followers:
                leading |= places
        return leading

    def _mask(self, char):
        """The places that read this character."""
        mask = self._masks.get(char)
        if mask is None:
            mask, point = 0, ord(char) if char else -1
            for bits, ranges in self._classes:
                if any(low <= point <= high for low, high in ranges):
                    mask |= bits
            if len(self._masks) >= MAX_KEPT_MASKS:
                self._masks.clear()
            self._masks[char] = mask
        return mask

    def _move(self, state, char):
        after = self._side(char) if char else _EDGE
        reached = self._reach(state.bits | 1, state.before, after)  # a match may start at every character
        if reached & self._end:
            following = _MATCHED
        else:
            bits = reached & self._mask(char)
            if not char or (not bits and self._anchored):
                following = _DEAD
            else:
                following = self._states.get((bits, after))
                if following is None:
                    following = self._states[bits, after] = _State(bits, after)
        self._room -= 1
        if self._room < 0:  # forget everything rather than grow with hostile text
            self._first.moves.clear()
            self._states.clear()
            self._room = MAX_KEPT_MOVES
            return following
        state.moves[char] = following
        return following
