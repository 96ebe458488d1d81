"""Which of 64 commits made it slower, on a simulated cloud machine: how often it is named, and after how many runs.

    python benchmarks/bisection.py [--quick] [--rounds 600]

Ours, plain halving and the rule of Chromium's Pinpoint search the same ranges. `--rounds` is how many of them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence

import numpy as np
from detection import commits_simulator as simulator
from detection.commits_simulator import Named
from harness import Bar, Claim, Spread, at_least, at_most, report, settings

SEED = 64
_Z = 1.96


def main(arguments: Sequence[str] | None = None) -> int:
    """Searches every range in every way and prints the table."""
    asked = settings(__doc__, arguments, rounds=600, quick_rounds=2)
    claims: list[Claim] = []
    for effect, ours, right, runs in (
        (0.05, simulator.bayesian, 95.0, 150.0),
        (0.10, simulator.from_change_point, 98.0, 50.0),
    ):
        found = {
            search: [simulator.search(effect, search, [SEED, number]) for number in range(asked.rounds)]
            for search in (ours, simulator.halving, simulator.chromium)
        }
        claims += _claims(f"{100 * effect:.0f} % change", ours, found, (at_least(right), at_most(runs)))
    found = {simulator.bayesian: [simulator.search(0.10, simulator.bayesian, [SEED, n]) for n in range(asked.rounds)]}
    claims += _claims("10 % change, nothing known", simulator.bayesian, found, (at_least(98.0), None))
    return report(claims, judged=not asked.quick)


def _claims(
    what: str,
    ours: simulator.Search,
    found: dict[simulator.Search, list[Named]],
    bars: tuple[Bar | None, Bar | None],
) -> list[Claim]:
    told = ", ".join(f"{_name(search)} {_right(each).point:.0f} %" for search, each in found.items() if search != ours)
    cost = ", ".join(f"{_name(search)} {_runs(each).point:.0f}" for search, each in found.items() if search != ours)
    sure = 100 * float(np.mean([each.sure for each in found[ours]]))
    start = " from a change point" if ours is simulator.from_change_point else ""
    return [
        Claim(
            what=f"{what}: the right commit is named{start}",
            figure=_right(found[ours]),
            ours=f"says {sure:.1f} % itself",
            against=told,
            unit="%",
            bar=bars[0],
        ),
        Claim(what=f"{what}: runs", figure=_runs(found[ours]), against=cost, unit="runs", bar=bars[1]),
    ]


def _name(search: Callable[..., Named]) -> str:
    return search.__name__


def _right(found: Sequence[Named]) -> Spread:
    """A share with Wilson's interval, in per cent."""
    count, hits = len(found), sum(each.right for each in found)
    share, extra = hits / count, _Z**2 / count
    centre = (share + extra / 2) / (1 + extra)
    half = _Z * math.sqrt(share * (1 - share) / count + extra / (4 * count)) / (1 + extra)
    return Spread(point=100 * share, low=100 * (centre - half), high=100 * (centre + half))


def _runs(found: Sequence[Named]) -> Spread:
    """The mean with its interval."""
    runs = [each.runs for each in found]
    half = _Z * float(np.std(runs)) / math.sqrt(len(runs))
    return Spread(point=float(np.mean(runs)), low=float(np.mean(runs)) - half, high=float(np.mean(runs)) + half)


if __name__ == "__main__":
    sys.exit(main())
