"""Which of many commits made it slower, on simulated machines: how often it is named, and after how many runs.

    python benchmarks/bisection.py [--quick] [--rounds 150]

On a cloud machine ours, plain halving and the rule of Chromium's Pinpoint search the same ranges of 64 commits. On busy
machines ours searches ranges of 30 commits, of which one, two or none are slower by 10 to 30 %, within 100 runs.
`--rounds` is how many ranges of each kind.
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
MACHINES = {
    "a quarter slowed": (simulator.Busy, 90.0),
    "bursts": (simulator.Bursts, 90.0),
    "two speeds": (simulator.TwoSpeeds, 85.0),
    "overloaded": (simulator.Overloaded, None),
}
_Z = 1.96


def main(arguments: Sequence[str] | None = None) -> int:
    """Searches every range in every way and prints the table."""
    asked = settings(__doc__, arguments, rounds=150, quick_rounds=2)
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
    for machine in MACHINES:
        claims += _busy(machine, asked.rounds)
    return report(claims, judged=not asked.quick)


def _busy(name: str, rounds: int) -> list[Claim]:
    """On one kind of busy machine: named among one and two culprits, anything named wrongly, the sizes."""
    machine, least = MACHINES[name]
    one, two, none = (
        [simulator.search_busy(machine, culprits, [SEED, culprits, number]) for number in range(rounds)]
        for culprits in (1, 2, 0)
    )
    every = [*one, *two, *none]
    sized = [each for each in every if each.covered is not None]
    wrong = [each.commit is not None and not each.right for each in every]
    runs = f"{float(np.median([each.runs for each in one])):.0f} runs"
    claims = [
        Claim(
            what=f"{name}: one of 30 commits is named within 100 runs",
            figure=_share([each.right for each in one]),
            ours=f"{runs} at the median",
            against=f"one of two culprits {_share([each.right for each in two]).point:.0f} %",
            unit="%",
            bar=at_least(least) if least else None,
        ),
        Claim(
            what=f"{name}: a wrong one is named, among one, two and no culprit",
            figure=_share(wrong),
            ours=f"{sum(wrong)} of {len(wrong)}",
            unit="%",
            bar=at_most(2.0),
        ),
    ]
    if sized:
        claims.append(
            Claim(
                what=f"{name}: the interval of a culprit holds the size of its own change",
                figure=_share([bool(each.covered) for each in sized]),
                ours=f"{len(sized)} named",
                unit="%",
                bar=at_least(90.0),
            )
        )
    return claims


def _claims(
    what: str,
    ours: simulator.Search,
    found: dict[simulator.Search, list[Named]],
    bars: tuple[Bar | None, Bar | None],
) -> list[Claim]:
    told = ", ".join(f"{_name(search)} {_right(each).point:.0f} %" for search, each in found.items() if search != ours)
    cost = ", ".join(f"{_name(search)} {_runs(each).point:.0f}" for search, each in found.items() if search != ours)
    named = [each for each in found[ours] if each.commit is not None]
    sure = 100 * float(np.mean([each.sure for each in named])) if named else 0.0
    wrong = sum(not each.right for each in named)
    start = " from a change point" if ours is simulator.from_change_point else ""
    return [
        Claim(
            what=f"{what}: the right commit is named{start}",
            figure=_right(found[ours]),
            ours=f"says {sure:.1f} % itself, {wrong} wrong",
            against=told,
            unit="%",
            bar=bars[0],
        ),
        Claim(what=f"{what}: runs", figure=_runs(found[ours]), against=cost, unit="runs", bar=bars[1]),
    ]


def _name(search: Callable[..., Named]) -> str:
    return search.__name__


def _right(found: Sequence[Named]) -> Spread:
    return _share([each.right for each in found])


def _share(found: Sequence[bool]) -> Spread:
    """A share with Wilson's interval, in per cent."""
    count, hits = len(found), sum(found)
    share, extra = hits / count, _Z**2 / count
    centre = (share + extra / 2) / (1 + extra)
    half = _Z * math.sqrt(share * (1 - share) / count + extra / (4 * count)) / (1 + extra)
    return Spread(point=100 * share, low=max(0.0, 100 * (centre - half)), high=100 * (centre + half))


def _runs(found: Sequence[Named]) -> Spread:
    """The mean with its interval."""
    runs = [each.runs for each in found]
    half = _Z * float(np.std(runs)) / math.sqrt(len(runs))
    return Spread(point=float(np.mean(runs)), low=float(np.mean(runs)) - half, high=float(np.mean(runs)) + half)


if __name__ == "__main__":
    sys.exit(main())
