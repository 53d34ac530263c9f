"""Properties of a session over many generated traces: plausible events mixed with faulty ones.

Ids come from small pools, so that rules meet: the same turn is committed twice, calls are answered late,
responses are interrupted while another one waits.
"""

import copy
import io
import json
import pathlib
import subprocess
import sys

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from realtime_session.contract.rules import RULES
from realtime_session.contract.session import Session
from realtime_session.traces.replay import Replay
from realtime_session.values import strict_json

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHAPES = ("event/shape", "event/unknown_type", "event/unknown_field", "event/value")
PROFILES = ("half_duplex", "full_duplex")
BOTH = pytest.mark.parametrize("profile", PROFILES)
TOKENS = ("token-one", "token-two")
TOOLS = [
    {"name": "look", "read_only": True},
    {"name": "book", "read_only": False,
     "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
    {"name": "odd", "read_only": None},
]

turns = st.sampled_from(["t1", "t2", "t3"])
responses = st.sampled_from(["r1", "r2", "r3"])
calls = st.sampled_from(["c1", "c2", "c3"])
small = st.sampled_from([0, 1, 2])
moments = st.sampled_from([0, 0, 20, 100, 400])
reasons = st.just("why")


def payload(**fields):
    return st.fixed_dictionaries(fields)


def events_of(profile):
    """type -> strategy of a payload that has the right form in this profile."""
    full = profile == "full_duplex"
    length = st.sampled_from([20, 200, 1, 600_000, 0, None] if full else [20, 200, 1])
    flag = st.sampled_from([True, False, None] if full else [True, False])
    known = {
        "audio.frame": payload(turn_id=turns, sequence=small, duration_ms=length, speech=flag),
        "turn.commit": payload(turn_id=turns) | payload(
            turn_id=turns, cause=st.sampled_from(["speech", "client", "idle_timeout", "text"])),
        "response.started": payload(response_id=responses, turn_id=turns | st.none() if full else turns)
        | payload(response_id=responses, turn_id=turns, out_of_band=st.booleans()),
        "response.audio": payload(response_id=responses, sequence=small, duration_ms=length),
        "response.text": payload(response_id=responses, sequence=small, text=st.sampled_from(["", "Good day "])),
        "user.interrupt": payload(turn_id=turns, reason=reasons,
                                  response_id=responses | st.none() if full else responses),
        "tool.call": payload(call_id=calls, response_id=responses, read_only=flag,
                             name=st.sampled_from(["look", "book", "odd", "never"]),
                             arguments=st.sampled_from([{"n": 1}, {"n": 2}, {"n": "x"}, {}])),
        "tool.result": payload(call_id=calls, response_id=responses, ok=flag,
                               result=st.sampled_from([None, "", [1, {"a": 1.5}]])),
        "response.completed": payload(response_id=responses),
        "transport.disconnected": payload(reason=reasons)
        | payload(reason=reasons, resume_token=st.sampled_from(TOKENS)),
        "transport.resumed": payload(resume_token=st.sampled_from(TOKENS)),
        "input.text": payload(turn_id=turns, text=st.sampled_from(["", "hello"])),
        "input.dtmf": payload(turn_id=turns, digits=st.sampled_from(["1", "*#"])),
        "turn.transcript": payload(turn_id=turns, text=st.sampled_from(["", "x"]), final=st.booleans()),
        "error.reported": payload(error_type=st.just("internal"), ref_event_id=st.sampled_from(["e0", "e99"])),
    }
    if full:
        played = payload(response_id=responses, played_ms=st.sampled_from([0, 20, 40, 300, None]))
        known |= {
            "speech.started": payload(turn_id=turns),
            "speech.stopped": payload(turn_id=turns),
            "response.cancelled": payload(response_id=responses, reason=reasons),
            "response.failed": payload(response_id=responses, reason=reasons, error_type=st.just("internal")),
            "response.incomplete": payload(response_id=responses, reason=reasons),
            "playback.started": payload(response_id=responses),
            "playback.progress": played, "playback.stopped": played, "playback.cleared": played,
            "response.truncated": payload(response_id=responses, audio_end_ms=st.sampled_from([0, 20, 300])),
            "tool.cancelled": payload(call_id=calls, response_id=responses, reason=reasons),
            "annotation": payload(about=st.just("e1"), kind=st.just("intent"), value=st.just("noise")),
        }
    return known


ENDS = {"session.completed": payload(reason=reasons, by=st.sampled_from(["agent", "caller"])),
        "session.timeout": payload(reason=reasons),
        "session.transferred": payload(reason=reasons, target=st.just("desk"))}
BENT = (
    lambda e: {k: v for k, v in e.items() if k != "payload"},
    lambda e: {**e, "type": "no.such"},
    lambda e: {**e, "at_ms": -1},
    lambda e: {**e, "at_ms": 1.0},
    lambda e: {**e, "extra": 1},
    lambda e: {**e, "payload": {**e["payload"], "extra": {"n": [1]}}},
    lambda e: {**e, "payload": {**e["payload"], "reason": ""}},
    lambda e: {**e, "payload": []},
    lambda e: {**e, "event_id": 7},
    lambda e: [e],
)


def mended(draw, type_, body, session):
    """The body, with ids and positions that the session would take, so that traces get somewhere."""
    state = session.state()
    known = session.profile == "full_duplex"
    body = dict(body)
    if type_.startswith(("response.", "playback.")) and state["responses"] and type_ != "response.started":
        body["response_id"] = draw(st.sampled_from(sorted(state["responses"])))
        record = state["responses"][body["response_id"]]
        if "sequence" in body:
            body["sequence"] = record["next_audio" if type_ == "response.audio" else "next_text"]
        for key in {"played_ms", "audio_end_ms"} & set(body):
            body[key] = (record["played_ms"] or 0) + draw(st.sampled_from([0, 20, 20, 400]))
    elif type_ == "response.started":
        committed = [turn for turn, at in state["turns"].items() if at == "committed"]
        body["response_id"] = f"r{len(state['responses']) + 1}"
        body["turn_id"] = draw(st.sampled_from(committed)) if committed else body["turn_id"]
    elif type_ == "audio.frame":
        turn = state["turns"].get(body["turn_id"], {"next_sequence": 0})
        if turn == "committed":
            body["turn_id"], turn = f"t{len(state['turns']) + 1}", {"next_sequence": 0}
        body.update(sequence=turn["next_sequence"], speech=True)
    elif type_ == "turn.commit" and state["open_turn"] is not None:
        body["turn_id"] = state["open_turn"]
    elif type_ == "user.interrupt":
        body["turn_id"] = f"t{len(state['turns']) + 1}"
        ids = [state["active"]] if state["active"] else state["queue"]
        ids = ids or (state["awaiting"] and known and [None]) or ["r1"]
        body["response_id"] = draw(st.sampled_from(ids))
    elif type_ == "tool.call":
        body["call_id"] = f"c{len(state['calls']) + 1}"
        if state["active"]:
            body["response_id"] = state["active"]
    elif type_ in ("tool.result", "tool.cancelled") and state["calls"]:
        body["call_id"] = draw(st.sampled_from(sorted(state["calls"])))
        body["response_id"] = state["calls"][body["call_id"]]["response_id"]
    return body


OPENING = (("audio.frame", {"turn_id": "t1", "sequence": 0, "duration_ms": 20, "speech": True}),
           ("turn.commit", {"turn_id": "t1"}), ("response.started", {"response_id": "r1", "turn_id": "t1"}),
           ("response.audio", {"response_id": "r1", "sequence": 0, "duration_ms": 200}))
LIKELY = ("audio.frame", "turn.commit", "response.started", "response.audio", "response.text", "user.interrupt",
          "tool.call", "tool.result", "transport.disconnected", "transport.resumed", "response.completed")


@st.composite
def traces(draw, profile, plain=False):
    """(header, events): a legal opening, then anything; `plain` leaves out events of a wrong form."""
    header = {"session_id": "s", "resume_token": TOKENS[0], "profile": profile}
    if draw(st.booleans()):
        header["tools"] = TOOLS
    if draw(st.booleans()):
        header["source"] = {"clock": draw(st.sampled_from(["recorded", "audio", "line"]))}
    known = events_of(profile) | ENDS
    kinds = st.sampled_from(LIKELY) | st.sampled_from(sorted(known))
    opening = OPENING[:draw(st.sampled_from([4, 4, 4, 3, 2, 1, 0]))]
    guide, events, now = Session(header), [], 0
    for number in range(draw(st.integers(len(opening), 28))):
        now += draw(moments)
        if number < len(opening):
            type_, body = opening[number]
        else:
            type_ = draw(kinds)
            if guide.state()["link"] == "disconnected" and draw(st.booleans()):
                type_ = "transport.resumed"
            if type_ in ENDS and draw(st.integers(0, 3)):
                type_ = "response.audio"
            body = draw(known[type_])
        fault = draw(st.integers(0, 24))
        if fault > 3:
            body = mended(draw, type_, body, guide)
        event = {"event_id": f"e{number}", "type": type_, "at_ms": now, "payload": body}
        if fault == 0 and not plain:
            event = draw(st.sampled_from(BENT))(event)
        elif fault == 1 and number:
            event["event_id"] = f"e{draw(st.integers(0, number - 1))}"
        elif fault == 2:
            event["at_ms"] = max(0, now - 50)
        elif fault == 4:
            event["source"] = {"line": number, "synthetic": True}
        guide.receive(event)
        events.append(event)
    return header, events


def judge(session, events):
    return [session.receive(event) for event in events]


def resumed(session):
    """The session that comes out of a checkpoint's text."""
    return Session.restore(strict_json.parse(strict_json.canonical(session.checkpoint())))


# --- one event ---


@BOTH
@given(data=st.data())
def test_a_rejected_event_changes_nothing(profile, data):
    header, events = data.draw(traces(profile))
    session = Session(header)
    for event in events:
        before = session.state_digest(), session.state(), session.checkpoint()
        decision = session.receive(event)
        if decision.violation is None:
            continue
        assert decision.kind == "rejected" and decision.effects == () and decision.findings == ()
        assert (session.state_digest(), session.state(), session.checkpoint()) == before


@BOTH
@given(data=st.data())
def test_a_rejected_id_is_free_for_a_corrected_event(profile, data):
    header, events = data.draw(traces(profile))
    session = Session(header)
    taken = set()
    for event in events:
        decision = session.receive(event)
        if decision.violation is None:
            taken.add(event["event_id"])
        elif not session.ended and event.__class__ is dict and event.get("event_id").__class__ is str \
                and event["event_id"] not in taken:
            note = {"event_id": event["event_id"], "type": "turn.transcript", "at_ms": session.state()["now_ms"],
                    "payload": {"turn_id": "t9", "text": "corrected", "final": True}}
            assert session.receive(note).kind == "accepted"
            taken.add(event["event_id"])


@BOTH
@given(data=st.data())
def test_an_exact_repeat_is_ignored_anywhere(profile, data):
    """Later, with a time that has passed, out of a closed gate, after the end; key order and source do not count."""
    header, events = data.draw(traces(profile))
    session = Session(header)
    taken = []
    for event in events:
        if session.receive(event).violation is None and (not taken or event["event_id"] != taken[-1]["event_id"]):
            taken.append(event)
        if not taken:
            continue
        again = data.draw(st.sampled_from(taken))
        again = {**dict(reversed(copy.deepcopy(again).items())), "source": {"line": 99}}
        before = session.state()
        decision = session.receive(again)
        assert (decision.kind, decision.reason, decision.effects) == ("ignored", "duplicate", ())
        assert session.state() == {**before, "ignored": before["ignored"] + 1}


@BOTH
@given(data=st.data())
def test_a_decision_is_one_of_those_the_contract_names(profile, data):
    header, events = data.draw(traces(profile))
    session = Session(header)
    levels = {rule.id: rule.level(profile) for rule in RULES}
    reasons_known = {"duplicate"} if profile == "half_duplex" else {"duplicate", "late_output", "late_result"}
    for event in events:
        state = session.state()
        decision = session.receive(event)
        assert decision.kind in ("accepted", "ignored", "rejected")
        assert (decision.kind == "rejected") == (decision.violation is not None)
        assert (decision.reason in reasons_known) if decision.kind == "ignored" else decision.reason is None
        for found in decision.findings:
            assert found.level == "should" and found.rule in levels
        if decision.violation is not None:
            assert levels[decision.violation.rule] == "must"
            continue
        now = session.state()
        grown = now["accepted"] - state["accepted"], now["ignored"] - state["ignored"]
        assert grown == ((1, 0) if decision.kind == "accepted" else (0, 1))
        if decision.reason == "duplicate":
            assert now["now_ms"] == state["now_ms"]
        else:
            assert now["now_ms"] == event["at_ms"] >= state["now_ms"]
    assert session.state_digest() == session.state_digest()


HALF = {"listening", "thinking", "speaking", "waiting_tool", "reconciling", "disconnected", "ended"}
FULL = ({"connected", "disconnected", "ended"}, {"idle", "receiving", "committed"},
        {"none", "pending", "active", "stopping"}, {"silent", "sounding"}, {"none", "open", "reconciling"})


@BOTH
@given(data=st.data())
def test_the_phase_is_always_a_named_one(profile, data):
    header, events = data.draw(traces(profile))
    session = Session(header)
    for event in [None, *events]:
        if event is not None:
            session.receive(event)
        if profile == "half_duplex":
            assert session.phase in HALF
            assert (session.phase == "ended") == session.ended
        else:
            regions = session.phase.split(".")
            assert len(regions) == 5 and all(region in names for region, names in zip(regions, FULL))
        assert session.state()["phase"] == session.phase


@given(data=st.data())
def test_a_late_event_registers_its_id_and_its_time_and_little_else(data):
    """Full duplex: output of an interrupted response adds its duration to what was sent; nothing else changes."""
    header, events = data.draw(traces("full_duplex"))
    session = Session(header)
    for event in events:
        before = session.state()
        decision = session.receive(event)
        if decision.reason not in ("late_output", "late_result"):
            continue
        after = session.state()
        name = event["payload"]["response_id"]
        changed = {key for key in after if after[key] != before[key]}
        assert changed <= {"now_ms", "ignored", "responses", "phase"}  # playback may fall silent by estimate
        was, now = before["responses"][name], after["responses"][name]
        duration = event["payload"].get("duration_ms", 0)
        assert {key for key in now if now[key] != was[key]} <= {"sent_ms", "unknown_ms"}
        assert now["sent_ms"] == was["sent_ms"] + (duration or 0)
        assert session.receive(event).reason == "duplicate"
        other = {**event, "at_ms": event["at_ms"] + 1}
        assert session.receive(other).violation.rule == "event/id_conflict"


# --- checkpoints ---


@BOTH
@given(data=st.data())
def test_a_cut_anywhere_with_checkpoint_and_restore_changes_nothing(profile, data):
    header, events = data.draw(traces(profile))
    cuts = set(data.draw(st.lists(st.integers(0, len(events)), max_size=3)))
    whole, parts = Session(header), Session(header)
    for number, event in enumerate(events):
        if number in cuts:
            digest = parts.state_digest()
            parts = resumed(parts)
            assert parts.state_digest() == digest
        assert parts.receive(event) == whole.receive(event)
        assert parts.phase == whole.phase
    assert resumed(parts).state_digest() == whole.state_digest()
    assert parts.finish() == whole.finish()
    assert parts.checkpoint() == whole.checkpoint()


@BOTH
@given(data=st.data())
def test_a_checkpoint_never_holds_the_token(profile, data):
    header, events = data.draw(traces(profile))
    session = Session({**header, "resume_token": "a secret of the session"})
    for event in events:
        if event.__class__ is dict and event.get("type") == "transport.disconnected" \
                and isinstance(event.get("payload"), dict) and "resume_token" in event["payload"]:
            event["payload"]["resume_token"] = "a new secret of the session"
        session.receive(event)
    text = strict_json.canonical(session.checkpoint()) + strict_json.canonical(session.state())
    assert "secret of the session" not in text


CHILD = """
import sys
from realtime_session.contract.session import Session
from realtime_session.values import strict_json
for line in sys.stdin.buffer:
    job = strict_json.parse(line)
    session = Session.restore(job["checkpoint"])
    decisions = [repr(session.receive(event)) for event in job["events"]]
    print(strict_json.canonical([session.state_digest(), decisions]))
"""


@settings(max_examples=1)
@given(data=st.data())
def test_a_fresh_process_goes_on_from_a_checkpoint(data):
    """Another process with another hash seed; many traces in one run of it."""
    jobs, expected = [], []
    for profile in PROFILES * 6:
        header, events = data.draw(traces(profile, plain=True))
        cut = data.draw(st.integers(0, len(events)))
        session = Session(header)
        judge(session, events[:cut])
        jobs.append(strict_json.canonical({"checkpoint": session.checkpoint(), "events": events[cut:]}))
        expected.append([repr(d) for d in judge(session, events[cut:])])
        expected[-1] = [session.state_digest(), expected[-1]]
    done = subprocess.run([sys.executable, "-B", "-c", CHILD], input="\n".join(jobs).encode(), cwd=ROOT,
                          capture_output=True, timeout=60, check=True)
    assert [strict_json.parse(line) for line in done.stdout.splitlines()] == expected


# --- anything at all ---

hostile = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("\ud800")
    | st.just(10**400) | st.just(float("nan")) | st.just(2**53) | st.binary(max_size=2) | st.just((1, 2))
    | st.just({1, 2}) | st.just(object) | st.complex_numbers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.text(max_size=3) | st.integers() | st.none() | st.just("\udfff")
        | st.sampled_from(["event_id", "type", "at_ms", "payload", "source", "turn_id"]), inner, max_size=4),
    max_leaves=10)


