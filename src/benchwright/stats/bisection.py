"""Which of many commits changed a figure, learnt from noisy pairs: a probabilistic bisection. Pure functions.

Commits are numbered 0 to n - 1 in the order of history; the last one is known as bad, the one before the first as good.
A pair is the good revision and a commit, measured next to each other on one machine, so that whatever the machine does
meanwhile falls out of the logarithm r of their ratio. If commit k is the culprit, then

    r = b             + s t   for a commit before k,
    r = b + e         + s t   for k and every later one,

with one effect e, a noise of unknown scale s and Student's t of 3 degrees of freedom, which no outlier impresses. The
small b belongs to the commit alone: two builds of equal speed differ by a little for good, as code moves in memory
(Mytkowicz and others, "Producing wrong data without doing anything obviously wrong!", 2009), and repeating does not
average it out. k, e and s are learnt together on a grid; that nothing changed at all is one of the answers.

The next commit is the one whose pair is expected to tell the most about k: the largest mutual information, after
Lindley, "On a measure of the information provided by an experiment" (1956). With known e and s this is the probabilistic
bisection of Horstein (1963), whose optimality Waeber, Frazier and Henderson proved ("Bisection search with noisy
responses", 2013).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchwright.records import Estimate

Floats = NDArray[np.float64]

_FREEDOM = 3.0  # of Student's t
_DENSITY = math.lgamma((_FREEDOM + 1) / 2) - math.lgamma(_FREEDOM / 2) - 0.5 * math.log(_FREEDOM * math.pi)
_SCALES = np.geomspace(0.0008, 0.3, 18)  # of one pair
_USUAL_SCALE, _SCALE_SPREAD = 0.015, 1.2  # where the scale is before anything is seen: a log-normal
_BUILDS = 0.002  # standard deviation of what is a build's own
_NODES, _WEIGHTS = np.array([-1.0, 0.0, 1.0]) * math.sqrt(3.0) * _BUILDS, np.array([1 / 6, 2 / 3, 1 / 6])
_COARSE = np.geomspace(0.004, 2.5, 16)  # effects of either sign, as logarithms
_FINE = np.linspace(-5.0, 5.0, 25)  # around what the bad end says, in its own errors
_ANYWHERE = 0.1  # of a prior that somebody gives: spread over all commits, as it may be mistaken
_ENOUGH = 0.95  # of the most information: a commit that is already built will do


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The good revision and a commit, measured next to each other: the commit's figure over the good one's."""

    commit: int
    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What is known beforehand: of the place, and of the effect as a ratio."""

    commits: tuple[float, ...]  # each one's share; they need not add up to 1
    nothing: float = 0.05  # that none of them changed anything
    effect: Estimate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Commits that cannot be told apart, as those between them cannot be measured. Mostly one alone."""

    commits: tuple[int, ...]
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """What is known after some pairs."""

    commits: tuple[float, ...]  # probability of each that it is the culprit
    nothing: float  # probability that there is none
    effect: Estimate  # of the change, as a ratio
    noise: float  # standard deviation of one pair's ratio, outliers apart
    pairs: int
    _telling: tuple[Floats, Floats] = field(repr=False, compare=False)  # of a pair, by commit: if it is slow; if not

    def groups(self, skipped: Collection[int] = ()) -> list[Group]:
        """The most probable first. Commits that only a skipped one would tell apart are one group."""
        found: list[Group] = []
        begun = 0
        for index in range(len(self.commits)):
            if index not in skipped or index == len(self.commits) - 1:
                members = tuple(range(begun, index + 1))
                found.append(Group(commits=members, probability=sum(self.commits[i] for i in members)))
                begun = index + 1
        return sorted(found, key=lambda group: -group.probability)


def uniform(count: int, *, nothing: float = 0.05, effect: Estimate | None = None) -> Prior:
    """Nothing is known of the place."""
    return Prior(commits=(1 / count,) * count, nothing=nothing, effect=effect)


def placed(weights: Mapping[int, float], count: int, *, nothing: float = 0.05, effect: Estimate | None = None) -> Prior:
    """A change point's own distribution over the commits; some is kept for all others, as it may be mistaken."""
    total = sum(weights.values())
    if not total > 0:
        return uniform(count, nothing=nothing, effect=effect)
    shares = (weights.get(i, 0.0) / total for i in range(count))
    spread = tuple((1 - _ANYWHERE) * share + _ANYWHERE / count for share in shares)
    return Prior(commits=spread, nothing=nothing, effect=effect)
