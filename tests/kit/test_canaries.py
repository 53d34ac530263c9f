"""Subjects that are wrong in a known way get the outcome they deserve: the kit proves itself."""

import pathlib
import shlex
import sys

import pytest

import realtime_session

from realtime_session.doors.process import ChildProcess
from realtime_session.kit.conform import conform
from realtime_session.kit.fixture import load_cases
from realtime_session.kit.subject import FAIL, PASS, SKIP, UNKNOWN, Callable, Process, Reference

CASES = [case for case in load_cases(("turn/", "link/")) if case.profile == "half_duplex"]

# The body of answer(message, count) -> reply without n; count is the number of cases opened so far.
FRAME = f"""
import sys
sys.path.insert(0, {str(pathlib.Path(realtime_session.__file__).resolve().parent.parent)!r})
""" + """
import json, time
from realtime_session.contract.session import Session
count, session = 0, None
ABOUT = {"name": "canary", "supports": ["half_duplex"], "reports": ["effects", "rule"]}

def honest(message):
    global session
    if message["cmd"] == "hello":
        return {"about": ABOUT}
    if message["cmd"] == "open":
        session = Session(message["session"])
    if message["cmd"] != "event":
        return {"ok": True}
    d = session.receive(message["event"])
    reply = {"decision": d.kind, "effects": [str(e) for e in d.effects]}
    if d.violation is not None:
        reply["rule"] = d.violation.rule
    if d.reason is not None:
        reply["reason"] = d.reason
    return reply

for line in sys.stdin:
    message = json.loads(line)
    count += message["cmd"] == "open"
    reply = honest(message)
"""
SEND = """
    print(json.dumps({"n": message["n"], **reply}), flush=True)
"""


def run(tmp_path, body, timeout_s=5.0, **options):
    script = tmp_path / "canary.py"
    script.write_text(FRAME + body + SEND, encoding="utf-8")
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"
    return conform(lambda: Process(ChildProcess(command, timeout_s)), options.pop("cases", CASES), **options)


def verdicts(result):
    return {r.verdict for r in result.results}


def test_an_honest_one_passes(tmp_path):
    result = run(tmp_path, "", require="rule")
    assert (verdicts(result), result.exit_code) == ({PASS}, 0)


def test_jobs_change_nothing_but_the_time(tmp_path):
    result = run(tmp_path, "", require="rule", jobs=3)
    assert [r.case.id for r in result.results] == [case.id for case in CASES]
    assert verdicts(result) == {PASS}


def test_always_wrong_fails_everything(tmp_path):
    result = run(tmp_path, """
    if message["cmd"] == "event":
        reply["decision"] = "rejected" if reply["decision"] == "accepted" else "accepted"
""")
    assert (verdicts(result), result.exit_code) == ({FAIL}, 1)


def test_accepting_everything_fails_where_something_is_rejected(tmp_path):
    result = run(tmp_path, """
    if message["cmd"] == "event":
        reply["decision"] = "accepted"
""", require="decision")
    wrong = {r.case.id for r in result.results if r.verdict == FAIL}
    assert wrong == {case.id for case in CASES if any(row[0] != "accepted" for row in case.rows)}


def test_a_silent_one_is_the_harness_fault_and_never_a_failure(tmp_path):
    result = run(tmp_path, "    continue\n", timeout_s=0.3)
    assert (verdicts(result), result.exit_code) == ({UNKNOWN}, 3)
    assert result.smoke.code == "subject/timeout"


def test_garbage_is_unknown(tmp_path):
    result = run(tmp_path, "    print('Session ready!')\n")
    assert (verdicts(result), result.exit_code, result.smoke.code) == ({UNKNOWN}, 3, "subject/garbage")


def test_a_slow_one_within_the_time_out_passes(tmp_path):
    result = run(tmp_path, "    time.sleep(0.02)\n", timeout_s=5, cases=CASES[:3])
    assert verdicts(result) == {PASS}


def test_a_crash_at_the_third_case_is_unknown_there_and_the_run_goes_on(tmp_path):
    # The smoke case is the first; a restart counts anew, so the crash comes back every few cases.
    result = run(tmp_path, """
    if count == 4 and message["cmd"] == "event":
        sys.exit("out of tables")
""")
    crashed = [i for i, r in enumerate(result.results) if r.verdict == UNKNOWN]
    assert crashed[0] == 2 and len(crashed) >= 2
    assert verdicts(result) == {PASS, UNKNOWN} and result.exit_code == 3
    assert "out of tables" in result.results[2].reason


def test_after_many_troubles_in_a_row_the_rest_is_not_tried(tmp_path):
    result = run(tmp_path, """
    if message["cmd"] == "open" and message["case"] != "smoke":
        sys.exit(1)
""")
    assert verdicts(result) == {UNKNOWN}
    assert "not tried" in result.results[-1].reason


