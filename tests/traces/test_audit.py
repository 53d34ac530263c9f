"""Measures and heard text, each on one small trace, with values worked out by hand."""

import pytest

from realtime_session.traces.audit import audit_events

HEADER = {"session_id": "s", "resume_token": "t", "profile": "full_duplex"}


def audit(*rows, **header):
    """Rows are (at_ms, type, payload); every event must be taken."""
    events = [{"event_id": f"e{n}", "type": type_, "at_ms": at_ms, "payload": payload}
              for n, (at_ms, type_, payload) in enumerate(rows)]
    report = audit_events({**HEADER, **header}, events)
    refused = [str(d) for d in report.decisions if d.violation is not None]
    assert refused == []
    return report


def value(report, name):
    measure = report.measures[name]
    assert (measure["value"] is None) == (measure["reason"] is not None)
    return measure["value"]


def frame(at_ms, n, turn="t1", speech=True, ms=20, **more):
    return at_ms, "audio.frame", {"turn_id": turn, "sequence": n, "duration_ms": ms, "speech": speech, **more}


def commit(at_ms, turn="t1"):
    return at_ms, "turn.commit", {"turn_id": turn}


def start(at_ms, response="r1", turn="t1", **more):
    return at_ms, "response.started", {"response_id": response, "turn_id": turn, **more}


def audio(at_ms, n, ms=200, response="r1"):
    return at_ms, "response.audio", {"response_id": response, "sequence": n, "duration_ms": ms}


def text(at_ms, n, words, response="r1"):
    return at_ms, "response.text", {"response_id": response, "sequence": n, "text": words}


def play(at_ms, what, played_ms=..., response="r1", **more):
    payload = {"response_id": response, **more}
    return at_ms, f"playback.{what}", payload if played_ms is ... else {**payload, "played_ms": played_ms}


def interrupt(at_ms, turn="t2", response="r1"):
    return at_ms, "user.interrupt", {"turn_id": turn, "response_id": response, "reason": "barge_in"}


def done(at_ms, response="r1"):
    return at_ms, "response.completed", {"response_id": response}


QUESTION = (frame(0, 0), frame(20, 1), frame(40, 2, speech=False), commit(100), start(150))


# --- nothing to measure ---


def test_a_measure_without_evidence_is_null_and_says_why():
    report = audit()
    for name in ("response_latency_ms", "first_audio_ms", "stop_latency_ms", "overlap_ms", "overlap_by_caller_ms",
                 "overlap_by_agent_ms", "missed_interruptions", "gaps", "arrival_jitter_ms", "concealed_frames",
                 "time_to_resume_ms", "unheard_ms"):
        assert value(report, name) is None
        assert len(report.measures[name]["reason"]) > 5 and report.measures[name]["n"] == 0
    assert [value(report, name) for name in ("turns", "responses", "disconnects", "late_output")] == [0, 0, 0, 0]


@pytest.mark.parametrize("clock", ["line", "audio"])
def test_without_a_clock_no_time_is_measured(clock):
    report = audit(*QUESTION, audio(300, 0), play(310, "started"), interrupt(400), play(420, "stopped", 100),
                   (500, "transport.disconnected", {"reason": "x"}), (700, "transport.resumed", {"resume_token": "t"}),
                   source={"clock": clock})
    for name in ("response_latency_ms", "first_audio_ms", "stop_latency_ms", "overlap_ms", "gaps",
                 "arrival_jitter_ms", "time_to_resume_ms", "missed_interruptions"):
        assert value(report, name) is None
        assert clock in report.measures[name]["reason"]
    assert (value(report, "turns"), value(report, "disconnects"), value(report, "resumed")) == (1, 1, 1)


# --- latency ---


def test_latency_counts_from_the_last_frame_with_speech_to_the_first_estimated_audio():
    report = audit(*QUESTION, audio(320, 0), audio(340, 1))
    assert value(report, "response_latency_ms") == 320 - 20
    assert value(report, "first_audio_ms") == 320 - 150


def test_reported_playback_comes_before_the_estimate():
    report = audit(*QUESTION, audio(320, 0), play(450, "started"), play(500, "progress", 50))
    assert value(report, "response_latency_ms") == 450 - 20
    assert value(report, "first_audio_ms") == 170, "sent, not heard"


