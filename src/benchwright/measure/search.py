"""The highest rate that still meets an objective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

MOST_PROBES = 16
CLOSE = 0.03  # the answer and the lowest rate seen to fail lie this near


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe(Generic[T]):
    """One rate tried."""

    rate: float
    meets: bool
    outcome: T


def find_rate(probe: Callable[[float], tuple[bool, T]], *, ceiling: float) -> list[Probe[T]]:
    """Probes rates until the highest that meets and the lowest that fails are within `CLOSE`.

    `ceiling` is a rate that cannot be exceeded for long (what a closed loop reached). The search starts at half of it,
    halves while nothing meets, and then divides the gap. Returns every probe in order; the best one is `best(probes)`.
    """
    probes: list[Probe[T]] = []
    low, high, rate = 0.0, ceiling * 1.05, ceiling / 2
    while len(probes) < MOST_PROBES and high - low > CLOSE * high and rate > 0:
        meets, outcome = probe(rate)
        probes.append(Probe(rate=rate, meets=meets, outcome=outcome))
        if meets:
            low = max(low, rate)
        else:
            high = min(high, rate)
        rate = (low + high) / 2 if low else rate / 2
    return probes


def best(probes: list[Probe[T]]) -> Probe[T] | None:
    """The highest rate that met the objective; None when none did."""
    return max((p for p in probes if p.meets), key=lambda p: p.rate, default=None)
