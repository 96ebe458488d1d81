"""The search for the highest rate of calls that still meets an objective."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from benchwright.errors import OptionError
from benchwright.records import Int64s, Load, Objective
from benchwright.records.probes import RateProbe
from benchwright.stats import ranks
from benchwright.worker.engine.arrivals import load_of_probe

if TYPE_CHECKING:
    from benchwright.worker.engine.engine import MeasuredLoad

T = TypeVar("T")

PERCENTILE = "_p"  # stands between a metric and its percentile: latency_p99
MOST_PROBES = 16
PROBE_DURATION = 1.0  # seconds, at least
LONGER = 4  # times as many arrivals when a probe leaves the question open
UNHURRIED = 1 / 4  # share of the ceiling at which calls do not get into each other's way
LOWEST = 1 / 64  # share of the ceiling below which queues are as good as empty
CLOSE = 0.03  # the answer and the lowest rate seen to fail lie this near


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe(Generic[T]):
    """One rate that the search tried, and whether the objective was met at that rate."""

    rate: float
    meets: bool
    outcome: T


def find_rate(
    probe: Callable[[float], tuple[bool, T]],
    *,
    ceiling: float,
    hopeless: Callable[[T], bool] = lambda outcome: False,
) -> list[Probe[T]]:
    """Probes rates until the highest that meets and the lowest that fails are within `CLOSE`.

    `ceiling` is a rate that can hardly be exceeded for long (what a closed loop reached). The search starts at half of
    it, doubles while everything meets, halves while nothing does, and then divides the gap. It gives up at a rate so
    low that nobody waits any more, or before that when an outcome shows that no rate can meet. Returns every probe in
    order, at least one; see `best(probes)`.
    """
    probes: list[Probe[T]] = []
    low, high, rate = 0.0, math.inf, ceiling / 2
    while len(probes) < MOST_PROBES and rate >= ceiling * LOWEST and (math.isinf(high) or high - low > CLOSE * high):
        meets, outcome = probe(rate)
        probes.append(Probe(rate=rate, meets=meets, outcome=outcome))
        if meets:
            low = max(low, rate)
        else:
            high = min(high, rate)
            if not low and rate <= ceiling * UNHURRIED and hopeless(outcome):
                break
        if not low:
            rate /= 2
        else:
            rate = 2 * rate if math.isinf(high) else (low + high) / 2
    return probes


def best(probes: list[Probe[T]]) -> Probe[T] | None:
    """The highest rate that met the objective; None when none did."""
    return max((p for p in probes if p.meets), key=lambda p: p.rate, default=None)


# ---- through the engine ----


def search_rate(load: Load, measure: Callable[[Load], MeasuredLoad], *, typical: float) -> Callable[[], MeasuredLoad]:
    """Measures open loops at rates that the search chooses; gives the samples of the best rate, or of the lowest tried.

    `measure` issues the calls of one load; `typical` is the nanoseconds that a call takes.
    """
    if load.copies > 1 or not load.objectives:
        raise OptionError("--find-rate needs an --objective and one copy", remedy="for example --objective 'p99<20ms'")
    tries = itertools.count()

    def measure_at(rate: float, count: int) -> MeasuredLoad:
        own_draw = load_of_probe(load, next(tries))
        return measure(replace(own_draw, rate=rate, find_rate=False, duration=None, samples=count))

    def probe(rate: float) -> tuple[bool, MeasuredLoad]:
        measured = measure_at(rate, count_arrivals(load, rate))
        meets = _meets(measured.samples.columns["latency"], load.objectives)
        if meets is None:  # the point is inside and the interval is not: look longer, once
            measured = measure_at(rate, LONGER * count_arrivals(load, rate))
            meets = _meets(measured.samples.columns["latency"], load.objectives)
        return bool(meets), measured

    def is_hopeless(measured: MeasuredLoad) -> bool:
        return _meets(measured.samples.columns["service"], load.objectives) is False

    probes = find_rate(probe, ceiling=load.workers * 1e9 / max(1.0, typical), hopeless=is_hopeless)
    chosen = best(probes) or min(probes, key=lambda p: p.rate)
    tried = tuple(RateProbe(rate=p.rate, meets=p.meets) for p in probes)
    return lambda: replace(chosen.outcome, probes=tried, rate=chosen.rate if chosen.meets else None)


def count_arrivals(load: Load, rate: float) -> int:
    """Arrivals of one probe: what was asked for, and at least twice what bounding the percentiles takes."""
    wanted = load.samples or math.ceil(rate * max(load.duration or 0.0, PROBE_DURATION))
    return max(wanted, *map(fewest_calls, load.objectives))


def fewest_calls(objective: Objective) -> int:
    """Calls without which a bound cannot be told to hold; of a share of failures, three times as many as one allows."""
    if PERCENTILE not in objective.metric:
        return math.ceil(300 / max(objective.bound, 0.01))
    return 2 * ranks.samples_for_quantile(quantile_of(objective), sides=1)


def _meets(times: Int64s, objectives: Sequence[Objective]) -> bool | None:
    """Whether bounds on percentiles hold with 95 % confidence; None when they seem to, but not surely.

    Calls that wait in one queue resemble each other, so the interval is the one that allows for that.
    """
    sure = True
    for objective in objectives:
        estimate = ranks.quantile_estimate(times, quantile_of(objective), 0.9)  # two-sided 90 %: one-sided 95 %
        if estimate.point / 1e9 > objective.bound:
            return False
        if estimate.high is None or estimate.confidence < 0.85 or estimate.high / 1e9 > objective.bound:
            sure = False
    return True if sure else None


def quantile_of(objective: Objective) -> float:
    """Which quantile a bound such as `latency_p99` is of."""
    return float(objective.metric.rpartition(PERCENTILE)[2]) / 100
