"""Loading somebody's Python code by name: `module:factory`."""
from __future__ import annotations

import importlib
import os
import sys

from realtime_session.values.errors import InputError, show


def load_factory(name):
    """The callable that `module:factory` names; the current folder is searched as `python -m` does.

    Raises InputError: load/name for another form, load/import where the module fails, load/missing and
    load/not_callable for what it holds."""
    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise InputError("load/name", f"expected module:factory or \"cmd: …\", got {show(name)}")
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        found = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # foreign code runs here: anything may come
        raise InputError("load/import", f"module {show(module_name)} cannot be imported: "
                         f"{type(error).__name__}: {error}") from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise InputError("load/missing", f"module {show(module_name)} has no {show(attribute)}")
        found = getattr(found, part)
    if not callable(found):
        raise InputError("load/not_callable", f"{show(name)} is {type(found).__name__}, not a factory")
    return found
