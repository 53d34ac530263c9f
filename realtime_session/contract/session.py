"""One session, sans-I/O: give it events, get decisions (seed 003, "Offline project").

    session = Session({"session_id": "s1", "resume_token": "secret"})
    decision = session.receive({"event_id": "e1", "type": "audio.frame", ...})

The session checks everything first and mutates last, so a rejected event changes nothing. It observes; it
never runs a tool, opens a socket or reads a clock.
"""
from __future__ import annotations

from realtime_session.contract import checkpoint as checkpoints
from realtime_session.contract.events import explain, quick_checker
from realtime_session.contract.header import Token, open_header
from realtime_session.contract.machine import (
    NONE, late_output, refresh_gates, take_late_output)
from realtime_session.contract.plan import plan_for
from realtime_session.contract.rules import GATE_BY_RULE, rule
from realtime_session.contract.state import State, phase_of
from realtime_session.contract.violation import ACCEPTED, SHOULD, ContractError, Decision, Fault, Violation
from realtime_session.values.errors import show
from realtime_session.values.strict_json import MAX_EVENT_BYTES, JsonError, canonical, check_value

_DUPLICATE = Decision("ignored", reason="duplicate")
_LATE_OUTPUT = Decision("ignored", reason="late_output")


def content_of(event):
    """The canonical text of an event's content: what "same content" compares (contract 3, RFC 8785)."""
    return canonical({key: event[key] for key in ("event_id", "type", "at_ms", "payload")})


