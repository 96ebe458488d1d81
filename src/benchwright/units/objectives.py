"""Bounds that people write, `p99<20ms`: how they are read, and whether they hold."""

from __future__ import annotations

import operator
import re

from benchwright.errors import OptionError, did_you_mean
from benchwright.records import Estimate, Metric, Objective
from benchwright.records.costs import ENERGY, is_money
from benchwright.units import format_value, parse_quantity
from benchwright.units.money import parse_money

_OBJECTIVE = re.compile(r"\s*([A-Za-z_][\w.]*)\s*(<=|>=|<|>)\s*(.+?)\s*")
_NUMBER = re.compile(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?")
_PERCENTILE = re.compile(r"p\d+(?:\.\d+)?")
# Units of the metrics people bound, by name or by what comes before `_`; other metrics are bounded by bare numbers.
_UNITS = {
    **dict.fromkeys(("latency", "service", "lateness", "makespan", "wall_time"), "s"),
    **dict.fromkeys(("load_time", "first_call", "warmup_time"), "s"),
    **dict.fromkeys(("throughput", "rate", "max_rate"), "/s"),
    **dict.fromkeys(("rss", "io"), "B"),
    **dict.fromkeys(ENERGY, "J"),
    **dict.fromkeys(("ttfb", "ttft", "itl", "tpot", "e2e"), "s"),  # of served models
    **dict.fromkeys(("goodput", "output_tokens_rate", "input_tokens_rate", "tokens_per_user"), "/s"),
    "errors": "%",
}
_RELATIONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def holds(objective: Objective, value: float) -> bool:
    """Whether a value keeps the bound."""
    return bool(_RELATIONS[objective.relation](value, objective.bound))


def holds_surely(objective: Objective, estimate: Estimate) -> bool:
    """Whether a value keeps the bound with its whole interval; one without an interval says so of nothing."""
    ends = (estimate.low, estimate.high)
    return all(end is not None and holds(objective, end) for end in ends)


def describe(objective: Objective, metric: Metric | None = None) -> str:
    """The bound as it was read, with its unit: `latency_p99 < 20.0 ms`. `metric` tells the unit of what is measured."""
    unit = objective.unit or (metric.unit if metric else unit_of(objective.metric))
    return f"{objective.metric} {objective.relation} {format_value(objective.bound, unit)}"


def objective(text: str, *, what: str = "--objective") -> Objective:
    """`'p99<20ms'` as a bound on latency_p99; other metrics go by their own names. `what` names it in errors."""
    match = _OBJECTIVE.fullmatch(text)
    if match is None:
        raise OptionError(f"{what}: {text!r} is not METRIC<BOUND", remedy=f"for example {what} 'p99<20ms'")
    name, relation, bound = match.groups()
    if _PERCENTILE.fullmatch(name):
        name = f"latency_{name}"
    elif name == "mean":
        name = "latency"
    if is_money(name):
        value, currency = parse_money(bound, what=f"{what} '{text}'", example=f"write it as {what} '{name}<0.05USD'")
        return Objective(metric=name, relation=relation, bound=value, unit=currency)
    unit = unit_of(name)
    if not unit and not _NUMBER.fullmatch(bound):
        known = ["mean", "p50", "p99", "throughput", "max_rate", "rss_peak", "makespan", "service_p99", "load_time"]
        raise OptionError(f"{what}: {name!r} is not a metric with a known unit", remedy=did_you_mean(name, known))
    value = _read_bound(bound, unit or "1", text, what)
    if unit and (value < 0 or (value == 0 and relation == "<")):
        raise OptionError(
            f"{what}: {text!r} can tell nothing: {name} is never below zero",
            remedy=f"bound it above zero, for example {what} 'p99<20ms'",
        )
    return Objective(metric=name, relation=relation, bound=value)


def check_currency(objective: Objective, currency: str, *, what: str = "--objective") -> None:
    """Refuses a bound of money whose currency is not that of the cost: a bare number may mean either."""
    if not is_money(objective.metric) or objective.unit == currency:
        return
    written = f"{objective.metric}{objective.relation}"
    amount = f"{objective.bound:g}"
    if not objective.unit:
        raise OptionError(
            f"{what}: '{written}{amount}' may mean {amount} {currency}, as the price is, or another currency",
            remedy=f"write {what} '{written}{amount}{currency}', or give the price in the currency that you mean",
        )
    said = f"in {currency}" if currency else "a bare number, in no currency"
    raise OptionError(
        f"{what}: '{written}{amount}{objective.unit}' cannot be judged: the cost is {said}",
        remedy=f"bound it in {currency}, or give a price in {objective.unit}"
        if currency
        else f"give the price with its currency, as --price 0.34{objective.unit}/h",
    )


def _read_bound(bound: str, unit: str, text: str, what: str) -> float:
    try:
        return parse_quantity(bound, unit, what=what, bare=False)
    except OptionError as error:
        if _NUMBER.fullmatch(bound) is None:
            raise
        left = text.rstrip().removesuffix(bound)
        ways = ("%",) if unit == "%" else ("/s",) if unit == "/s" else ("ms", "s")
        remedy = " or ".join(f"'{left}{bound}{way}'" for way in ways)
        raise OptionError(error.message, remedy=f"write {what} {remedy}") from None


def unit_of(name: str) -> str:
    """The unit of a metric that people bound; "" where bare numbers bound it."""
    return _UNITS.get(name) or _UNITS.get(name.partition("_")[0], "")
