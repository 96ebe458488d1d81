"""Slow decay in simulated histories: how often it is found, how large, and how often it is seen where there is none.

    python benchmarks/drift.py [--quick]

Two hundred series for each row in which nothing drifts, half as many for the others. Sizes of steps on a slope are held
against those of `detect`, which knows no slopes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from zlib import crc32

import numpy as np
from detection.slopes import FAMILIES, LENGTHS, Array, sloping, stepping, unchanged

from benchwright.stats.changepoint import Change, detect
from benchwright.stats.distributions import normal_quantile
from benchwright.stats.drift import Trend, examine
from harness import Bar, Claim, Settings, Spread, at_least, at_most, report, settings

SEED = 13
ROWS = (  # where the slope begins, how long it is, its size
    ("30 % over 200 of 200 points", 0, 200, 0.3),
    ("30 % over 100 of 200", 50, 100, 0.3),
    ("30 % over the last 100 of 200", 100, 100, 0.3),
    ("20 % over 40 of 200", 80, 40, 0.2),
)
ONLINE = ("AR 0.5", "two sticky modes, 5 % apart", "day and night, 3 %", "random walk, 0.2 % a point")
COMMITS, EACH = 110, 5  # of an online series, and how many commits come between two looks


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulates and prints; 1 when a bar is missed."""
    asked = settings(__doc__, arguments, rounds=200, quick_rounds=2)
    claims = [*_slow(asked), *_on_a_slope(asked), *_stepped(asked), *_none(asked), *_online(asked)]
    return report(claims, judged=not asked.quick)


def _look(values: Array) -> Trend:
    return examine(values.tolist(), detect=detect)


def _slow(asked: Settings) -> Iterator[Claim]:
    for noise in (0.01, 0.02, 0.03):
        for name, begin, length, size in ROWS:
            found, held, ladder = [], [], []
            for rng in _generators(f"{name} {noise}", asked.count(100, 2)):
                values = sloping(rng, count=200, begin=begin, length=length, size=size, noise=noise)
                trend = _look(values)
                found.append(len(trend.drifts) == 1)
                ladder.append(bool(trend.changes))
                held += [drift.low <= 1 + size <= drift.high for drift in trend.drifts[:1]]
            what = f"{name}, noise {100 * noise:g} %"
            yield _claim(f"{what}: found as one drift", found, at_least(96.0) if noise <= 0.02 else None)
            yield _claim(f"{what}: its interval holds the truth", held, None)
            yield _claim(f"{what}: steps beside it", ladder, None)


def _on_a_slope(asked: Settings) -> Iterator[Claim]:
    for size, noise in ((0.3, 0.02), (0.2, 0.01), (0.04, 0.01)):
        held, plain = [], []
        for rng in _generators(f"step on {size} {noise}", asked.count(100, 2)):
            values = sloping(rng, count=200, begin=0, length=200, size=size, noise=noise)
            values[100:] *= 1.1
            held.append(_holds(_look(values).changes))
            plain.append(_holds(detect(values.tolist())))
        what = f"10 % step on a slope of {100 * size:g} %, noise {100 * noise:g} %: found, and its interval holds 10 %"
        yield _claim(what, held, at_least(90.0))
        yield _claim("the same by steps alone", plain, None)


def _holds(changes: Sequence[Change]) -> bool:
    near = [one for one in changes if abs(one.index - 100) <= 5]
    return bool(near) and near[0].low <= 1.1 <= near[0].high


def _stepped(asked: Settings) -> Iterator[Claim]:
    for steps, bar in ((1, at_most(2.0)), (2, None)):
        rngs = _generators(f"steps {steps}", asked.rounds)
        seen = [bool(_look(stepping(rng, int(rng.choice((110, 200, 400))), steps)).drifts) for rng in rngs]
        yield _claim(f"{steps} step{'s' * (steps > 1)} of 3 to 20 %: called a drift", seen, bar)


def _none(asked: Settings) -> Iterator[Claim]:
    for family in FAMILIES:
        rngs = _generators(family, asked.rounds)
        seen = [bool(_look(unchanged(family, rng, int(rng.choice(LENGTHS)))).drifts) for rng in rngs]
        yield _claim(f"unchanged, {family}: a drift is seen", seen, at_most(2.0))


def _online(asked: Settings) -> Iterator[Claim]:
    for family in ONLINE:
        seen = []
        for rng in _generators(f"online {family}", asked.count(40, 1)):
            values = unchanged(family, rng, COMMITS)
            seen.append(any(_look(values[:end]).drifts for end in range(30, COMMITS + 1, EACH)))
        yield _claim(f"{COMMITS} commits, looked at every {EACH}: {family}: a drift is seen at any look", seen, None)


def _generators(name: str, rounds: int) -> Iterator[np.random.Generator]:
    return (np.random.default_rng((SEED, crc32(name.encode()), number)) for number in range(rounds))


def _claim(what: str, truths: Sequence[bool], bar: Bar | None) -> Claim:
    ours = f"{sum(truths)} of {len(truths)}"
    return Claim(what=what, ours=ours, figure=_share(truths), unit="%", bar=bar)


def _share(truths: Sequence[bool]) -> Spread:
    """In percent, with Wilson's interval at 95 %."""
    count = max(1, len(truths))
    share, z = sum(truths) / count, normal_quantile(0.975)
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return Spread(point=100 * share, low=100 * max(0.0, middle - half), high=100 * min(1.0, middle + half))


if __name__ == "__main__":
    sys.exit(main())
