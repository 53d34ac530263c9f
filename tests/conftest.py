"""Settings that hold for the whole suite.

Property tests are deterministic and write nothing beside the code: examples are derived from the test itself,
there is no example database, and what Hypothesis caches goes to a temporary folder. HYPOTHESIS_PROFILE=deep
searches longer, with new examples every time.
"""

import os
import shutil
import tempfile

from hypothesis import HealthCheck, settings

_CACHE = tempfile.mkdtemp(prefix="realtime-session-hypothesis-")
os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = _CACHE  # read when Hypothesis first wants to write

_COMMON = {"database": None, "deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("ci", max_examples=60, derandomize=True, **_COMMON)
settings.register_profile("deep", max_examples=5000, derandomize=False, print_blob=True, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_unconfigure():
    shutil.rmtree(_CACHE, ignore_errors=True)
