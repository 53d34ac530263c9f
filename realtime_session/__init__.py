"""Session contract for realtime voice agents: replay an event trace and say what was wrong first, and why.

The names below are the public ones; each is loaded from its home the first time it is used, so that
`import realtime_session` and `realtime-session --help` cost nothing.
"""

__version__ = "0.1.0"

_HOMES = {
    "Session": "contract.session",
    "Decision": "contract.session",
    "Violation": "contract.violation",
    "Effect": "contract.violation",
    "parse": "values.strict_json",
    "canonical": "values.strict_json",
    "JsonError": "values.strict_json",
    "compile_schema": "values.schema",
}

__all__ = ["__version__", *_HOMES]

# Type checkers take the name for true; importing `typing` for it would cost milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from realtime_session.contract.session import Decision, Session
    from realtime_session.contract.violation import Effect, Violation
    from realtime_session.values.schema import compile_schema
    from realtime_session.values.strict_json import JsonError, canonical, parse


def __getattr__(name):
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value  # the next look-up no longer comes here
    return value


def __dir__():
    return sorted({*globals(), *__all__})
