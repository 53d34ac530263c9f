"""Where the files that come with the package lie: in a clone, an editable install and a wheel."""

from __future__ import annotations

import pathlib


def fixture_root() -> pathlib.Path:
    """The folder of the contract fixtures (`contract/<topic>/<slug>.json` below it).

    A wheel carries the folder inside the package; a clone and an editable install have it beside the package.
    The inner one is asked first: next to an installed package there may lie anybody's folder `fixtures`.

    Raises FileNotFoundError if neither is there (a damaged install).
    """
    package = pathlib.Path(__file__).resolve().parent.parent
    inside = package / "_fixtures"
    beside = package.parent / "fixtures"
    for folder in (inside, beside):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(2, "the fixtures of realtime-session are not installed", str(inside))
