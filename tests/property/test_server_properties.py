"""Any script and any sequence of client events: the scripted server keeps the protocol's own promises."""

from hypothesis import given, settings
from hypothesis import strategies as st
from server_harness import RATES, append, replay

from realtime_session.wire.server import RealtimeServer
from realtime_session.wire.server_script import TRANSCRIPT_WHEN

MS = st.integers(0, 3_000)
TEXT = st.sampled_from(["", "Yes.", "It left our warehouse this morning.", "é  two\nlines ", "x" * 300])
CALL = st.one_of(
    st.fixed_dictionaries(
        {"name": st.just("f"), "arguments": st.dictionaries(st.text(max_size=5), st.none())}
    ),
    st.fixed_dictionaries({"name": st.just("g"), "arguments_text": st.text(max_size=30)}),
)
TIMINGS = st.dictionaries(
    st.sampled_from(["created_ms", "first_item_ms", "first_delta_ms", "delta_ms", "done_ms"]),
    st.integers(0, 900),
)


@st.composite
def replies(draw, single_calls):
    reply = {}
    shape = draw(st.sampled_from(["text", "call", "both", "failed", "incomplete"]))
    if shape == "both" and single_calls:
        shape = "call"
    if shape != "call":
        reply["text"] = draw(TEXT)
    if shape in ("call", "both"):
        reply["calls"] = draw(st.lists(CALL, min_size=1, max_size=1 if single_calls else 3))
    if shape == "both" and reply["text"] and draw(st.booleans()):
        reply["interleave"] = True
    if shape == "failed":
        reply.update(status="failed", error={"type": "server_error", "code": "server_error"})
    if shape == "incomplete":
        reply.update(status="incomplete", reason="content_filter")
    if draw(st.booleans()):
        reply["audio_ms"] = draw(st.integers(1, 8_000))
    if draw(st.booleans()):
        reply["timings"] = draw(TIMINGS)
    return reply


@st.composite
def callers(draw):
    sounds, at = [], 0
    for _ in range(draw(st.integers(0, 4))):
        start = at + draw(st.integers(0, 1_500))
        end = start + draw(st.integers(4, 2_000))
        kind = draw(st.sampled_from(["speech", "speech", "noise", "echo", "backchannel"]))
        sound = {"kind": kind, "from_ms": start, "to_ms": end}
        if kind == "speech" and draw(st.booleans()):
            cut = draw(st.integers(start + 1, end - 2))
            sound["pauses"] = [[cut, draw(st.integers(cut + 1, end - 1))]]
        if draw(st.booleans()):
            sound["transcript"] = {"text": draw(TEXT), "when": draw(st.sampled_from(TRANSCRIPT_WHEN))}
        sounds.append(sound)
        at = end
    return sounds


@st.composite
def servers(draw):
    profile = draw(st.sampled_from(["dialog_rsn_1", "openai_ga", "openai_beta"]))
    poly = profile == "dialog_rsn_1"
    script = {"version": 1, "replies": draw(st.lists(replies(poly), max_size=5)), "caller": draw(callers())}
    script["out_of_band_replies"] = draw(st.lists(replies(poly), max_size=2))
    if not poly:
        script["transport"] = draw(st.sampled_from(["websocket", "webrtc"]))
    return RealtimeServer(script, profile)


def updates(profile):
    detection = st.one_of(
        st.none(),
        st.fixed_dictionaries(
            {
                "type": st.just("server_vad"),
                "create_response": st.booleans(),
                "interrupt_response": st.booleans(),
            }
        ),
    )
    mode = st.sampled_from([["audio"], ["text"]])
    if profile == "openai_beta":
        return st.fixed_dictionaries({"turn_detection": detection, "modalities": st.just(["text"])})
    return st.fixed_dictionaries(
        {
            "type": st.just("realtime"),
            "output_modalities": mode,
            "audio": st.fixed_dictionaries({"input": st.fixed_dictionaries({"turn_detection": detection})}),
        }
    )


