"""Who numbers the turns: wires name items, traces name turns."""

from __future__ import annotations


class Turns:
    """Turn bookkeeping of an importer: frames go to the open turn, a commit closes it and opens the next."""

    __slots__ = ("_count", "_open", "next_sequence", "of_item", "last_committed", "committed")

    def __init__(self):
        self._count = 0
        self._open = None
        self.next_sequence = 0  # of the open turn's frames
        self.of_item = {}  # wire item id -> turn id
        self.last_committed = None
        self.committed = 0

    @property
    def open(self):
        """The id of the open turn; asking for it begins it."""
        if self._open is None:
            self._open = self.new()
            self.next_sequence = 0
        return self._open

    @property
    def count(self):
        """How many turns have begun."""
        return self._count

    def new(self):
        """A fresh turn id beside the open turn: a text item is its own turn."""
        self._count += 1
        return f"turn-{self._count}"

    def bind(self, item):
        """The turn of a wire item; an item not seen before belongs to the open turn."""
        if item is None:
            return self.open
        return self.of_item.setdefault(item, self.open) if item not in self.of_item else self.of_item[item]

    def is_open(self, turn):
        """Whether this is the turn that frames go to."""
        return turn == self._open

    def frame(self):
        """The sequence number of the open turn's next frame."""
        number = self.next_sequence
        self.next_sequence += 1
        return number

    def close(self, turn):
        """The turn was committed."""
        if turn == self._open:
            self._open = None
            self.next_sequence = 0
        self.last_committed = turn
        self.committed += 1