def test_a_wrong_answer_before_a_crash_is_a_failure(tmp_path):
    result = run(tmp_path, """
    if message["cmd"] == "event" and message["event"].get("event_id") == "e1" and message["n"] > 4:
        reply = {"decision": "ignored", "reason": "whim"}
    if message["cmd"] == "close" and message["n"] > 5:
        sys.exit(1)
""", cases=CASES[:2])
    assert verdicts(result) == {FAIL}


def test_lying_about_a_skip_is_unknown(tmp_path):
    result = run(tmp_path, """
    if message["cmd"] == "open" and message["case"] != "smoke":
        reply = {"skip": True, "reason": "not today"}
""")
    assert (verdicts(result), result.exit_code) == ({UNKNOWN}, 3)
    assert "subject/skip_denied" in result.results[0].reason and "not today" in result.results[0].reason


def test_a_skip_after_a_wrong_answer_does_not_hide_it(tmp_path):
    result = run(tmp_path, """
    if message["cmd"] == "event":
        first = message["event"].get("event_id") == "e1"
        reply = {"decision": "ignored", "reason": "x"} if first else {"skip": True, "reason": "too hard"}
""", cases=CASES[:2])
    assert verdicts(result) == {FAIL}


def test_an_honest_skip_of_another_profile_decides_nothing(tmp_path):
    full = [case for case in load_cases(("turn/",)) if case.profile == "full_duplex"]
    result = run(tmp_path, "", cases=full)
    assert (verdicts(result), result.exit_code) == ({SKIP}, 3)


@pytest.mark.parametrize("reply, words", [
    ("{}", "decision: expected accepted, ignored, rejected, got null"),
    ("{'decision': 'ok'}", 'got "ok"'),
    ("{'decision': 'accepted', 'effects': 'run_tool(c1)'}", "effects: expected a list"),
    ("{'decision': 'rejected', 'rule': 5}", "rule or reason"),
    ("{'decision': 'accepted', 'state': []}", "state: expected an object"),
    ("{'error': 'NullPointerException'}", "NullPointerException"),
    ("{'skip': True}", "a skip needs a reason"),
])
def test_a_reply_of_another_form_names_the_field(tmp_path, reply, words):
    result = run(tmp_path, f"""
    if message["cmd"] == "event" and message["n"] > 4:
        reply = {reply}
""", cases=CASES[:1])
    assert (verdicts(result), result.exit_code) == ({UNKNOWN}, 3)
    assert words in result.results[0].reason


@pytest.mark.parametrize("about, words", [
    ("None", "an object about"), ("{}", "with a name"), ("{'name': 'x', 'supports': ['duplex']}", "about.supports"),
    ("{'name': 'x', 'reports': 'rule'}", "about.reports"),
])
def test_a_bad_hello_is_seen_by_smoke(tmp_path, about, words):
    result = run(tmp_path, f"""
    if message["cmd"] == "hello":
        reply = {{"about": {about}}}
""", cases=CASES[:1])
    assert words in str(result.smoke) and result.exit_code == 3


# --- in the same process ---


def test_a_callable_that_raises_is_unknown_with_its_place():
    class Broken:
        def receive(self, event):
            raise KeyError("turns")

    result = conform(lambda: Callable(lambda header: Broken(), "broken"), CASES)
    assert verdicts(result) == {UNKNOWN}
    assert "KeyError" in str(result.smoke) and "receive" in str(result.smoke)


def test_a_subject_that_does_not_report_rules_is_not_judged_on_them():
    class Bare:
        def __init__(self, header):
            from realtime_session.contract.session import Session
            self.session = Session(header)

        def receive(self, event):
            return {"decision": self.session.receive(event).kind}

    Bare.about = {"name": "bare", "supports": ["half_duplex"]}
    def make():
        return Callable(Bare, "bare")
    assert verdicts(conform(make, CASES, require="decision")) == {PASS}
    assert conform(make, CASES, require="rule").exit_code == 3


def test_known_failures_do_not_fail_and_known_passes_are_told():
    def make():
        return Reference(without=("turn/empty",))
    failing = {r.case.id for r in conform(make, CASES, require="rule").results if r.verdict == FAIL}
    assert failing
    result = conform(make, CASES, require="rule", known=failing | {"turn/closed-commit-half"})
    assert result.exit_code == 0
    assert result.counts()["known"] == len(failing)
    passing = next(case.id for case in CASES if case.id not in failing)
    noted = conform(make, CASES, require="rule", known=failing | {passing})
    assert passing in noted.notes[0]
