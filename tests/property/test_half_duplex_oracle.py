"""A second half-duplex session, written from the prose and not from the table, agrees with the machine."""

import importlib.util
import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime_session.contract.session import Session
from realtime_session.traces.explore import FAULTS, header_of, legal_walk, with_fault

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PATH = ROOT / "examples" / "subjects" / "half_session.py"
SPEC = importlib.util.spec_from_file_location("half_session_oracle", PATH)
ORACLE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(ORACLE)


def agree(events):
    """Both sessions over the same events: decision, rule or reason, effects, phase, findings."""
    header = header_of("half_duplex")
    session, oracle, findings = Session(header), ORACLE.HalfSession(header), []
    for event in events:
        decision, said = session.receive(event), oracle.receive(event)
        name = decision.violation.rule if decision.violation is not None else decision.reason
        findings += decision.findings
        assert (decision.kind, name, [str(e) for e in decision.effects], session.phase) == (
            said["decision"], said.get("rule", said.get("reason")), said.get("effects", []), oracle.phase()), event
    findings += session.finish()
    assert [[f.rule, [f.event_id] if f.event_id else []] for f in findings] == oracle.close()["findings"]


@given(st.integers(0, 2**53), st.integers(0, 2**53))
def test_both_say_the_same_of_a_walk_with_a_fault(seed, fault):
    agree(with_fault(fault, legal_walk(seed, steps=25))[0])


@given(st.integers(0, 2**53), st.lists(st.integers(0, 2**53), min_size=2, max_size=5))
def test_both_say_the_same_after_many_faults(seed, faults):
    events = legal_walk(seed, steps=25)
    for fault in faults:
        events, _ = with_fault(fault, events)
    agree(events)


@pytest.mark.parametrize("profile", ["half_duplex", "full_duplex"])
def test_a_walk_is_legal_and_depends_on_its_seed_alone(profile):
    kinds = set()
    for seed in range(60):
        events = legal_walk(seed, profile=profile)
        assert events == legal_walk(seed, profile=profile)
        session = Session(header_of(profile))
        assert {session.receive(event).kind for event in events} == {"accepted"}
        kinds |= {event["type"] for event in events}
    assert {"tool.result", "user.interrupt", "transport.resumed", "response.completed", "turn.commit"} <= kinds


def test_every_fault_is_drawn_and_leaves_the_walk_as_it_was():
    events = legal_walk(7)
    before = [dict(event) for event in events]
    assert {with_fault(seed, events)[1] for seed in range(100)} == set(FAULTS)
    assert events == before
