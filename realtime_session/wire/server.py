"""A scripted realtime server without a socket: client events in, server events out, on a virtual clock.

    server = RealtimeServer({"version": 1, "replies": [{"text": "Hello."}]}, profile="dialog_rsn_1")
    server.connect()                                  # [session.created]
    server.receive({"type": "response.create"})       # [response.created]
    server.advance(5_000)                             # the rest of the reply

It behaves as the protocol documents say the real service does, and refuses what that refuses, so a client
harness can be tested offline. The same script and the same calls give the same events, ids included.
Sources: seed 002; the typed OpenAI specification and recorded traffic as collected in wire.md.
"""

from __future__ import annotations

import json

from realtime_session.wire import server_config as check
from realtime_session.wire.dialog_rsn import DIALOG_RSN_1
from realtime_session.wire.server_caller import CallerAudio
from realtime_session.wire.server_config import SessionConfig, check_fields
from realtime_session.wire.server_conversation import Conversation
from realtime_session.wire.server_core import Ids, Refusal, ServerError, Timeline, clone, json_problem
from realtime_session.wire.server_handlers import CLIENT_EVENTS, POLY_EVENTS
from realtime_session.wire.server_idle import IdleNudge
from realtime_session.wire.server_log import WireLog
from realtime_session.wire.server_playback import Playback
from realtime_session.wire.server_profile import OPENAI_BETA, OPENAI_GA
from realtime_session.wire.server_response import Response
from realtime_session.wire.server_script import ScriptError, read_script
from realtime_session.wire.server_transcripts import Transcripts

PROFILES = {profile.name: profile for profile in (DIALOG_RSN_1, OPENAI_GA, OPENAI_BETA)}


