"""The evaluation adapter protocol: every rule kept and broken, and two machines that talk to each other."""

import json

import pytest

from realtime_session.doors.resources import fixture_root
from realtime_session.wire.agent_adapter import ADAPTER, HOST, RULES, AdapterJudge
from realtime_session.wire.agent_adapter_sides import AdapterError, AdapterHost, AgentAdapter


def start(**changes):
    return {"type": "start", "version": 1, "session_id": "s", "opening": "caller", "timeout_s": 300,
            "audio": {"encoding": "pcm_s16le", "sample_rate": 16000, "channels": 1},
            "capabilities": {"transcripts": True, "tool_events": True}, **changes}


READY, BEGIN, END, STOP = ({"type": t, **more} for t, more in (
    ("ready", {"version": 1}), ("begin", {}), ("end", {}), ("stop", {})))
INTERRUPT, STOPPED = {"type": "interrupt"}, {"type": "playback_stopped"}
OFF = {"transcripts": False, "tool_events": False}


def said(**changes):
    return {"type": "transcript", "role": "user", "text": "Hello", "turn_id": "t1", **changes}


def call(**changes):
    return {"type": "tool_call", "id": "c1", "name": "look_up", "args": {}, **changes}


def result(**changes):
    return {"type": "tool_result", "id": "c1", "name": "look_up", "result": 1, "outcome": "succeeded",
            "verified": True, **changes}


def judge(*frames):
    """Rules broken by (side, frame[, at_ms]) in order, and at the end."""
    machine, out = AdapterJudge(), []
    for side, frame, *at in frames:
        out += machine.see(at[0] if at else machine.now_ms, side, json.dumps(frame) if isinstance(frame, dict) else frame)
    return [v.rule for v in out + machine.finish()]


def h(*frames):
    return [(HOST, frame) for frame in frames]


def a(*frames):
    return [(ADAPTER, frame) for frame in frames]


def begun(*more, **changes):
    return [(HOST, start(**changes)), (ADAPTER, READY), (HOST, BEGIN), *more]


