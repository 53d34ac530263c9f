"""What a subject is: something that is given a case's events and answers each with a decision.

Three kinds: the reference in this package, a Python factory, a child process that speaks JSON Lines
(protocol version 1, docs/protocol-subject.md). All answer in the same words, so one judge serves them.
"""
from __future__ import annotations

from collections import namedtuple

from realtime_session.contract.session import Session
from realtime_session.doors.trouble import Trouble
from realtime_session.values.errors import one_line, show

PROTOCOL = 1
PASS, FAIL, UNKNOWN, SKIP = "PASS", "FAIL", "UNKNOWN", "SKIP"
KINDS = ("accepted", "ignored", "rejected")
#: what a subject may report beside the bare decision
REPORTS = ("effects", "rule", "findings", "state")
PROFILES = ("half_duplex", "full_duplex")

#: Who answers. `supports`: profiles; `reports`: a part of REPORTS.
About = namedtuple("About", ("name", "version", "language", "supports", "reports"))
#: One answer: `name` is the rule of a rejection or the reason of an ignored event; None where not said.
Reply = namedtuple("Reply", ("kind", "name", "effects", "state"))
#: A case played: `skip` is a reason or None; `findings` None where not reported; `trouble` a Trouble or None.
Played = namedtuple("Played", ("skip", "replies", "findings", "trouble"), defaults=(None, (), None, None))


def worst(verdicts):
    """The merged verdict: FAIL > UNKNOWN > PASS; SKIP where there is nothing else."""
    verdicts = set(verdicts)
    return next((v for v in (FAIL, UNKNOWN, PASS) if v in verdicts), SKIP)


class Reference:
    """This package's own session; `without` switches rules off (mutants)."""

    def __init__(self, without=()):
        from realtime_session import __version__
        self._without = without
        self.about = About("realtime-session", __version__, "python", PROFILES, REPORTS)

    def play(self, case):
        """Plays one case."""
        session = Session(case.header, without=self._without)
        replies, findings = [], []
        for event in case.events:
            decision = session.receive(event)
            name = decision.violation.rule if decision.violation is not None else decision.reason
            replies.append(Reply(decision.kind, name, tuple(map(str, decision.effects)), None))
            findings += decision.findings
        if replies:
            replies[-1] = replies[-1]._replace(state=session.state())
        findings += session.finish()
        return Played(replies=replies, findings=tuple(
            (f.rule, (f.event_id,) if f.event_id is not None else ()) for f in findings))

    def stop(self):
        """Nothing to end."""


class Callable:
    """A Python factory. `factory(header)` gives an object with `receive(event)`, or {"skip": reason}.

    `receive` answers as the protocol does, without n: {"decision": "accepted", "effects": [...]}. An
    attribute `about` of the factory is the answer to hello; without it: half_duplex, effects and rule."""

    def __init__(self, factory, name):
        self._factory = factory
        about = getattr(factory, "about", None)
        self.about = about_of(about if about is not None else {
            "name": name, "language": "python", "supports": ["half_duplex"], "reports": ["effects", "rule"]})

    def play(self, case):
        """Plays one case with a new session from the factory; whatever it raises is Trouble."""
        replies = []
        try:
            session = self._factory(case.header)
            if session.__class__ is dict:
                return Played(skip=_skip_of(session))
            for event in case.events:
                answer = session.receive(event)
                if answer.__class__ is dict and "skip" in answer:
                    return Played(_skip_of(answer), replies)
                replies.append(reply_of(answer, self.about.reports))
            close = getattr(session, "close", None)
            findings = findings_of(close() if close is not None else None)
        except Trouble as trouble:
            return Played(None, replies, None, trouble)
        except (Exception, SystemExit) as error:  # foreign code: anything may come, and it is no verdict
            return Played(None, replies, None, Trouble("subject/raised", _where(error)))
        return Played(None, replies, findings)

    def stop(self):
        """Nothing to end."""


