"""The report of a conform run: text for people, JSON, and JUnit XML for CI."""
from __future__ import annotations

from realtime_session.values.errors import one_line

_SIGNS = {"PASS": "pass", "FAIL": "FAIL", "UNKNOWN": "UNKNOWN", "SKIP": "skip"}


def text_lines(run):
    """The report as lines: what is wrong first by case, then the counts."""
    lines = []
    if run.smoke is not None:
        lines += ["smoke: the subject cannot be asked; this says nothing about its session.", f"  {run.smoke}"]
    else:
        for result in run.results:
            lines += _case_lines(result)
        lines += _skips(run.results)
    lines += [f"note: {note}" for note in run.notes]
    counts, about = run.counts(), run.about
    if about is not None:
        lines.append(f"subject: {one_line(' '.join(filter(None, (about.name, about.version, about.language))))}")
    known = f", {counts['known']} known to fail" if counts["known"] else ""
    lines.append(f"{counts['PASS']} pass, {counts['FAIL']} fail, {counts['UNKNOWN']} unknown, {counts['SKIP']} "
                 f"skipped{known} of {len(run.results)} cases (required: {run.require})")
    return lines


def _case_lines(result):
    if result.verdict not in ("FAIL", "UNKNOWN"):
        return []
    case = result.case
    label = "known" if result.known and result.verdict == "FAIL" else _SIGNS[result.verdict]
    lines = [f"{label}  {case.id}", f"      {case.title} ({', '.join(case.rules)})"]
    for d in result.differences:
        place = f"event {d.index + 1} {_text(d.event_id)} {_text(d.type)}: " if d.index is not None else ""
        lines.append(f"      {d.aspect}: {place}expected {_text(d.expected)}, got {_text(d.actual)}")
    if result.verdict == "UNKNOWN":
        lines += [f"      {_text(line)}" for line in str(result.reason).split("\n")]
    return lines


def _text(value):
    return one_line(str(value))


def _skips(results):
    reasons = {}
    for result in results:
        if result.verdict == "SKIP":
            reasons[result.reason] = reasons.get(result.reason, 0) + 1
    return [f"skipped {n}: {reason}" for reason, n in reasons.items()]


def json_report(run):
    """The documented JSON report."""
    about = run.about
    return {
        "verdict": run.verdict, "require": run.require, "counts": run.counts(), "notes": list(run.notes),
        "smoke": str(run.smoke) if run.smoke is not None else None,
        "subject": None if about is None else {
            "name": about.name, "version": about.version, "language": about.language,
            "supports": list(about.supports), "reports": list(about.reports)},
        "cases": [{"id": r.case.id, "title": r.case.title, "rules": list(r.case.rules), "level": r.case.level,
                   "profile": r.case.profile, "verdict": r.verdict, "known": r.known, "reason": r.reason,
                   "differences": [_difference(d) for d in r.differences]} for r in run.results],
    }


def _difference(d):
    whole = d._asdict()
    return {key: value if value is None or value.__class__ in (str, int) else str(value)
            for key, value in whole.items()}


def junit(run):
    """JUnit XML: a failure is a broken contract, an error is a subject that could not be judged."""
    counts = run.counts()
    out = ['<?xml version="1.0" encoding="UTF-8"?>',
           f'<testsuite name="realtime-session conform" tests="{len(run.results)}" failures="{counts["FAIL"]}" '
           f'errors="{counts["UNKNOWN"]}" skipped="{counts["SKIP"] + counts["known"]}">']
    for result in run.results:
        area, _, slug = result.case.id.partition("/")
        out.append(f'  <testcase classname={_attribute(area)} name={_attribute(slug or area)}>')
        reason = _attribute(str(result.reason or ""))
        if result.verdict == "FAIL" and result.known:
            out.append(f'    <skipped message={_attribute("known to fail: " + str(result.reason))}/>')
        elif result.verdict == "FAIL":
            body = "\n".join(_case_lines(result))
            out.append(f'    <failure type={_attribute(result.case.rules[0] if result.case.rules else "")} '
                       f'message={reason}>{_escape(body)}</failure>')
        elif result.verdict == "UNKNOWN":
            out.append(f'    <error message={reason}/>')
        elif result.verdict == "SKIP":
            out.append(f'    <skipped message={reason}/>')
        out.append("  </testcase>")
    return "\n".join([*out, "</testsuite>"])


def _escape(text):
    clean = "".join(c if c in "\n\t" or c.isprintable() else one_line(c) for c in text)
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _attribute(text):
    return f'"{_escape(one_line(text))}"'
