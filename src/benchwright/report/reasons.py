"""What differs between the two sides of a change, in lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchwright.records import Value
from benchwright.units import format_value

SHOWN = 8  # differences of a kind
_CAUSES = {
    "code": "the code: nothing else that is recorded differs",
    "environment": "the environment: the code is the same on both sides",
    "either": "the code or the environment: both differ",
    "unknown": "nothing that is recorded differs",
}


def reason_lines(why: Mapping[str, Value]) -> list[str]:
    """The differences, what they point to, and the command that tells more."""
    if not why:
        return []
    cause = str(why.get("cause", "unknown"))
    said = "measured again, the old revision points to " if "remeasured" in why else ""
    held = [str(why["quarantine"]).capitalize()] if "quarantine" in why else []
    found = [*held, f"Why: {said}{_CAUSES.get(cause, cause).partition(':')[0] if said else _CAUSES.get(cause, cause)}"]
    if "definition" in why:
        found.append("  the benchmark itself was changed")
    if "uncommitted" in why:
        found.append("  there were changes that are not committed")
    for name in ("packages", "runtimes", "system", "knobs"):
        found += _pairs(name, why.get(name))
    found += _also(why.get("also"))
    found += _operators(why.get("operators"))
    found += _memory(why.get("memory"))
    if "remeasure" in why and "remeasured" not in why:
        found.append(f"  to tell them apart: {why['remeasure']}")
    return found


def _pairs(name: str, differing: Value) -> list[str]:
    if not isinstance(differing, dict):
        return []
    found = [
        f"  {name}: {fact} {_word(pair[0])} to {_word(pair[1])}"
        for fact, pair in [*differing.items()][:SHOWN]
        if isinstance(pair, list) and len(pair) == 2
    ]
    more = len(differing) - SHOWN
    return [*found, f"  {name}: and {more} more"] if more > 0 else found


def _also(effects: Value) -> list[str]:
    if not isinstance(effects, dict):
        return []
    words = [f"{name} × {float(ratio):.3f}" for name, ratio in effects.items() if isinstance(ratio, int | float)]
    return [f"  in other metrics: {', '.join(words)}"] if words else []


def _operators(told: Value) -> list[str]:
    if not isinstance(told, list):
        return []
    found = []
    for one in told:
        if isinstance(one, dict) and isinstance(pair := one.get("seconds"), list) and len(pair) == 2:
            sides = [_seconds(side) for side in pair]
            found.append(f"  operator {one.get('name')} ({one.get('kind')}): {sides[0]} to {sides[1]}")
    return found


def _memory(pair: Value) -> list[str]:
    if not isinstance(pair, list) or len(pair) != 2:
        return []
    before, after = (format_value(float(side), "B") if isinstance(side, int | float) else "-" for side in pair)
    return [] if before == after else [f"  peak memory: {before} to {after}"]


def _seconds(value: Any) -> str:
    return "none" if value is None else format_value(float(value), "s")


def _word(value: Value) -> str:
    return "none" if value is None else str(value)
