"""Wire protocols: what providers send, turned into traces of the session contract.

`importer(name)` gives the importer class of a format; each is loaded only when it is asked for.
"""
from __future__ import annotations

#: format -> (module below realtime_session.wire, class)
IMPORTERS = {
    "elevenlabs": ("elevenlabs", "ElevenLabsImporter"),
    "gemini": ("gemini", "GeminiImporter"),
    "openai": ("openai", "OpenAIImporter"),
    "twilio": ("twilio", "TwilioImporter"),
}


def importer(name):
    """The importer class of a log format (a key of IMPORTERS); KeyError for another name."""
    module, class_name = IMPORTERS[name]
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{module}"), class_name)