RIGHT = {
    "the shortest session": begun(*h(STOP)),
    "a session id of 128 characters": h(start()) + a({**READY, "session_id": "x" * 128}),
    "ready at 30 seconds": h(start()) + [(ADAPTER, READY, 30_000)],
    "the largest frame": begun(*a(32_000)),
    "the smallest frame": begun(*a(2)),
    "input of 20 ms": begun(*h(640)),
    "thirty seconds pending": begun(*a(*[32_000] * 30)),
    "more once it was played": begun(*a(*[32_000] * 30), (ADAPTER, 32_000, 1000)),
    "more after an interrupt": begun(*a(*[32_000] * 30, INTERRUPT), *h(STOPPED), *a(32_000)),
    "an opening at 8 seconds": begun((ADAPTER, 640, 8_000), opening="agent"),
    "a caller that opens late": begun((HOST, 640, 60_000)),
    "a transcript of 20,000 characters": begun(*a(said(text="x" * 20_000, turn_id="t" * 128))),
    "one turn id for two roles": begun(*a(said(), said(role="assistant"))),
    "a tool round": begun(*a(call(), result())),
    "results in another order": begun(*a(call(), call(id="c2"), result(id="c2", outcome="unknown"), result())),
    "an error at any time": h(start()) + a({"type": "error", "error": "no key"}),
    "an end, drained": begun(*a(32_000, END), (HOST, STOP, 1000)),
    "an error after the end": begun(*a(END, {"type": "error"}), *h(STOP)),
    "unknown fields": begun(*a({**INTERRUPT, "why": 1}), *h(STOPPED)),
}
BIG = "x" * 19_000
WRONG = {
    "no JSON": (h("{"), "frame/json"),
    "no object": (h("[]"), "frame/json"),
    "a duplicate key": (begun(*a('{"type":"end","type":"end"}')), "frame/json"),
    "no type": (h({}), "frame/json"),
    "an unknown type": (begun(*a({"type": "hello"})), "frame/type"),
    "a type of the other side": (begun(*a(STOP)), "frame/type"),
    "begin before start": (h(BEGIN), "start/first"),
    "two starts": (h(start(), start()), "start/first"),
    "another version": (h(start(version=2)), "start/version"),
    "version true": (h(start()) + a({**READY, "version": True}), "start/version"),
    "another rate": (h(start(audio={"encoding": "pcm_s16le", "sample_rate": 8000, "channels": 1})), "start/audio"),
    "no session id": (h(start(session_id="")), "start/session_id"),
    "another opening": (h(start(opening="both")), "start/opening"),
    "no time": (h(start(timeout_s=0)), "start/timeout"),
    "capabilities missing": (h(start(capabilities={"transcripts": True})), "start/capabilities"),
    "ready before start": (a(READY), "ready/once"),
    "ready twice": (h(start()) + a(READY, READY), "ready/once"),
    "ready too late": (h(start()) + [(ADAPTER, READY, 30_001)], "ready/in_time"),
    "a long session id": (h(start()) + a({**READY, "session_id": "x" * 129}), "ready/session_id"),
    "begin before ready": (h(start(), BEGIN), "begin/after_ready"),
    "begin twice": (begun(*h(BEGIN)), "begin/after_ready"),
    "input before begin": (h(start(), 640), "input/after_begin"),
    "input of 10 ms": (begun(*h(320)), "input/frame"),
    "output before begin": (h(start()) + a(READY, 640), "output/after_begin"),
    "a transcript before begin": (h(start()) + a(READY, said()), "output/after_begin"),
    "an end before begin": (h(start()) + a(READY, END), "output/after_begin"),
    "an empty frame": (begun(*a(b"")), "output/frame"),
    "an odd frame": (begun(*a(b"abc")), "output/frame"),
    "a frame too large": (begun(*a(32_002)), "output/frame"),
    "too much pending": (begun(*a(*[32_000] * 30, 2)), "output/pending"),
    "an opening too late": (begun((ADAPTER, 640, 8_001), opening="agent"), "opening/in_time"),
    "no opening": (begun((HOST, 640, 9_000), opening="agent"), "opening/in_time"),
    "an answer to nothing": (begun(*h(STOPPED)), "interrupt/answered"),
    "no answer": (begun(*a(INTERRUPT)), "interrupt/answered"),
    "audio after end": (begun(*a(END, 640)), "end/last"),
    "a second end": (begun(*a(END, END)), "end/last"),
    "a result after end": (begun(*a(call(), result(), END, said())), "end/last"),
    "audio after stop": (begun(*h(STOP), *a(640)), "stop/last"),
    "a message after stop": (begun(*h(STOP, STOP)), "stop/last"),
    "stop before the end is heard": (begun(*a(32_000, END), (HOST, STOP, 999)), "stop/drained"),
    "transcripts not asked for": (begun(*a(said()), capabilities=OFF), "transcript/enabled"),
    "another role": (begun(*a(said(role="system"))), "transcript/role"),
    "a blank text": (begun(*a(said(text=" \n"))), "transcript/text"),
    "a long text": (begun(*a(said(text="x" * 20_001))), "transcript/text"),
    "an empty turn id": (begun(*a(said(turn_id=""))), "transcript/turn_id"),
    "a long turn id": (begun(*a(said(turn_id="x" * 129))), "transcript/turn_id"),
    "a corrected turn": (begun(*a(said(), said(text="Hallo"))), "transcript/turn_once"),
    "tool events not asked for": (begun(*a(call()), capabilities=OFF), "tool/enabled"),
    "an empty call id": (begun(*a(call(id=""))), "tool/id"),
    "a long name": (begun(*a(call(name="x" * 129))), "tool/id"),
    "args that are text": (begun(*a(call(args="{}"))), "tool/args"),
    "a call id again": (begun(*a(call(), call(), result())), "tool/call_once"),
    "a result without a call": (begun(*a(result())), "tool/result_matches"),
    "a result of another name": (begun(*a(call(), result(name="other"), result())), "tool/result_matches"),
    "two results": (begun(*a(call(), result(), result())), "tool/result_once"),
    "no result": (begun(*a(call()), *h(STOP)), "tool/result_missing"),
    "another outcome": (begun(*a(call(), result(outcome="ok"), result())), "tool/outcome"),
    "verified as text": (begun(*a(call(), result(verified="yes"), result())), "tool/verified"),
    "too much evidence": (begun(*a(*(said(text=BIG, turn_id=f"t{n}") for n in range(105)))), "evidence/size"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_the_protocol_allows_passes(name):
    assert judge(*RIGHT[name]) == []


@pytest.mark.parametrize("name", WRONG)
def test_what_it_forbids_is_named(name):
    frames, rule = WRONG[name]
    assert judge(*frames)[:1] == [rule]


def test_every_rule_is_broken_somewhere():
    assert {rule for _, rule in WRONG.values()} == set(RULES)


@pytest.mark.parametrize("name", WRONG)
def test_a_violation_names_the_side_that_its_rule_binds(name):
    machine = AdapterJudge()
    for side, frame, *at in WRONG[name][0]:
        text = json.dumps(frame) if isinstance(frame, dict) else frame
        for v in machine.see(at[0] if at else machine.now_ms, side, text):
            assert RULES[v.rule].side in (v.side, "both") or v.rule == "stop/last"


def talk(**options):
    host, adapter = AdapterHost("s1", **options), AgentAdapter()
    for frame in host.connect():
        adapter.receive(frame)
    assert host.receive(adapter.ready("mine")) == []
    assert [adapter.receive(frame) for frame in host.begin()] == ["begin"]
    return host, adapter


def test_two_machines_hold_a_conversation():
    host, adapter = talk(opening="agent", transcripts=True, tool_events=True)
    for _ in range(3):
        host.receive(adapter.audio(bytes(32_000)))
    assert [adapter.receive(f) for f in host.audio()] == ["audio"]
    assert [adapter.receive(f) for f in host.receive(adapter.interrupt())] == ["playback_stopped"]
    host.receive(adapter.transcript("user", "Hello", "t1"))
    host.receive(adapter.tool_call("c1", "look_up", {"a": 1}))
    host.receive(adapter.tool_result("c1", "look_up", None, "failed", False))
    host.receive(adapter.audio(bytes(3_200)))
    assert host.receive(adapter.end()) == [] and not host.closed
    assert host.advance(99) == []
    adapter.advance(100)
    assert [adapter.receive(f) for f in host.advance(1)] == ["stop"]
    assert host.closed and host.violations == adapter.violations == []


def test_the_host_notes_what_the_adapter_does_wrong_and_goes_on():
    host, adapter = talk(opening="agent")
    host.advance(8_001)
    assert host.receive(b"abc") == []
    assert [v.rule for v in host.violations] == ["opening/in_time", "output/frame"]
    host.receive(adapter.audio(bytes(640)))
    assert len(host.violations) == 2


def test_the_host_stops_at_the_time_limit():
    host, _ = talk(timeout_s=10)
    assert host.advance(9_999) == []
    assert [json.loads(f)["type"] for f in host.advance(1)] == ["stop"]
    assert host.advance(1) == []


@pytest.mark.parametrize(("send", "rule"), [
    (lambda x: x.audio(b""), "output/frame"),
    (lambda x: x.transcript("user", "a", "t"), "transcript/enabled"),
    (lambda x: x.ready(), "ready/once"),
    (lambda x: [x.end(), x.audio(bytes(2))], "end/last"),
])
def test_the_adapter_refuses_to_break_a_rule(send, rule):
    _, adapter = talk()
    with pytest.raises(AdapterError) as caught:
        send(adapter)
    assert caught.value.code == rule


def test_the_host_refuses_to_begin_before_ready():
    host = AdapterHost("s1")
    host.connect()
    with pytest.raises(AdapterError, match="begin/after_ready"):
        host.begin()


def test_the_page_lists_every_rule():
    page = fixture_root().parent / "docs" / "protocols" / "evaluation-adapter.md"
    if not page.exists():
        pytest.skip("the docs are no part of an installed package")
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert rows == [f"| `{r.id}` | {r.side} | {r.sentence} |" for r in RULES.values()]