def test_a_first_report_with_a_position_counts_too():
    assert value(audit(*QUESTION, audio(320, 0), play(470, "progress", 20)), "response_latency_ms") == 450


def test_speech_stopped_ends_the_callers_speech_when_it_comes_last():
    report = audit((0, "speech.started", {"turn_id": "t1"}), (80, "speech.stopped", {"turn_id": "t1"}), commit(100),
                   start(150), audio(330, 0))
    assert value(report, "response_latency_ms") == 250


def test_latencies_give_their_median():
    """320, 120 and 700 ms: the middle one; of two the point halfway."""
    def turn(n, at_ms, wait):
        name = f"t{n}"
        return (frame(at_ms, 0, turn=name), commit(at_ms, name), start(at_ms, f"r{n}", name),
                audio(at_ms + wait, 0, 20, f"r{n}"), done(at_ms + wait, f"r{n}"))
    rows = turn(1, 0, 320) + turn(2, 1000, 120) + turn(3, 2000, 700)
    report = audit(*rows)
    assert report.measures["response_latency_ms"] == {"value": 320, "n": 3, "unit": "ms", "reason": None}
    assert value(audit(*rows[:10]), "response_latency_ms") == 220
    assert value(audit(*turn(1, 0, 5), *turn(2, 1000, 10)), "response_latency_ms") == 7.5


def test_audio_waits_in_one_queue():
    """The answer's audio arrives at 400, while the opening still sounds until 600: heard from 600 on."""
    report = audit(start(0, "r0", None), audio(0, 0, 600, "r0"), done(10, "r0"), frame(100, 0), commit(150),
                   start(200), audio(400, 0))
    assert value(report, "response_latency_ms") == 600 - 100


def test_a_response_out_of_band_answers_nobody():
    report = audit(*QUESTION[:4], start(150, "side", "t1", out_of_band=True), audio(160, 0, 20, "side"),
                   start(200), audio(330, 0))
    assert value(report, "response_latency_ms") == 310


def test_gaps_are_latencies_above_four_seconds():
    def latency(ms):
        return audit(frame(0, 0), commit(10), start(20), audio(ms, 0))
    assert value(latency(4000), "gaps") == 0
    assert value(latency(4001), "gaps") == 1


# --- stopping ---


def test_stop_latency_is_the_last_report_of_the_old_audio_after_the_interrupt():
    report = audit(*QUESTION, audio(200, 0, 1000), play(200, "started"), play(500, "progress", 300), interrupt(600),
                   play(650, "progress", 440), play(720, "cleared", 500))
    assert value(report, "stop_latency_ms") == 720 - 600
    assert value(report, "responses_interrupted") == 1


def test_stop_latencies_of_many_interrupts_are_all_counted():
    rows = []
    for n in range(12):
        at = n * 1000
        rows += [start(at, f"r{n}", None), audio(at, 0, 500, f"r{n}"), play(at, "started", response=f"r{n}"),
                 interrupt(at + 100, f"t{n}", f"r{n}"), play(at + 110 + n, "stopped", 100, f"r{n}"),
                 done(at + 300, f"r{n}")]
    measure = audit(*rows).measures["stop_latency_ms"]
    assert (measure["value"], measure["n"]) == (15.5, 12), "10, 11 … 21"


def test_an_interrupt_without_a_report_has_no_stop_latency():
    assert value(audit(*QUESTION, audio(200, 0), interrupt(300)), "stop_latency_ms") is None


def test_late_output_is_counted():
    report = audit(*QUESTION, audio(200, 0), interrupt(300), audio(310, 1), text(320, 0, "late"))
    assert value(report, "late_output") == 2


def test_interrupts_that_nothing_reported_are_forgotten():
    rows = []
    for n in range(12):
        rows += [start(n * 1000, f"r{n}", None), audio(n * 1000, 0, 500, f"r{n}"), interrupt(n * 1000 + 100, f"t{n}", f"r{n}")]
    assert value(audit(*rows), "stop_latency_ms") is None


def test_audio_behind_a_report_leaves_the_report_in_charge():
    """Heard from 450 on, whatever was sent then."""
    report = audit(*QUESTION, audio(320, 0), play(450, "started"), audio(460, 1), frame(470, 0, "t2"))
    assert value(report, "response_latency_ms") == 430
    assert value(report, "overlap_by_caller_ms") == 20


