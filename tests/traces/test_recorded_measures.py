"""Measures of recorded logs against values counted by hand in the raw wire files.

Goal: the measures of a real session say what the wire says. Method: for each log the numbers of user turns,
responses and their ends, calls and results were counted by reading the wire events, and the times by
subtracting the recorded stamps; skipped where the recordings are not beside the checkout.
"""
import io
import json
import subprocess
import sys

import pytest

from realtime_session.traces.replay import Replay
from shared_data import shared

# log -> what its wire shows: one row a log, counted by hand
COUNTED = {
    # one spoken turn, one response.created / response.done(completed), times only on the audio clock
    "pydantic-ai/openai__audio_in_server_vad_turn.jsonl": {
        "turns": 1, "responses": 1, "responses_completed": 1, "tool_calls": 0, "response_latency_ms": None},
    # a typed turn; the first response only calls a tool, the second answers
    "pydantic-ai/azure__tool_call_round.jsonl": {
        "turns": 1, "responses": 2, "responses_completed": 2, "tool_calls": 1, "tool_results_ok": 0,
        "calls_unreconciled": 0},
    # speech over a finished response whose audio still plays: it stays completed and is interrupted
    "structural-only/openai_beta_webrtc_barge_in_after_done.structural.jsonl": {
        "turns": 2, "responses": 2, "responses_completed": 2, "responses_cancelled": 0, "responses_interrupted": 1},
    # an out-of-band text response without any user turn
    "liusida-dictionary/openai_beta_text_out_of_band_response.jsonl": {
        "turns": 0, "responses": 1, "responses_completed": 1, "overlap_ms": None},
    # the nudge: one silent turn is committed, its response is still open where the excerpt ends
    "pydantic-ai-later/openai_idle_timeout_nudge.excerpt.jsonl": {
        "turns": 1, "responses": 1, "responses_completed": 0, "responses_unended": 1, "response_latency_ms": None},
    # audio of unknown length around one tool round
    "pydantic-ai/xai__tool_call_round.jsonl": {
        "turns": 1, "responses": 2, "responses_completed": 2, "tool_calls": 1, "unheard_ms": None},
}


@pytest.mark.parametrize("log", COUNTED)
def test_measures_of_a_recorded_log_are_those_counted_in_its_wire(log, tmp_path):
    trace = tmp_path / "trace.jsonl"
    done = subprocess.run([sys.executable, "-B", "-m", "realtime_session", "import", "openai",
                           str(shared("logs", *log.split("/"))), "-o", str(trace)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    replay = Replay(io.BytesIO(trace.read_bytes())).run()
    measures = replay.audit.measures()
    assert replay.rejected == 0
    assert {name: measures[name]["value"] for name in COUNTED[log]} == COUNTED[log]
    unknown = [name for name, value in COUNTED[log].items() if value is None]
    assert all(measures[name]["reason"] for name in unknown)


def test_every_chosen_log_was_recorded_with_a_direction_and_an_order():
    for log in COUNTED:
        rows = [json.loads(line) for line in shared("logs", *log.split("/")).read_text("utf-8").splitlines() if line]
        assert [row["i"] for row in rows] == sorted(row["i"] for row in rows)