class Seen:
    """What has come over the wire so far, with the promises checked on the way."""

    def __init__(self, server):
        self.server = server
        self.ids = set()
        self.open, self.done = set(), set()
        self.items, self.calls, self.answered = [], [], set()
        self.written, self.played = set(), {}
        self.take(server.connect())

    def take(self, events):
        for event in events:
            assert event["event_id"] not in self.ids
            self.ids.add(event["event_id"])
            kind = event["type"]
            if kind.startswith("response."):
                response_id = event.get("response_id") or event["response"]["id"]
                if kind == "response.created":
                    assert response_id not in self.open | self.done
                    self.open.add(response_id)
                assert response_id in self.open, f"{kind} outside its response"
                if kind == "response.done":
                    self.open.remove(response_id)
                    self.done.add(response_id)
                if kind == "response.output_text.delta":
                    self.written.add(response_id)
                if kind == "response.output_item.done":
                    self.items.append(event["item"]["id"])
                    if event["item"]["type"] == "function_call":
                        self.calls.append(event["item"]["call_id"])
            if kind in ("conversation.item.added", "conversation.item.created"):
                self.items.append(event["item"]["id"])
        assert self.server.closed is None

    def responses(self):
        return sorted(self.open | self.done)


def sane_event(data, seen):
    """One event of a client that follows the protocol, or None."""
    server = seen.server
    profile = server.profile.name
    kind = data.draw(
        st.sampled_from(
            [
                "append",
                "append",
                "append",
                "item",
                "create",
                "side",
                "cancel",
                "result",
                "commit",
                "clear",
                "truncate",
                "report",
            ]
        )
    )
    if kind == "append":
        return append(data.draw(st.integers(1, 12)) * 100, RATES[profile])
    if kind == "item":
        content = [{"type": "input_text", "text": data.draw(TEXT)}]
        return {
            "type": "conversation.item.create",
            "item": {"type": "message", "role": "user", "content": content},
        }
    if kind == "create":
        return {"type": "response.create"}
    if kind == "side":
        return {"type": "response.create", "response": {"conversation": "none"}}
    if kind == "cancel":
        return {"type": "response.cancel"}
    if kind in ("commit", "clear"):
        return {"type": f"input_audio_buffer.{kind}"}
    if kind == "result":
        waiting = [call for call in seen.calls if call not in seen.answered]
        if not waiting:
            return None
        seen.answered.add(waiting[0])
        item = {"type": "function_call_output", "call_id": waiting[0], "output": "{}"}
        return {"type": "conversation.item.create", "item": item}
    if kind == "truncate":
        sent = server.conversation.sent_ms
        if not sent or server.active is not None or server.script["transport"] == "webrtc":
            return None
        item_id = data.draw(st.sampled_from(sorted(sent)))
        end = data.draw(st.integers(0, sent[item_id]))
        return {
            "type": "conversation.item.truncate",
            "item_id": item_id,
            "content_index": 0,
            "audio_end_ms": end,
        }
    return playback_report(data, seen)


def playback_report(data, seen):
    """The next report of a client that voices a text reply: started, then progress, then one stop."""
    if seen.server.profile.name != "dialog_rsn_1" or not seen.written:
        return None
    response_id = data.draw(st.sampled_from(sorted(seen.written)))
    report = {"response_id": response_id}
    if response_id not in seen.played:
        seen.played[response_id] = 0
        return {"type": "poly.output_audio.started", **report}
    seen.played[response_id] += data.draw(st.integers(0, 500))
    report["audio_ms"] = seen.played[response_id]
    if data.draw(st.booleans()):
        return {"type": "poly.output_audio.delta", **report, "delta": "Yes."}
    seen.written.remove(response_id)
    return {"type": "poly.output_audio.stopped", **report, "spoken_text": "Yes."}


