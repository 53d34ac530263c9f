"""The contract as one table: every rule, its sentence, its reason, its level per profile, its predicate.

Everything else is derived from it: what the machine checks and in which order, the docs page, `rules ID`,
fixture coverage, the mutants that prove that fixtures can fail. Order matters: the first failing rule
names the rejection. Rules with `when` "form", "id", "time" or "gate" run before the event's own rules.
"""
from __future__ import annotations

from collections import namedtuple

from realtime_session.contract import predicates as p
from realtime_session.contract import tool_predicates as t
from realtime_session.contract.events import EVENTS, OBSERVATIONS
from realtime_session.contract.violation import MUST, OFF, SHOULD

LAYERS = ("perception", "turns", "model", "tool", "playback", "transport", "recovery", "harness")


class Rule(namedtuple("Rule", ("id", "layer", "half", "full", "when", "predicate", "sentence", "why"))):
    """One rule. `when`: the event types it judges, or form | id | time | gate | end for the general ones."""

    __slots__ = ()

    def level(self, profile):
        """must, should or off in a profile."""
        return self.half if profile == "half_duplex" else self.full

    @property
    def area(self):
        """The part of the id before the slash."""
        return self.id.split("/")[0]


_ENDS = ("response.completed", "response.cancelled", "response.failed", "response.incomplete")
_OUTPUT = ("response.audio", "response.text")
_PLAYBACK = ("playback.started", "playback.progress", "playback.stopped", "playback.cleared")
_CONTENT = ("audio.frame", "input.text", "input.dtmf", "turn.commit")
_DONE = ("session.completed",)

