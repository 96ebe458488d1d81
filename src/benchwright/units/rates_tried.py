"""What a search for the highest rate tried and found, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchwright.records import Objective
from benchwright.records.probes import RateProbe, choose_best, excess, find_next_broken
from benchwright.units import format_value
from benchwright.units.objectives import holds, unit_of

MOST_LISTED = 6


def describe_search(probes: Sequence[RateProbe], objectives: Sequence[Objective]) -> str:
    """The answer of a search of a served model: the highest rate that held, and the next one that did not."""
    best = choose_best(probes)
    if best is None:
        return describe_none(probes, objectives)
    found = f"{_say_rate(best)} held for {_say_time(best)}: {_list_values(best, objectives)}"
    broken = find_next_broken(probes, best)
    if broken is None:
        return f"{found}; no higher rate was tried" if best.rate == max(p.rate for p in probes) else found
    return f"{found}; {_say_asked(broken)} did not: {_list_broken(broken, objectives)}"


def describe_none(probes: Sequence[RateProbe], objectives: Sequence[Objective]) -> str:
    """What was tried where nothing held, what broke, and how far the nearest was from its bound."""
    bounds = {objective.metric: objective.bound for objective in objectives}
    nearest = min(probes, key=lambda probe: (excess(probe, bounds), probe.rate))
    others = [f"{_say_asked(p)} ({_list_broken(p, objectives)})" for p in probes if p is not nearest]
    left = len(others) - MOST_LISTED
    tried = f"; tried {', '.join(others[:MOST_LISTED])}{f' and {left} more' if left > 0 else ''}" if others else ""
    times = excess(nearest, bounds)
    far = "" if math.isinf(times) else f", {times:.3g} times the bound"
    near = f"{_say_asked(nearest)} for {_say_time(nearest)}: {_list_broken(nearest, objectives)}{far}"
    return f"no rate kept the objectives{tried}. {'The nearest was' if others else 'Tried'} {near}"


def _say_rate(probe: RateProbe) -> str:
    return format_value(probe.held_rate, "/s")


def _say_asked(probe: RateProbe) -> str:
    """The rate of a look that was given up, after too few requests to tell a rate by them."""
    return format_value(probe.rate, "/s")


def _say_time(probe: RateProbe) -> str:
    return f"{format_value(probe.seconds, 's')} ({probe.requests:,} requests)"


def _list_values(probe: RateProbe, objectives: Sequence[Objective]) -> str:
    said = ", ".join(f"{one.metric} {_say_value(probe, one)}" for one in objectives)
    return f"{said}, times from when requests were due" if any(one.metric != "errors" for one in objectives) else said


def _list_broken(probe: RateProbe, objectives: Sequence[Objective]) -> str:
    """The bounds that did not hold, each with what was seen."""
    broken = []
    for one in objectives:
        value = probe.values.get(one.metric)
        if value is None and not probe.failed:
            broken.append(f"{one.metric} is not measured here")
        elif value is None or not holds(one, value):
            bound = format_value(one.bound, unit_of(one.metric))
            broken.append(f"{one.metric} {_say_value(probe, one)}, not {one.relation} {bound}")
    return "; ".join(broken)


def _say_value(probe: RateProbe, objective: Objective) -> str:
    value = probe.values.get(objective.metric)
    if value is not None:
        return format_value(value, unit_of(objective.metric))
    return f"beyond any bound, as {probe.failed:,} of {probe.requests:,} requests failed"