def wild_event(data, seen):
    """Anything, well formed or not, with ids that exist more often than chance would have it."""
    some_item = st.sampled_from([*seen.items, "item_none"])
    some_response = st.sampled_from([*seen.responses(), "resp_none"])
    kinds = {
        "conversation.item.truncate": st.fixed_dictionaries(
            {
                "item_id": some_item,
                "content_index": st.integers(-1, 2),
                "audio_end_ms": st.integers(-1, 2_000),
            }
        ),
        "conversation.item.delete": st.fixed_dictionaries({"item_id": some_item}),
        "conversation.item.retrieve": st.fixed_dictionaries({"item_id": some_item}),
        "conversation.item.create": st.fixed_dictionaries(
            {
                "item": st.dictionaries(
                    st.sampled_from(["type", "role", "content", "id", "call_id"]), st.text()
                ),
                "previous_item_id": some_item,
            }
        ),
        "session.update": st.fixed_dictionaries({"session": updates(seen.server.profile.name)}),
        "response.create": st.fixed_dictionaries(
            {
                "response": st.dictionaries(
                    st.sampled_from(["conversation", "metadata", "input", "x"]), st.just("none")
                )
            }
        ),
        "response.cancel": st.fixed_dictionaries({"response_id": some_response}),
        "output_audio_buffer.clear": st.just({}),
        "poly.output_audio.started": st.fixed_dictionaries({"response_id": some_response}),
        "poly.output_audio.delta": st.fixed_dictionaries({"response_id": some_response, "audio_ms": MS}),
        "poly.output_audio.stopped": st.fixed_dictionaries(
            {"response_id": some_response, "audio_ms": MS, "spoken_text": TEXT}
        ),
    }
    json_values = st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=5), inner, max_size=2)
        ),
        max_leaves=5,
    )
    kind = data.draw(st.sampled_from([*kinds, "json", "text"]))
    if kind == "json":
        return data.draw(json_values)
    if kind == "text":
        return data.draw(st.one_of(st.text(), st.binary()))
    return {"type": kind, **data.draw(kinds[kind])}


@settings(max_examples=150, deadline=None)
@given(servers(), st.data())
def test_promises_hold_for_any_client(server, data):
    seen = Seen(server)
    for _ in range(data.draw(st.integers(0, 25))):
        if data.draw(st.booleans()):
            seen.take(server.advance(data.draw(MS)))
        event = (wild_event if data.draw(st.booleans()) else sane_event)(data, seen)
        if event is not None:
            seen.take(server.receive(event))
    # Nothing is appended any more: whatever was going on ends.
    for _ in range(12):
        seen.take(server.advance(60_000))
    assert seen.open == set()
    assert server.active is None


@settings(max_examples=80, deadline=None)
@given(servers(), st.data())
def test_own_sessions_replay_without_violation(server, data):
    seen = Seen(server)
    if data.draw(st.booleans()):
        seen.take(
            server.receive({"type": "session.update", "session": data.draw(updates(server.profile.name))})
        )
    for _ in range(data.draw(st.integers(0, 25))):
        seen.take(server.advance(data.draw(MS)))
        event = sane_event(data, seen)
        if event is not None:
            seen.take(server.receive(event))
    seen.take(server.advance(600_000))
    server.disconnect(1000)
    _, done = replay(server)
    assert done.rejected_by_rule == {}, done.violations


@settings(max_examples=60, deadline=None)
@given(servers(), st.lists(st.tuples(st.integers(1, 10), MS), max_size=20))
def test_time_may_be_cut_anywhere(server, steps):
    """Advancing in one go or in pieces gives the same events."""
    other = RealtimeServer(server.script, server.profile.name)
    first, second = server.connect(), other.connect()
    for tenths, wait in steps:
        for one, got in ((server, first), (other, second)):
            got += one.receive(append(tenths * 100, RATES[server.profile.name]))
        first += server.advance(wait)
        for piece in (wait // 3, wait - wait // 3):
            second += other.advance(piece)
    assert first == second
