"""The contract fixtures judge the session; the first half of this file judges the fixtures."""

import re
import pathlib

import pytest

from fixture_files import FOLDER, broken_rules, fixtures, profile_of
from realtime_session.contract.rules import RULES
from realtime_session.contract.session import Session
from realtime_session.traces.audit import audit_events

TESTS = pathlib.Path(__file__).resolve().parent.parent
LEVELS = {rule.id: {"half": rule.half, "full": rule.full} for rule in RULES}
REPORTS = [f"BR-{n:03}" for n in (*range(1, 32), *range(53, 58))]

# Where the contract itself says that another rule speaks first: no trace can name these.
NEVER_FIRST = {
    # in half duplex an interrupt that names another response than the active one has nothing to stop
    ("interrupt/stale", "half"): "interrupt/nothing_to_stop",
}

CASE_KEYS = {"title", "why", "rules", "level", "expect"}
EXPECT_KEYS = {"events", "findings"}
DECISION = re.compile(r"accepted|ignored:(duplicate|late_output|late_result)|rejected:[a-z]+/[a-z_]+")
EFFECT = re.compile(r"(cancel_response|clear_playback|run_tool|abandon_tool|reconcile_tool)\(\S+\)"
                    r"|save_checkpoint|restore_checkpoint|end_session")
MODAL = re.compile(r"\b(should|must|shall|may|might|could|would|can|cannot|ought)\b", re.IGNORECASE)
EVENT_TYPES = """audio.frame turn.commit response.started response.audio user.interrupt tool.call tool.result
    response.completed transport.disconnected transport.resumed session.timeout session.completed
    session.transferred input.text input.dtmf turn.transcript response.text error.reported
    speech.started speech.stopped response.cancelled response.failed response.incomplete
    playback.started playback.progress playback.stopped playback.cleared response.truncated tool.cancelled annotation""".split()
HALF_PHASES = {"listening", "thinking", "speaking", "waiting_tool", "reconciling", "disconnected", "ended"}
REGIONS = ({"connected", "disconnected", "ended"}, {"idle", "receiving", "committed"},
           {"none", "pending", "active", "stopping"}, {"silent", "sounding"}, {"none", "open", "reconciling"})

every_fixture = pytest.mark.parametrize("slug", sorted(fixtures()))


# --- the fixtures themselves ---


@every_fixture
def test_the_case_block_has_its_keys_and_no_other(slug):
    document = fixtures()[slug]
    case, expect = document["case"], document["case"]["expect"]
    assert set(document) == {"session", "case", "events"}
    assert CASE_KEYS <= set(case) <= CASE_KEYS | {"reports"}
    assert EXPECT_KEYS <= set(expect) <= EXPECT_KEYS | {"heard", "state", "measures"}
    assert all(set(heard) == {"audio_ms", "text", "estimated"} for heard in expect.get("heard", {}).values())
    assert all(set(REPORTS) >= {report} for report in case.get("reports", ()))


@every_fixture
def test_the_expectation_has_one_well_formed_row_for_each_event(slug):
    document = fixtures()[slug]
    rows = document["case"]["expect"]["events"]
    assert len(rows) == len(document["events"])
    for decision, *effects in rows:
        assert DECISION.fullmatch(decision), decision
        assert all(EFFECT.fullmatch(effect) for effect in effects), effects
        assert decision == "accepted" or not effects


@every_fixture
def test_the_rules_are_known_and_the_level_is_that_of_the_first(slug):
    document = fixtures()[slug]
    case, profile = document["case"], profile_of(document)
    assert len(set(case["rules"])) == len(case["rules"]) > 0
    assert all(LEVELS[rule][profile] != "off" for rule in case["rules"])
    assert case["level"] == LEVELS[case["rules"][0]][profile]
    assert broken_rules(document) <= set(LEVELS)


@every_fixture
def test_the_title_states_behaviour(slug):
    title = fixtures()[slug]["case"]["title"]
    assert title[0].isupper() and not title.endswith(".")
    assert not MODAL.search(title), f"a title says what happens: {title!r}"


@every_fixture
def test_a_fixture_shows_one_event_on_each_line(slug):
    lines = (FOLDER / f"{slug}.json").read_text(encoding="utf-8").splitlines()
    assert len(lines) - lines.index('  "events": [') - 3 == len(fixtures()[slug]["events"])


def test_ids_and_titles_are_unique_whatever_their_case():
    ids = [slug.casefold() for slug in fixtures()]
    titles = [document["case"]["title"].casefold() for document in fixtures().values()]
    assert len(set(ids)) == len(ids)
    assert sorted(t for t in set(titles) if titles.count(t) > 1) == []


@pytest.mark.parametrize("profile", ["half", "full"])
@pytest.mark.parametrize("rule", [rule.id for rule in RULES])
def test_every_rule_has_an_accepted_and_a_broken_trace(rule, profile):
    about = [d for d in fixtures().values() if rule in d["case"]["rules"] and profile_of(d) == profile]
    if LEVELS[rule][profile] == "off":
        assert about == []
        return
    assert [d for d in about if rule not in broken_rules(d)], "no accepted trace"
    if (rule, profile) in NEVER_FIRST:
        assert [d for d in about if rule in broken_rules(d)] == []
    else:
        assert [d for d in about if rule in broken_rules(d)], "no rejected or flagged trace"


