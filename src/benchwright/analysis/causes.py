"""What differs between the two sides of a change, and what that says about its cause. Pure."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from benchwright.analysis.operator_changes import match_operators
from benchwright.records import Estimate, Operator, Result, Value
from benchwright.stats.summary import combine

CODE, ENVIRONMENT, EITHER, UNKNOWN = "code", "environment", "either", "unknown"
OPERATORS = 5  # of those that changed, at most so many are kept
_MEMORY = "rss_peak"
# What is true for a moment only, or names a container that lives for one run.
_MOMENTARY = frozenset({"at_start", "accelerators", "host"})
_NEAR = 1 / 3  # of the way from one level to the other


def differences(before: Sequence[Result], after: Sequence[Result]) -> dict[str, Value]:
    """What differs between the rounds before a change and those after it; `cause` says which side it points to.

    Keys that have nothing to tell are left out. Pairs are `[before, after]`; a side that lacks something has null.
    """
    if not before or not after:
        return {"cause": UNKNOWN}
    a, b = before[-1], after[0]
    code: dict[str, Value] = _code_differences(a, b)
    surroundings = {
        "packages": changed_facts(a.environment.packages, b.environment.packages),
        "runtimes": changed_facts(a.environment.runtimes, b.environment.runtimes),
        "system": changed_facts(a.environment.system, b.environment.system),
        "knobs": changed_facts(a.environment.knobs, b.environment.knobs),
    }
    differing: dict[str, Value] = {name: found for name, found in surroundings.items() if found}
    effects = {"operators": _operator_differences(before, after), "memory": _memory_levels(before, after)}
    return {
        "cause": _cause(bool(code), bool(differing)),
        **code,
        **differing,
        **{name: found for name, found in effects.items() if found},
    }


def cause_after_remeasuring(before: float, after: float, again: Estimate) -> str:
    """The cause of a change, judged by the old revision measured `again` in today's environment.

    Near the old level it is the code, near the new one the environment; `either` where the interval reaches both.
    """
    if before == after:
        return UNKNOWN
    ends = (again.point if again.low is None else again.low, again.point if again.high is None else again.high)
    values = [before, after, again.point, *ends]
    if min(before, after) > 0:  # else a share of failures, which has no ratio to zero
        if min(values) <= 0:
            return UNKNOWN
        values = [math.log(value) for value in values]
    middle, *reach = ((value - values[0]) / (values[1] - values[0]) for value in values[2:])
    low, high = sorted(reach)
    if high < 1 - _NEAR and middle < _NEAR:
        return CODE
    if low > _NEAR and middle > 1 - _NEAR:
        return ENVIRONMENT
    return EITHER


def remeasure_command(old: str, new: str, target: str) -> str:
    """The command that tells code from environment: both revisions again, today, on this machine."""
    return shlex.join(["benchwright", "ab", "--control", old, "--treatment", new, target])


def _cause(code: bool, environment: bool) -> str:
    if code and environment:
        return EITHER
    return CODE if code else ENVIRONMENT if environment else UNKNOWN


def _code_differences(a: Result, b: Result) -> dict[str, Value]:
    found: dict[str, Value] = {}
    old, new = a.revision, b.revision
    if old and new and old.id != new.id:
        found["revision"] = [old.id, new.id]
    if (old and old.dirty) or (new and new.dirty):
        found["uncommitted"] = [bool(old and old.dirty), bool(new and new.dirty)]
    if a.case.version != b.case.version:
        found["definition"] = [a.case.version, b.case.version]
    return found


def changed_facts(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Value]:
    """The facts that differ, by name, as `[before, after]`; what is true for a moment only is left out."""
    a, b = _flatten(before), _flatten(after)
    return {name: [a.get(name), b.get(name)] for name in sorted(a | b) if a.get(name) != b.get(name)}


def _flatten(facts: Mapping[str, Any], prefix: str = "") -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, value in facts.items():
        if name in _MOMENTARY:
            continue
        if isinstance(value, Mapping):
            found |= _flatten(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def _operator_differences(before: Sequence[Result], after: Sequence[Result]) -> list[Value]:
    """The operators whose time changed most, where both sides recorded them."""
    a, b = (next((result.operators for result in side if result.operators), ()) for side in (before, after))
    if not a or not b:
        return []
    pairs = sorted(match_operators(a, b), key=lambda pair: -abs(_seconds(pair[1]) - _seconds(pair[0])))
    return [_describe_operator(x, y) for x, y in pairs[:OPERATORS] if _seconds(x) != _seconds(y)]


def _describe_operator(x: Operator | None, y: Operator | None) -> Value:
    one = y or x
    assert one is not None
    sides: list[Value] = [x.seconds if x else None, y.seconds if y else None]
    return {"name": one.name, "kind": one.kind, "seconds": sides}


def _seconds(operator: Operator | None) -> float:
    return operator.seconds if operator else 0.0


def _memory_levels(before: Sequence[Result], after: Sequence[Result]) -> list[Value]:
    sides = [[m.estimate for r in side if (m := r.metric(_MEMORY))] for side in (before, after)]
    return [combine(side).point for side in sides] if all(sides) else []
