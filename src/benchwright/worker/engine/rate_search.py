"""The highest rate that still meets an objective."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

MOST_PROBES = 16
UNHURRIED = 1 / 4  # share of the ceiling at which calls do not get into each other's way
LOWEST = 1 / 64  # share of the ceiling below which queues are as good as empty
CLOSE = 0.03  # the answer and the lowest rate seen to fail lie this near


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe(Generic[T]):
    """One rate tried."""

    rate: float
    meets: bool
    outcome: T


def find_rate(
    probe: Callable[[float], tuple[bool, T]], *, ceiling: float, hopeless: Callable[[T], bool] = lambda outcome: False
) -> list[Probe[T]]:
    """Probes rates until the highest that meets and the lowest that fails are within `CLOSE`.

    `ceiling` is a rate that can hardly be exceeded for long (what a closed loop reached). The search starts at half of
    it, doubles while everything meets, halves while nothing does, and then divides the gap. It gives up at a rate so
    low that nobody waits any more, or before that when an outcome shows that no rate can meet. Returns every probe in
    order; see `best(probes)`.
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
