"""Tiny builders for synthetic OpenAI-protocol logs, and ways to look at what an importer made of them."""

from realtime_session.contract.session import Session
from realtime_session.wire.openai import OpenAIImporter


class Log:
    """Rows in order; `got` is what the server sent, `sent` what the client sent. Ids are s1, s2 …"""

    def __init__(self):
        self.rows = []

    def _add(self, direction, data, extra):
        self.rows.append({"direction": direction, "data": data, **extra})
        return self

    def got(self, type_, at=None, trimmed=None, **fields):
        extra = {} if at is None else {"at": at}
        if trimmed:
            extra["trimmed_base64_chars"] = trimmed
        fields.setdefault("event_id", f"s{len(self.rows) + 1}")
        return self._add("received", {"type": type_, **fields}, extra)

    def sent(self, type_, at=None, trimmed=None, **fields):
        extra = {} if at is None else {"at": at}
        if trimmed:
            extra["trimmed_base64_chars"] = trimmed
        return self._add("sent", {"type": type_, **fields}, extra)

    def close(self, code=None, **extra):
        self.rows.append({"direction": "received", "kind": "close", "data": {"code": code}, **extra})
        return self

    # shorthands for what every session does

    def speech(self, item, start=None, stop=None, commit=True):
        self.got(
            "input_audio_buffer.speech_started",
            item_id=item,
            **({} if start is None else {"audio_start_ms": start}),
        )
        if commit:
            self.got(
                "input_audio_buffer.speech_stopped",
                item_id=item,
                **({} if stop is None else {"audio_end_ms": stop}),
            )
            self.got("input_audio_buffer.committed", item_id=item)
        return self

    def typed(self, item, text):
        return self.got("conversation.item.added", item=message(item, "user", text))

    def created(self, response, **fields):
        return self.got("response.created", response={"id": response, "status": "in_progress", **fields})

    def text(self, response, text, item="a"):
        return self.got(
            "response.output_text.delta", response_id=response, item_id=item, content_index=0, delta=text
        )

    def done(self, response, status="completed", **fields):
        return self.got("response.done", response={"id": response, "status": status, **fields})

    def call(self, response, call_id, arguments, name="look_up", item=None):
        return self.got(
            "response.function_call_arguments.done",
            response_id=response,
            item_id=item or f"i-{call_id}",
            call_id=call_id,
            name=name,
            arguments=arguments,
        )

    def output(self, call_id, output, item=None):
        return self.got(
            "conversation.item.added",
            item={
                "id": item or f"o-{len(self.rows)}",
                "type": "function_call_output",
                "call_id": call_id,
                "output": output,
            },
        )


def message(item, role, text, kind="input_text"):
    """A message item."""
    found = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return found if item is None else {"id": item, **found}


def audio(ms, rate=48):
    """base64 of so many ms of silence (rate in bytes per ms: 48 is PCM16 at 24 kHz)."""
    import base64

    return base64.b64encode(bytes(int(ms * rate))).decode("ascii")


class Imported:
    """What an importer made of a log."""

    def __init__(self, log, **options):
        self.importer = OpenAIImporter(**options)
        self.events = []
        for number, row in enumerate(log.rows if isinstance(log, Log) else log, 1):
            self.events += self.importer.feed(number, row)
        self.events += self.importer.finish()
        self.header = self.importer.header()
        self.summary = self.importer.summary()

    @property
    def brief(self):
        """The events as "type value value …", payload values in payload order."""
        return [
            " ".join([event["type"], *(_word(v) for v in event["payload"].values())]) for event in self.events
        ]

    def of(self, *types):
        """The payloads of the events of some types."""
        return [event["payload"] for event in self.events if event["type"] in types]

    def synthetic(self):
        """The types of the events marked synthetic."""
        return [event["type"] for event in self.events if event["source"].get("synthetic")]

    def rejected(self):
        """The rules that the contract breaks on, event by event."""
        session = Session(self.header)
        decisions = [session.receive(event) for event in self.events]
        return [d.violation.rule for d in decisions if d.kind == "rejected"]


def _word(value):
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)
