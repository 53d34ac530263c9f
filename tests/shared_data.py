"""Reference data that lies beside a checkout (recorded logs, third-party suites) and is no part of it.

REALTIME_SESSION_SHARED names the folder; without it, `../shared` beside the checkout is taken. Where the data
is absent, the test that asks for it is skipped.
"""

import os
import pathlib

import pytest

_BESIDE = pathlib.Path(__file__).resolve().parent.parent.parent / "shared"


def shared(*parts: str) -> pathlib.Path:
    """The path of a shared file or folder; skips the calling test (or module) where it does not exist."""
    path = pathlib.Path(os.environ.get("REALTIME_SESSION_SHARED") or _BESIDE).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"shared data not here: {'/'.join(parts)}", allow_module_level=True)
    return path
