"""Replaying a trace: every event through the session, turn for turn (seed 003; contract 3, 6, 7)."""
from __future__ import annotations

from collections import namedtuple

from realtime_session.contract.session import Session
from realtime_session.contract.violation import ACCEPTED
from realtime_session.traces.audit import Audit
from realtime_session.traces.reader import read_trace

#: A replayed event with its place, its decision, and the phase before and after it.
Step = namedtuple("Step", ("index", "line", "event", "decision", "phase_before", "phase_after"))
KEPT = 1000


class Replay:
    """One replay of one open binary file.

    `keep_going` skips rejected events and goes on; else the replay stops at the first. `until` is the
    number of events after which to stop. `audit` adds measures. After `run()` or exhausting `steps()` the
    counts, `violations` (the first 1,000 with their places), `rejected_by_rule` and `findings` are there.
    """

    def __init__(self, file, *, keep_going=False, until=None, audit=True, without=(), ran=None):
        self.reader = read_trace(file)
        recall = self.reader.recall if self.reader.seekable else None
        self.session = Session(self.reader.header, recall=recall, without=without, ran=ran)
        self.audit = Audit(self.session) if audit else None
        self.keep_going, self.until = keep_going, until
        self.events = self.ignored = self.rejected = 0
        self.violations, self.findings = [], []
        self.rejected_by_rule, self.flagged_by_rule = {}, {}
        self.stopped = False
        self._items = iter(self.reader)

    def run(self):
        """Replays everything; returns self."""
        next(self._decisions(each=False), None)  # it gives nothing, so this drives it to its end
        self._finish()
        return self

    def steps(self):
        """Replays event by event, giving a Step each, with the phase before and after."""
        phase = self.session.phase
        for index, line, event, decision in self._decisions(each=True):
            after = self.session.phase
            yield Step(index, line, event, decision, phase, after)
            phase = after
        self._finish()

    def _decisions(self, each):
        """Drives the session; gives every (index, line, event, decision) if asked for each."""
        session, see = self.session, self.audit.see if self.audit is not None else None
        receive, by_offset = session.receive_checked, self.reader.seekable
        until = self.until if self.until is not None else float("inf")
        for event, checked, line, offset in self._items:
            index = self.events
            if index >= until:
                self.stopped = True
                return
            self.events = index + 1
            decision = receive(event, offset if by_offset else None) if checked else session.refuse_form(event)
            if decision is ACCEPTED:
                if see is not None:
                    see(event, decision)
            else:
                self._note(index, line, event, decision)
                self.stopped = self.rejected > 0 and not self.keep_going
            if each:
                yield index, line, event, decision
            if self.stopped:
                return

    def _note(self, index, line, event, decision):
        if decision.kind == "rejected":
            self._keep(index, line, decision.violation)
            return
        if decision.kind == "ignored":
            self.ignored += 1
        if decision.findings:
            self._flag(decision.findings)
        if self.audit is not None:
            self.audit.see(event, decision)

    def _keep(self, index, line, violation):
        self.rejected += 1
        self.rejected_by_rule[violation.rule] = self.rejected_by_rule.get(violation.rule, 0) + 1
        if len(self.violations) < KEPT:
            self.violations.append((index, line, violation))

    def _flag(self, findings):
        for finding in findings:
            self.flagged_by_rule[finding.rule] = self.flagged_by_rule.get(finding.rule, 0) + 1
            if len(self.findings) < KEPT:
                self.findings.append(finding)

    def following(self, count=3):
        """The next few events behind the one at which the replay stopped, unjudged."""
        return [event for (event, *_), _ in zip(self._items, range(count))]

    def _finish(self):
        if not self.stopped:
            self._flag(self.session.finish())

    @property
    def accepted(self):
        """How many events were accepted."""
        return self.events - self.ignored - self.rejected

    @property
    def finished(self):
        """Whether the session reached a terminal event."""
        return self.session.ended

    def exit_code(self, strict=False):
        """1 a violation (or, strict, a finding), else 3 unfinished, else 0 (architecture, command line)."""
        if self.rejected or strict and self.findings:
            return 1
        return 0 if self.finished else 3

    def report(self, file):
        """The documented JSON report of a replay."""
        return {
            "file": file, "profile": self.session.profile, "events": self.events, "accepted": self.accepted,
            "ignored": self.ignored, "rejected": self.rejected,
            "violations": [violation_json(*kept) for kept in self.violations],
            "rejected_by_rule": self.rejected_by_rule,
            "findings": [finding_json(finding) for finding in self.findings],
            "flagged_by_rule": self.flagged_by_rule,
            "measures": self.audit.measures() if self.audit is not None else {},
            "finished": self.finished, "state": self.session.state(), "state_digest": self.session.state_digest(),
        }


def violation_json(index, line, v):
    """A violation with its place, as the JSON report shows it."""
    return {"index": index, "line": line, "event_id": v.event_id, "type": v.type, "rule": v.rule, "layer": v.layer,
            "phase": v.phase, "path": v.path, "expected": v.expected, "actual": v.actual, "message": v.message}


def finding_json(v):
    """A finding as the JSON report shows it."""
    return {"rule": v.rule, "layer": v.layer, "event_ids": [v.event_id] if v.event_id is not None else [],
            "message": v.message}