def test_the_last_moment_is_measured_like_any_other():
    last = 2**53 - 1
    report = audit(frame(last, 0), commit(last), start(last), audio(last, 0), interrupt(last))
    assert value(report, "first_audio_ms") == 0
    assert value(report, "overlap_ms") == 0


# --- overlap ---


def test_overlap_is_charged_to_the_side_that_started_second():
    """Agent 200-600; the caller speaks 400-480 into it: 80 ms by the caller."""
    report = audit(*QUESTION, audio(200, 0, 400), *[frame(400 + 20 * n, n, "t2") for n in range(4)])
    assert [value(report, f"overlap{who}_ms") for who in ("", "_by_caller", "_by_agent")] == [80, 80, 0]


def test_the_agent_talks_into_the_caller():
    """Caller 0-400 in one go, agent from 300 on: 100 ms by the agent."""
    rows = [frame(100 * n, n, ms=100) for n in range(3)]
    report = audit(*rows, start(300, "r1", None, cause="interjection"), audio(300, 0, 200), frame(300, 3, ms=100),
                   frame(400, 4, speech=False))
    assert [value(report, f"overlap{who}_ms") for who in ("", "_by_caller", "_by_agent")] == [100, 0, 100]


def test_audio_that_comes_while_a_frame_sounds_overlaps_with_it():
    """The frame 0-200 is there when audio starts at 150: 50 ms by the agent, who came second."""
    report = audit(frame(0, 0, ms=200), start(150, "r1", None), audio(150, 0, 100))
    assert [value(report, f"overlap{who}_ms") for who in ("", "_by_caller", "_by_agent")] == [50, 0, 50]


def test_frames_of_silence_do_not_overlap():
    report = audit(*QUESTION, audio(200, 0, 400), frame(300, 0, "t2", speech=False), frame(320, 1, "t2"))
    assert value(report, "overlap_ms") == 20


def test_a_tool_call_does_not_hide_the_overlap():
    report = audit(*QUESTION, audio(200, 0, 400),
                   (250, "tool.call", {"call_id": "c", "response_id": "r1", "name": "look", "arguments": {}}),
                   frame(300, 0, "t2"))
    assert value(report, "overlap_ms") == 20


def test_reported_playback_sounds_until_it_is_reported_stopped():
    """Heard 1000-1300 whatever was estimated; speech 1200-1400: 100 ms."""
    report = audit(*QUESTION, audio(200, 0, 300), play(1000, "started"), frame(1200, 0, "t2", ms=100),
                   play(1300, "stopped", 300), frame(1300, 1, "t2", ms=100))
    assert value(report, "overlap_by_caller_ms") == 100


def test_playback_that_begins_under_the_callers_speech():
    report = audit(frame(0, 0, ms=200), start(100, "r1", None), play(150, "started"), play(160, "progress", 10))
    assert value(report, "overlap_by_agent_ms") == 50


def test_an_interrupt_ends_the_audio():
    report = audit(*QUESTION, audio(200, 0, 1000), frame(300, 0, "t2"), interrupt(320), frame(340, 1, "t2"))
    assert value(report, "overlap_ms") == 20


def test_the_detector_counts_where_no_frames_cross_the_channel():
    report = audit(start(0, "r1", None), audio(0, 0, 500), (200, "speech.started", {"turn_id": "t1"}),
                   (350, "speech.stopped", {"turn_id": "t1"}), (360, "speech.stopped", {"turn_id": "t1"}))
    assert value(report, "overlap_by_caller_ms") == 150


def test_overlap_needs_both_sides():
    assert "caller" in audit(start(0, "r1", None), audio(0, 0)).measures["overlap_ms"]["reason"]
    assert "agent" in audit(frame(0, 0)).measures["overlap_ms"]["reason"]


# --- interruptions ---