def cyclic():
    value = []
    value.append({"again": value})
    return value


@BOTH
@given(value=hostile)
def test_no_value_given_as_an_event_crashes(profile, value):
    session = Session({"session_id": "s", "resume_token": "t", "profile": profile})
    before = session.state_digest()
    decision = session.receive(value)
    assert decision.violation.rule in SHAPES
    assert session.state_digest() == before
    assert repr(decision).isprintable() or "\\u" in repr(decision)


@BOTH
@given(data=st.data())
def test_no_value_anywhere_in_an_event_crashes(profile, data):
    """Odd values at any place of an otherwise plausible event: refused by its form, or taken if JSON has it."""
    header, events = data.draw(traces(profile, plain=True))
    assume(events)
    session = Session(header)
    judge(session, events[:-1])
    event = copy.deepcopy(events[-1])
    value = data.draw(hostile | st.builds(cyclic))
    if data.draw(st.booleans()):
        event[data.draw(st.sampled_from(["event_id", "type", "at_ms", "payload", "source"]))] = value
    else:
        event["payload"][data.draw(st.sampled_from([*event["payload"], "result", "arguments"]))] = value
    before = session.state_digest()
    decision = session.receive(event)
    if decision.violation is not None:
        assert session.state_digest() == before
        assert "\n" not in decision.violation.message
    else:
        strict_json.check_value(event)
    session.checkpoint()


