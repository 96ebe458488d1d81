"""What a watch tells people, run by run: how often without any change, how late after one, and what it takes back.

    python benchmarks/online.py [--quick]

Simulated, seeded: series of 110 commits with 1 to 3 % of noise, judged after every commit from the twelfth on, once by
the history alone and once with the commits before and after a suspicion measured again in up to 20 pairs. Told per
1,000 judged commits with the 95 % interval of a count; delays are commits from the change until people are told.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from detection.online_simulator import (
    COMMITS,
    FAILURES,
    FAMILIES,
    FIRST,
    Followed,
    follow,
    follow_failures,
    measured_again,
)

from benchwright.stats.distributions import normal_quantile
from harness import Claim, Settings, Spread, at_most, report, settings, spread

SEED = 31
NOISE = (0.01, 0.03)
NEVER = COMMITS  # the delay of a change that was not told
_NEAR = 5  # commits from the change at which a finding may lie
_CONTEXT = ("bursts as steady as a change",)  # a history cannot tell these from a change


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulates and prints; 1 when a bar is clearly missed."""
    asked = settings(__doc__, arguments, rounds=40, quick_rounds=1)
    claims = [*_without_a_change(asked), *_with_a_step(asked), *_without_more_failures(asked), *_with_failures(asked)]
    return report(claims, judged=not asked.quick)


@dataclass(slots=True)
class _Counts:
    """Of one family, judged in one way."""

    told: int = 0
    resolved: int = 0
    measured: int = 0
    delays: list[int] = field(default_factory=list)

    def add(self, followed: Followed) -> None:
        self.told += len(followed.told)
        self.resolved += sum(finding.is_over for finding in followed.told)
        self.measured += followed.measured


def _without_a_change(asked: Settings) -> Iterator[Claim]:
    for number, (name, make) in enumerate(FAMILIES.items()):
        alone, paired = _Counts(), _Counts()
        for repeat in range(asked.rounds):
            rng = np.random.default_rng((SEED, number, repeat))
            noise = rng.uniform(*NOISE)
            values = np.exp(make(rng, COMMITS, noise)).tolist()
            alone.add(follow(values))
            paired.add(follow(values, measured_again(np.zeros(COMMITS), noise, rng)))
        judged = asked.rounds * (COMMITS - FIRST + 1)
        for how, counts in (("history alone", alone), ("with pairs", paired)):
            bar = None if counts is alone and name in _CONTEXT else at_most(2.0)
            yield Claim(
                what=f"nothing changed, {name}, {how}: told",
                figure=_rate(counts.told, judged),
                ours=f"{counts.told} of {judged:,}, {counts.resolved} resolved since",
                against=f"{counts.measured / asked.rounds:.1f} times in pairs a series" if counts is paired else "",
                unit="per 1,000",
                bar=bar,
            )


def _with_a_step(asked: Settings) -> Iterator[Claim]:
    for size in (0.05, 0.1, 0.3):
        alone, paired = _Counts(), _Counts()
        for repeat in range(asked.rounds):
            rng = np.random.default_rng((SEED, 100, repeat))
            noise, place = rng.uniform(*NOISE), int(rng.integers(15, 90))
            truth = np.where(np.arange(COMMITS) >= place, np.log1p(size), 0.0)
            values = np.exp(truth + noise * rng.standard_normal(COMMITS)).tolist()
            for counts, pairs in ((alone, None), (paired, measured_again(truth, noise, rng))):
                followed = follow(values, pairs)
                counts.add(followed)
                counts.delays.append(_delay(followed, place))
        for how, counts in (("history alone", alone), ("with pairs", paired)):
            found = sum(delay < NEVER for delay in counts.delays)
            yield Claim(
                what=f"{100 * size:.0f} % slower, {how}: told after",
                figure=spread([float(delay) for delay in counts.delays]),
                ours=f"{found} of {asked.rounds}, {counts.told - found} besides, {counts.resolved} resolved",
                unit="commits",
                bar=at_most(6.0) if size == 0.1 else None,
            )


def _without_more_failures(asked: Settings) -> Iterator[Claim]:
    for number, (name, make) in enumerate(FAILURES.items()):
        counts = _Counts()
        for repeat in range(asked.rounds):
            counts.add(follow_failures(make(np.random.default_rng((SEED, 200 + number, repeat)), COMMITS).tolist()))
        judged = asked.rounds * (COMMITS - FIRST + 1)
        yield Claim(
            what=f"failed requests, nothing changed, {name}: told",
            figure=_rate(counts.told, judged),
            ours=f"{counts.told} of {judged:,}, {counts.resolved} resolved since",
            unit="per 1,000",
            bar=at_most(2.0),
        )


def _with_failures(asked: Settings) -> Iterator[Claim]:
    for share, requests in ((0.05, 50), (0.05, 200), (0.02, 200)):
        counts = _Counts()
        for repeat in range(asked.rounds):
            rng = np.random.default_rng((SEED, 300, repeat))
            place = int(rng.integers(15, 90))
            fails = np.where(np.arange(COMMITS) >= place, share, 0.0)
            followed = follow_failures((rng.binomial(requests, fails) / requests).tolist())
            counts.add(followed)
            counts.delays.append(_delay(followed, place))
        found = sum(delay < NEVER for delay in counts.delays)
        yield Claim(
            what=f"{100 * share:.0f} % of {requests} requests begin to fail: told after",
            figure=spread([float(delay) for delay in counts.delays]),
            ours=f"{found} of {asked.rounds}, {counts.told - found} besides, {counts.resolved} resolved",
            unit="commits",
            bar=at_most(6.0) if requests == 200 and share == 0.05 else None,
        )


def _delay(followed: Followed, place: int) -> int:
    """Commits at the new level when people were told; `NEVER` if they were not."""
    told = [f.told_at - place for f in followed.told if abs(f.index - place) <= _NEAR and f.told_at > place]
    return min(told, default=NEVER)


def _rate(count: int, judged: int) -> Spread:
    """Per 1,000, with the interval of a Poisson count (Byar's approximation)."""
    z = normal_quantile(0.975)
    high = (count + 1) * (1 - 1 / (9 * (count + 1)) + z / (3 * (count + 1) ** 0.5)) ** 3
    low = count * (1 - 1 / (9 * count) - z / (3 * count**0.5)) ** 3 if count else 0.0
    point, low, high = (1000 * each / judged for each in (float(count), low, high))
    return Spread(point=point, low=low, high=high)


if __name__ == "__main__":
    sys.exit(main())
