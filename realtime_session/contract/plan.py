"""The rule table arranged for one profile: which checks run for which event type, in table order."""
from __future__ import annotations

from collections import namedtuple

from realtime_session.contract.events import EVENTS, FULL
from realtime_session.contract.machine import LATE_TYPES, TABLE
from realtime_session.contract.predicates import SURELY_LEGAL
from realtime_session.contract.rules import RULES, rule
from realtime_session.contract.violation import OFF

#: own: type -> (a look that may spare the checks or None, ((rule id, level, predicate), ...), apply,
#: whether output may come late, whether rules beside the table may apply, whether the session itself has
#: more to do);
#: at_end: ((rule id, predicate), ...)
Plan = namedtuple("Plan", ("own", "form", "ids", "time", "gates", "special", "at_end", "general", "ran"))

#: rules that need the token or the ids seen, which the session has and the state has not
_SPECIAL = ("link/token", "error/uncorrelated")
#: a result may come late, a disconnect may bring a new token
_MORE_TO_DO = ("tool.result", "transport.disconnected")
_PLANS = {}


def plan_for(profile, without=frozenset(), ran=None):
    """The plan of a profile with some rules left out; plans without instruments are shared."""
    key = (profile, without)
    if ran is None and key in _PLANS:
        return _PLANS[key]
    rules = [r for r in RULES if r.level(profile) != OFF and r.id not in without]
    own = {type_: (SURELY_LEGAL.get(type_) if ran is None else None,
                   tuple((r.id, r.level(profile), _noted(r, ran)) for r in rules
                         if r.predicate is not None and r.when.__class__ is tuple and type_ in r.when),
                   TABLE[type_].apply, profile == FULL and type_ in LATE_TYPES,
                   any(type_ in rule(name).when for name in _SPECIAL), type_ in _MORE_TO_DO)
           for type_ in EVENTS}
    pick = {when: tuple(r for r in rules if r.when == when) for when in ("form", "id", "time", "gate", "end")}
    plan = Plan(own, frozenset(r.id for r in pick["form"]), bool(pick["id"]),
                pick["time"][0].predicate if pick["time"] else None, frozenset(r.id for r in pick["gate"]),
                frozenset(r.id for r in rules if r.id in _SPECIAL),
                tuple((r.id, r.predicate) for r in pick["end"]),
                frozenset(r.id for when in ("form", "id", "time") for r in pick[when]), ran)
    if ran is None:
        _PLANS[key] = plan
    return plan


def _noted(rule, ran):
    """The predicate, or one that first notes that it ran (for fixture coverage)."""
    if ran is None:
        return rule.predicate

    def predicate(*arguments):
        ran.add(rule.id)
        return rule.predicate(*arguments)
    return predicate
