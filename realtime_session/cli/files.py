"""The files that commands are given, `-` for stdin among them: one way to open them."""
from __future__ import annotations

import sys
from contextlib import contextmanager


@contextmanager
def opened(name):
    """The binary file to read; stdin for "-", which stays open."""
    if name == "-":
        yield sys.stdin.buffer
        return
    with open(name, "rb") as file:
        yield file
