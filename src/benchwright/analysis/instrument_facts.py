"""The facts of `Result.instrument` in words and units."""

from __future__ import annotations

from dataclasses import dataclass

from benchwright.records import Value
from benchwright.units import format_value
from benchwright.units.numbers import number

LEAST_PERCENT = 0.01  # a smaller share of a CPU is nothing that anyone acts on


@dataclass(frozen=True, slots=True)
class Fact:
    """What a fact is called, its base unit, and the factor that leads there."""

    words: str
    unit: str = ""
    factor: float = 1.0


# Those of the one line below a table, the worst of all rounds.
FACTS = {
    "cost_per_call_ns": Fact("cost per call", "s", 1e-9),
    "clock_cost_ns": Fact("clock read", "s", 1e-9),
    "wakeup_error_ns": Fact("wake-up error", "s", 1e-9),
    "cpu_others_percent": Fact("CPU taken by others", "%"),
    "steal_percent": Fact("steal", "%"),
}
# Those of a page that has room for all.
EVERY = FACTS | {
    "clock_resolution_ns": Fact("clock resolution", "s", 1e-9),
    "cost_taken_off_ns": Fact("taken off each call", "s", 1e-9),
    "lateness_p99_ns": Fact("lateness, p99", "s", 1e-9),
    "loops": Fact("calls per sample"),
    "recorded_calls": Fact("recorded calls"),
    "folded_calls": Fact("calls folded into histograms"),
    "bytes_per_call": Fact("memory per recorded call", "B"),
    "gc_collections": Fact("garbage collections"),
    "warmup_calls": Fact("warm-up calls"),
    "warmup_cut": Fact("warm-up cut short"),
    "warmup_reason": Fact("warm-up ended"),
    "watching_percent": Fact("CPU taken by watching", "%"),
    "histogram_error": Fact("error of histograms", "%", 100.0),
    "asked_rate": Fact("asked rate", "/s"),
    "intended_rate": Fact("drawn rate", "/s"),
    "delivered_rate": Fact("delivered rate", "/s"),
}


def name_fact(name: str) -> str:
    """What a fact is called."""
    return EVERY[name].words if name in EVERY else name.replace("_", " ")


def describe_value(name: str, given: Value) -> str:
    """The value of a fact as people write it, with its unit; None is a value that could not be measured."""
    if given is None:
        return "unknown"
    if isinstance(given, bool):
        return "yes" if given else "no"
    found = number(given)
    if isinstance(given, dict) and name == "objectives":
        return "; ".join(f"{text}: {_verdict(judged)}" for text, judged in given.items())
    if found is None:
        return str(given)
    fact = EVERY.get(name, Fact(name))
    if fact.unit:
        return format_fact(found, fact)
    return f"{given:,}" if isinstance(given, int) else f"{found:.6g}"


def _verdict(judged: Value) -> str:
    return "met" if isinstance(judged, dict) and judged.get("met") else "missed"


def format_fact(found: float, fact: Fact) -> str:
    """The number in the unit that suits it."""
    if fact.unit == "%" and 0 < found * fact.factor < LEAST_PERCENT:
        return f"below {LEAST_PERCENT:g}%"
    return format_value(found * fact.factor, fact.unit)
