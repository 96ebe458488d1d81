"""Contenders measured in turn, and what their rounds say together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from benchwright.stats import ranks

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A median over rounds and where the true one lies: 95 %, or the outermost rounds where there are too few."""

    point: float
    low: float
    high: float

    def times(self, factor: float) -> Spread:
        """The same in another unit."""
        return Spread(point=self.point * factor, low=self.low * factor, high=self.high * factor)


def interleaved(contenders: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """Measures every contender once a round, each round beginning with another one.

    A machine that changes meanwhile changes for all of them, and nobody always follows the same neighbour.
    """
    names = list(contenders)
    found: dict[str, list[T]] = {name: [] for name in names}
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            found[name].append(contenders[name]())
    return found


def spread(values: Sequence[float]) -> Spread:
    """The median of the rounds with its interval."""
    estimate = ranks.quantile_estimate(values, 0.5)
    low = estimate.point if estimate.low is None else estimate.low
    high = estimate.point if estimate.high is None else estimate.high
    return Spread(point=estimate.point, low=low, high=high)


def ratios(ours: Sequence[float], peer: Sequence[float]) -> Spread:
    """Ours over the peer's, each round against its own neighbour."""
    return spread([a / b for a, b in zip(ours, peer, strict=True)])
