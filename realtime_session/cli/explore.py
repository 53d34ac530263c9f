"""`explore`: search an implementation for failures that no fixture shows, and make each one small."""
from __future__ import annotations

import sys

EPILOG = """exit code: 0 nothing found, 1 a failure found, 2 usage, 3 the subject could not be judged.
example: python -m realtime_session explore --subject examples.subjects.python_callable:make_wrong --out failures
a failure file is judged again by: python -m realtime_session conform --file FILE --subject WHAT"""


def add_arguments(parser):
    """The arguments of `explore`."""
    from realtime_session.cli.conform import _seconds
    parser.epilog = EPILOG
    parser.add_argument("--subject", metavar="WHAT", required=True, help='module:factory, or "cmd: program arguments"')
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="the first walk (default 1)")
    parser.add_argument("--count", type=int, default=200, metavar="N", help="how many walks (default 200)")
    parser.add_argument("--profile", choices=("half_duplex", "full_duplex"), default="half_duplex")
    parser.add_argument("--require", choices=("decision", "effects", "rule"), default="effects")
    parser.add_argument("--timeout", type=_seconds, default=5.0, metavar="S", help="wait for one answer (default 5)")
    parser.add_argument("--out", metavar="FOLDER", help="write each failure there as a fixture")


def run(args):
    """Searches; prints one block for each kind of failure."""
    from realtime_session.cli.conform import _subject
    from realtime_session.doors.trouble import Trouble
    from realtime_session.kit.explore import explore
    subject = _subject(args)[0]()
    try:
        if subject.about is None:
            subject.hello()
        seen = explore(subject, seed=args.seed, count=args.count, profile=args.profile, require=args.require)
    except Trouble as trouble:
        print(f"error: {trouble}", file=sys.stderr)
        return 3
    finally:
        subject.stop()
    for found in seen.found.values():
        _print(found, args)
    for seed, reason in seen.troubles[:5]:
        print(f"UNKNOWN  seed {seed}: {reason}")
    print(f"{seen.walks} walks from seed {args.seed}, {seen.events} events, {len(seen.found)} kinds of failure, "
          f"{len(seen.troubles)} not judged")
    print(f"seen: {len(seen.phases)} phases, {len(seen.types)} event types, {len(seen.rules)} rules broken")
    return 1 if seen.found else 3 if seen.troubles else 0


def _print(found, args):
    from realtime_session.values.errors import one_line
    rule, type_, phase = found.origin
    print(f"FAIL  {one_line(str(rule))} at {one_line(str(type_ or 'the end'))} while {phase}: {len(found.document['events'])} events "
          f"(seed {found.seed}, {found.fault})")
    print(f"      expected {one_line(str(found.expected))}, got {one_line(str(found.actual))}")
    if args.out:
        print(f"      {_write(found, args.out)}")


def _write(found, folder):
    """Writes failures/<origin>-<digest8>.json, one event a line as in the fixtures."""
    import os
    import re
    from hashlib import sha256

    from realtime_session.values.strict_json import canonical
    document = found.document
    events = ",\n".join("    " + canonical(event) for event in document["events"])
    text = (f'{{\n  "session": {canonical(document["session"])},\n  "case": {canonical(document["case"])},\n'
            f'  "events": [\n{events}\n  ]\n}}\n')
    digest = sha256(text.encode("utf-8")).hexdigest()[:8]
    name = re.sub(r"[^a-z0-9._-]+", "-", "-".join(str(part) for part in found.origin if part).lower())[:80]
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{name}-{digest}.json")
    with open(path, "w", encoding="utf-8", newline="\n") as handle:
        handle.write(text)
    return path
