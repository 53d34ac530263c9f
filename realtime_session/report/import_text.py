"""The summary of an import as text a person can act on."""

from __future__ import annotations

from realtime_session.values.errors import one_line

_CASES = {
    "before_output": "before output",
    "mid_generation": "mid generation",
    "all_items_done": "all items done",
    "after_completion": "after completion",
}


def summary_lines(summary):
    """The lines of an importer's summary (its keys are documented at `Importer.summary`)."""
    lines = [
        f"{summary['format']} ({summary['dialect']}), clock: {summary['clock']}, end: {summary['end']}",
        f"rows        {summary['lines']} read, {summary['mapped']} mapped to {summary['events']} events, "
        f"{sum(summary['noted'].values())} understood without an event of their own, "
        f"{sum(summary['unmapped'].values())} unmapped, {summary['repeats_dropped']} repeats dropped, "
        f"{summary['malformed']} malformed",
        f"turns       {summary['turns']} begun, {summary['turns_committed']} committed"
        + (f", {summary['history_turns']} of them history" if summary.get("history_turns") else ""),
    ]
    if "responses" in summary:
        lines.append("responses   " + _counts(summary["responses"]))
    if "barge_ins" in summary:
        lines.append(
            "barge-ins   "
            + ", ".join(f"{count} {_CASES.get(case, case)}" for case, count in summary["barge_ins"].items())
        )
    if "tools" in summary:
        lines.append("tools       " + _counts(summary["tools"]))
    lines.append("synthetic   " + _counts(summary["synthetic"]))
    lines.append("unmapped    " + _counts(summary["unmapped"]))
    lines.append(
        f"contract    {summary['accepted']} accepted, {summary['ignored']} ignored, "
        f"{summary['rejected']} rejected"
    )
    for title, key in (
        ("rejected", "rejected_by_rule"),
        ("findings", "findings_by_rule"),
        ("by layer", "findings_by_layer"),
    ):
        if summary[key]:
            lines.append(f"{title:<12}" + _counts(summary[key]))
    warnings = summary["warnings"]
    shown = {}
    for warning in warnings["first"]:
        shown[warning["code"]] = shown.get(warning["code"], 0) + 1
        if shown[warning["code"]] <= 3:
            lines.append(f"warning     line {warning['line']}: {one_line(warning['message'])}")
    if any(count > 3 for count in warnings["by_code"].values()):
        lines.append(f"warnings    {warnings['total']} in all: {_counts(warnings['by_code'])}")
    return lines


def _counts(table):
    return ", ".join(f"{count} {one_line(name)}" for name, count in table.items()) or "none"
