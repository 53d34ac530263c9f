"""The half-duplex phases as a diagram, found by trying: nobody draws an edge that the machine does not have.

A small world (three turns, two responses, a read and a write) is explored breadth first. From every state
that is new every event of the world is tried on the real session; whatever is taken gives an edge
(phase, event type, phase). Two states are the same when their views are equal, clocks and counters aside.
"""
from __future__ import annotations

from realtime_session.contract.session import Session
from realtime_session.contract.state import HALF_PHASES
from realtime_session.values.strict_json import canonical

DEPTH = 10           # events a path may have; eleven find no edge more
_TURNS, _RESPONSES = ("t1", "t2", "t3"), ("r1", "r2")
_CALLS = (("write", False), ("read", True))
_HEADER = {"session_id": "explored", "resume_token": "token"}
_CLOCKS = ("now_ms", "accepted", "ignored", "free_at", "last_spoken", "limits")


def phase_edges(depth=DEPTH):
    """Every (phase, event type, phase after it) of half_duplex within reach, sorted by the phase table.

    `depth` is the number of events a path may have. Repeats and observations add no edge between phases
    and are left out."""
    edges, seen, front = set(), set(), [()]
    for _ in range(depth):
        further = []
        for path in front:
            session = _walk(path)
            before = session.phase
            for event in list(_candidates(session.records, len(path))):
                decision = session.receive(event)
                if decision.kind != "accepted":
                    continue  # a refused event changed nothing, so the session can be used again
                edges.add((before, event["type"], session.phase))
                key = _key(session)
                if key not in seen:
                    seen.add(key)
                    further.append((*path, event))
                session = _walk(path)
        front = further
    order = {name: index for index, (name, _, _) in enumerate(reversed(HALF_PHASES))}
    return tuple(sorted(edges, key=lambda edge: (order[edge[0]], order[edge[2]], edge[1])))


def _walk(path):
    session = Session(_HEADER)
    for event in path:
        session.receive(event)
    return session


def _key(session):
    view = session.state()
    for name in _CLOCKS:
        view.pop(name)
    return canonical(view)


def _candidates(s, number):
    """Every event of the small world that the next step may try; the session decides which are legal."""
    def event(type_, **payload):
        return {"event_id": f"e{number}", "type": type_, "at_ms": 0, "payload": payload}
    new_turn = next((t for t in _TURNS if t not in s.turns), None)
    turn = s.open_turn if s.open_turn is not None else new_turn
    if turn is not None:
        held = s.turns.get(turn)
        yield event("audio.frame", turn_id=turn, sequence=getattr(held, "next_sequence", 0) and 1, duration_ms=20,
                    speech=True)
        yield event("turn.commit", turn_id=turn)
    new_response = next((r for r in _RESPONSES if r not in s.responses), None)
    if new_response is not None and s.turns:
        yield event("response.started", response_id=new_response, turn_id=list(s.turns)[-1])
    if s.active is not None:
        yield event("response.audio", response_id=s.active, sequence=s.responses[s.active].next_audio and 1,
                    duration_ms=20)
        yield event("response.completed", response_id=s.active)
        if new_turn is not None:
            yield event("user.interrupt", turn_id=new_turn, response_id=s.active, reason="barge_in")
        for name, read_only in _CALLS:
            yield event("tool.call", call_id=name, response_id=s.active, name=name, arguments={},
                        read_only=read_only)
    for call_id, call in s.calls.items():
        yield event("tool.result", call_id=call_id, response_id=call.response_id, ok=True, result=None)
    yield event("transport.disconnected", reason="lost")
    yield event("transport.resumed", resume_token="token")
    yield event("session.timeout", reason="limit")
    yield event("session.transferred", target="desk", reason="asked")
    yield event("session.completed", reason="done")


def arrows(edges):
    """The edges between different phases, grouped: ((from, to), event types), in order of the table."""
    grouped = {}
    for before, type_, after in edges:
        if before != after:
            grouped.setdefault((before, after), []).append(type_)
    return tuple(grouped.items())


# --- drawing: the places of the phases are ours, everything else comes from the edges ---

_PLACES = {"listening": (240, 150), "thinking": (430, 100), "speaking": (790, 80), "waiting_tool": (550, 320),
           "disconnected": (490, 460), "reconciling": (170, 380), "ended": (870, 450)}
_WIDTH, _HEIGHT, _HALF_W, _HALF_H = 980, 520, 62, 22


def phases_svg(edges):
    """The diagram as SVG text. Arrows bear the numbers of the rows of the edge table; colour carries nothing."""
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
             f'aria-labelledby="title" font-family="sans-serif" font-size="14">',
             '<title id="title">Phases of a half-duplex session</title>',
             '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
             'orient="auto"><path d="M0 0 L10 5 L0 10 z" fill="#444"/></marker></defs>',
             f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>']
    grouped = arrows(edges)
    for number, ((before, after), types) in enumerate(grouped, 1):
        parts.append(_arrow(number, _PLACES[before], _PLACES[after], ", ".join(types)))
    for name, (x, y) in _PLACES.items():
        parts.append(f'<rect x="{x - _HALF_W}" y="{y - _HALF_H}" width="{2 * _HALF_W}" height="{2 * _HALF_H}" '
                     f'rx="10" fill="#eef3f8" stroke="#234"/>'
                     f'<text x="{x}" y="{y + 5}" text-anchor="middle" fill="#123">{name}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _arrow(number, start, end, types):
    """One curve from box to box, bent to its left so that there and back do not cover each other."""
    (x1, y1), (x2, y2) = start, end
    length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
    bend = 26 + length / 14
    mid_x, mid_y = (x1 + x2) / 2 + (y2 - y1) / length * bend, (y1 + y2) / 2 - (x2 - x1) / length * bend
    from_x, from_y = _edge_of(start, (mid_x, mid_y))
    to_x, to_y = _edge_of(end, (mid_x, mid_y))
    label_x, label_y = from_x / 4 + mid_x / 2 + to_x / 4, from_y / 4 + mid_y / 2 + to_y / 4
    return (f'<g><title>{types}</title><path d="M{from_x:.1f} {from_y:.1f} Q{mid_x:.1f} {mid_y:.1f} '
            f'{to_x:.1f} {to_y:.1f}" fill="none" stroke="#444" marker-end="url(#head)"/>'
            f'<circle cx="{label_x:.1f}" cy="{label_y:.1f}" r="10" fill="#fff" stroke="#999"/>'
            f'<text x="{label_x:.1f}" y="{label_y + 4:.1f}" text-anchor="middle" font-size="12">{number}</text></g>')


def _edge_of(box, towards):
    """Where a line from the middle of a box leaves it."""
    (x, y), (tx, ty) = box, towards
    dx, dy = tx - x, ty - y
    scale = min((_HALF_W + 2) / abs(dx) if dx else 1e9, (_HALF_H + 2) / abs(dy) if dy else 1e9)
    return x + dx * scale, y + dy * scale
