"""The short look that accepts the commonest events agrees with the rules asked one by one.

A session that notes which predicates ran asks every rule; a plain one may take the short look. Both have to
decide alike on every fixture and on every fixture with its events doubled in odd order.
"""
import pytest

from fixture_files import fixtures
from realtime_session.contract.session import Session


def decisions(document, events, **options):
    session = Session(document["session"], **options)
    rows = [session.receive(event) for event in events]
    return [(str(row), row.effects, row.violation, row.findings) for row in rows], session.state_digest()


@pytest.mark.parametrize("slug", sorted(fixtures()))
def test_plain_and_noted_sessions_decide_alike(slug):
    document = fixtures()[slug]
    events = document["events"]
    mixed = events + [{**e, "event_id": f"again-{n}"} for n, e in enumerate(events) if isinstance(e, dict)]
    for sequence in (events, mixed, events[::2] + events[1::2]):
        assert decisions(document, sequence) == decisions(document, sequence, ran=set())
