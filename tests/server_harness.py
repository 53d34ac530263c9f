"""A plain client for the scripted server's tests: paced audio, filters over events, and the way back in."""

import base64
import io
import json

from realtime_session.traces.replay import Replay
from realtime_session.wire.openai import OpenAIImporter
from realtime_session.wire.server import RealtimeServer
from realtime_session.wire.server_faults import fault_script

RATES = {"dialog_rsn_1": 16_000, "openai_ga": 24_000, "openai_beta": 24_000}


def append(ms, rate=16_000):
    """`ms` of silence in the microphone; what it means is in the server's script."""
    return {
        "type": "input_audio_buffer.append",
        "audio": base64.b64encode(bytes(ms * rate // 1000 * 2)).decode("ascii"),
    }


class Client:
    """Connects at once, keeps every event it got, and can speak at the pace of the clock."""

    def __init__(self, script, profile="dialog_rsn_1", **session):
        self.server = RealtimeServer({"version": 1, **script}, profile)
        self.profile = profile
        self.events = []
        self.times = []
        self._keep(self.server.connect())
        if session:
            self.update(**session)

    @classmethod
    def on_fault(cls, name, profile, **session):
        return cls(fault_script(name), profile, **session)

    def _keep(self, events):
        self.events += events
        self.times += [self.server.now_ms] * len(events)
        return events

    def send(self, kind, **fields):
        return self._keep(self.server.receive({"type": kind, **fields}))

    def update(self, **session):
        if self.profile == "openai_ga":
            session = {"type": "realtime", **session}
        return self.send("session.update", session=session)

    def wait(self, ms):
        return self._keep(self.server.advance(ms))

    def listen(self, ms, step=100, on_events=None):
        """Append audio and let the same time pass; `on_events` may answer what comes."""
        got = []
        for _ in range(ms // step):
            fresh = self._keep(self.server.receive(append(step, RATES[self.profile])))
            fresh += self._keep(self.server.advance(step))
            got += fresh
            if on_events:
                on_events(fresh)
        return got

    def say(self, text):
        """A typed turn."""
        content = [{"type": "input_text", "text": text}]
        return self.send(
            "conversation.item.create", item={"type": "message", "role": "user", "content": content}
        )

    def reconnect(self):
        return self._keep(self.server.connect())

    def of(self, kind):
        return [event for event in self.events if event["type"] == kind]

    def kinds(self, prefix=""):
        return [event["type"] for event in self.events if event["type"].startswith(prefix)]

    def done(self):
        """The response objects of every response.done."""
        return [event["response"] for event in self.of("response.done")]


def kinds(events):
    return [event["type"] for event in events]


def error_of(events):
    """The error object of exactly one error event."""
    if kinds(events) != ["error"]:
        raise AssertionError(f"one error expected, got {kinds(events)}")
    return events[0]["error"]


def texts(history):
    """(role or type, text) of each item of a history."""
    out = []
    for item in history:
        if item["type"] != "message":
            out.append((item["type"], item.get("output", item.get("arguments"))))
            continue
        part = item["content"][0]
        out.append((item["role"], part.get("text", part.get("transcript"))))
    return out


def replay(server, dialect=None):
    """The server's own wire log, imported and replayed: (importer summary, finished Replay)."""
    importer = OpenAIImporter(dialect)
    events = []
    for line, row in enumerate(server.log.to_jsonl().splitlines(), 1):
        events += importer.feed(line, json.loads(row))
    events += importer.finish()
    lines = [{"session": importer.header()}, *events]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = Replay(io.BytesIO(text.encode("utf-8")), keep_going=True).run()
    return importer.summary(), done
