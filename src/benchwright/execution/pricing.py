"""What measured work costs on a machine of a known price, in money; and in energy, where its power is known."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from benchwright import schema
from benchwright.errors import DecodeError
from benchwright.execution.works import THROUGHPUT as THROUGHPUT
from benchwright.execution.works import WALL_TIME, Work, works_of
from benchwright.execution.works import rate_of as rate_of
from benchwright.records import Better, Estimate, Metric, Result, ResultWarning, Value
from benchwright.records.costs import ENERGY_COST, ENERGY_PER_ITEM, ENERGY_PER_RUN, PER_MILLION, PER_RUN
from benchwright.records.goals import COST as COST_KIND
from benchwright.records.goals import GOALS, TIME, decode_goal, encode_goals, metric_name
from benchwright.records.prices import Market, Price
from benchwright.schema.soundness import LARGEST_AMOUNT

COST = PER_MILLION
TIMES = "price times"  # begins the method of a cost by a time, which grows with it
NO_COST = "no-cost"
OLD_PRICE = "old-price"
OLD = 180  # days after which a price is doubtful; that of a spot market after one
POWER = ("power", "gpu_power")  # what the monitors measure, of packages and of accelerators
JOULES = 3.6e6  # of a kilowatt-hour
_SHOWN = 8  # metrics that a warning names


def costs_of(metrics: Sequence[Metric], price: Price, items_per_call: int = 1) -> list[Metric]:
    """What every kind of work that the metrics count costs at that price; nothing where they count none."""
    return costs_of_works(works_of(metrics, items_per_call), metrics, price)


def costs_of_works(works: Mapping[str, Work], metrics: Sequence[Metric], price: Price) -> list[Metric]:
    """What these works cost at that price, by the metrics that count them."""
    known = {metric.name: metric for metric in metrics}
    return [
        Metric(name=name, unit=price.currency, better=Better.LOWER, estimate=estimate)
        for name, work in works.items()
        if (estimate := cost_of(known[work.metric], price, work)) is not None
    ]


def cost_of(metric: Metric, price: Price, work: Work, utilisation: float = 1.0) -> Estimate | None:
    """What the work costs; None for a rate or a time that is not above zero.

    Its interval is the metric's, seen through the price: a price is a fact of its day, and has none of its own.
    """
    found = _through(metric.estimate, price.per_hour / 3600 / utilisation * work.count, work)
    how = f"price over {metric.name}" if work.is_rate else f"{TIMES} {metric.name}"
    return None if found is None else replace(found, method=f"{how}: {metric.estimate.method}")


def _through(told: Estimate, of_a_second: float, work: Work) -> Estimate | None:
    """What a quantity of which so much is spent in a second comes to for the work, with the interval of the metric."""

    def spent(value: float | None) -> float | None:
        return of_a_second / work.rate(value) if value is not None and value > 0 else None

    point, ends = spent(told.point), [spent(told.low), spent(told.high)]
    if point is None:
        return None
    low, high = (ends[1], ends[0]) if work.is_rate else (ends[0], ends[1])
    if low is None or high is None:  # a rate that may be nothing has a cost without an end
        low = high = None
    return replace(told, point=point, low=low, high=high)


def price_goals(details: Mapping[str, Value], price: Price) -> tuple[list[Metric], dict[str, Value]]:
    """What it cost until each goal of a task was reached, and the outcomes with it; of one that was not, at least."""
    told = details.get(GOALS)
    known = {} if not isinstance(told, dict) else {name: decode_goal(one) for name, one in told.items()}
    priced = {
        name: replace(outcome, cost=outcome.seconds * price.per_hour / 3600, currency=price.currency)
        for name, outcome in known.items()
        if outcome is not None
    }
    found = []
    for name, outcome in priced.items():
        if outcome.reached and outcome.cost is not None:
            method = f"{TIMES} {metric_name(TIME, name)}"
            estimate = Estimate(point=outcome.cost, low=None, high=None, method=method)
            found.append(
                Metric(name=metric_name(COST_KIND, name), unit=price.currency, better=Better.LOWER, estimate=estimate)
            )
    return found, {**details, GOALS: encode_goals(priced)} if priced else dict(details)


# ---- energy ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """What a machine draws while it works, and who says so."""

    watts: float
    method: str


def power_of(observed: Sequence[Metric], price: Price | None) -> Power | None:
    """The power that monitors measured; else what is written on the machine, where its price tells that."""
    found = {metric.name: metric.estimate for metric in observed if metric.name in POWER and metric.estimate.point > 0}
    if found:
        said = " and ".join(dict.fromkeys(one.method.removeprefix("measured: ") for one in found.values()))
        alone = ", the accelerators alone" if POWER[0] not in found else ""
        return Power(watts=sum(one.point for one in found.values()), method=f"measured: {said}{alone}")
    if price is None or not price.watts:
        return None
    return Power(watts=price.watts, method=f"nameplate of {price.watts:g} W, not measured")


def energies_of(metrics: Sequence[Metric], power: Power | None, price: Price | None) -> list[Metric]:
    """The energy of an item and of a whole run, and what the power for a million items costs, as far as it is known."""
    if power is None:
        return []
    works, known = works_of(metrics), {metric.name: metric for metric in metrics}
    found = []
    for name, kind in ((ENERGY_PER_ITEM, PER_MILLION), (ENERGY_PER_RUN, PER_RUN)):
        if (work := works.get(kind)) is None:
            continue
        if (estimate := _through(known[work.metric].estimate, power.watts, work)) is not None:
            told = replace(estimate, method=f"{power.method}; by {work.metric}: {estimate.method}")
            found.append(Metric(name=name, unit="J", better=Better.LOWER, estimate=told))
    if price is not None and price.kilowatt_hour and (work := works.get(PER_MILLION)) is not None:
        paid = power.watts * price.kilowatt_hour / JOULES * work.count
        if (estimate := _through(known[work.metric].estimate, paid, work)) is not None:
            told = replace(estimate, method=f"{power.method}; by {work.metric}: {estimate.method}")
            found.append(Metric(name=ENERGY_COST, unit=price.currency, better=Better.LOWER, estimate=told))
    return found


# ---- what to know of a cost ----


def no_cost(metrics: Sequence[Metric]) -> ResultWarning | None:
    """The warning of a result with a price and without a rate: why there is no cost of items, and what to do.

    None where the metrics count items, tokens or epochs, or the time until something was reached.
    """
    works = works_of(metrics).values()
    if any(work.metric != WALL_TIME for work in works):
        return None
    names = [metric.name for metric in metrics]
    known = ", ".join(names[:_SHOWN]) + (" ..." if len(names) > _SHOWN else "")
    whole = ", only that of a whole run" if works else ""
    return ResultWarning(
        code=NO_COST,
        seen=f"no cost per million{whole}: none of the case's metrics counts items per second "
        f"({known or 'there are none'})",
        remedy="report a metric in items per second, with a unit such as images/s or a name such as images_per_second",
    )


def warn_if_old(price: Price, today: date) -> ResultWarning | None:
    """A warning of a price whose day is long ago or not known; None for one that can be trusted."""
    try:
        days = (today - date.fromisoformat(price.fetched_at)).days
    except ValueError:
        seen = f"the price of {price.name} has no date: nobody can tell whether it still holds"
        return ResultWarning(code=OLD_PRICE, seen=seen, remedy="write `fetched_at` beside it") if price.shape else None
    if days < -1:  # somewhere it is tomorrow already
        seen = f"the price is of a day that is still to come ({price.basis})"
        return ResultWarning(code=OLD_PRICE, seen=seen, remedy="write the day on which it was looked up")
    most = 1 if price.market is Market.SPOT else OLD
    if days <= most:
        return None
    return ResultWarning(
        code=OLD_PRICE,
        seen=f"the price is {days} days old ({price.basis})",
        remedy="look it up again; `benchwright prices import` takes newer lists",
    )


def price_of_result(result: Result) -> Price | None:
    """The price that a result was measured with; None where it has none, or none that money can be reckoned with."""
    if isinstance(told := result.details.get("price"), dict):
        with contextlib.suppress(DecodeError):  # a result may come from anywhere, and its numbers are good without it
            return schema.decode(Price, told)
        return None
    per_hour = result.details.get("cost_per_hour")
    if not isinstance(per_hour, int | float) or not 0 < per_hour <= LARGEST_AMOUNT:
        return None
    return Price.bare(float(per_hour))


def items_per_call(result: Result) -> int:
    """How many items one call of a result worked through; what older results do not say follows from their rates."""
    told = result.details.get("items_per_call")
    if isinstance(told, int | float) and told >= 1:
        return int(told)
    items, calls = (result.metric(name) for name in (THROUGHPUT, "rate"))
    if items is None or calls is None or not calls.estimate.point > 0:
        return 1
    return max(1, round(items.estimate.point / calls.estimate.point))
