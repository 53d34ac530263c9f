"""A subject in Python: a factory that the kit calls with the session header of each case.

    python -m realtime_session conform --subject examples.subjects.python_callable:make
"""
import importlib.util
import pathlib

_file = pathlib.Path(__file__).with_name("half_session.py")
_spec = importlib.util.spec_from_file_location("half_session_example", _file)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

ABOUT = {"name": "half-session", "version": "1", "language": "python", "supports": ["half_duplex"],
         "reports": ["effects", "rule", "findings", "state"]}


def make(header):
    """A new session, or a skip with its reason."""
    if header.get("profile", "half_duplex") != "half_duplex":
        return {"skip": "only half_duplex"}
    return _module.HalfSession(header)


make.about = ABOUT


class Forgetful(_module.HalfSession):
    """Deliberately wrong: an interrupt cancels the response and forgets the audio already queued."""

    def on_user_interrupt(self, p, at, event):
        return [e for e in super().on_user_interrupt(p, at, event) if not e.startswith("clear_playback")]


def make_wrong(header):
    """A new session with a fault that the kit finds."""
    return Forgetful(header)


make_wrong.about = {**ABOUT, "name": "half-session that forgets the queue"}
