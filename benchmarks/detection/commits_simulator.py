"""A range of commits on a simulated machine, some of them slower, and three ways to find the one.

Each machine runs one process after the other and says what it is off by. The cloud shares a condition over a stretch of
time, which drifts and jumps, has processes that fall into a slow mode, heavy tails, and now and then one that something
disturbed. The others are what processes on two cores beside busy loops looked like: a tight core with a rest on one
side, bursts that last several runs, speeds that stick to a process, and calls that are longer than a time slice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchwright.stats import bisection
from benchwright.stats.distributions import normal_cdf

COMMITS = 64
HISTORY = 40  # commits on either side of the range that were measured too, for a change point's sake
MOST = 200  # runs


class Machine:
    """A cloud machine; the base of the others."""

    def __init__(self, rng: np.random.Generator, *, noise: float = 1.0) -> None:
        self.rng, self._noise = rng, noise
        self._jump = self._drift = 0.0
        self.runs = 0
        self.rest()

    def rest(self) -> None:
        """A long time goes by: the condition is another one."""
        self._drift, self._jump = 0.012 * self.rng.normal(), 0.02 * self.rng.exponential()

    def run(self, level: float) -> float:
        """The figure that a process of that true level reports."""
        self.runs += 1
        return level * math.exp(self._noise * self.off())

    def off(self) -> float:
        """What the next process is off by, as a logarithm."""
        rng = self.rng
        self._drift = 0.97 * self._drift + 0.012 * math.sqrt(1 - 0.97**2) * rng.normal()
        if rng.random() < 1 / 40:  # a neighbour came or went
            self._jump = 0.02 * rng.exponential()
        own = 0.008 * rng.standard_t(3) + (0.015 if rng.random() < 0.2 else 0.0)
        if rng.random() < 0.04:
            own += 0.15 * rng.exponential()
        return float(self._drift + self._jump + own)


class Busy(Machine):
    """Most processes are undisturbed; a quarter is slowed a little, a few by a lot."""

    def off(self) -> float:
        """A tight core and a rest on one side."""
        rng = self.rng
        own = 0.004 * rng.normal()
        own += 0.04 * rng.exponential() if rng.random() < 0.25 else 0.0
        return float(own + (0.3 * rng.exponential() if rng.random() < 0.03 else 0.0))


class Bursts(Machine):
    """Something slows several processes in a row."""

    _left, _height = 0, 0.0

    def off(self) -> float:
        """Within a burst, or not."""
        rng = self.rng
        if self._left:
            self._left -= 1
        elif rng.random() < 1 / 12:
            self._left, self._height = int(rng.geometric(1 / 5)), 0.15 * rng.exponential()
        own = 0.006 * rng.normal() + (self._height * (0.7 + 0.6 * rng.random()) if self._left else 0.0)
        return float(own + (0.05 * rng.exponential() if rng.random() < 0.15 else 0.0))


class TwoSpeeds(Machine):
    """Each process has one of two speeds for its whole life."""

    def __init__(self, rng: np.random.Generator, *, noise: float = 1.0) -> None:
        super().__init__(rng, noise=noise)
        self._gap, self._share = rng.uniform(0.03, 0.12), rng.uniform(0.15, 0.5)

    def off(self) -> float:
        """The slow one, or the other."""
        rng = self.rng
        own = 0.005 * rng.normal() + (self._gap if rng.random() < self._share else 0.0)
        return float(own + (0.1 * rng.exponential() if rng.random() < 0.05 else 0.0))


class Overloaded(Machine):
    """Every call waits for its turn: a broad noise around a load that changes slowly."""

    _load = 0.0

    def off(self) -> float:
        """The load, and what is the process's own."""
        rng = self.rng
        self._load = 0.9 * self._load + 0.1 * math.sqrt(1 - 0.81) * rng.normal()
        return float(self._load + 0.06 * rng.normal() + (0.2 * rng.exponential() if rng.random() < 0.2 else 0.0))


