"""Watching a whole trace in one pass: measures, and what the caller heard (contract 7)."""
from __future__ import annotations

from realtime_session.contract.session import Session
from realtime_session.contract.violation import ACCEPTED
from realtime_session.traces.floor import Floor
from realtime_session.traces.hearing import Hearing
from realtime_session.traces.measures import measure_all


class Audit:
    """Collects, event by event, what the measures are made of. `see` gets every event that was not
    rejected, with its decision, after the session took it. Nothing here grows with the trace but lists
    of one number a turn or a response (latencies)."""

    def __init__(self, session):
        self.session = session
        self._records = session.records
        self.counts = {}
        self.samples = {name: [] for name in ("response_latency_ms", "first_audio_ms", "stop_latency_ms",
                                              "time_to_resume_ms")}
        self.floor = Floor()
        self.jitter_sum = self.jitter_n = 0
        self.concealed = 0
        self.played_known = False
        self._speech_end = None       # the end of the caller's last speech that awaits an answer
        self._answering = None        # [that end, response id, first audio estimated]: waits for a report
        self._started = {}            # response id -> at_ms, until its first audio
        self._last_frame = None       # (turn id, at_ms, duration)
        self._stopping = {}           # interrupted response id -> (interrupt at_ms, last report at_ms)
        self._lost_at = None
        self._speech_on = None        # the detector's onset, while it hears speech

    def see(self, event, decision):
        """Takes one accepted or ignored event."""
        if decision is not ACCEPTED:
            for finding in decision.findings:
                self._count("finding " + finding.rule)
            if decision.kind == "ignored":
                self._count("ignored " + decision.reason)
                return
        type_, counts = event["type"], self.counts
        counts[type_] = counts.get(type_, 0) + 1
        watch = _WATCH.get(type_)
        if watch is not None:
            watch(self, event["payload"], event["at_ms"], event, decision)

    def _count(self, name):
        self.counts[name] = self.counts.get(name, 0) + 1

    def _frame(self, p, at_ms, event, decision):
        turn_id, duration = p["turn_id"], p["duration_ms"]
        if p["speech"]:
            self._speech_end = at_ms
            if duration:
                self.floor.frame(at_ms, at_ms + duration)
        if p["sequence"] == 0:
            self.floor.begins(event["event_id"], turn_id)
        if "concealed" in p and p["concealed"]:
            self.concealed += 1
        last = self._last_frame
        if last is not None and duration is not None and last[0] == turn_id and last[2] is not None:
            self.jitter_sum += abs(at_ms - last[1] - last[2])
            self.jitter_n += 1
        self._last_frame = (turn_id, at_ms, duration)

    def _speech_started(self, p, at_ms, event, decision):
        self._speech_on = at_ms
        self.floor.begins(event["event_id"], p["turn_id"])

    def _speech_stopped(self, p, at_ms, event, decision):
        self._speech_end = at_ms
        if self._speech_on is not None:
            self.floor.detected(self._speech_on, at_ms)
            self._speech_on = None

    def _commit(self, p, at_ms, event, decision):
        self.floor.committed()

    def _response(self, p, at_ms, event, decision):
        self._started[p["response_id"]] = at_ms
        self.floor.response()
        if p["turn_id"] is not None and self._speech_end is not None and not p.get("out_of_band"):
            self._settle_latency()
            self._answering = [self._speech_end, p["response_id"], None]
            self._speech_end = None

    def _audio(self, p, at_ms, event, decision):
        response_id, duration = p["response_id"], p["duration_ms"]
        if response_id in self._started:
            self.samples["first_audio_ms"].append(at_ms - self._started.pop(response_id))
        s = self._records
        record = s.responses[response_id]
        if record.report is None:
            begins = at_ms if duration is None else s.free_at - duration
            if self._answering is not None and self._answering[1] == response_id and self._answering[2] is None:
                self._answering[2] = begins
            if duration:
                self.floor.agent(response_id, begins, s.free_at)

    def _end(self, p, at_ms, event, decision):
        self._started.pop(p["response_id"], None)  # an answer without audio has no first audio

    def _settle_latency(self):
        """The answer's first audio is as known as it will be: reported, or else estimated."""
        if self._answering is not None and self._answering[2] is not None:
            self.samples["response_latency_ms"].append(self._answering[2] - self._answering[0])
        self._answering = None

    def _playback(self, p, at_ms, event, decision):
        response_id = p["response_id"]
        self.played_known = True
        if event["type"] in ("playback.started", "playback.progress"):
            if self._answering is not None and self._answering[1] == response_id:
                self._answering[2] = at_ms
                self._settle_latency()
            if response_id not in self._stopping:
                self.floor.reported(response_id, at_ms)
        else:
            self.floor.silent(response_id, at_ms)
        if response_id in self._stopping:
            self._stopping[response_id][1] = at_ms

    def _interrupt(self, p, at_ms, event, decision):
        self.floor.interrupted(event["event_id"], p["turn_id"], at_ms)
        for effect in decision.effects:
            if effect.name == "clear_playback":
                self._stopping[effect.target] = [at_ms, None]
        self._forget_stopped()

    def _forget_stopped(self, keep=8):
        """Bounded: only the last few interrupted responses still await reports."""
        while len(self._stopping) > keep:
            self._stop_sample(self._stopping.pop(next(iter(self._stopping))))

    def _stop_sample(self, pair):
        if pair[1] is not None:
            self.samples["stop_latency_ms"].append(pair[1] - pair[0])

    def _cut(self, p, at_ms, event, decision):
        self.floor.stopped(at_ms)

    def _lost(self, p, at_ms, event, decision):
        self.floor.stopped(at_ms)
        self._lost_at = at_ms

    def _back(self, p, at_ms, event, decision):
        self.samples["time_to_resume_ms"].append(at_ms - self._lost_at)

    def _result(self, p, at_ms, event, decision):
        self._count({True: "tool ok", False: "tool failed", None: "tool unknown"}[p["ok"]])

    def _annotation(self, p, at_ms, event, decision):
        if p["kind"] == "intent":
            self.floor.intent(p["about"], p["value"])

    def latency_samples(self):
        """Response latencies so far, the one still waiting for a report included."""
        waiting = self._answering
        open_one = [waiting[2] - waiting[0]] if waiting is not None and waiting[2] is not None else []
        return self.samples["response_latency_ms"] + open_one

    def stop_samples(self):
        """Stop latencies so far, those still open included."""
        open_ones = [pair[1] - pair[0] for pair in self._stopping.values() if pair[1] is not None]
        return self.samples["stop_latency_ms"] + open_ones

    def measures(self):
        """name -> {value, n, unit, reason}, in the order of the measures table."""
        return measure_all(self)


