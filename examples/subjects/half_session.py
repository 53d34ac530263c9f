"""A session of the half_duplex profile, written from the contract's prose alone, in one file.

It imports nothing from realtime_session: it stands for the code of somebody who has a session of their own.
`HalfSession(header).receive(event)` answers in the words of the subject protocol.
"""
import json

TERMINAL = ("session.completed", "session.timeout", "session.transferred")
OBSERVATIONS = ("turn.transcript", "error.reported")
ERRORS = ("invalid_request", "rate_limited", "provider_unavailable", "tool_failed", "permission_denied",
          "media_corrupt", "context_exceeded", "internal")
NAME = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")


def is_id(v):
    return isinstance(v, str) and v != ""


def is_text(v):
    return isinstance(v, str)


def is_flag(v):
    return isinstance(v, bool)


def is_count(v):
    return type(v) is int and 0 <= v < 2 ** 53


def is_frame(v):
    return type(v) is int and 1 <= v <= 200


def is_name(v):
    return isinstance(v, str) and 1 <= len(v) <= 80 and set(v) <= NAME


def is_digits(v):
    return isinstance(v, str) and v != "" and set(v) <= set("0123456789ABCD*#")


def is_object(v):
    return isinstance(v, dict)


def anything(v):
    return True


def word(*words):
    return lambda v: isinstance(v, str) and v in words


TURN, RESPONSE, REASON = {"turn_id": is_id}, {"response_id": is_id}, {"reason": is_id}
# type -> (required fields, optional fields)
FIELDS = {
    "audio.frame": ({**TURN, "sequence": is_count, "duration_ms": is_frame, "speech": is_flag}, {}),
    "turn.commit": (TURN, {"cause": word("speech", "client", "idle_timeout", "text")}),
    "response.started": ({**RESPONSE, **TURN}, {"cause": word("turn", "opening", "reprompt", "interjection"),
                                                "out_of_band": is_flag}),
    "response.audio": ({**RESPONSE, "sequence": is_count, "duration_ms": is_frame}, {}),
    "response.text": ({**RESPONSE, "sequence": is_count, "text": is_text}, {}),
    "response.completed": (RESPONSE, {}),
    "user.interrupt": ({**TURN, **RESPONSE, **REASON}, {}),
    "tool.call": ({"call_id": is_id, **RESPONSE, "name": is_name, "arguments": is_object}, {"read_only": is_flag}),
    "tool.result": ({"call_id": is_id, **RESPONSE, "ok": is_flag, "result": anything}, {"receipt": is_text}),
    "transport.disconnected": (REASON, {"resume_token": is_id}),
    "transport.resumed": ({"resume_token": is_id}, {}),
    "session.timeout": (REASON, {}),
    "session.completed": (REASON, {"by": word("agent", "caller", "server")}),
    "session.transferred": ({"target": is_id, **REASON}, {}),
    "input.text": ({**TURN, "text": is_text}, {}),
    "input.dtmf": ({**TURN, "digits": is_digits}, {}),
    "turn.transcript": ({**TURN, "text": is_text, "final": is_flag}, {}),
    "error.reported": ({"error_type": word(*ERRORS)}, {"code": is_id, "message": is_text, "ref_event_id": is_id}),
}
ENVELOPE = {"event_id": is_id, "type": is_id, "at_ms": is_count, "payload": is_object}
SOURCE = {"line": is_count, "raw_type": is_text, "synthetic": is_flag}


def same(value):
    """A text that is equal for equal content: 1 and 1.0 are one number, true is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(k) + ":" + same(value[k]) for k in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(same, value)) + "]"
    return json.dumps(value)


def form(event):
    """The rule that an event's form breaks, or None."""
    if not isinstance(event, dict) or any(key not in event for key in ENVELOPE):
        return "event/shape"
    if not isinstance(event["payload"], dict):
        return "event/shape"
    payload, known = event["payload"], None
    if isinstance(event["type"], str):
        known = FIELDS.get(event["type"])
        if known is None:
            return "event/unknown_type"
        if any(key not in payload for key in known[0]):
            return "event/shape"
    if any(key not in ENVELOPE and key != "source" for key in event):
        return "event/unknown_field"
    if known and any(key not in known[0] and key not in known[1] for key in payload):
        return "event/unknown_field"
    if not all(test(event[key]) for key, test in ENVELOPE.items()):
        return "event/value"
    source = event.get("source", {})
    if not isinstance(source, dict):
        return "event/value"
    tests = {**known[0], **known[1]}
    if not all(tests[key](value) for key, value in payload.items()):
        return "event/value"
    if any(key not in SOURCE for key in source):
        return "event/unknown_field"
    return None if all(SOURCE[key](value) for key, value in source.items()) else "event/value"


def fits(schema, value):
    """The part of JSON Schema that these tools use."""
    kinds = {"object": dict, "string": str, "integer": int, "array": list, "boolean": bool, "number": (int, float)}
    if "type" in schema:
        if not isinstance(value, kinds[schema["type"]]) or isinstance(value, bool) != (schema["type"] == "boolean"):
            return False
    if "minimum" in schema and value < schema["minimum"]:
        return False
    if isinstance(value, dict):
        known = schema.get("properties", {})
        if any(key not in value for key in schema.get("required", ())):
            return False
        if schema.get("additionalProperties") is False and any(key not in known for key in value):
            return False
        return all(fits(known[key], part) for key, part in value.items() if key in known)
    return True


