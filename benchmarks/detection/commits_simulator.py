"""A range of commits on a simulated machine, one of them slower, and three ways to find it.

The noise is like a cloud machine's: a condition that all processes of a stretch of time share, which drifts and jumps;
processes that fall into a slow mode, heavy tails, and now and then one that something disturbed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchwright.stats import bisection
from benchwright.stats.distributions import normal_cdf

COMMITS = 64
HISTORY = 40  # commits on either side of the range that were measured too, for a change point's sake


class Machine:
    """Runs one process after the other."""

    def __init__(self, rng: np.random.Generator, *, noise: float = 1.0) -> None:
        self._rng, self._noise = rng, noise
        self._jump = self._drift = 0.0
        self.runs = 0
        self.rest()

    def rest(self) -> None:
        """A long time goes by: the condition is another one."""
        self._drift, self._jump = 0.012 * self._rng.normal(), 0.02 * self._rng.exponential()

    def run(self, level: float) -> float:
        """The figure that a process of that true level reports."""
        rng = self._rng
        self.runs += 1
        self._drift = 0.97 * self._drift + 0.012 * math.sqrt(1 - 0.97**2) * rng.normal()
        if rng.random() < 1 / 40:  # a neighbour came or went
            self._jump = 0.02 * rng.exponential()
        own = 0.008 * rng.standard_t(3) + (0.015 if rng.random() < 0.2 else 0.0)
        if rng.random() < 0.04:
            own += 0.15 * rng.exponential()
        return level * math.exp(self._noise * (self._drift + self._jump + own))


@dataclass(slots=True, kw_only=True)
class Range:
    """Commits 0 to 63 after a good one; the culprit and all later ones are slower by `effect`."""

    culprit: int
    effect: float
    machine: Machine

    def run(self, commit: int) -> float:
        """One process of a commit; -1 is the good one."""
        return self.machine.run(1 + self.effect if commit >= self.culprit else 1.0)

    def pair(self, commit: int, flip: bool) -> float:
        """The commit over the good one, next to each other in either order."""
        first, second = (self.run(commit if flip else -1), self.run(-1 if flip else commit))
        return first / second if flip else second / first


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a search came to."""

    commit: int | None
    runs: int
    right: bool
    sure: float = 0.0  # what it says itself


Search = Callable[[Range, np.random.Generator], Named]


def search(effect: float, find: Search, seed: Sequence[int], *, noise: float = 1.0) -> Named:
    """One simulated bisection."""
    rng = np.random.default_rng(seed)
    return find(Range(culprit=int(rng.integers(COMMITS)), effect=effect, machine=Machine(rng, noise=noise)), rng)


def bayesian(there: Range, rng: np.random.Generator) -> Named:
    """Ours, with nothing known beforehand."""
    return _bayesian(there, rng, bisection.uniform(COMMITS))


def from_change_point(there: Range, rng: np.random.Generator) -> Named:
    """Ours, started from where a change point in the history of single runs, one a commit, is thought to be."""
    from benchwright.stats.changepoint import detect

    figures = []
    for commit in range(-HISTORY, COMMITS + HISTORY):
        there.machine.rest()
        figures.append(there.run(commit))
    there.machine.runs = 0
    prior = bisection.uniform(COMMITS)
    slower = [change for change in detect(figures) if change.effect > 1]
    if slower:
        change = max(slower, key=lambda each: each.effect)
        places = {index - HISTORY: share for index, share in change.position if 0 <= index - HISTORY < COMMITS}
        prior = bisection.placed(places, COMMITS)
    return _bayesian(there, rng, prior)


def _bayesian(there: Range, rng: np.random.Generator, prior: bisection.Prior, most: int = 200) -> Named:
    pairs: list[bisection.Pair] = []
    while True:
        step = bisection.following(prior, pairs)
        if step.commit is None or there.machine.runs >= most:
            break
        ratio = there.pair(step.commit, bool(rng.random() < 0.5))
        pairs.append(bisection.Pair(commit=step.commit, ratio=ratio))
    best = step.posterior.groups()[0]
    return _named(there, best.commits[0], best.probability)


def halving(there: Range, rng: np.random.Generator, runs: int = 10) -> Named:
    """Ten runs of either end, ten of each commit in the middle; whichever end its median is nearer to."""
    good, bad = (float(np.median([there.run(end) for _ in range(runs)])) for end in (-1, COMMITS - 1))
    low, high = -1, COMMITS - 1
    while high - low > 1:
        middle = (low + high) // 2
        figure = float(np.median([there.run(middle) for _ in range(runs)]))
        low, high = (low, middle) if abs(figure - bad) < abs(figure - good) else (middle, high)
    return _named(there, high)


def chromium(there: Range, rng: np.random.Generator) -> Named:
    """Neighbours that were measured are compared with Mann and Whitney's test, as Chromium's Pinpoint does.

    Ten runs each; below 1 % they differ, above 40 % they do not, and in between both get more, up to 40.
    """
    figures = {commit: [there.run(commit) for _ in range(10)] for commit in (-1, COMMITS - 1)}
    low, high = -1, COMMITS - 1
    while high - low > 1:
        middle = (low + high) // 2
        figures[middle] = [there.run(middle) for _ in range(10)]
        differ = _differ(there, figures, low, middle)
        low, high = (low, middle) if differ else (middle, high)
    return _named(there, high)


def _differ(there: Range, figures: dict[int, list[float]], a: int, b: int) -> bool:
    while 0.01 <= (p := _mann_whitney(figures[a], figures[b])) < 0.4 and len(figures[b]) < 40:
        for commit in (a, b):
            figures[commit] += [there.run(commit) for _ in range(10)]
    return p < 0.01


def _mann_whitney(a: Sequence[float], b: Sequence[float]) -> float:
    wins = sum(x < y for x in a for y in b)
    centre, spread = len(a) * len(b) / 2, math.sqrt(len(a) * len(b) * (len(a) + len(b) + 1) / 12)
    return 2 * normal_cdf(-abs(wins - centre) / spread)


def _named(there: Range, commit: int, sure: float = 0.0) -> Named:
    return Named(commit=commit, runs=there.machine.runs, right=commit == there.culprit, sure=sure)
