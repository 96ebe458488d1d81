"""The rates that a search for the highest one tried, as results keep them, and which of them is its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

CLOSE = 0.12  # a rate that held and one that broke a bound which lie this near leave nothing to search between them


@dataclass(frozen=True, slots=True, kw_only=True)
class RateProbe:
    """One rate that was tried: what was asked of it, and how the objectives fared.

    Of a model that is called here only the first two are known.
    """

    rate: float  # that was asked for
    meets: bool  # every objective held, as far as was seen
    offered: float | None = None  # at which requests were really sent
    requests: int = 0
    failed: int = 0
    seconds: float = 0.0  # during which requests were sent
    sure: bool = True  # that they hold was seen with 95 % confidence
    long: bool = False  # it was looked at for long, not just to find the way
    # Of what is bounded; None: not known, or too many failed.
    values: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def held_rate(self) -> float:
        """The rate that it can speak for: not more than was sent."""
        return self.rate if self.offered is None else min(self.rate, self.offered)


def choose_best(probes: Sequence[RateProbe]) -> RateProbe | None:
    """The highest rate that was shown to hold; None where none was.

    Where a rate was looked at twice, the longer look counts. A short look counts only where no long one held, and below
    every rate at which a long one broke a bound.
    """
    longs = [probe for probe in probes if probe.long]
    if held := [probe for probe in longs if probe.meets]:
        return max(held, key=lambda probe: probe.rate)
    lowest = min((probe.rate for probe in longs), default=float("inf"))
    return max((p for p in probes if p.meets and p.rate < lowest), key=lambda probe: probe.rate, default=None)


def find_next_broken(probes: Sequence[RateProbe], best: RateProbe) -> RateProbe | None:
    """The lowest rate above the best at which a bound was broken."""
    return min((p for p in probes if not p.meets and p.rate > best.rate), key=lambda probe: probe.rate, default=None)


def excess(probe: RateProbe, bounds: Mapping[str, float]) -> float:
    """How many times its bound the worst value is; infinite where one is not known."""
    ratios = []
    for name, bound in bounds.items():
        value = probe.values.get(name)
        ratios.append(float("inf") if value is None or not bound else value / bound)
    return max(ratios, default=float("inf"))