class Session:
    """The state machine of one session.

    `header` is the session header of a trace (session_id and resume_token required); a bad one raises
    `HeaderError`. `recall` turns a reference given with an event into that event again, so that a replay
    can keep a file offset instead of a digest. `without` switches rules off by id (the kit's mutants);
    `ran` is a set that collects the ids of rules whose predicate ran.
    """

    def __init__(self, header, *, recall=None, without=(), ran=None):
        self.header, clock, tools = open_header(header)
        self._plan = plan_for(self.header["profile"], frozenset(without), ran)
        self._own, self._ran = self._plan.own, ran  # asked for each event: a named tuple is slow to ask
        self._state = State(self.header["profile"], self.header["limits"], clock, tools)
        self._token = Token(self.header["resume_token"])
        self._seen = {}
        self._recall = recall

    # --- looking ---

    @property
    def profile(self):
        """half_duplex or full_duplex."""
        return self._state.profile

    @property
    def phase(self):
        """The phase after the last accepted event (contract, "Phases")."""
        return phase_of(self._state)

    @property
    def ended(self):
        """Whether a terminal event was accepted."""
        return self._state.link == "ended"

    @property
    def records(self):
        """The live state, for observers that only read it (measures, timelines)."""
        return self._state

    def state(self):
        """The state as a JSON object, with its phase; no token in it."""
        return {"phase": self.phase, **self._state.view()}

    def hide_token(self, text):
        """A line for people, without the resume token should the input have repeated it in a text."""
        return self._token.hide(text)

    def state_digest(self):
        """sha256 over the canonical state: equal digests, equal sessions."""
        from hashlib import sha256
        view = {**self._state.view(), "token": self._token.sha256(), "ids": len(self._seen)}
        return sha256(canonical(view).encode("utf-8")).hexdigest()

    # --- judging ---

    def receive(self, event):
        """Judges one event given as a Python value and, if it is legal, takes it.

        Never raises on bad input: whatever is wrong with the event is the decision's violation."""
        try:
            check_value(event, max_bytes=MAX_EVENT_BYTES)
        except JsonError:
            pass  # explain says it with the path
        else:
            if quick_checker(self.profile)(event) >= 0:
                return self.receive_checked(event)
        return self.refuse_form(event)

    def require(self, event):
        """`receive` for programs that want an exception: raises ContractError when it is rejected."""
        decision = self.receive(event)
        if decision.violation is not None:
            raise ContractError(decision.violation)
        return decision

    def refuse_form(self, event):
        """The rejection of an event whose form is wrong (event/shape, unknown_type, unknown_field, value)."""
        found = explain(event, self.profile)
        if found is None:
            return self.receive_checked(event)
        rule_id, fault = found
        if rule_id not in self._plan.form:  # a mutant without this rule
            return ACCEPTED
        if self._plan.ran is not None:
            self._plan.ran.add(rule_id)
        return Decision("rejected", violation=self._violation(rule_id, fault, event))

    def receive_checked(self, event, reference=None):
        """Judges an event whose form was checked. `reference` is what `recall` understands."""
        event_id, type_, at_ms, p = event["event_id"], event["type"], event["at_ms"], event["payload"]
        s, seen = self._state, self._seen
        if self._ran is not None:
            self._ran.update(self._plan.general | self._plan.gates)
        if event_id in seen and self._plan.ids:
            return self._repeated(event)
        if at_ms < s.now_ms and self._plan.time is not None:
            return self._reject("event/time", self._plan.time(s, at_ms), event)
        if s.gate_names:
            refused = self._closed_gate(type_, p, event)
            if refused is not None:
                return refused
        findings = NONE
        surely_legal, checks, apply, may_be_late, beside, more_to_do = self._own[type_]
        if beside or s.flag_recovery:
            found = self._special(type_, p, event)
            if found.__class__ is Decision:
                return found
            findings = found
        if surely_legal is None or not surely_legal(s, p, at_ms):
            if may_be_late and late_output(s, p):
                return self._late(p, event, reference, _LATE_OUTPUT, findings)
            for rule_id, level, predicate in checks:
                fault = predicate(s, p, at_ms)
                if fault is not None:
                    if (fault.level or level) != SHOULD:
                        return self._reject(rule_id, fault, event)
                    findings += (self._violation(rule_id, fault, event, SHOULD),)
        if more_to_do:
            if type_ == "tool.result" and s.full and s.calls[p["call_id"]].status == "abandoned":
                return self._late(None, event, reference, Decision("ignored", reason="late_result"), findings)
            if "resume_token" in p:  # of a disconnect: a result has no such key
                self._token = self._token.replaced_by(p["resume_token"])
        if s.flag_recovery and type_ not in GATE_BY_RULE["link/reconcile_first"].full:
            s.flag_recovery = False  # flagged once, by the first event that is really taken
        effects = apply(s, p, at_ms)
        s.now_ms = at_ms
        s.accepted += 1
        seen[event_id] = reference if reference is not None else checkpoints.content_digest(event)
        if not effects and not findings:
            return ACCEPTED
        return Decision("accepted", tuple(effects), findings=findings)

    def _late(self, p, event, reference, decision, findings):
        s = self._state
        if p is not None:
            take_late_output(s, p)
        s.now_ms = event["at_ms"]
        s.ignored += 1
        self._seen[event["event_id"]] = reference if reference is not None else checkpoints.content_digest(event)
        return decision._replace(findings=findings) if findings else decision

    def _repeated(self, event):
        known = self._seen[event["event_id"]]
        if known.__class__ is bytes:
            same = known == checkpoints.content_digest(event)
        else:
            same = content_of(self._recall(known)) == content_of(event)
        if same:
            self._state.ignored += 1
            return _DUPLICATE
        return self._reject("event/id_conflict",
                            Fault("/event_id", "the same content as before under this id", show(event["event_id"])),
                            event)

    def _closed_gate(self, type_, p, event):
        s = self._state
        for name in s.gate_names:
            if name not in self._plan.gates:
                continue
            gate = GATE_BY_RULE[name]
            allowed = type_ in gate.passes(s.profile)
            if allowed and type_ == "tool.result" and gate.waits_for and not s.full:
                call = s.calls.get(p["call_id"])
                allowed = call is not None and call.status in gate.waits_for
            if not allowed:
                fault = Fault("/type", _allowed_text(gate, s), f"{type_}" + (
                    f" for call {show(p['call_id'])}" if type_ == "tool.result" else ""))
                return self._reject(name, fault, event)
        return None

    def _special(self, type_, p, event):
        """The rules that need more than the state: the token, the ids seen, a once-only flag."""
        s, plan = self._state, self._plan
        if type_ == "transport.resumed" and "link/token" in plan.special and s.link == "disconnected":
            if plan.ran is not None:
                plan.ran.add("link/token")
            if not self._token.matches(p["resume_token"]):
                return self._reject("link/token", Fault("/payload/resume_token", "the current token",
                                                        "another one"), event)
        if type_ == "error.reported" and "error/uncorrelated" in plan.special and "ref_event_id" in p:
            if plan.ran is not None:
                plan.ran.add("error/uncorrelated")
            if p["ref_event_id"] not in self._seen:
                return (self._violation("error/uncorrelated", Fault(
                    "/payload/ref_event_id", "the id of an earlier event", show(p["ref_event_id"])), event, SHOULD),)
        if s.flag_recovery and type_ not in GATE_BY_RULE["link/reconcile_first"].full:
            calls = ", ".join(s.unreconciled())
            return (self._violation("link/reconcile_first", Fault(
                "/type", f"the outcome of {calls} first", type_), event, SHOULD),)
        return NONE

    def _reject(self, rule_id, fault, event):
        return Decision("rejected", violation=self._violation(rule_id, fault, event))

    def _violation(self, rule_id, fault, event, level="must"):
        broken = rule(rule_id)
        event = event if event.__class__ is dict else {}
        event_id, type_ = event.get("event_id"), event.get("type")
        path, expected, actual = map(self._token.hide, (fault.path, fault.expected, fault.actual))
        return Violation(rule_id, broken.layer, level, event_id if event_id.__class__ is str else None,
                         type_ if type_.__class__ is str else None, self.phase, path, expected, actual,
                         f"{broken.sentence}: expected {expected}, got {actual}")

    def finish(self):
        """The findings that can only be judged when the trace is over: unanswered turns, no terminal event."""
        s, found = self._state, []
        for rule_id, predicate in self._plan.at_end:
            if rule_id == "session/unfinished":
                ended_by_log = isinstance(self.header.get("source"), dict) and self.header["source"].get("end") == "eof"
                fault = None if self.ended or ended_by_log else Fault("", "a terminal event", "the trace just stops")
            else:
                fault = predicate(s)
            if self._plan.ran is not None:
                self._plan.ran.add(rule_id)
            if fault is not None:
                found.append(self._violation(rule_id, fault, {}, SHOULD))
        return found

    # --- checkpoint and restore ---

    def checkpoint(self):
        """The whole session as a JSON value with its own digest, and no token in it (contract 5)."""
        seen = {event_id: known.hex() if known.__class__ is bytes
                else checkpoints.content_digest(self._recall(known)).hex() for event_id, known in self._seen.items()}
        return checkpoints.write(self.header, self._state.view(), seen, self._token.sha256())

    @classmethod
    def restore(cls, value, **options):
        """The session a checkpoint was made of; raises CheckpointError checkpoint/corrupt or checkpoint/version."""
        header, view, seen, token_sha256 = checkpoints.read(value)
        try:
            session = cls({**header, "resume_token": "restored"}, **options)
            session._state.load(view)
            session._seen = {event_id: bytes.fromhex(digest) for event_id, digest in seen.items()}
            if len(bytes.fromhex(token_sha256)) != 32:
                raise ValueError("no sha256")
        except (KeyError, TypeError, ValueError, AttributeError):
            raise checkpoints.CheckpointError("checkpoint/corrupt", "it does not hold what a checkpoint holds") from None
        session._token = Token(sha256=token_sha256)
        refresh_gates(session._state)
        return session




def _allowed_text(gate, s):
    if gate.rule == "session/terminal":
        return "nothing more, or an exact duplicate"
    if gate.rule == "link/disconnected":
        return "a resume, timeout or transfer first"
    waiting = s.unreconciled() if gate.rule == "link/reconcile_first" else s.pending_calls()
    return "the result of " + ", ".join(show(c) for c in waiting[:8]) + " first"
