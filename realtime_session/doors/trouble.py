"""What goes wrong between the kit and a subject, as opposed to what the subject judges wrongly."""
from __future__ import annotations


class Trouble(Exception):
    """The subject could not be asked or its answer could not be read; never counted as a failure.

    `code` is subject/…; `stderr` is the end of what the subject wrote there; `answers` are the answers
    that came before."""

    def __init__(self, code, message, stderr="", answers=()):
        super().__init__(message)
        self.code, self.message, self.stderr, self.answers = code, message, stderr, tuple(answers)

    def __str__(self):
        quoted = f"; stderr: {self.stderr}" if self.stderr else ""
        return f"{self.code}: {self.message}{quoted}"
