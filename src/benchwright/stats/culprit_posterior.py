"""What pairs of commits say about the culprits among them: a posterior over levels that jump. Pure functions.

Commits are numbered 0 to n - 1 in the order of history; the one before the first is the good revision, -1. A pair is a
commit and its control, mostly the good revision, measured next to each other on one machine. The logarithm of the
commit's figure against what its controls did around that time (`process_noise`) is

    level of the commit - level of the control + what is a build's own + noise.

The level starts at 0 and jumps at a few commits, the culprits: at one mostly, perhaps at two or three, perhaps at none
(`level_paths`). So a range with two culprits is no contradiction, and the size of a jump is that of its commit alone.
What is a build's own is small and belongs to the commit: two builds of equal speed differ by a little for good, as code
moves in memory (Mytkowicz and others, "Producing wrong data without doing anything obviously wrong!", 2009), and
repeating does not average it out. Levels, jumps and noise are learnt together on a grid.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchwright.records import Estimate
from benchwright.stats.level_paths import LevelPaths, PathModel, sum_paths
from benchwright.stats.process_noise import (
    NeighbourNoise,
    WeightedNoises,
    against_controls,
    coarseness,
    learn_noises,
    width,
)

Floats = NDArray[np.float64]

GOOD = -1  # the number of the good revision
LEAST = 0.003  # a jump below this is none

_BUILDS = 0.002  # standard deviation of what is a build's own
_NODES, _WEIGHTS = np.array([-1.0, 0.0, 1.0]) * math.sqrt(3.0) * _BUILDS, np.array([1 / 6, 2 / 3, 1 / 6])
_COARSE = np.geomspace(0.004, 2.5, 14)  # levels of either sign, as logarithms
_FINE = np.sinh(np.linspace(-4.0, 4.0, 17))  # around what pairs say, in their own errors: dense near, yet far
_NEAR = np.array([-2.5, -1.0, 0.0, 1.0, 2.5])  # the same around commits that are not the last
_COUNTS = np.array([0.8, 0.13, 0.04, 0.02, 0.01])  # probability of one jump, of two, ..., where there is any
_WIDER = 1.3  # the interval of the whole change: processes depend on each other more than the noises know
_ANYWHERE = 0.1  # of a prior that somebody gives: spread over all commits, as it may be mistaken


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPair:
    """A commit and its control, measured next to each other."""

    commit: int
    control: float
    figure: float  # the commit's
    base: int = GOOD  # what the control is
    length: float = 1.0  # of its processes, in usual ones
    control_first: bool | None = None  # which of them ran first; None: not known

    @property
    def ratio(self) -> float:
        """The commit's figure over the control's."""
        return self.figure / self.control


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What is known beforehand: of the place, and of the effect as a ratio."""

    commits: tuple[float, ...]  # each one's share; they need not add up to 1
    nothing: float = 0.05  # that none of them changed anything
    effect: Estimate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Commits that cannot be told apart, since those between them cannot be measured; mostly one commit alone."""

    commits: tuple[int, ...]
    probability: float  # that the figure changed there
    size: float = 0.0  # of the change as a logarithm, without its sign: what is expected, no change among it

    @property
    def edge(self) -> tuple[int, int]:
        """The control and the commit whose pairs are about this group alone."""
        return self.commits[0] - 1, self.commits[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """What a bisection knows after some pairs: how probable each commit is, and the size of its change."""

    commits: tuple[float, ...]  # probability of each that the figure changed with it; two may both be sure
    nothing: float  # probability that it changed with none
    effect: Estimate  # of the last commit over the good revision, as a ratio
    noise: float  # of one process: its core's scale, as a logarithm
    pairs: int
    sizes: tuple[float, ...] = field(repr=False)  # of each commit's change, should there be one: expected, without sign
    stops: tuple[int, ...] = field(repr=False)  # commits that were measured, and the last one
    paths: LevelPaths = field(repr=False, compare=False)
    noises: WeightedNoises = field(repr=False, compare=False)
    prior: Prior = field(repr=False, compare=False)

    def groups(self, skipped: Collection[int] = ()) -> list[Group]:
        """The one with the largest expected change first. Commits that only a skipped one would tell apart are one."""
        found: list[Group] = []
        begun = 0
        for index in range(len(self.commits)):
            if index not in skipped or index == len(self.commits) - 1:
                members = tuple(range(begun, index + 1))
                size = sum(self.commits[i] * self.sizes[i] for i in members)
                chance = min(1.0, sum(self.commits[i] for i in members))
                found.append(Group(commits=members, probability=chance, size=size))
                begun = index + 1
        return sorted(found, key=lambda group: -group.size)


def uniform_prior(count: int, *, nothing: float = 0.05, effect: Estimate | None = None) -> Prior:
    """The prior when nothing is known of the place: every commit is as likely as any other."""
    return Prior(commits=(1 / count,) * count, nothing=nothing, effect=effect)


def prior_from_weights(
    weights: Mapping[int, float], count: int, *, nothing: float = 0.05, effect: Estimate | None = None
) -> Prior:
    """A change point's own distribution over the commits; some is kept for all others, as it may be mistaken."""
    total = sum(weights.values())
    if not total > 0:
        return uniform_prior(count, nothing=nothing, effect=effect)
    shares = (weights.get(i, 0.0) / total for i in range(count))
    spread = tuple((1 - _ANYWHERE) * share + _ANYWHERE / count for share in shares)
    return Prior(commits=spread, nothing=nothing, effect=effect)


