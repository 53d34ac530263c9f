"""Small synthetic logs of protocols without response ids, and ways to look at what was made of them."""

import base64

from realtime_session.contract.session import Session
from realtime_session.wire import importer

from .openai_rows import Imported


def sound(ms, rate):
    """base64 of so many ms of silence (rate in bytes per ms)."""
    return base64.b64encode(bytes(int(ms * rate))).decode("ascii")


def sent(at=None, /, **data):
    """A row of the client."""
    return {"direction": "sent", "data": data, **({} if at is None else {"at": at})}


def got(at=None, /, **data):
    """A row of the server."""
    return {"direction": "received", "data": data, **({} if at is None else {"at": at})}


def closed(code):
    """The connection closed."""
    return {"direction": "received", "kind": "close", "data": {"code": code}}


class Made(Imported):
    """What the importer of a format made of rows."""

    def __init__(self, format_, rows, **options):
        self.importer = importer(format_)(**options)
        self.events = []
        for number, row in enumerate(rows, 1):
            self.events += self.importer.feed(number, row)
        self.events += self.importer.finish()
        self.header = self.importer.header()
        self.summary = self.importer.summary()

    def judged(self):
        """(kinds of decision that are not accepted, rules found) over the whole trace."""
        session = Session(self.header)
        kinds, rules = [], []
        for event in self.events:
            decision = session.receive(event)
            kinds += [decision.kind] if decision.kind != "accepted" else []
            rules += [finding.rule for finding in decision.findings]
        return kinds, rules + [finding.rule for finding in session.finish()]


# --- Gemini Live ---


def mic(ms=100, rate=16000, at=None):
    """A piece of the caller's audio, PCM16."""
    return sent(
        at, realtime_input={"audio": {"data": sound(ms, rate / 500), "mimeType": f"audio/pcm;rate={rate}"}}
    )


def content(at=None, /, **fields):
    """A serverContent message."""
    return got(at, serverContent=fields)


def voice(ms=40):
    """The model's audio as a modelTurn."""
    blob = {"mimeType": "audio/pcm;rate=24000", "data": sound(ms, 48)}
    return {"modelTurn": {"parts": [{"inlineData": blob}]}}


SETUP = sent(
    setup={
        "model": "models/live-1",
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "find_table",
                        "parameters": {
                            "type": "OBJECT",
                            "properties": {"guests": {"type": "INTEGER"}},
                            "required": ["guests"],
                        },
                    }
                ]
            }
        ],
    }
)

GEMINI = [
    SETUP,
    got(setupComplete={}),
    mic(),
    mic(),
    content(inputTranscription={"text": "A table"}),
    content(inputTranscription={"text": " for two"}),
    got(toolCall={"functionCalls": [{"id": "f1", "name": "find_table", "args": {"guests": 2}}]}),
    sent(
        toolResponse={
            "functionResponses": [{"id": "f1", "name": "find_table", "response": {"output": "yes"}}]
        }
    ),
    content(**voice(), outputTranscription={"text": "There is one"}),
    content(generationComplete=True),
    mic(),
    content(interrupted=True),
    got(serverContent={"turnComplete": True}, usageMetadata={"totalTokenCount": 9}),
    content(inputTranscription={"text": "Wait"}),
    content(**voice()),
    content(interrupted=True),
    content(turnComplete=True),
    closed(1000),
]

# --- ElevenLabs Agents ---


def chunk(ms=100, at=None):
    """A piece of the caller's audio."""
    return sent(at, user_audio_chunk=sound(ms, 32))


def said(text, key, at=None):
    """user_transcript."""
    return got(
        at, type="user_transcript", user_transcription_event={"user_transcript": text, "event_id": key}
    )


def speech(key, ms=50, at=None):
    """A piece of the agent's audio, 16 kHz."""
    return got(at, type="audio", audio_event={"audio_base_64": sound(ms, 32), "event_id": key})


def answer(text, key):
    """agent_response."""
    return got(type="agent_response", agent_response_event={"agent_response": text, "event_id": key})


def interruption(key):
    """The caller spoke over the agent."""
    return got(type="interruption", interruption_event={"event_id": key})


METADATA = got(
    type="conversation_initiation_metadata",
    conversation_initiation_metadata_event={
        "conversation_id": "conv_1",
        "agent_output_audio_format": "pcm_16000",
        "user_input_audio_format": "pcm_16000",
    },
)

ELEVENLABS = [
    sent(type="conversation_initiation_client_data"),
    METADATA,
    speech(1),
    answer("Hello!", 1),
    chunk(),
    chunk(),
    got(type="ping", ping_event={"event_id": 2}),
    sent(type="pong", event_id=2),
    said("Is it open?", 7),
    got(
        type="client_tool_call",
        client_tool_call={"tool_name": "hours", "tool_call_id": "t1", "parameters": {"day": "Monday"}},
    ),
    sent(type="client_tool_result", tool_call_id="t1", result="9 to 5", is_error=False),
    speech(7),
    chunk(),
    interruption(9),
    speech(7),
    answer("It is op...", 7),
    said("Never mind", 12),
    speech(12),
    answer("Goodbye.", 12),
    closed(1000),
]

# --- Twilio Media Streams ---


def heard(number, ms, at, chunk_number):
    """Sound of the caller, mu-law."""
    media = {
        "track": "inbound",
        "chunk": str(chunk_number),
        "timestamp": str(at),
        "payload": sound(ms, 8),
    }
    return got(event="media", sequenceNumber=str(number), streamSid="MZ1", media=media)


def played(ms):
    """Sound that the application sends."""
    return sent(event="media", streamSid="MZ1", media={"payload": sound(ms, 8)})


def mark(name, number=None):
    """A mark sent, or (with a sequence number) returned."""
    if number is None:
        return sent(event="mark", streamSid="MZ1", mark={"name": name})
    return got(event="mark", sequenceNumber=str(number), streamSid="MZ1", mark={"name": name})


START = got(
    event="start",
    sequenceNumber="1",
    streamSid="MZ1",
    start={
        "streamSid": "MZ1",
        "callSid": "CA1",
        "tracks": ["inbound"],
        "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
    },
)
STOP = got(event="stop", sequenceNumber="99", streamSid="MZ1", stop={"callSid": "CA1"})

TWILIO = [
    got(event="connected", protocol="Call", version="1.0.0"),
    START,
    heard(2, 20, 20, 1),
    played(200),
    mark("a"),
    played(100),
    mark("b"),
    heard(3, 20, 40, 2),
    mark("a", 4),
    got(event="dtmf", sequenceNumber="5", streamSid="MZ1", dtmf={"track": "inbound_track", "digit": "1"}),
    sent(event="clear", streamSid="MZ1"),
    mark("b", 6),
    heard(7, 20, 60, 3),
    played(40),
    mark("c"),
    mark("c", 8),
    STOP,
]