def over(at_ms, ms, turn="t2", first=0):
    """Speech without a break."""
    return [frame(at_ms + 100 * n, first + n, turn, ms=100) for n in range(ms // 100)]


def test_a_second_of_speech_over_sounding_audio_without_an_interrupt_is_missed():
    def heard(ms, *more):
        return value(audit(*QUESTION, audio(200, 0, 5000), *over(500, ms), *more), "missed_interruptions")
    assert heard(900) == 0
    assert heard(1000) == 1
    assert heard(1500, interrupt(2100)) == 0
    assert heard(1500, commit(2100, "t2"), done(2150), start(2200, "r2", "t2")) == 1


def test_an_interrupt_that_no_commit_follows_is_false():
    rows = [*QUESTION, audio(200, 0, 1000), interrupt(400)]
    assert value(audit(*rows), "false_interruptions") == 1
    assert value(audit(*rows, frame(420, 0, "t2"), commit(500, "t2")), "false_interruptions") == 0
    assert audit(*rows).measures["false_interruptions"]["n"] == 1


def test_annotated_intents_decide():
    def intent(at_ms, about, kind):
        return at_ms, "annotation", {"about": about, "kind": "intent", "value": kind}
    rows = [*QUESTION, audio(200, 0, 1000), interrupt(400), frame(420, 0, "t2"), commit(500, "t2")]
    for kind, false in (("backchannel", 1), ("noise", 1), ("barge-in", 0), ("other", 0)):
        report = audit(*rows, intent(600, "e6", kind))
        assert value(report, "false_interruptions") == false
        assert value(report, "missed_interruptions") == 0
    spoken_over = [*QUESTION, audio(200, 0, 1000), frame(420, 0, "t2")]
    assert value(audit(*spoken_over, intent(600, "e6", "barge-in")), "missed_interruptions") == 1
    assert value(audit(*spoken_over, intent(600, "e6", "noise")), "missed_interruptions") == 0
    report = audit(*rows, intent(600, "e99", "noise"), intent(600, "e6", ["noise"]),
                   (600, "annotation", {"about": "e6", "kind": "said", "value": "noise"}))
    assert value(report, "false_interruptions") == 0, "about nothing, no word, another kind"


def test_only_recent_events_can_be_annotated():
    rows = [frame(n, 0, f"t{n}") for n in range(80)]
    intents = [(99, "annotation", {"about": about, "kind": "intent", "value": "barge-in"}) for about in ("e0", "e79")]
    assert value(audit(*rows, *intents), "missed_interruptions") == 1


# --- frames, tools, links, endings ---


def test_arrival_jitter_is_the_mean_distance_from_even_arrival():
    """20 ms frames at 0, 25, 40, 70: off by 5, 5 and 10."""
    report = audit(*[frame(at, n) for n, at in enumerate((0, 25, 40, 70))])
    assert report.measures["arrival_jitter_ms"] == {"value": round(20 / 3, 3), "n": 3, "unit": "ms", "reason": None}


def test_jitter_compares_only_frames_of_one_turn_with_a_known_length():
    report = audit(frame(0, 0), frame(500, 0, "t2"), frame(520, 1, "t2", ms=None), frame(600, 2, "t2"),
                   frame(622, 3, "t2"))
    assert (value(report, "arrival_jitter_ms"), report.measures["arrival_jitter_ms"]["n"]) == (2, 1)


def test_concealed_frames_are_counted():
    report = audit(frame(0, 0), frame(20, 1, concealed=True), frame(40, 2, concealed=False))
    assert report.measures["concealed_frames"] == {"value": 1, "n": 3, "unit": "count", "reason": None}


def test_tools_are_counted_by_outcome():
    def call(number, name="book", **arguments):
        return 200, "tool.call", {"call_id": f"c{number}", "response_id": "r1", "name": name, "arguments": arguments}

    def result(n, ok):
        return 300, "tool.result", {"call_id": f"c{n}", "response_id": "r1", "ok": ok, "result": None}
    report = audit(*QUESTION, call(1), call(2), call(3, "nope"), call(4, n="x"), call(5), result(1, True),
                   result(2, True), result(3, False), result(4, None),
                   tools=[{"name": "book", "parameters": {"properties": {"n": {"type": "integer"}}}}])
    names = ("tool_calls", "tool_results_ok", "tool_results_failed", "tool_calls_invalid", "duplicate_effects",
             "calls_unreconciled")
    assert [value(report, name) for name in names] == [5, 2, 1, 2, 1, 1]


def test_links_lost_and_found():
    lost, back = ("transport.disconnected", {"reason": "x"}), ("transport.resumed", {"resume_token": "t"})
    report = audit((100, *lost), (350, *back), (1000, *lost), (1100, *back), (2000, *lost))
    assert [value(report, n) for n in ("disconnects", "resumed", "time_to_resume_ms")] == [3, 2, 175]


def test_responses_by_end():
    rows = []
    for n, end in enumerate(("completed", "cancelled", "failed", "incomplete", None)):
        rows.append(start(n, f"r{n}", None))
        if end:
            payload = {"response_id": f"r{n}"} | ({"reason": "x"} if end != "completed" else {}) \
                | ({"error_type": "internal"} if end == "failed" else {})
            rows.append((n, f"response.{end}", payload))
    report = audit(*rows)
    names = ("responses", *(f"responses_{end}" for end in ("completed", "cancelled", "failed", "incomplete", "unended")))
    assert [value(report, name) for name in names] == [5, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("type_, payload", [
    ("session.timeout", {"reason": "x"}), ("session.transferred", {"reason": "x", "target": "desk"}),
    ("transport.disconnected", {"reason": "x"})])
def test_what_breaks_off_also_interrupts(type_, payload):
    report = audit(*QUESTION, audio(200, 0, 500), (300, type_, payload))
    assert value(report, "responses_interrupted") == 1
    assert report.heard["r1"]["audio_ms"] == 100


def test_duplicates_are_counted():
    event = {"event_id": "e", "type": "turn.transcript", "at_ms": 0, "payload": {"turn_id": "t", "text": "", "final": True}}
    report = audit_events(HEADER, [event, event, event])
    assert value(report, "duplicates") == 2


# --- heard ---


def test_unheard_is_what_was_sent_and_not_played():
    """600 ms sent at 200, the last event at 500: 300 ms are still to come."""
    report = audit(*QUESTION, audio(200, 0, 600), done(500))
    assert value(report, "unheard_ms") == 300
    assert value(audit(*QUESTION, audio(200, 0, 600), play(300, "progress", 250)), "unheard_ms") == 350
    assert value(audit(*QUESTION, audio(200, 0, 600), done(900)), "unheard_ms") == 0


def test_unheard_is_unknown_where_a_duration_is():
    report = audit(*QUESTION, audio(200, 0, 600), audio(200, 1, None))
    assert value(report, "unheard_ms") is None


def test_heard_text_is_the_share_of_the_text_cut_at_a_word():
    """1,000 ms sent, 500 heard: half of 19 letters is 9, inside "tables"; the word before it stays."""
    report = audit(*QUESTION, text(160, 0, "We have "), text(170, 1, "tables free"), audio(200, 0, 1000), interrupt(700))
    assert report.heard["r1"] == {"audio_ms": 500, "text": "We have", "estimated": True}


def test_heard_text_is_whole_when_the_audio_was():
    report = audit(*QUESTION, text(160, 0, "Yes, at noon. "), audio(200, 0, 1000), play(1300, "stopped", 1000))
    assert report.heard["r1"] == {"audio_ms": 1000, "text": "Yes, at noon. ", "estimated": False}


def test_spoken_text_comes_before_any_share():
    report = audit(*QUESTION, text(160, 0, "We have tables"), audio(200, 0, 1000),
                   play(700, "cleared", 400, spoken_text="We ha"))
    assert report.heard["r1"] == {"audio_ms": 400, "text": "We ha", "estimated": False}


def test_a_response_stopped_before_its_first_sample_was_not_heard():
    report = audit(*QUESTION, text(160, 0, "We have tables"), interrupt(200))
    assert (report.heard["r1"]["audio_ms"], report.heard["r1"]["text"]) == (0, "")


def test_heard_is_unknown_where_the_clock_says_nothing():
    report = audit(*QUESTION, text(160, 0, "We have"), audio(200, 0, 1000), source={"clock": "line"})
    assert report.heard["r1"] == {"audio_ms": None, "text": None, "estimated": True}


def test_a_position_beyond_the_bound_is_a_finding_and_heard_stays_at_the_bound():
    """At 600 the last report says 300 (of 500): at most 300 + 100 + 250 may sound after the interrupt."""
    report = audit(*QUESTION, audio(200, 0, 2000), play(200, "started"), play(500, "progress", 300), interrupt(600),
                   play(1600, "stopped", 1300))
    assert [f.rule for f in report.findings if f.rule.startswith("playback")] == ["playback/after_clear"]
    assert report.heard["r1"]["audio_ms"] == 650


def test_text_is_not_heard_twice():
    report = audit(*QUESTION, text(160, 0, "one two"), audio(200, 0, 100), done(400), interrupt(410),
                   text(420, 1, " three"))
    assert report.heard["r1"]["text"] == "one two"