class Process:
    """A child process behind `door` (a doors.process.ChildProcess); started anew after any trouble."""

    def __init__(self, door):
        self._door = door
        self.about = None

    def hello(self):
        """Starts the child and asks who it is; raises Trouble."""
        self._door.start()
        answer, = self._door.talk([{"cmd": "hello", "version": PROTOCOL}])
        try:
            if "error" in answer:
                raise _reported(answer)
            self.about = about_of(answer.get("about"))
        except Trouble:
            self._door.stop()
            raise

    def play(self, case):
        """Plays one case; a child that failed is stopped, and the next case starts another."""
        replies = []
        try:
            if not self._door.running:
                self.hello()
            opened, = self._door.talk([{"cmd": "open", "case": case.id, "session": case.header}])
            if "skip" in opened:
                return Played(skip=_skip_of(opened))
            if "error" in opened:
                raise _reported(opened)
            messages = [{"cmd": "event", "event": event} for event in case.events]
            answers = self._door.talk([*messages, {"cmd": "close"}])
            return self._judge_form(answers, len(messages), replies)
        except Trouble as trouble:
            try:
                self._judge_form(trouble.answers, len(trouble.answers) + 1, replies)
            except Trouble:
                pass  # the first trouble is the one to tell
            return Played(None, replies, None, trouble)

    def _judge_form(self, answers, events, replies):
        for answer in answers[:events]:
            if "skip" in answer:
                return Played(_skip_of(answer), replies)
            if "error" in answer:
                raise _reported(answer)
            replies.append(reply_of(answer, self.about.reports))
        return Played(None, replies, findings_of(answers[events]) if len(answers) > events else None)

    def stop(self):
        """Says bye, then ends the child and whatever it started."""
        self._door.stop({"cmd": "bye"})


def _where(error):
    trace, place = error.__traceback__, ""
    while trace is not None:
        place = f" ({trace.tb_frame.f_code.co_name}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return one_line(f"{type(error).__name__}: {str(error)[:300]}{place}")


def _skip_of(answer):
    reason = answer.get("reason") if answer.get("skip") is True else answer.get("skip")
    if not (reason.__class__ is str and reason):
        raise Trouble("subject/bad_reply", f"a skip needs a reason, got {show(reason)}")
    return one_line(reason)


def _reported(answer):
    error = answer["error"]
    return Trouble("subject/error", "the subject reports: " + (one_line(error[:300]) if error.__class__ is str
                                                              else show(error)))


def about_of(value):
    """The About in an answer to hello; raises Trouble subject/bad_about."""
    if value.__class__ is not dict or not (value.get("name").__class__ is str and value["name"]):
        raise Trouble("subject/bad_about", f"hello expects an object about with a name, got {show(value)}")
    supports, reports = value.get("supports", []), value.get("reports", [])
    for name, given, known in (("supports", supports, PROFILES), ("reports", reports, REPORTS)):
        wrong = [x for x in given if x not in known] if given.__class__ in (list, tuple) else [given]
        if wrong:
            raise Trouble("subject/bad_about", f"about.{name}: expected a list of {', '.join(known)}, "
                          f"got {show(wrong[0])}")
    return About(one_line(value["name"]), str(value.get("version", "")), str(value.get("language", "")),
                 tuple(supports), tuple(reports))


def reply_of(answer, reports):
    """The Reply in an answer to an event; raises Trouble subject/bad_reply naming the field."""
    if answer.__class__ is not dict:
        raise Trouble("subject/bad_reply", f"expected an object with a decision, got {show(answer)}")
    kind = answer.get("decision")
    if kind.__class__ is not str or kind not in KINDS:
        raise Trouble("subject/bad_reply", f"decision: expected {', '.join(KINDS)}, got {show(kind)}")
    name = answer.get("rule" if kind == "rejected" else "reason")
    if name is not None and name.__class__ is not str:
        raise Trouble("subject/bad_reply", f"rule or reason: expected a string, got {show(name)}")
    effects = answer.get("effects", () if "effects" in reports else None)
    if effects is not None and (effects.__class__ not in (list, tuple)
                                or any(e.__class__ is not str for e in effects)):
        raise Trouble("subject/bad_reply", f"effects: expected a list of strings, got {show(effects)}")
    state = answer.get("state")
    if state is not None and state.__class__ is not dict:
        raise Trouble("subject/bad_reply", f"state: expected an object, got {show(state)}")
    return Reply(kind, name, tuple(effects) if effects is not None else None, state)


def findings_of(answer):
    """The findings in an answer to close, None where there are none said."""
    found = answer.get("findings") if answer.__class__ is dict else None
    if found is None:
        return None
    try:
        return tuple((rule, tuple(ids)) for rule, ids in found)
    except (TypeError, ValueError):
        raise Trouble("subject/bad_reply", f"findings: expected [[rule, [event ids]]], got {show(found)}") from None