def learn(prior: Prior, pairs: Sequence[CommitPair]) -> Posterior:
    """Computes the posterior of the culprits from the pairs."""
    count = len(prior.commits)
    measured = {place for pair in pairs for place in (pair.commit, pair.base)} - {GOOD}
    stops = tuple(sorted(measured | {count - 1}))
    offs, factors, noises = _compare_with_controls(pairs)
    by_stop = [[i for i, pair in enumerate(pairs) if pair.commit == stop and (pair.base == GOOD)] for stop in stops]
    levels = _levels(offs, by_stop)
    seen = np.stack([_likelihood(offs[rows], factors[rows], levels, noises).T for rows in by_stop])
    places, shares = _places(prior, stops)
    terrain = PathModel(
        levels=levels,
        start=int(np.argmin(np.abs(levels))),
        jumps=_jumps(levels, prior.effect),
        places=places,
        counts=np.array([prior.nothing, *((1 - prior.nothing) * _COUNTS)]),
        noises=np.exp(noises.weight - noises.weight.max()),
        seen=np.exp(seen - seen.max(axis=(1, 2), keepdims=True)),
        between=_edges(pairs, stops, offs, factors, levels, noises),
    )
    paths = sum_paths(terrain)
    of = np.searchsorted(np.array(stops), np.arange(count))
    apart = np.abs(levels[None, :] - levels[:, None])
    low, point, high = (_quantile(levels, paths.last, q) for q in (0.025, 0.5, 0.975))
    low, high = point - _WIDER * (point - low), point + _WIDER * (high - point)
    return Posterior(
        commits=tuple((paths.jumped[of] * shares).tolist()),
        nothing=paths.none,
        effect=Estimate(
            point=math.exp(point),
            low=math.exp(low),
            high=math.exp(high),
            method="posterior of a probabilistic bisection",
        ),
        noise=math.exp(float(paths.noises @ np.log(noises.scale))),
        pairs=len(pairs),
        sizes=tuple((paths.sizes * apart).sum(axis=(1, 2))[of].tolist()),
        stops=stops,
        paths=paths,
        noises=noises,
        prior=prior,
    )


def _compare_with_controls(pairs: Sequence[CommitPair]) -> tuple[Floats, Floats, WeightedNoises]:
    """Each pair's commit against its controls, as a logarithm; the factor of its noise; and the noises."""
    series: dict[tuple[int, float], list[int]] = {}
    for place, pair in enumerate(pairs):
        series.setdefault((pair.base, pair.length), []).append(place)
    offs, factors = np.zeros(len(pairs)), np.ones(len(pairs))
    heard: dict[tuple[int, float], NeighbourNoise] = {}
    for key, rows in series.items():
        logs = [(math.log(pairs[i].control), math.log(pairs[i].figure)) for i in rows]
        labels = [pairs[i].commit for i in rows]
        heard[key] = against_controls([x for x, _ in logs], [y for _, y in logs], labels)
        offs[rows] = heard[key].off
    by_length = {length: _factor(length, heard) for _, length in heard}
    for (_, length), rows in series.items():
        factors[rows] = by_length[length]
    least = coarseness(np.log([figure for pair in pairs for figure in (pair.control, pair.figure)]))
    return offs, factors, learn_noises([(each.between, by_length[key[1]]) for key, each in heard.items()], least)


def _factor(length: float, heard: Mapping[tuple[int, float], NeighbourNoise]) -> float:
    """How large the noise of longer processes is: what their controls say, and what is usual while they are few."""
    usual, longer = (
        [each.between for (base, of), each in heard.items() if of == wanted and base == GOOD]
        for wanted in (1.0, length)
    )
    if length == 1.0 or not usual:
        return 1.0
    expected = -0.5 * math.log(length)
    count = min(len(longer[0]), len(usual[0])) if longer else 0
    if count > 2:
        said = math.log(max(width(longer[0]), 1e-4) / max(width(usual[0]), 1e-4))
        expected = (4 * expected + count * said) / (4 + count)
    return min(1.2, max(0.1, math.exp(expected)))


