"""Twilio Media Streams logs as traces."""

import json

from ..shared_data import shared
from .other_rows import START, STOP, TWILIO, Made, closed, got, heard, mark, played, sent


def test_call_with_marks_a_clear_and_a_key():
    made = Made("twilio", TWILIO, clock="audio")
    assert made.brief == [
        "audio.frame turn-1 0 20 null",
        "response.started response-1 null opening",
        "response.audio response-1 0 200",
        "response.audio response-1 1 100",
        "audio.frame turn-1 1 20 null",
        "playback.progress response-1 200",
        "input.dtmf turn-1 1",
        "user.interrupt turn-1 response-1 clear",
        "playback.cleared response-1 null",
        "response.cancelled response-1 clear",
        "audio.frame turn-1 2 20 null",
        "response.started response-2 null",
        "response.audio response-2 0 40",
        "playback.progress response-2 40",
        "response.completed response-2",
        "playback.stopped response-2 40",
        "session.completed stop server",
    ]
    assert made.judged() == ([], [])
    assert made.header["session_id"] == "MZ1"
    assert [e["at_ms"] for e in made.events if e["type"] == "audio.frame"] == [40, 60, 80]
    assert made.summary["responses"] == {
        "started": 2,
        "unfinished": 0,
        "out_of_band": 0,
        "cancelled": 1,
        "completed": 1,
    }
    assert made.summary["noted"] == {"connected": 1, "mark": 4, "start": 1, "stop": 1}


def test_a_pause_after_everything_was_played_separates_replies():
    def reply(name, number, at):
        return [played(40), mark(name), mark(name, number), heard(number + 1, 20, at, number)]

    together = Made("twilio", [START, heard(2, 20, 0, 1), *reply("a", 3, 100), played(40)])
    apart = Made("twilio", [START, heard(2, 20, 0, 1), *reply("a", 3, 900), played(40)])
    assert together.summary["responses"]["started"] == 1
    assert apart.brief[-4:] == [
        "response.completed response-1",
        "playback.stopped response-1 40",
        "response.started response-2 null",
        "response.audio response-2 0 40",
    ]
    assert apart.judged()[0] == []


def test_stop_before_the_last_mark_leaves_the_reply_incomplete():
    made = Made("twilio", [START, played(40), mark("a"), STOP])
    assert made.brief[-2:] == [
        "response.incomplete response-1 the stream stopped before its last mark",
        "session.completed stop server",
    ]


def test_both_tracks_of_a_listening_stream():
    outbound = {"track": "outbound", "chunk": "1", "timestamp": "20", "payload": "f39/" * 40}
    rows = [START, heard(2, 20, 0, 1), got(event="media", sequenceNumber="3", media=outbound)]
    assert Made("twilio", rows).brief == [
        "audio.frame turn-1 0 20 null",
        "response.started response-1 null opening",
        "response.audio response-1 0 15",
    ]


def test_rows_without_a_direction_are_told_apart_by_their_numbers():
    raw = [row.get("data") for row in TWILIO]
    assert Made("twilio", raw, clock="audio").brief == Made("twilio", TWILIO, clock="audio").brief


def test_gaps_repeats_and_idle_clears_are_reported():
    rows = [START, heard(2, 20, 0, 1), heard(2, 20, 0, 1), heard(9, 20, 160, 8), sent(event="clear")]
    made = Made("twilio", rows)
    assert made.summary["repeats_dropped"] == 1
    assert made.summary["warnings"]["by_code"] == {"clear_idle": 1, "media_gap": 1}
    assert [p["sequence"] for p in made.of("audio.frame")] == [0, 1]


def test_close_without_a_stop_is_a_loss():
    made = Made("twilio", [START, played(40), closed(1006)])
    assert made.brief[-1] == "transport.disconnected close 1006"
    assert made.header["source"]["end"] == "disconnected"


def test_unknown_events_are_counted():
    made = Made("twilio", [START, got(event="brand_new"), got(x=1), got(event="dtmf", dtmf={"digit": "?"})])
    assert made.summary["unmapped"] == {"(no type)": 1, "brand_new": 1, "dtmf": 1}


def test_recorded_excerpt():
    path = shared("logs", "structural-only", "twilio_media_stream_excerpt.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    made = Made("twilio", rows, clock="audio")
    assert made.brief == [
        "audio.frame turn-1 0 null null",
        "audio.frame turn-1 1 null null",
        "session.completed stop server",
    ]
    assert [event["at_ms"] for event in made.events] == [155, 1593, 1593]
    assert made.judged() == ([], [])
