"""The kit proves that its fixtures can fail: for each rule, a session without it changes a verdict."""
from __future__ import annotations

from realtime_session.contract.rules import RULES
from realtime_session.kit.conform import judge
from realtime_session.kit.subject import FAIL, Played, Reference
from realtime_session.doors.trouble import Trouble


def killers(cases):
    """[(rule id, id of the first case that a session without the rule fails, or None)], cases that are
    about the rule asked first. A session that breaks for want of a rule counts as noticed."""
    return [(rule.id, _killer(rule.id, cases)) for rule in RULES]


def _killer(rule_id, cases):
    mutant = Reference(without=(rule_id,))
    about = [case for case in cases if rule_id in case.rules]
    rest = [case for case in cases if rule_id not in case.rules]
    for case in [*about, *rest]:
        try:
            played = mutant.play(case)
        except Exception as error:  # a state the other rules rely on may be missing
            played = Played(trouble=Trouble("mutant/crash", f"{type(error).__name__}: {error}"))
        if judge(case, played, mutant.about, "rule").verdict == FAIL or played.trouble is not None:
            return case.id
    return None


def table(cases):
    """The list of mutants as a Markdown page."""
    rows = [f"| `{rule}` | {f'`{case}`' if case is not None else 'none: it survives'} |"
            for rule, case in killers(cases)]
    return "\n".join([
        "# Mutants", "",
        "For each rule of the contract: the first fixture that a session without this rule fails. The page is",
        "written by `python -m realtime_session conform --mutants`; a test compares it with the code.", "",
        "| rule switched off | fixture that notices |", "|---|---|", *rows, ""])