def _levels(offs: Floats, by_stop: Sequence[Sequence[int]]) -> Floats:
    """A grid, finer where the pairs say that levels are."""
    points = [np.zeros(1), _COARSE, -_COARSE]
    for number, rows in enumerate(by_stop):
        if not rows:
            continue
        centre = float(np.median(offs[rows]))
        error = max(width(offs[rows]) or 0.015, _BUILDS) / math.sqrt(len(rows))
        points.append(centre + error * (_FINE if number == len(by_stop) - 1 else _NEAR))
    levels = np.sort(np.concatenate(points))
    kept = [0.0]
    for level in levels:  # two that are one but for rounding would be a jump of nothing
        if abs(level) >= LEAST and min(abs(level - each) for each in kept) >= LEAST / 4:
            kept.append(float(level))
    return np.array(sorted(kept))


def _jumps(levels: Floats, effect: Estimate | None) -> Floats:
    """From each level to each other: small changes are more common than large ones."""
    size = levels[None, :] - levels[:, None]
    density = 0.025 / (0.01 + np.abs(size)) ** 1.5
    if effect is not None:
        density = 0.3 * density + 0.7 * _around(effect, size)
    weights = np.where(np.abs(size) >= LEAST, density, 0.0) * np.gradient(levels)[None, :]
    found: Floats = weights / weights.sum(axis=1, keepdims=True)
    return found


def _around(effect: Estimate, sizes: Floats) -> Floats:
    """A normal density around an effect that somebody estimated, twice as wide as the interval says."""
    centre = math.log(effect.point)
    known = effect.low is not None and effect.high is not None and effect.low > 0
    wide = math.log(effect.high / effect.low) / 2 if known else abs(centre) / 2  # type: ignore[operator]
    wide = max(wide, 0.1 * abs(centre), _BUILDS)
    density: Floats = np.exp(-0.5 * ((sizes - centre) / wide) ** 2) / (wide * math.sqrt(2 * math.pi))
    return density


def _places(prior: Prior, stops: Sequence[int]) -> tuple[Floats, Floats]:
    """The probability of a jump in each stretch that ends with a stop, and each commit's share of its stretch."""
    commits = np.array(prior.commits) / sum(prior.commits)
    begins = [0, *(stop + 1 for stop in stops[:-1])]
    places = np.array([commits[begin : stop + 1].sum() for begin, stop in zip(begins, stops, strict=True)])
    shares = np.concatenate(
        [
            commits[begin : stop + 1] / place if place > 0 else np.full(stop + 1 - begin, 1 / (stop + 1 - begin))
            for begin, stop, place in zip(begins, stops, places, strict=True)
        ]
    )
    return places, shares


def _likelihood(offs: Floats, factors: Floats, levels: Floats, noises: WeightedNoises) -> Floats:
    """Of one commit's pairs, its logarithm by level and noise, over whatever is the build's own."""
    if not len(offs):
        return np.zeros((len(levels), len(noises)))
    missed = offs[:, None, None, None] - levels[:, None, None] - _NODES[:, None]  # (pairs, levels, nodes, noises)
    by_node = np.log(noises.density(missed, factors[:, None, None, None])).sum(axis=0)
    top = by_node.max(axis=1)
    found: Floats = top + np.log(np.einsum("lnm,n->lm", np.exp(by_node - top[:, None, :]), _WEIGHTS))
    return found


def _edges(
    pairs: Sequence[CommitPair],
    stops: Sequence[int],
    offs: Floats,
    factors: Floats,
    levels: Floats,
    noises: WeightedNoises,
) -> dict[int, Floats]:
    """What pairs of a commit with another base than the good revision say, by stop, noise, level before and after.

    Such a base is the last commit before it that can be measured, so that nothing lies between them.
    """
    found: dict[int, Floats] = {}
    apart = levels[None, :] - levels[:, None]
    for base, commit in {(pair.base, pair.commit) for pair in pairs if pair.base != GOOD}:
        place = stops.index(commit)
        if (stops[place - 1] if place else GOOD) != base:
            continue
        rows = [i for i, pair in enumerate(pairs) if (pair.base, pair.commit) == (base, commit)]
        spread = max(width(offs[rows]), _BUILDS) / math.sqrt(len(rows))
        points = np.unique(
            np.concatenate([_COARSE, -_COARSE, [0.0], float(np.median(offs[rows])) + 2 * spread * _FINE])
        )
        points = np.unique(np.concatenate([points, (points[1:] + points[:-1]) / 2]))
        table = _likelihood(offs[rows], factors[rows], points, noises)
        each = np.stack([np.interp(apart, points, table[:, noise]) for noise in range(len(noises))])
        found[place] = np.exp(each - each.max())
    return found


def _quantile(points: Floats, weights: Floats, q: float) -> float:
    middle = np.cumsum(weights) - weights / 2
    return float(np.interp(q, middle, points))
