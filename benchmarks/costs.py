"""How often the 95 % interval of a cost holds the true cost: throughputs and times whose cost is known.

    python benchmarks/costs.py [--quick]

Simulated, seeded, 4,000 measurements for each figure. A measurement is a few rounds, each a process with a speed of
its own and an interval of its own; the cost of each goes through the price, and all are combined as a table does it.
The true cost is what a long series of such processes pays for an item: the price over the mean rate, or times the mean
time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from detection.shares import share

from benchwright.analysis.rows import combine_estimates
from benchwright.execution.pricing import cost_of
from benchwright.execution.works import Work
from benchwright.records import Better, Estimate, Metric
from benchwright.records.costs import PER_MILLION, PER_RUN
from benchwright.records.prices import Price
from harness import Claim, Settings, at_least, at_most, report, settings

Draw = Callable[[np.random.Generator, int], "np.ndarray[tuple[int, ...], np.dtype[np.float64]]"]
PRICE = Price(provider="aws", shape="c7i.large", amount=0.1019)
ITEMS = Work(metric="throughput", is_rate=True, count=1e6)
RUNS = Work(metric="wall_time", is_rate=False, count=1.0, piece="run")
WITHIN = 0.01  # noise within a process, whose own interval tells it


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """How the speeds of processes differ; the mean of what is drawn is 1."""

    name: str
    draw: Draw
    is_claimed: bool = True


def normal(spread: float) -> Draw:
    return lambda rng, count: 1 + rng.normal(0.0, spread, count)


def lognormal(spread: float) -> Draw:
    return lambda rng, count: rng.lognormal(-spread * spread / 2, spread, count)


def two_speeds(rng: np.random.Generator, count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Every fifth process is a tenth slower, as beside a busy neighbour."""
    return np.where(rng.random(count) < 0.2, 0.9, 1.0) / 0.98 * (1 + rng.normal(0.0, 0.01, count))


MACHINES = (
    Machine(name="processes differ by 1 %", draw=normal(0.01)),
    Machine(name="by 3 %", draw=normal(0.03)),
    Machine(name="by 10 %", draw=normal(0.10)),
    Machine(name="by 10 %, skewed", draw=lognormal(0.10)),
    Machine(name="one of five a tenth slower", draw=two_speeds, is_claimed=False),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulates and prints; 1 when a bar is missed."""
    asked = settings(__doc__, arguments, rounds=4000, quick_rounds=50)
    return report([*_claims(asked)], judged=not asked.quick)


def _claims(asked: Settings) -> Iterator[Claim]:
    for work, unit, what in ((ITEMS, "/s", "a million items"), (RUNS, "s", "a run")):
        for machine in MACHINES:
            for rounds in (3, 5, 10, 20):
                rng = np.random.default_rng(17)
                held = [_holds(rng, machine, rounds, work, unit) for _ in range(asked.rounds)]
                name = f"{what}, {machine.name}, {rounds} rounds"
                for bar in (at_least(93.0), at_most(97.0)) if machine.is_claimed else (None,):
                    yield Claim(what=name, figure=share(held), unit="%", bar=bar)


def _holds(rng: np.random.Generator, machine: Machine, rounds: int, work: Work, unit: str) -> bool:
    """Whether the interval of one measurement holds the true cost of a rate of 100 in a second, or a time of 100 s."""
    better = Better.HIGHER if work.is_rate else Better.LOWER
    costs = []
    for speed in machine.draw(rng, rounds):
        value = 100.0 * float(speed) * (1 + float(rng.normal(0.0, WITHIN)))
        estimate = Estimate(point=value, low=value * (1 - 2 * WITHIN), high=value * (1 + 2 * WITHIN), method="drawn")
        if not work.is_rate:  # the time of a run is seen once
            estimate = Estimate(point=value, low=None, high=None, method="observed once")
        cost = cost_of(Metric(name=work.metric, unit=unit, better=better, estimate=estimate), PRICE, work)
        assert cost is not None
        costs.append(cost)
    whole = combine_estimates(PER_MILLION if work.is_rate else PER_RUN, "USD", costs)
    true = PRICE.per_hour / 3600 * (work.count / 100.0 if work.is_rate else 100.0)
    return whole.low is not None and whole.high is not None and whole.low <= true <= whole.high


if __name__ == "__main__":
    sys.exit(main())
