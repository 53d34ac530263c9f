"""The measures of a trace: one table of names, units and formulas, and how each is computed (contract 7).

Each is {value, n, unit, reason}: value null with a reason where its evidence is absent, never 0 instead.
A sample measure's value is the median of n samples (linear between the two middle ones).
"""
from __future__ import annotations

from collections import namedtuple

#: `formula` is what the docs page prints.
Measure = namedtuple("Measure", ("name", "unit", "layer", "formula", "compute"))

_NO_CLOCK = "at_ms comes from the {}, which says nothing about time"


def _result(value, n, unit, reason=None):
    return {"value": value, "n": n, "unit": unit, "reason": reason}


def median(samples):
    """The middle of the sorted samples, linear between two; None when there are none."""
    ordered = sorted(samples)
    half = len(ordered) // 2
    if not ordered:
        return None
    if len(ordered) % 2:
        return ordered[half]
    total = ordered[half - 1] + ordered[half]
    return total // 2 if total % 2 == 0 else total / 2


def _untimed(audit):
    s = audit.session.records
    if s.estimates:
        return None
    return _NO_CLOCK.format({"line": "line number", "audio": "audio clock"}[audit.session.header["source"]["clock"]])


def _count_of(*names):
    def compute(audit, unit):
        counts = audit.counts
        return _result(sum(counts.get(name, 0) for name in names), sum(
            n for key, n in counts.items() if not key.startswith(("finding ", "tool "))), unit)
    return compute


def _samples(name, absent, read=None):
    def compute(audit, unit):
        untimed = _untimed(audit)
        if untimed:
            return _result(None, 0, unit, untimed)
        samples = read(audit) if read else audit.samples[name]
        return _result(median(samples), len(samples), unit, None if samples else absent)
    return compute


def _overlap(side):
    def compute(audit, unit):
        floor = audit.floor
        reason = _untimed(audit) or (None if floor.caller_known else "no speech of the caller with known bounds") or (
            None if floor.agent_known else "no audio of the agent with a known duration")
        values = {"both": floor.by_caller_ms + floor.by_agent_ms, "caller": floor.by_caller_ms,
                  "agent": floor.by_agent_ms}
        return _result(None if reason else values[side], 0 if reason else 1, unit, reason)
    return compute


def _false_interruptions(audit, unit):
    floor = audit.floor
    return _result(floor.totals()[0], floor.interrupts, unit)


def _missed_interruptions(audit, unit):
    floor = audit.floor
    if not floor.intents:
        reason = _untimed(audit) or (None if floor.caller_known and floor.agent_known else
                                     "speech of both sides with known durations is needed")
        if reason:
            return _result(None, 0, unit, reason)
    return _result(floor.totals()[1], 1, unit)


def _gaps(audit, unit):
    untimed = _untimed(audit)
    samples = audit.latency_samples()
    if untimed or not samples:
        return _result(None, 0, unit, untimed or "no answered speech")
    return _result(sum(1 for ms in samples if ms > 4000), len(samples), unit)


def _jitter(audit, unit):
    untimed = _untimed(audit)
    if untimed or not audit.jitter_n:
        return _result(None, 0, unit, untimed or "no two frames of one turn with known durations")
    return _result(round(audit.jitter_sum / audit.jitter_n, 3), audit.jitter_n, unit)


def _concealed(audit, unit):
    frames = audit.counts.get("audio.frame", 0)
    return _result(audit.concealed if frames else None, frames, unit, None if frames else "no frame")


def _interrupted(audit, unit):
    records = audit.session.records.responses.values()
    return _result(sum(1 for r in records if r.interrupted), len(records), unit)


def _unended(audit, unit):
    records = audit.session.records.responses.values()
    return _result(sum(1 for r in records if r.status == "active"), len(records), unit)


def _unreconciled(audit, unit):
    s = audit.session.records
    return _result(len(s.open_calls), len(s.calls), unit)


def _invalid_calls(audit, unit):
    if audit.session.records.tools is None:
        return _result(None, 0, unit, "the session declares no tools")
    if not audit.session.records.full:
        return _result(None, 0, unit, "half_duplex rejects such calls: they are violations")
    return _count_of("finding tool/arguments", "finding tool/undeclared")(audit, unit)


def _unheard(audit, unit):
    s = audit.session.records
    spoken = [r for r in s.responses.values() if r.sent_ms and not r.interrupted]
    if not spoken:
        return _result(None, 0, unit, "no uninterrupted response with audio of known duration")
    total = n = 0
    for record in spoken:
        heard, _ = record.heard_ms(s.now_ms, s.estimates)
        if heard is None or record.unknown_ms:
            continue
        total += max(0, record.sent_ms - heard)
        n += 1
    return _result(total if n else None, n, unit, None if n else "what was played is not known")


