"""A subject as a process: one JSON object a line in, one out (docs/protocol-subject.md).

    python -m realtime_session conform --subject "cmd: python examples/subjects/python_process.py"
"""
import json
import sys

from half_session import HalfSession

ABOUT = {"name": "half-session-process", "version": "1", "language": "python", "supports": ["half_duplex"],
         "reports": ["effects", "rule", "findings", "state"]}


def answer(message, session):
    """(the answer without n, the session from now on)."""
    command = message["cmd"]
    if command == "hello":
        if message["version"] != 1:
            return {"error": f"this subject speaks version 1, not {message['version']}"}, session
        return {"about": ABOUT}, session
    if command == "open":
        if message["session"].get("profile", "half_duplex") != "half_duplex":
            return {"skip": True, "reason": "only half_duplex"}, None
        return {"ok": True}, HalfSession(message["session"])
    if command == "event":
        return session.receive(message["event"]), session
    if command == "close":
        return {"ok": True, **session.close()}, None
    return {"ok": True}, None


def main():
    sys.stdin.reconfigure(encoding="utf-8")
    sys.stdout.reconfigure(encoding="utf-8")
    session = None
    for line in sys.stdin:
        message = json.loads(line)
        reply, session = answer(message, session)
        sys.stdout.write(json.dumps({"n": message["n"], **reply}) + "\n")
        sys.stdout.flush()
        if message["cmd"] == "bye":
            return


if __name__ == "__main__":
    main()