def test_the_last_moment_that_has_a_number_is_a_moment_like_any_other():
    """at_ms may be 2^53 - 1; what plays after it must not break digest, checkpoint or measures."""
    last = 2**53 - 1
    for profile in PROFILES:
        session = Session({"session_id": "s", "resume_token": "t", "profile": profile,
                           "limits": {"stop_grace_ms": last}})
        rows = [("audio.frame", {"turn_id": "t1", "sequence": 0, "duration_ms": 20, "speech": True}),
                ("turn.commit", {"turn_id": "t1"}), ("response.started", {"response_id": "r1", "turn_id": "t1"}),
                ("response.audio", {"response_id": "r1", "sequence": 0, "duration_ms": 200}),
                *([("playback.progress", {"response_id": "r1", "played_ms": 10})] * (profile == "full_duplex")),
                ("user.interrupt", {"turn_id": "t2", "response_id": "r1", "reason": "barge_in"})]
        for number, (type_, body) in enumerate(rows):
            decision = session.receive({"event_id": f"e{number}", "type": type_, "at_ms": last, "payload": body})
            assert decision.kind == "accepted"
            assert resumed(session).state_digest() == session.state_digest()


# --- one content, many encodings ---


class Pipe(io.RawIOBase):
    """A binary file that cannot seek, as stdin from a pipe."""

    def __init__(self, data):
        self._data = io.BytesIO(data)

    def readable(self):
        return True

    def read(self, size=-1):
        return self._data.read(size)