RULES = (
    Rule("event/shape", "harness", MUST, MUST, "form", None,
         "an event is an object with event_id, type, at_ms and payload, and its payload has every required key",
         "An event that lacks a part cannot be judged, and guessing the part would hide the fault."),
    Rule("event/unknown_type", "harness", MUST, MUST, "form", None,
         "the type of an event is one that the profile knows",
         "An unknown event may carry a state change that nobody applies; importers count such events instead."),
    Rule("event/unknown_field", "harness", MUST, MUST, "form", None,
         "an event and its payload have no other keys than the contract names",
         "A misspelt optional key would silently count as absent."),
    Rule("event/value", "harness", MUST, MUST, "form", None,
         "every value has its type and lies in its range",
         "A position given as text or a fractional sequence number means two things to two readers."),
    Rule("event/id_conflict", "transport", MUST, MUST, "id", None,
         "one event id has one content",
         "Delivery may repeat an event; only equal content makes the repeat harmless."),
    Rule("event/time", "harness", MUST, MUST, "time", p.time_forward,
         "at_ms never goes backwards; equal is allowed",
         "Latencies over a clock that runs back are nonsense, and arrival order is the only order there is."),
    Rule("session/terminal", "recovery", MUST, MUST, "gate", None,
         "after the end only exact duplicates come",
         "A timeout or completion is final: output after it would be spoken to nobody."),
    Rule("link/disconnected", "transport", MUST, MUST, "gate", None,
         "while disconnected only resume, timeout, transfer and observations come",
         "What arrives while the link is down was not delivered by this session."),
    Rule("link/not_disconnected", "transport", MUST, MUST, ("transport.resumed",), t.was_disconnected,
         "a resume comes only while disconnected",
         "Two live connections with one session would both write to it."),
    Rule("link/token", "recovery", MUST, MUST, ("transport.resumed",), None,
         "a resume carries the current token; a failed try consumes nothing",
         "The token proves that the party that comes back is the one that left."),
    Rule("link/reconcile_first", "recovery", MUST, MUST, "gate", None,
         "after a resume with writes in doubt their results come before new work",
         "A write that may have happened must be settled before anything builds on it or repeats it."),
    Rule("tool/wait", "tool", MUST, OFF, "gate", None,
         "while a call of the active response is pending only results, more calls, interrupt, disconnect, "
         "timeout, transfer and observations come",
         "A half-duplex response that waits for its tools neither speaks nor listens."),
    Rule("turn/closed", "turns", MUST, MUST, _CONTENT, p.turn_open,
         "no frames, text, digits or second commit come after the commit of a turn",
         "The answer was built on the committed content; what comes later belongs to the next turn."),
    Rule("audio/contiguous", "perception", MUST, MUST, ("audio.frame",), p.frame_contiguous,
         "the frames of a turn are numbered 0, 1, 2 … without gap or repeat",
         "A gap is lost speech, a repeat is speech heard twice; neither may pass unseen."),
    Rule("turn/empty", "turns", MUST, MUST, ("turn.commit",), p.commit_has_content,
         "a commit needs content: a frame, text, digits, detected speech or a transcript",
         "An empty commit makes the agent answer nobody."),
    Rule("turn/no_speech", "turns", MUST, MUST, ("turn.commit",), p.commit_has_speech,
         "a turn committed for speech contains speech",
         "A turn of silence taken for speech is a false turn."),
    Rule("turn/unanswered", "turns", OFF, SHOULD, "end", p.turns_answered,
         "a committed turn is answered by a response on it or on a later turn",
         "The caller spoke and waits; silence is the failure they notice first."),
    Rule("response/turn", "model", MUST, MUST, ("response.started",), p.response_turn,
         "a response has a new id and names a committed turn, or in full_duplex none",
         "An answer to a turn that is still open talks over the caller."),
    Rule("response/one_active", "model", MUST, MUST, ("response.started",), p.one_active,
         "one response at a time writes to the conversation",
         "Two active responses mix their words; one out of band is apart, a stopping one no longer counts."),
    Rule("response/unknown", "model", MUST, MUST,
         _OUTPUT + _ENDS + _PLAYBACK + ("response.truncated", "tool.call", "tool.result", "tool.cancelled"),
         p.response_known,
         "output, end, playback, truncation and tool events name a response that was started",
         "Output of a response nobody started cannot be cancelled."),
    Rule("response/ended", "model", MUST, MUST, _OUTPUT + ("tool.call",) + _ENDS, p.response_open,
         "no output, call or second end comes after the end of a response; the first end of an interrupted one "
         "is accepted",
         "What arrives after the end is played although it is over, or retires the response that came next."),
    Rule("response/unfinished", "model", MUST, SHOULD, _DONE, p.none_unfinished,
         "a session does not complete with an active response",
         "The caller is cut off in the middle of an answer."),
    Rule("output/contiguous", "playback", MUST, MUST, _OUTPUT, p.output_contiguous,
         "the audio of a response, and apart from it its text, is numbered 0, 1, 2 …",
         "Chunks handled out of order are played out of order."),
    Rule("output/queue_limit", "playback", MUST, OFF, ("response.audio",), p.queue_limit,
         "queued audio stays within limits.queue_ms",
         "A long queue is what keeps sounding after the caller interrupts."),
    Rule("interrupt/nothing_to_stop", "turns", MUST, MUST, ("user.interrupt",), p.something_to_stop,
         "an interrupt names something that can be stopped",
         "A cancel with nothing active is the most common race of all and must not change anything."),
    Rule("interrupt/stale", "turns", MUST, MUST, ("user.interrupt",), p.names_what_sounds,
         "an interrupt names the active response, else the one sounding",
         "An old interruption that arrives late must not cut the new reply."),
    Rule("interrupt/turn", "turns", MUST, MUST, ("user.interrupt",), p.interrupt_turn,
         "an interrupt opens a turn that is not committed; in half_duplex one that has not begun",
         "The words that interrupt belong to a turn of their own."),
    Rule("playback/backwards", "playback", OFF, MUST, _PLAYBACK[1:], p.playback_forward,
         "the played position of a response does not go down",
         "Nobody un-hears audio; a falling position is a clock or a response mixed up."),
    Rule("playback/beyond_sent", "playback", OFF, MUST, _PLAYBACK[1:], p.played_was_sent,
         "nobody heard more of a response than was sent",
         "A position beyond the audio comes from wall-clock arithmetic and spoils the heard text."),
    Rule("truncate/out_of_range", "playback", OFF, MUST, ("response.truncated",), p.truncate_in_range,
         "a response is not truncated beyond the audio that was sent",
         "Servers refuse such a cut, and the history then keeps words nobody heard."),
    Rule("playback/after_clear", "playback", OFF, SHOULD, _PLAYBACK[1:], p.quiet_after_clear,
         "after an interrupt playback goes on for no longer than the way to the interrupt and stop_grace_ms",
         "The old answer that keeps sounding is what the interrupt was meant to stop."),
    Rule("playback/not_drained", "playback", OFF, SHOULD, _DONE, p.audio_drained,
         "the agent does not complete a session while audio of its last response is unheard",
         "The end of generation is not the end of playback: the farewell is cut."),
    Rule("tool/unknown_call", "tool", MUST, MUST, ("tool.result", "tool.cancelled"), t.call_known,
         "a result names a call that was made",
         "A result for no call is an answer to a question nobody asked."),
    Rule("tool/response_mismatch", "tool", MUST, MUST, ("tool.result", "tool.cancelled"), t.call_of_response,
         "a result names the response that made its call",
         "Results routed to another response answer the wrong turn."),
    Rule("tool/duplicate_call", "tool", MUST, MUST, ("tool.call",), t.call_new,
         "a call id is used once in a session",
         "One call dispatched twice runs twice."),
    Rule("tool/already_answered", "tool", MUST, MUST, ("tool.result",), t.not_answered,
         "a call has one result",
         "A second result would overwrite what the agent has already spoken about."),
    Rule("tool/after_cancel", "tool", MUST, SHOULD, ("tool.result",), t.not_abandoned,
         "no result comes for an abandoned read call",
         "The question was withdrawn; its late answer must not enter the conversation."),
    Rule("tool/undeclared", "tool", MUST, SHOULD, ("tool.call",), t.call_declared,
         "where the session declares tools, a call names one of them",
         "A tool the agent invented does nothing but sound convincing."),
    Rule("tool/arguments", "tool", MUST, SHOULD, ("tool.call",), t.arguments_valid,
         "the arguments of a declared tool satisfy its parameters schema",
         "Half-written or invented arguments must not look like a final call."),
    Rule("tool/answer_before_result", "tool", OFF, SHOULD, ("response.started",), t.answer_after_results,
         "no new response starts on a turn whose calls are open",
         "An answer given before its lookup returned is made up."),
    Rule("tool/write_replayed", "tool", MUST, SHOULD, ("tool.call",), t.write_not_replayed,
         "a write in doubt is not called again with the same name and arguments",
         "It may have happened: a replay could book, pay or send twice."),
    Rule("tool/duplicate_effect", "tool", SHOULD, SHOULD, ("tool.result",), t.effect_once,
         "one write happens once in a session",
         "Two successful writes with equal arguments are two bookings."),
    Rule("tool/unresolved", "tool", MUST, MUST, _DONE, t.none_unresolved,
         "a session does not complete with open or unreconciled calls",
         "A call that never gets an answer leaves its effect unknown."),
    Rule("session/unfinished", "harness", SHOULD, SHOULD, "end", None,
         "a trace ends with a terminal event",
         "A log that just stops does not say whether the session did."),
    Rule("error/uncorrelated", "transport", OFF, SHOULD, ("error.reported",), None,
         "an error that names an event names one that exists",
         "An error about nothing points at a lost or renamed event."),
)
_BY_ID = {rule.id: rule for rule in RULES}