class Refused(Exception):
    """Raised by a handler with the id of the broken rule, before anything is changed."""


class HalfSession:
    def __init__(self, header):
        self.token = header["resume_token"]
        self.queue_ms = header.get("limits", {}).get("queue_ms", 1000)
        self.tools = {t["name"]: t for t in header["tools"]} if "tools" in header else None
        self.seen, self.now, self.link, self.recovering = {}, 0, "up", False
        self.turns = {}       # id -> [next sequence, content, speech] or "committed"
        self.waiting = []     # committed turns without a response
        self.responses = {}   # id -> {status, audio, text}
        self.active, self.free = None, 0
        self.calls = {}       # id -> {response, read, status, what}
        self.done = set()     # writes that happened
        self.findings = []

    def receive(self, event):
        rule = form(event)
        if rule:
            return {"decision": "rejected", "rule": rule}
        content = same({key: event[key] for key in ENVELOPE})
        if event["event_id"] in self.seen:
            if self.seen[event["event_id"]] == content:
                return {"decision": "ignored", "reason": "duplicate"}
            return {"decision": "rejected", "rule": "event/id_conflict"}
        try:
            effects = self.judge(event, event["type"], event["payload"], event["at_ms"])
        except Refused as refused:
            return {"decision": "rejected", "rule": str(refused)}
        self.seen[event["event_id"]] = content
        self.now = event["at_ms"]
        return {"decision": "accepted", "effects": effects or [], "state": {"phase": self.phase()}}

    def close(self):
        if self.link != "ended":
            self.findings.append(["session/unfinished", []])
        return {"findings": self.findings}

    def phase(self):
        if self.link in ("ended", "down"):
            return "ended" if self.link == "ended" else "disconnected"
        if self.recovering:
            return "reconciling"
        if self.pending():
            return "waiting_tool"
        if self.active is not None:
            return "speaking" if self.responses[self.active]["audio"] else "thinking"
        return "thinking" if self.waiting else "listening"

    # --- checks, in the order of the contract ---

    def judge(self, event, type_, p, at):
        if at < self.now:
            raise Refused("event/time")
        if self.link == "ended":
            raise Refused("session/terminal")
        if self.link == "down" and type_ not in OBSERVATIONS + (
                "transport.resumed", "session.timeout", "session.transferred"):
            raise Refused("link/disconnected")
        self.gates(type_, p)
        return getattr(self, "on_" + type_.replace(".", "_"))(p, at, event)

    def gates(self, type_, p):
        always = OBSERVATIONS + ("transport.disconnected", "transport.resumed", "session.timeout",
                                 "session.transferred")
        status = self.calls.get(p.get("call_id"), {}).get("status") if type_ == "tool.result" else None
        if self.recovering and type_ not in always and status != "doubt":
            raise Refused("link/reconcile_first")
        if self.pending() and type_ not in always + ("tool.call", "user.interrupt") and status not in (
                "open", "doubt"):
            raise Refused("tool/wait")

    def pending(self):
        return [c for c, call in self.calls.items() if call["status"] == "open" and call["response"] == self.active]

    def doubtful(self):
        return [c for c, call in self.calls.items() if call["status"] == "doubt"]

    # --- the caller ---

    def open_turn(self, p):
        turn = self.turns.get(p["turn_id"])
        if turn == "committed":
            raise Refused("turn/closed")
        return turn or [0, False, False]

    def on_audio_frame(self, p, at, event):
        turn = self.open_turn(p)
        if p["sequence"] != turn[0]:
            raise Refused("audio/contiguous")
        self.turns[p["turn_id"]] = [turn[0] + 1, True, turn[2] or p["speech"]]

    def on_input_text(self, p, at, event):
        turn = self.open_turn(p)
        self.turns[p["turn_id"]] = [turn[0], True, turn[2]]

    on_input_dtmf = on_input_text

    def on_turn_transcript(self, p, at, event):
        if self.turns.get(p["turn_id"]) != "committed" and self.link == "up":
            self.on_input_text(p, at, event)

    def on_turn_commit(self, p, at, event):
        turn = self.open_turn(p)
        if p.get("cause") != "idle_timeout" and not turn[1]:
            raise Refused("turn/empty")
        if p.get("cause", "speech") == "speech" and turn[1] and not turn[2]:
            raise Refused("turn/no_speech")
        self.turns[p["turn_id"]] = "committed"
        self.waiting.append(p["turn_id"])

    # --- the agent ---

    def on_response_started(self, p, at, event):
        if p["response_id"] in self.responses or self.turns.get(p["turn_id"]) != "committed":
            raise Refused("response/turn")
        if self.active is not None and not p.get("out_of_band"):
            raise Refused("response/one_active")
        self.responses[p["response_id"]] = {"status": "active", "audio": 0, "text": 0}
        if not p.get("out_of_band"):
            self.active = p["response_id"]
            if p["turn_id"] in self.waiting:
                del self.waiting[:self.waiting.index(p["turn_id"]) + 1]

    def response(self, p, ends=False):
        record = self.responses.get(p["response_id"])
        if record is None:
            raise Refused("response/unknown")
        if record["status"] == "ended" or record["status"] == "stopping" and not ends:
            raise Refused("response/ended")
        return record

    def on_response_audio(self, p, at, event):
        record = self.response(p)
        if p["sequence"] != record["audio"]:
            raise Refused("output/contiguous")
        free = max(self.free, at) + p["duration_ms"]
        if free - at > self.queue_ms:
            raise Refused("output/queue_limit")
        self.free = free
        record["audio"] += 1

    def on_response_text(self, p, at, event):
        record = self.response(p)
        if p["sequence"] != record["text"]:
            raise Refused("output/contiguous")
        record["text"] += 1

    def on_response_completed(self, p, at, event):
        self.response(p, ends=True)["status"] = "ended"
        if self.active == p["response_id"]:
            self.active, self.free = None, at

    def on_user_interrupt(self, p, at, event):
        if self.responses.get(p["response_id"], {}).get("status") != "active":
            raise Refused("interrupt/nothing_to_stop")
        if p["turn_id"] in self.turns:
            raise Refused("interrupt/turn")
        self.turns[p["turn_id"]] = [0, False, False]
        return self.stop(p["response_id"], at)

    def stop(self, response_id, at):
        """Everything that an interrupt, a loss or an end stops, as effects."""
        effects = []
        if response_id is not None:
            record = self.responses[response_id]
            effects.append(f"cancel_response({response_id})")
            if record["audio"]:
                effects.append(f"clear_playback({response_id})")
            record["status"] = "stopping"
            if self.active == response_id:
                self.active = None
        self.free = at
        for call_id, call in self.calls.items():
            if call["status"] == "open":
                call["status"] = "abandoned" if call["read"] else "doubt"
                effects.append(f"{'abandon' if call['read'] else 'reconcile'}_tool({call_id})")
        return effects

    # --- tools ---

    def on_tool_call(self, p, at, event):
        self.response(p)
        if p["call_id"] in self.calls:
            raise Refused("tool/duplicate_call")
        what = p["name"] + same(p["arguments"])
        tool = (self.tools or {}).get(p["name"])
        if self.tools is not None and tool is None:
            raise Refused("tool/undeclared")
        if tool and not fits(tool.get("parameters") or {}, p["arguments"]):
            raise Refused("tool/arguments")
        if any(self.calls[c]["what"] == what for c in self.doubtful()):
            raise Refused("tool/write_replayed")
        read = p.get("read_only", bool(tool and tool.get("read_only")))
        self.calls[p["call_id"]] = {"response": p["response_id"], "read": read, "status": "open", "what": what}
        return [f"run_tool({p['call_id']})"]

    def on_tool_result(self, p, at, event):
        call = self.calls.get(p["call_id"])
        if p["response_id"] not in self.responses:
            raise Refused("response/unknown")
        if call is None:
            raise Refused("tool/unknown_call")
        if call["response"] != p["response_id"]:
            raise Refused("tool/response_mismatch")
        if call["status"] == "answered":
            raise Refused("tool/already_answered")
        if call["status"] == "abandoned":
            raise Refused("tool/after_cancel")
        if not call["read"] and p["ok"]:
            if call["what"] in self.done:
                self.findings.append(["tool/duplicate_effect", [event["event_id"]]])
            self.done.add(call["what"])
        call["status"] = "answered"
        self.recovering = self.recovering and bool(self.doubtful())

    # --- the link and the end ---

    def on_transport_disconnected(self, p, at, event):
        effects = self.stop(self.active, at)
        self.link, self.recovering = "down", False
        self.token = p.get("resume_token", self.token)
        return effects + ["save_checkpoint"]

    def on_transport_resumed(self, p, at, event):
        if self.link != "down":
            raise Refused("link/not_disconnected")
        if p["resume_token"] != self.token:
            raise Refused("link/token")
        self.link, self.recovering = "up", bool(self.doubtful())
        return ["restore_checkpoint"] + [f"reconcile_tool({c})" for c in self.doubtful()]

    def on_session_timeout(self, p, at, event):
        effects = self.stop(self.active, at)
        self.link = "ended"
        return effects + ["end_session"]

    on_session_transferred = on_session_timeout

    def on_session_completed(self, p, at, event):
        if any(r["status"] == "active" for r in self.responses.values()):
            raise Refused("response/unfinished")
        if any(c["status"] in ("open", "doubt") for c in self.calls.values()) and p.get("by", "agent") == "agent":
            raise Refused("tool/unresolved")
        if any(c["status"] in ("open", "doubt") for c in self.calls.values()):
            self.findings.append(["tool/unresolved", [event["event_id"]]])
        self.link = "ended"
        return ["end_session"]

    def on_error_reported(self, p, at, event):
        return None
