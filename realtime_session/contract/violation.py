"""The values a judged event comes back as: effects, violations, findings, decisions."""
from __future__ import annotations

from collections import namedtuple

MUST, SHOULD, OFF = "must", "should", "off"


class Effect(namedtuple("Effect", ("name", "target"))):
    """What the session tells the application to do; `target` is an id, None for "the coming reply",
    or "" where the effect has no target (contract effects table, seed 003 invariants)."""

    __slots__ = ()

    def __str__(self):
        if self.target == "":
            return self.name
        return f"{self.name}({'null' if self.target is None else self.target})"


class Fault(namedtuple("Fault", ("path", "expected", "actual", "level"), defaults=(None,))):
    """What a predicate says of an event that breaks its rule.

    `path` is a JSON Pointer inside the event; `level` overrides the rule's own level where the
    evidence is weaker than the rule (an estimate never rejects)."""

    __slots__ = ()


class Violation(namedtuple("Violation", ("rule", "layer", "level", "event_id", "type", "phase", "path",
                                         "expected", "actual", "message"))):
    """One broken rule. level `must`: the event was rejected and changed nothing; `should`: a finding,
    the event was taken. `origin` groups equal failures (rule id, event type, phase)."""

    __slots__ = ()

    @property
    def origin(self):
        """(rule id, event type, phase): the identity of a failure for grouping and shrinking."""
        return (self.rule, self.type, self.phase)


class Decision(namedtuple("Decision", ("kind", "effects", "violation", "reason", "findings"),
                          defaults=((), None, None, ()))):
    """The outcome of one event: `kind` is accepted, ignored (with `reason`) or rejected (with `violation`)."""

    __slots__ = ()

    def __str__(self):
        if self.kind == "ignored":
            return f"ignored:{self.reason}"
        if self.kind == "rejected":
            return f"rejected:{self.violation.rule}"
        return self.kind


class ContractError(Exception):
    """Raised only by `Session.require`, for programs that want an exception instead of a value."""

    def __init__(self, violation):
        super().__init__(violation.message)
        self.violation = violation


#: The one decision shared by all events that are simply accepted: most of a trace.
ACCEPTED = Decision("accepted")