class RealtimeServer:
    """One scripted service; it can be connected to again after a close.

    `script` is as server_script.py documents it (ScriptError otherwise), `profile` one of PROFILES. `closed`
    is the WebSocket close code of the last connection, None before and while one is open. `log` is the
    WireLog of all connections. `generations` shows what each generation was given: instructions, tools,
    numbered knowledge and history.
    """

    def __init__(self, script: dict, profile: str = "dialog_rsn_1"):
        if profile not in PROFILES:
            raise ServerError(f"unknown profile {profile!r}; there are {', '.join(sorted(PROFILES))}")
        self.profile = PROFILES[profile]
        self.script = read_script(script)
        self._replies = {"replies": 0, "out_of_band_replies": 0}  # how many of each list were used
        self._check_dialect()
        self.timeline = Timeline()
        self.ids = Ids()
        self.log = WireLog()
        self.closed = None
        self.generations = []
        self._connected = False
        self._out = []
        self._events = {**CLIENT_EVENTS, **(POLY_EVENTS if self.profile.poly else {})}

    def _check_dialect(self) -> None:
        """What a script may not ask of a dialect."""
        script, profile = self.script, self.profile
        if script["text_only"] and not profile.poly:
            raise ScriptError("/text_only", "false outside Dialog-RSN-1", "true")
        if script["transport"] == "webrtc" and profile.poly:
            raise ScriptError("/transport", "websocket, the only transport of Dialog-RSN-1", "'webrtc'")
        for kind in self._replies:
            for number, reply in enumerate(script[kind]):
                if profile.poly and (len(reply["calls"]) > 1 or (reply["calls"] and reply["text"])):
                    raise ScriptError(
                        f"/{kind}/{number}/calls",
                        "at most one call and no text beside it (Dialog-RSN-1)",
                        "more",
                    )
                if not profile.poly and ("cites" in reply or "out_of_domain" in reply):
                    raise ScriptError(
                        f"/{kind}/{number}", "cites and out_of_domain only on Dialog-RSN-1", "one"
                    )

    @property
    def now_ms(self) -> int:
        """Virtual milliseconds since the server was made."""
        return self.timeline.now_ms

    def due_in(self) -> int | None:
        """Virtual milliseconds until the server acts by itself, for whoever mounts it on a real clock."""
        return self.timeline.due_in()

    def connect(self) -> list:
        """Open a connection (again): a new session with new ids, and nothing remembered."""
        if self._connected and self.closed is None:
            raise ServerError("the connection is open already")
        self._connected, self.closed = True, None
        self.ids.connection += 1
        self.timeline.clear()
        self._counts = {}
        sounds = [s for s in self.script["caller"] if s["connection"] == self.ids.connection]
        self.config = SessionConfig(self.profile, self.ids.next("sess"), self.script["text_only"])
        self.conversation_id = self.ids.next("conv")
        self.conversation = Conversation(self.profile.first_previous)
        self.playback = Playback(self.timeline, self.script["ms_per_word"])
        self.transcripts = Transcripts(self)
        self.idle = IdleNudge(self)
        self.active = None
        self.apart = []
        self._turn_waits = False
        self.caller = CallerAudio(self, sounds)
        if not self.script["sideband"]:
            self.emit("session.created", session=clone(self.config.value))
        return self._drain()

    def receive(self, client_event) -> list:
        """Answer one client event, given as an object or as the JSON text of a frame.

        A refused event gives one `error` and leaves the session open. On a closed connection nothing is
        answered.
        """
        if not self._connected:
            raise ServerError("connect first")
        if self.closed is not None:
            return []
        event_id = None
        try:
            event = self._parsed(client_event)
            self.log.add("sent", event, self.now_ms)
            if isinstance(event, dict) and isinstance(event.get("event_id"), str):
                event_id = event["event_id"]
            self._dispatch(event)
        except Refusal as refusal:
            error = {"type": "invalid_request_error", "code": refusal.code, "message": refusal.message}
            self.emit("error", error={**error, "param": refusal.param, "event_id": event_id})
        return self._drain()

    def advance(self, ms: int) -> list:
        """Let `ms` virtual milliseconds pass; returns what the server sends meanwhile."""
        if type(ms) is not int or ms < 0:
            raise ServerError(f"advance takes a whole number of milliseconds, not {ms!r}")
        self.timeline.run(self.now_ms + ms)
        return self._drain()

    def disconnect(self, code: int = 1000) -> None:
        """The client closes the connection."""
        self._close(code, "sent")

    def history(self) -> list:
        """The conversation as the next generation would be given it."""
        if not self._connected:
            raise ServerError("connect first")
        return self.conversation.snapshot()

    def emit(self, kind: str, **fields) -> None:
        """Send one event; `kind` is its GA name. Script faults at this event happen here."""
        if self.closed is not None:
            return
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        event = {"type": self.profile.names.get(kind, kind), "event_id": self.ids.next("event"), **fields}
        due = [
            fault
            for fault in self.script["faults"]
            if fault["at"] == kind and fault["nth"] == count and fault["connection"] == self.ids.connection
        ]
        for fault in due:
            if fault["do"] == "add_fields":
                event = {**clone(fault["fields"]), **event}
        self._push(event)
        for fault in due:
            self._fault(fault, event)

    def _fault(self, fault, event) -> None:
        if fault["do"] == "duplicate":
            self._push(event)
        elif fault["do"] == "insert":
            self._push({"event_id": self.ids.next("event"), **fault["event"]})
        elif fault["do"] == "close":
            self._close(fault["code"], "received")
        elif fault["do"] == "late_delta" and event["type"] == "response.done":
            for index, item in enumerate(event["response"]["output"]):
                if item["type"] == "message":
                    name = "response.output_audio.delta"
                    place = {
                        "response_id": event["response"]["id"],
                        "item_id": item["id"],
                        "output_index": index,
                    }
                    late = {"type": self.profile.names.get(name, name), "event_id": self.ids.next("event")}
                    self._push({**late, **place, "content_index": 0, "delta": "AAAA"})
                    break

    def _push(self, event) -> None:
        if self.closed is None:
            self._out.append(clone(event))
            self.log.add("received", event, self.now_ms)

    def _drain(self) -> list:
        out, self._out = self._out, []
        return out

    def _close(self, code: int, direction: str) -> None:
        if self._connected and self.closed is None:
            self.closed = code
            self.timeline.clear()
            self.log.add(direction, {"code": code}, self.now_ms, kind="close")

    def emit_rate_limits(self) -> None:
        limits = [{"name": "requests", "limit": 1000, "remaining": 999, "reset_seconds": 60}]
        self.emit("rate_limits.updated", rate_limits=limits)

    @staticmethod
    def _parsed(event):
        if isinstance(event, (str, bytes)):
            try:
                event = json.loads(event)
            except (ValueError, RecursionError):
                raise Refusal("invalid_event", "The message is not valid JSON.", None) from None
        problem = json_problem(event)
        if problem:
            raise Refusal("invalid_event", f"The message is not valid JSON: {problem}.", None)
        return event

    def _dispatch(self, event) -> None:
        if not isinstance(event, dict):
            raise Refusal("invalid_event", "The message is not a JSON object.", None)
        kind = event.get("type")
        if kind is None:
            raise Refusal("invalid_event", "The 'type' field is missing.", None)
        check.text(kind, "type")
        if kind not in self._events:
            names = ", ".join(f"'{name}'" for name in self._events)
            raise Refusal(
                "invalid_value", f"Invalid value: '{kind[:60]}'. Supported values are: {names}.", "type"
            )
        act, required, optional = self._events[kind]
        fields = {"type": check.text, "event_id": check.text, **required, **optional}
        check_fields(fields, {}, event, "")
        for name in required:
            if name not in event:
                raise check.missing(name)
        act(self, event)

    # Turns and replies

    def add_item(self, item: dict, after: str | None = None) -> None:
        """An item enters the conversation; no reply follows from that, ever."""
        previous = self.conversation.add(item, after)
        self.emit("conversation.item.added", previous_item_id=previous, item=clone(item))
        if not self.profile.one_item_event:
            self.emit("conversation.item.done", previous_item_id=previous, item=clone(item))

    def truncate(self, item_id: str, content_index: int, audio_end_ms: int) -> None:
        self.conversation.truncate(item_id, content_index, audio_end_ms)
        self.emit(
            "conversation.item.truncated",
            item_id=item_id,
            content_index=content_index,
            audio_end_ms=audio_end_ms,
        )

    def answer_turn(self) -> None:
        """A turn was committed and create_response is on: answer it, after the reply under way if there is
        one."""
        self._turn_waits = self.active is not None
        if not self._turn_waits:
            self.respond({})

    def respond(self, request) -> None:
        kind = "out_of_band_replies" if request.get("conversation") == "none" else "replies"
        number = self._replies[kind]
        self._replies[kind] += 1
        replies = self.script[kind]
        plain = {"text": self.script["default_text"], "calls": [], "status": "completed"}
        response = Response(self, replies[number] if number < len(replies) else plain, request)
        if response.out_of_band:
            self.apart.append(response)
        else:
            self.active = response
            self.idle.disarm()
        response.start()

    def note_generation(self, response) -> int:
        """Record what a generation is given; returns its size in tokens, one a word."""
        session = self.config.value
        history = clone(response.request["input"]) if "input" in response.request else self.history()
        response.passages = self.conversation.passages(session.get("poly_knowledge"))
        given = {
            "response_id": response.id,
            "instructions": response.request.get("instructions", session["instructions"]),
            "tools": clone(response.request.get("tools", session["tools"])),
            "knowledge": response.passages,
            "history": history,
        }
        self.generations.append(given)
        return len(json.dumps(history).split())

    def voiced(self, response, item_id: str, duration_ms: int) -> None:
        """The server sent audio of a reply in the conversation: from here on it plays."""
        self.config.voice_frozen = True
        first = self.conversation.sent_ms.get(item_id) == duration_ms
        self.playback.voiced(response.id, item_id, duration_ms)
        if first and self.script["transport"] == "webrtc":
            self.emit("output_audio_buffer.started", response_id=response.id)

    def response_done(self, response, transcript) -> None:
        """After response.done."""
        if self.profile.rate_limits == "after_done":
            self.timeline.after(response.timings["rate_limits_ms"], self.emit_rate_limits)
        if response.out_of_band:
            self.apart.remove(response)
            return
        self.active = None
        self.transcripts.reply_done(transcript)
        self.idle.arm()
        if self.script["transport"] == "webrtc":
            self._stop_when_played(response.id)
        if not self.caller.speaking:
            self.sound_over()

    def sound_over(self) -> None:
        """Nobody speaks any more: a turn that waited for the reply before it gets its answer."""
        if self._turn_waits and self.active is None:
            self.answer_turn()

    def _stop_when_played(self, response_id: str) -> None:
        end = self.playback.end_ms(response_id)
        if end is not None:
            delay = max(0, end - self.now_ms)
            self.timeline.after(delay, lambda: self._played(response_id))

    def _played(self, response_id: str) -> None:
        if not self.playback.was_cut(response_id):
            self.emit("output_audio_buffer.stopped", response_id=response_id)

    def barge_in(self) -> None:
        """The caller speaks over the agent: stop the reply under way and what is audible of earlier ones."""
        self.idle.disarm()
        if not (self.config.turn_detection or {}).get("interrupt_response", True):
            return
        webrtc = self.script["transport"] == "webrtc"
        stopped = self.playback.cut()
        if webrtc:
            for track in stopped:
                self.emit("output_audio_buffer.cleared", response_id=track.response_id)
        if self.active is not None and self.active.status == "in_progress":
            self.active.cancel("turn_detected")
        for track in stopped:
            if webrtc:
                for item_id in track.items:
                    self.truncate(item_id, 0, track.spoken_ms)
            elif self.profile.poly and track.sent_ms and track.reported is None:
                self.conversation.keep_spoken(track.items, self.playback.heard_text(track))