@dataclass(slots=True, kw_only=True)
class Range:
    """Commits after a good one, which is -1; from each culprit on they are slower by its effect."""

    effects: Mapping[int, float]  # culprit -> what it adds, as a share
    machine: Machine
    commits: int = COMMITS

    def level(self, commit: int) -> float:
        """The true figure of a commit."""
        return math.prod(1 + effect for culprit, effect in self.effects.items() if commit >= culprit)

    def run(self, commit: int) -> float:
        """One process of a commit."""
        return self.machine.run(self.level(commit))

    def pair(self, base: int, commit: int, flip: bool) -> bisection.CommitPair:
        """A commit and its control next to each other in either order."""
        first, second = (self.run(commit if flip else base), self.run(base if flip else commit))
        control, figure = (second, first) if flip else (first, second)
        return bisection.CommitPair(commit=commit, base=base, control=control, figure=figure, control_first=not flip)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a search came to."""

    commit: int | None  # None: it names nobody
    runs: int
    right: bool
    sure: float = 0.0  # what it says itself
    covered: bool | None = None  # whether its interval holds the size of the commit's change; None: there is none


Search = Callable[[Range, np.random.Generator], Named]


def search(effect: float, find: Search, seed: Sequence[int], *, noise: float = 1.0) -> Named:
    """One simulated bisection on the cloud machine."""
    rng = np.random.default_rng(seed)
    culprit = int(rng.integers(COMMITS))
    return find(Range(effects={culprit: effect}, machine=Machine(rng, noise=noise)), rng)


def search_busy(machine: type[Machine], culprits: int, seed: Sequence[int]) -> Named:
    """One simulated bisection of 30 commits, so many of them slower by 10 to 30 %, within 100 runs."""
    rng = np.random.default_rng(seed)
    places = rng.choice(30, size=culprits, replace=False)
    effects = {int(place): float(rng.uniform(0.1, 0.3)) for place in places}
    there = Range(effects=effects, machine=machine(rng), commits=30)
    return _bayesian(there, rng, bisection.uniform_prior(30), most=100)


def bayesian(there: Range, rng: np.random.Generator) -> Named:
    """Ours, with nothing known beforehand."""
    return _bayesian(there, rng, bisection.uniform_prior(there.commits))


def from_change_point(there: Range, rng: np.random.Generator) -> Named:
    """Ours, started from where a change point in the history of single runs, one a commit, is thought to be."""
    from benchwright.stats.changepoint import detect

    figures = []
    for commit in range(-HISTORY, COMMITS + HISTORY):
        there.machine.rest()
        figures.append(there.run(commit))
    there.machine.runs = 0
    prior = bisection.uniform_prior(COMMITS)
    slower = [change for change in detect(figures) if change.effect > 1]
    if slower:
        change = max(slower, key=lambda each: each.effect)
        places = {index - HISTORY: share for index, share in change.position if 0 <= index - HISTORY < COMMITS}
        prior = bisection.prior_from_weights(places, COMMITS)
    return _bayesian(there, rng, prior)


def _bayesian(there: Range, rng: np.random.Generator, prior: bisection.Prior, most: int = MOST) -> Named:
    pairs: list[bisection.CommitPair] = []
    while True:
        step = bisection.choose_next_step(prior, pairs)
        if step.commit is None or there.machine.runs + 2 > most:
            break
        pairs.append(there.pair(step.base, step.commit, bool(rng.random() < 0.5)))
    if step.commit is not None or step.group is None or not bisection.is_shown(step.size):
        return _named(there, None)
    (commit,) = step.group.commits
    size, truth = step.size, 1 + there.effects.get(commit, 0.0)
    covered = bool(size and size.low and size.high and size.low <= truth <= size.high)
    return _named(there, commit, step.group.probability, covered=covered)


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


def _named(there: Range, commit: int | None, sure: float = 0.0, *, covered: bool | None = None) -> Named:
    right = commit in there.effects
    return Named(commit=commit, runs=there.machine.runs, right=right, sure=sure, covered=covered if right else None)