def encodings(header, events):
    """name -> the bytes of one trace in every encoding that means the same."""
    lines = [json.dumps(value) for value in ({"session": header}, *events)]
    spaced = [json.dumps(value, indent=1, sort_keys=True) for value in events]
    return {
        "lines": "\n".join(lines).encode() + b"\n",
        "no final newline": "\n".join(lines).encode(),
        "CRLF": "\r\n".join(lines).encode() + b"\r\n",
        "blank lines": "\n \t\n\n".join(lines).encode(),
        "raw text": "\n".join(json.dumps(v, ensure_ascii=False) for v in ({"session": header}, *events)).encode(),
        "sorted keys": "\n".join(json.dumps(v, sort_keys=True) for v in ({"session": header}, *events)).encode(),
        "document": json.dumps({"session": header, "events": events}).encode(),
        "events first": json.dumps({"events": events, "session": header}).encode(),
        "indented": json.dumps({"session": header, "events": events}, indent=2).encode(),
        "byte order mark": b"\xef\xbb\xbf" + ('{"session": ' + json.dumps(header) + ', "events": [\r\n'
                                              + ",\r\n".join(spaced) + "]}").encode(),
    }


def outcome(replay):
    steps = [(s.index, s.event, s.decision, s.phase_before, s.phase_after) for s in replay.steps()]
    report = replay.report("x")
    for violation in report["violations"]:
        del violation["line"]
    return steps, report


@BOTH
@settings(max_examples=25)
@given(data=st.data())
def test_every_encoding_and_the_api_decide_alike(profile, data):
    header, events = data.draw(traces(profile))
    header["session_id"] = data.draw(st.sampled_from(["s", "sé ✓", 'a "b": {[c', "\U0001f378"]))
    session = Session(header)
    decisions = judge(session, events)
    first = None
    for name, raw in encodings(header, events).items():
        files = [io.BytesIO(raw)] if name == "events first" else [io.BytesIO(raw), Pipe(raw)]
        for file in files:
            steps, report = outcome(Replay(file, keep_going=True))
            first = first or report
            assert [step[2] for step in steps] == decisions, name
            assert [step[1] for step in steps] == events, name
            assert report == first, name
    assert first["state_digest"] == session.state_digest()
    assert first["state"] == session.state()
