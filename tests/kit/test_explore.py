"""Planted faults are found by walks and shrunk to a handful of events, the same on every run."""

import importlib.util
import json
import pathlib
import statistics

import pytest

from realtime_session.cli import main
from realtime_session.kit.explore import explore
from realtime_session.kit.subject import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SPEC = importlib.util.spec_from_file_location(
    "half_session_planted", ROOT / "examples" / "subjects" / "half_session.py")
MODULE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MODULE)
Half = MODULE.HalfSession


class ForgetsTheQueue(Half):
    def stop(self, response_id, at):
        return [e for e in super().stop(response_id, at) if not e.startswith("clear_playback")]


class AcceptsAnyToken(Half):
    def on_transport_resumed(self, p, at, event):
        return super().on_transport_resumed({"resume_token": self.token}, at, event)


class RunsACallTwice(Half):
    def on_tool_call(self, p, at, event):
        if p["call_id"] in self.calls:
            return [f"run_tool({p['call_id']})"]
        return super().on_tool_call(p, at, event)


class RestartsFramesAfterAResume(Half):
    def on_transport_resumed(self, p, at, event):
        effects = super().on_transport_resumed(p, at, event)
        self.turns = {k: v if v == "committed" else [0, v[1], v[2]] for k, v in self.turns.items()}
        return effects


class LosesCallsAtADisconnect(Half):
    def on_transport_disconnected(self, p, at, event):
        effects = super().on_transport_disconnected(p, at, event)
        self.calls = {}
        return effects


class WorksBeforeReconciling(Half):
    def on_transport_resumed(self, p, at, event):
        effects = super().on_transport_resumed(p, at, event)
        self.recovering = False
        return effects


class DropsDuplicatesByIdOnly(Half):
    def receive(self, event):
        if event["event_id"] in self.seen:
            return {"decision": "ignored", "reason": "duplicate"}
        return super().receive(event)


class LetsTimeRunBack(Half):
    def judge(self, event, type_, p, at):
        return super().judge(event, type_, p, max(at, self.now))


class CommitsSilence(Half):
    def on_turn_commit(self, p, at, event):
        return super().on_turn_commit({**p, "cause": "client"}, at, event)


class EndsWithOpenCalls(Half):
    def on_session_completed(self, p, at, event):
        return super().on_session_completed({**p, "by": "caller"}, at, event)


class AnswersAfterACancel(Half):
    def on_response_text(self, p, at, event):
        record = self.responses.get(p["response_id"])
        if record and record["status"] == "stopping":
            return []
        return super().on_response_text(p, at, event)

    def on_response_audio(self, p, at, event):
        record = self.responses.get(p["response_id"])
        if record and record["status"] == "stopping":
            return []
        return super().on_response_audio(p, at, event)


class PlaysLateAudio(Half):
    def on_response_audio(self, p, at, event):
        record = self.responses.get(p["response_id"])
        if record and record["status"] == "ended":
            return []
        return super().on_response_audio(p, at, event)


PLANTED = [ForgetsTheQueue, AcceptsAnyToken, RunsACallTwice, RestartsFramesAfterAResume, LosesCallsAtADisconnect,
           WorksBeforeReconciling, DropsDuplicatesByIdOnly, LetsTimeRunBack, CommitsSilence, EndsWithOpenCalls,
           AnswersAfterACancel, PlaysLateAudio]
ABOUT = {"name": "planted", "supports": ["half_duplex"], "reports": ["effects", "rule"]}
SIZES = {}


def search(wrong, count=500, enough=2):
    def make(header):
        return wrong(header)
    make.about = ABOUT
    return explore(Callable(make, wrong.__name__), count=count, enough=enough)


@pytest.mark.parametrize("wrong", PLANTED, ids=lambda w: w.__name__)
def test_a_planted_fault_is_found_and_made_small(wrong):
    found = search(wrong).found
    assert found
    assert min(len(f.document["events"]) for f in found.values()) <= 8
    SIZES[wrong] = min(len(f.document["events"]) for f in found.values())
    if len(SIZES) == len(PLANTED):
        assert statistics.median(SIZES.values()) <= 5


def test_the_same_search_finds_the_same():
    assert search(ForgetsTheQueue).found == search(ForgetsTheQueue).found


def test_an_honest_session_has_nothing_to_find():
    seen = search(Half, count=150)
    assert (seen.found, seen.troubles, seen.walks) == ({}, [], 150)
    assert len(seen.phases) == 7


def test_a_failure_file_is_a_case_that_fails_again_and_passes_once_fixed(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    wrong, right = "examples.subjects.python_callable:make_wrong", "examples.subjects.python_callable:make"
    assert main(["explore", "--subject", wrong, "--count", "60", "--out", str(tmp_path / "failures")]) == 1
    assert "clear_playback" in capsys.readouterr().out
    file = sorted((tmp_path / "failures").iterdir())[0]
    assert set(json.loads(file.read_text(encoding="utf-8"))) == {"session", "case", "events"}
    assert main(["conform", "--file", str(file), "--subject", wrong]) == 1
    assert main(["conform", "--file", str(file), "--subject", right]) == 0
    assert main(["conform", "--file", str(file)]) == 0
    assert main(["explore", "--subject", right, "--count", "20"]) == 0
