"""`rules`: the contract's table, or one rule with its reason and the fixtures that prove it."""
from __future__ import annotations

import difflib

from realtime_session.contract.rules import RULES
from realtime_session.values.errors import InputError, show

EPILOG = "example: python -m realtime_session rules audio/contiguous"


def add_arguments(parser):
    """The arguments of `rules`."""
    parser.epilog = EPILOG
    parser.add_argument("id", nargs="?", metavar="ID", help="a rule id, or an area such as tool/")
    parser.add_argument("--diagram", action="store_true", help="print the half_duplex phases as SVG instead")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(args):
    """Prints the table, one rule, or the state diagram."""
    if args.diagram:
        from realtime_session.report.state_diagram import phase_edges, phases_svg
        print(phases_svg(phase_edges()), end="")
        return 0
    chosen = RULES if args.id is None else [r for r in RULES if r.id == args.id] or [
        r for r in RULES if r.id.startswith(args.id)]
    if not chosen:
        near = difflib.get_close_matches(args.id, [r.id for r in RULES], n=1, cutoff=0.4)
        hint = f", did you mean {near[0]}?" if near else ""
        raise InputError("rules/unknown", f"no rule {show(args.id)}{hint}")
    single = args.id is not None and len(chosen) == 1
    if args.format == "json":
        from realtime_session.values.strict_json import canonical
        rows = [_row(r, with_fixtures=single) for r in chosen]
        print(canonical(rows[0] if single else rows))
    elif single:
        _print_one(chosen[0])
    else:
        print(f"{'rule':<28} {'half':<7} {'full':<7} {'layer':<11} sentence")
        for r in chosen:
            print(f"{r.id:<28} {r.half:<7} {r.full:<7} {r.layer:<11} {r.sentence}")
    return 0


def _row(rule, with_fixtures):
    row = {"id": rule.id, "half_duplex": rule.half, "full_duplex": rule.full, "layer": rule.layer,
           "sentence": rule.sentence, "why": rule.why}
    if with_fixtures:
        row["fixtures"] = [name for name, _ in fixtures_of(rule.id)]
    return row


def _print_one(rule):
    print(f"{rule.id}  ({rule.layer})")
    print(f"  half_duplex {rule.half}, full_duplex {rule.full}")
    print(f"  {rule.sentence}.")
    print(f"  Why: {rule.why}")
    found = fixtures_of(rule.id)
    print("  fixtures:" if found else "  fixtures: none")
    for name, title in found:
        print(f"    {name:<40} {title}")


def fixtures_of(rule_id):
    """(fixture id, title) of every contract fixture that is about a rule."""
    from realtime_session.doors.resources import fixture_root
    from realtime_session.values.strict_json import parse
    root = fixture_root() / "contract"
    found = []
    for path in sorted(root.rglob("*.json")):
        case = parse(path.read_bytes()).get("case", {})
        if rule_id in case.get("rules", ()):
            found.append((path.relative_to(root).with_suffix("").as_posix(), case.get("title", "")))
    return found