#: type -> what the audit does with it; plain functions, so that an audit holds no cycle and its memory
#: (and the session's) is free as soon as it is dropped
_WATCH = {
    "audio.frame": Audit._frame, "speech.started": Audit._speech_started,
    "speech.stopped": Audit._speech_stopped, "turn.commit": Audit._commit,
    "response.started": Audit._response, "response.audio": Audit._audio, "user.interrupt": Audit._interrupt,
    "response.completed": Audit._end, "response.cancelled": Audit._end, "response.failed": Audit._end,
    "response.incomplete": Audit._end,
    "tool.result": Audit._result, "playback.started": Audit._playback, "playback.progress": Audit._playback,
    "playback.stopped": Audit._playback, "playback.cleared": Audit._playback,
    "transport.disconnected": Audit._lost, "transport.resumed": Audit._back, "session.timeout": Audit._cut,
    "session.transferred": Audit._cut, "annotation": Audit._annotation,
}


class AuditReport:
    """What `audit_events` gives: decisions, findings, measures, and what was heard of each response."""

    __slots__ = ("session", "decisions", "findings", "measures", "heard")

    def __init__(self, session, decisions, findings, measures, heard):
        self.session, self.decisions, self.findings = session, decisions, findings
        self.measures, self.heard = measures, heard


def audit_events(header, events, **options):
    """Runs a whole list of events; rejected ones are skipped. `options` go to Session."""
    session = Session(header, **options)
    audit, hearing = Audit(session), Hearing(session)
    decisions, findings = [], []
    for event in events:
        decision = session.receive(event)
        decisions.append(decision)
        findings += decision.findings
        if decision.violation is None:
            audit.see(event, decision)
            hearing.see(event, decision)
    findings += session.finish()
    return AuditReport(session, decisions, findings, audit.measures(), hearing.heard())
