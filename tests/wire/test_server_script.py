"""The script of the scripted server is checked strictly, and names the place of what is wrong."""

import pytest
from server_harness import Client, kinds

from realtime_session.wire.server import RealtimeServer
from realtime_session.wire.server_core import ServerError
from realtime_session.wire.server_faults import FAULTS, fault_script
from realtime_session.wire.server_script import ScriptError

CASES = {
    "no object": ([], ""),
    "unknown key": ({"version": 1, "reply": []}, "/reply"),
    "unknown key with a slash": ({"version": 1, "a/b": []}, "/a~1b"),
    "later version": ({"version": 2}, "/version"),
    "true is no number": ({"version": True}, "/version"),
    "no list": ({"version": 1, "replies": {}}, "/replies"),
    "unknown key in a reply": ({"version": 1, "replies": [{}, {"txt": "Hi"}]}, "/replies/1/txt"),
    "audio without length": (
        {"version": 1, "replies": [{"text": "Hi", "audio_ms": 0}]},
        "/replies/0/audio_ms",
    ),
    "failed without an error": ({"version": 1, "replies": [{"status": "failed"}]}, "/replies/0/error"),
    "error without failing": (
        {"version": 1, "replies": [{"error": {"type": "server_error", "code": "x"}}]},
        "/replies/0/error",
    ),
    "incomplete without a reason": (
        {"version": 1, "replies": [{"status": "incomplete"}]},
        "/replies/0/reason",
    ),
    "call without arguments": ({"version": 1, "replies": [{"calls": [{"name": "f"}]}]}, "/replies/0/calls/0"),
    "call without a name": (
        {"version": 1, "replies": [{"calls": [{"arguments": {}}]}]},
        "/replies/0/calls/0/name",
    ),
    "citing number 0": ({"version": 1, "replies": [{"text": "Hi", "cites": [0]}]}, "/replies/0/cites/0"),
    "unknown sound": (
        {"version": 1, "caller": [{"kind": "music", "from_ms": 0, "to_ms": 9}]},
        "/caller/0/kind",
    ),
    "sound without end": ({"version": 1, "caller": [{"kind": "speech", "from_ms": 5}]}, "/caller/0/to_ms"),
    "sound backwards": (
        {"version": 1, "caller": [{"kind": "speech", "from_ms": 9, "to_ms": 5}]},
        "/caller/0/to_ms",
    ),
    "sounds overlap": (
        {
            "version": 1,
            "caller": [
                {"kind": "speech", "from_ms": 0, "to_ms": 500},
                {"kind": "noise", "from_ms": 400, "to_ms": 600},
            ],
        },
        "/caller/1/from_ms",
    ),
    "pause outside": (
        {"version": 1, "caller": [{"kind": "speech", "from_ms": 100, "to_ms": 500, "pauses": [[400, 600]]}]},
        "/caller/0/pauses/0",
    ),
    "unknown transcript time": (
        {
            "version": 1,
            "caller": [{"kind": "speech", "from_ms": 0, "to_ms": 5, "transcript": {"when": "soon"}}],
        },
        "/caller/0/transcript/when",
    ),
    "unknown timing": ({"version": 1, "timings": {"lag_ms": 1}}, "/timings/lag_ms"),
    "fault at no event": ({"version": 1, "faults": [{"at": "hello", "do": "duplicate"}]}, "/faults/0/at"),
    "close without code": ({"version": 1, "faults": [{"at": "error", "do": "close"}]}, "/faults/0/code"),
    "code without close": (
        {"version": 1, "faults": [{"at": "error", "do": "duplicate", "code": 1011}]},
        "/faults/0/code",
    ),
    "no JSON value": (
        {"version": 1, "replies": [{"calls": [{"name": "f", "arguments": {"x": {1, 2}}}]}]},
        "",
    ),
    "number that is not finite": (
        {"version": 1, "faults": [{"at": "error", "do": "add_fields", "fields": {"x": float("inf")}}]},
        "",
    ),
    "two calls on Dialog-RSN-1": (
        {
            "version": 1,
            "replies": [{"calls": [{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}]}],
        },
        "/replies/0/calls",
    ),
    "text beside a call on Dialog-RSN-1": (
        {"version": 1, "replies": [{"text": "Hi", "calls": [{"name": "f", "arguments": {}}]}]},
        "/replies/0/calls",
    ),
    "WebRTC on Dialog-RSN-1": ({"version": 1, "transport": "webrtc"}, "/transport"),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_script_is_refused_with_its_place(name):
    script, path = CASES[name]
    with pytest.raises(ScriptError) as caught:
        RealtimeServer(script)
    assert caught.value.path == path


def test_nesting_beyond_the_limit_is_one_error():
    deep = {}
    for _ in range(5000):
        deep = {"x": deep}
    with pytest.raises(ScriptError):
        RealtimeServer({"version": 1, "replies": [{"calls": [{"name": "f", "arguments": deep}]}]})


def test_knowledge_is_no_matter_of_openai_scripts():
    with pytest.raises(ScriptError) as caught:
        RealtimeServer({"version": 1, "replies": [{"text": "Hi", "cites": [1]}]}, "openai_ga")
    assert caught.value.path == "/replies/0"


def test_unknown_names_are_refused():
    with pytest.raises(ServerError):
        RealtimeServer({"version": 1}, "gemini")
    with pytest.raises(ServerError):
        fault_script("barge_in_z")


def test_fault_scripts_are_copies():
    fault_script("two_calls")["replies"].clear()
    assert len(fault_script("two_calls")["replies"]) == 2


@pytest.mark.parametrize("name", FAULTS)
def test_fault_scripts_are_valid_on_their_profiles(name):
    for profile in FAULTS[name]["profiles"]:
        client = Client.on_fault(name, profile)
        assert kinds(client.events) == ["session.created"]


def test_replies_run_out_politely():
    client = Client({"default_text": "Indeed."})
    client.say("Hello")
    client.send("response.create")
    client.wait(10_000)
    assert client.of("response.output_audio_transcript.done")[0]["transcript"] == "Indeed."


def test_harness_mistakes_are_not_wire_errors():
    server = RealtimeServer({"version": 1})
    with pytest.raises(ServerError):
        server.receive({"type": "response.create"})
    with pytest.raises(ServerError):
        server.history()
    server.connect()
    with pytest.raises(ServerError):
        server.connect()
    for ms in (-1, 0.5, True, "1"):
        with pytest.raises(ServerError):
            server.advance(ms)
