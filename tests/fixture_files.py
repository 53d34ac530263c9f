"""The contract fixtures as the tests see them."""

import functools

from realtime_session.doors.resources import fixture_root
from realtime_session.values import strict_json

FOLDER = fixture_root() / "contract"


@functools.cache
def fixtures() -> dict:
    """id -> document of every contract fixture, read by the strict reader."""
    found = {}
    for path in sorted(FOLDER.rglob("*.json")):
        slug = path.relative_to(FOLDER).with_suffix("").as_posix()
        found[slug] = strict_json.parse(path.read_bytes())
    return found


def profile_of(document) -> str:
    """half or full."""
    return "full" if document["session"].get("profile") == "full_duplex" else "half"


def broken_rules(document) -> set:
    """The rules that the fixture expects to be broken, by a rejection or a finding."""
    expect = document["case"]["expect"]
    broken = {row[0].removeprefix("rejected:") for row in expect["events"] if row[0].startswith("rejected:")}
    return broken | {rule for rule, _ in expect["findings"]}