MEASURES = (
    Measure("turns", "count", "turns", "accepted turn.commit events", _count_of("turn.commit")),
    Measure("responses", "count", "model", "accepted response.started events", _count_of("response.started")),
    Measure("responses_completed", "count", "model", "accepted response.completed events",
            _count_of("response.completed")),
    Measure("responses_cancelled", "count", "model", "accepted response.cancelled events",
            _count_of("response.cancelled")),
    Measure("responses_failed", "count", "model", "accepted response.failed events", _count_of("response.failed")),
    Measure("responses_incomplete", "count", "model", "accepted response.incomplete events",
            _count_of("response.incomplete")),
    Measure("responses_interrupted", "count", "turns",
            "responses stopped by a barge-in, disconnect, timeout or transfer while active or sounding", _interrupted),
    Measure("responses_unended", "count", "model", "responses still active after the last event", _unended),
    Measure("response_latency_ms", "ms", "turns",
            "median over answered speech: first audio of the answer heard - the caller's last frame with speech "
            "(or speech.stopped, whichever came last)", _samples("response_latency_ms", "no answered speech",
                                                              lambda audit: audit.latency_samples())),
    Measure("first_audio_ms", "ms", "model", "median over responses with audio: first response.audio - "
            "response.started", _samples("first_audio_ms", "no response with audio")),
    Measure("stop_latency_ms", "ms", "playback", "median over cleared responses: their last playback report after "
            "the interrupt - the interrupt", _samples("stop_latency_ms", "no playback report after an interrupt",
                                                      lambda audit: audit.stop_samples())),
    Measure("late_output", "count", "playback", "audio and text of interrupted or cancelled responses, ignored",
            _count_of("ignored late_output")),
    Measure("overlap_ms", "ms", "turns", "time in which a frame with speech and the agent's sounding audio coincide",
            _overlap("both")),
    Measure("overlap_by_caller_ms", "ms", "turns", "the part of overlap_ms in which the caller started second",
            _overlap("caller")),
    Measure("overlap_by_agent_ms", "ms", "turns", "the part of overlap_ms in which the agent started second",
            _overlap("agent")),
    Measure("false_interruptions", "count", "turns", "interrupts whose annotated intent is backchannel or noise; "
            "without any intents: interrupts that no commit follows", _false_interruptions),
    Measure("missed_interruptions", "count", "turns", "stretches of 1,000 ms or more of caller speech over sounding "
            "audio, or barge-in intents, without an interrupt after them", _missed_interruptions),
    Measure("gaps", "count", "turns", "response latencies above 4,000 ms", _gaps),
    Measure("arrival_jitter_ms", "ms", "transport", "mean of |arrival distance - duration| over neighbouring frames "
            "of a turn", _jitter),
    Measure("concealed_frames", "count", "transport", "frames marked concealed", _concealed),
    Measure("tool_calls", "count", "tool", "accepted tool.call events", _count_of("tool.call")),
    Measure("tool_results_ok", "count", "tool", "accepted results with ok true", _count_of("tool ok")),
    Measure("tool_results_failed", "count", "tool", "accepted results with ok false", _count_of("tool failed")),
    Measure("tool_calls_invalid", "count", "tool", "findings of tool/arguments and tool/undeclared; null in "
            "half_duplex, which rejects such calls, and where no tools are declared", _invalid_calls),
    Measure("duplicate_effects", "count", "tool", "findings of tool/duplicate_effect",
            _count_of("finding tool/duplicate_effect")),
    Measure("calls_unreconciled", "count", "tool", "calls open or in doubt after the last event", _unreconciled),
    Measure("disconnects", "count", "transport", "accepted transport.disconnected events",
            _count_of("transport.disconnected")),
    Measure("resumed", "count", "recovery", "accepted transport.resumed events", _count_of("transport.resumed")),
    Measure("time_to_resume_ms", "ms", "recovery", "median over recoveries: transport.resumed - "
            "transport.disconnected", _samples("time_to_resume_ms", "no recovery")),
    Measure("unheard_ms", "ms", "playback", "audio sent and not heard by the last event, over responses that were "
            "not interrupted", _unheard),
    Measure("duplicates", "count", "transport", "exact repeats, ignored", _count_of("ignored duplicate")),
)


def measure_all(audit):
    """Every measure of the table, in its order."""
    return {m.name: m.compute(audit, m.unit) for m in MEASURES}