def rule(rule_id):
    """The rule with this id; KeyError when there is none."""
    return _BY_ID[rule_id]


class Gate(namedtuple("Gate", ("rule", "closed", "half", "full", "waits_for"))):
    """A gate: closed while `closed(state)`; the event types it lets pass per profile; and the status
    of calls whose results it lets pass (None: any result that its types allow)."""

    __slots__ = ()

    def passes(self, profile):
        """The types this gate lets pass in a profile."""
        return self.half if profile == "half_duplex" else self.full


_ANY = frozenset(EVENTS)
_WAY_OUT = frozenset(("session.timeout", "session.transferred"))
_RESULTS = frozenset(("tool.result",))
_LOST = _WAY_OUT | {"transport.resumed"} | OBSERVATIONS

#: in the order in which they are asked
GATES = (
    Gate("session/terminal", lambda s: s.link == "ended", frozenset(), frozenset(), None),
    Gate("link/disconnected", lambda s: s.link == "disconnected", _LOST, _LOST, None),
    Gate("link/reconcile_first", lambda s: s.recovering,
         _WAY_OUT | OBSERVATIONS | _RESULTS | {"transport.disconnected", "transport.resumed"},
         _ANY - {"turn.commit", "response.started", "tool.call", "session.completed"}, ("reconcile",)),
    Gate("tool/wait", lambda s: not s.full and bool(s.open_calls) and bool(s.pending_calls()),
         _WAY_OUT | OBSERVATIONS | _RESULTS
         | {"tool.call", "user.interrupt", "transport.disconnected", "transport.resumed"},
         _ANY, ("open", "reconcile")),
)
GATE_BY_RULE = {gate.rule: gate for gate in GATES}