@pytest.mark.parametrize("type_", EVENT_TYPES)
def test_every_event_type_is_accepted_somewhere(type_):
    assert any(
        row[0] == "accepted" and event["type"] == type_
        for d in fixtures().values()
        for event, row in zip(d["events"], d["case"]["expect"]["events"])
    )


def test_every_effect_phase_and_region_value_is_expected_somewhere():
    expects = [(profile_of(d), d["case"]["expect"]) for d in fixtures().values()]
    named = [effect for _, x in expects for row in x["events"] for effect in row[1:]]
    effects = {re.sub(r"\((?!null).*", "", effect) for effect in named}
    assert effects == {
        "cancel_response", "cancel_response(null)", "clear_playback", "run_tool", "abandon_tool",
        "reconcile_tool", "save_checkpoint", "restore_checkpoint", "end_session"}
    phases = [(profile, x["state"]["phase"]) for profile, x in expects if "phase" in x.get("state", {})]
    assert {phase for profile, phase in phases if profile == "half"} == HALF_PHASES
    full = [phase.split(".") for profile, phase in phases if profile == "full"]
    assert tuple({phase[i] for phase in full} for i in range(5)) == REGIONS


@pytest.mark.parametrize("report", REPORTS)
def test_every_bug_report_has_a_fixture_or_a_test_that_names_it(report):
    named = [slug for slug, d in fixtures().items() if report in d["case"].get("reports", ())]
    named += [p.name for p in TESTS.rglob("test_*.py") if report in p.read_text(encoding="utf-8")]
    assert named


# --- the session judged by the fixtures ---


def table(events, wanted, got):
    """Expected and actual rows side by side, the differing ones marked."""
    lines = []
    for event, want, have in zip(events, wanted, got):
        name = f"{event.get('event_id')} {event.get('type')}" if isinstance(event, dict) else repr(event)
        lines.append(f"  {'  ' if want == have else '->'} {name:32} {' '.join(want)}"
                     + ("" if want == have else f"   GOT {' '.join(have)}"))
    return "\n" + "\n".join(lines)


def row_of(decision):
    """A decision as a fixture writes it."""
    if decision.violation is not None:
        return ["rejected:" + decision.violation.rule]
    kind = decision.kind if decision.reason is None else f"{decision.kind}:{decision.reason}"
    return [kind, *map(str, decision.effects)]


def finding_row(finding):
    return [finding.rule, [finding.event_id] if finding.event_id is not None else []]


@every_fixture
def test_the_session_decides_as_the_fixture_expects(slug):
    document = fixtures()[slug]
    events, expect, ran = document["events"], document["case"]["expect"], set()
    session = Session(document["session"], ran=ran)
    rows, findings = [], []
    for event in events:
        before = session.state_digest()
        decision = session.receive(event)
        rows.append(row_of(decision))
        findings += decision.findings
        if decision.violation is not None:
            assert session.state_digest() == before, f"the rejected event {event!r} has changed the state"
    state = session.state()
    findings += session.finish()
    if rows != expect["events"]:
        pytest.fail(f"{slug}: decisions or effects{table(events, expect['events'], rows)}", pytrace=False)
    assert [finding_row(f) for f in findings] == expect["findings"], f"{slug}: findings"
    for key, value in expect.get("state", {}).items():
        assert state[key] == value, f"{slug}: state {key}"
    assert set(document["case"]["rules"]) <= ran, f"{slug}: rules that never ran"


AUDITED = [slug for slug, d in fixtures().items() if {"heard", "measures"} & set(d["case"]["expect"])]


@pytest.mark.parametrize("slug", AUDITED)
def test_the_audit_hears_and_measures_as_the_fixture_expects(slug):
    document = fixtures()[slug]
    expect = document["case"]["expect"]
    report = audit_events(document["session"], document["events"])
    heard, measures = expect.get("heard", {}), expect.get("measures", {})
    assert {response: dict(report.heard[response]) for response in heard} == heard
    assert {name: report.measures[name]["value"] for name in measures} == measures
    for name in measures:
        measure = report.measures[name]
        assert set(measure) == {"value", "n", "unit", "reason"}
        assert (measure["value"] is None) == (measure["reason"] is not None)


# --- the fixtures judged by broken sessions ---


def verdict(document, without=()):
    """Everything that the session says of a fixture; a session that lacks a rule may also just crash."""
    session = Session(document["session"], without=without)
    try:
        decisions = [session.receive(event) for event in document["events"]]
    except Exception as error:
        if not without:
            raise
        return repr(error)
    said = [(row_of(d), [finding_row(f) for f in d.findings]) for d in decisions]
    return said, [finding_row(f) for f in session.finish()]


def test_every_rule_is_missed_when_it_is_switched_off_and_only_there():
    """A session without a rule fails a fixture about that rule, and leaves later sessions as they were."""
    before = {slug: verdict(document) for slug, document in fixtures().items()}
    survivors, polluted = [], {}
    for rule in [rule.id for rule in RULES]:
        changed = [slug for slug, document in fixtures().items() if verdict(document, (rule,)) != before[slug]]
        if not any(rule in fixtures()[slug]["case"]["rules"] for slug in changed):
            survivors.append(rule)
        now = [slug for slug, document in fixtures().items() if verdict(document) != before[slug]]
        polluted.update((slug, rule) for slug in now if slug not in polluted)
    assert survivors == []
    assert polluted == {}, "verdict of a whole session changed after one without the rule had run"
