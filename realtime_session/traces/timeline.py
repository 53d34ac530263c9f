"""A trace as a conversation: turn by turn, whatever order its events arrived in (contract 7).

A transcript often comes after the answer to it; here the caller's words stand before the agent's. A
response that answers no turn (an opening, an interjection) is a row of its own, at its place in time.
"""
from __future__ import annotations

from realtime_session.traces.hearing import Hearing


class Timeline:
    """Collects rows while a trace is replayed: `see` gets every event that was not rejected."""

    def __init__(self, session):
        self._hearing = Hearing(session)
        self._session = session
        self._rows = []            # turn rows and rows of responses without a turn, by first appearance
        self._turns, self._responses = {}, {}
        self._calls = {}

    def see(self, event, decision):
        """Takes one event that the session accepted or ignored."""
        self._hearing.see(event, decision)
        take = _TAKE.get(event["type"])
        if take is not None and decision.kind == "accepted":
            take(self, event["payload"], event["at_ms"])

    def _turn(self, turn_id, at_ms):
        row = self._turns.get(turn_id)
        if row is None:
            row = self._turns[turn_id] = {"turn_id": turn_id, "at_ms": at_ms, "committed_ms": None, "cause": None,
                                          "caller": None, "interrupts": None, "responses": []}
            self._rows.append(row)
        return row

    def _input(self, p, at_ms):
        self._turn(p["turn_id"], at_ms)

    def _typed(self, p, at_ms):
        row = self._turn(p["turn_id"], at_ms)
        row["caller"] = (row["caller"] or "") + p.get("text", p.get("digits", ""))

    def _transcript(self, p, at_ms):
        row = self._turn(p["turn_id"], at_ms)
        if p["final"] or row["caller"] is None:
            row["caller"] = p["text"]

    def _commit(self, p, at_ms):
        row = self._turn(p["turn_id"], at_ms)
        row["committed_ms"], row["cause"] = at_ms, p.get("cause", "speech")

    def _interrupt(self, p, at_ms):
        self._turn(p["turn_id"], at_ms)["interrupts"] = p["response_id"]

    def _start(self, p, at_ms):
        response = {"response_id": p["response_id"], "at_ms": at_ms, "text": "", "calls": []}
        self._responses[p["response_id"]] = response
        if p["turn_id"] is None:
            self._rows.append({"turn_id": None, "at_ms": at_ms, "committed_ms": None, "cause": p.get("cause"),
                               "caller": None, "interrupts": None, "responses": [response]})
        else:
            self._turn(p["turn_id"], at_ms)["responses"].append(response)

    def _text(self, p, at_ms):
        self._responses[p["response_id"]]["text"] += p["text"]

    def _call(self, p, at_ms):
        call = {"call_id": p["call_id"], "name": p["name"], "at_ms": at_ms, "result_ms": None, "ok": None}
        self._calls[p["call_id"]] = call
        self._responses[p["response_id"]]["calls"].append(call)

    def _result(self, p, at_ms):
        call = self._calls[p["call_id"]]
        call["result_ms"], call["ok"] = at_ms, p["ok"]

    def rows(self):
        """The conversation as JSON rows: {turn_id, at_ms, committed_ms, cause, caller, interrupts, responses:
        [{response_id, at_ms, status, text, heard, heard_ms, heard_estimated, calls}]}; times in ms."""
        heard, records = self._hearing.heard(), self._session.records.responses
        rows = []
        for row in self._rows:
            responses = []
            for response in row["responses"]:
                response_id = response["response_id"]
                of = heard[response_id]
                record = records[response_id]
                status = "interrupted" if record.interrupted else record.status
                responses.append({**response, "status": status, "heard": of["text"], "heard_ms": of["audio_ms"],
                                  "heard_estimated": of["estimated"]})
            rows.append({**row, "responses": responses})
        return rows


_TAKE = {
    "audio.frame": Timeline._input, "speech.started": Timeline._input, "input.text": Timeline._typed,
    "input.dtmf": Timeline._typed, "turn.transcript": Timeline._transcript, "turn.commit": Timeline._commit,
    "user.interrupt": Timeline._interrupt, "response.started": Timeline._start, "response.text": Timeline._text,
    "tool.call": Timeline._call, "tool.result": Timeline._result,
}
