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
_T_HEIGHT = math.lgamma((_FREEDOM + 1) / 2) - math.lgamma(_FREEDOM / 2) - 0.5 * math.log(_FREEDOM * math.pi)
_SCALES = np.geomspace(0.0008, 0.3, 18)  # of one pair
_USUAL_SCALE, _SCALE_SPREAD = 0.015, 1.2  # where the scale is before anything is seen: a log-normal
_LOG_SCALES = -0.5 * (np.log(_SCALES / _USUAL_SCALE) / _SCALE_SPREAD) ** 2
_BUILDS = 0.002  # standard deviation of what is a build's own
_NODES, _WEIGHTS = np.array([-1.0, 0.0, 1.0]) * math.sqrt(3.0) * _BUILDS, np.array([1 / 6, 2 / 3, 1 / 6])
_COARSE = np.geomspace(0.004, 2.5, 16)  # effects of either sign, as logarithms
_FINE = np.linspace(-5.0, 5.0, 25)  # around what the bad end says, in its own errors
_AT_THE_END = 3  # pairs with the last commit before anything else
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """The posterior in full: stretches of commits that no pair told apart, by effects, by scales of the noise."""

    effects: Floats
    weights: Floats  # (stretches, effects, scales); each stretch adds up to 1
    stretch: NDArray[np.intp]  # of each commit
    nothing: int  # the stretch that stands for no change


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """What is known after some pairs."""

    commits: tuple[float, ...]  # probability of each that it is the culprit
    nothing: float  # probability that there is none
    effect: Estimate  # of the change, as a ratio
    noise: float  # standard deviation of one pair's ratio, outliers apart
    pairs: int
    grid: Grid = field(repr=False, compare=False)  # what `choose` needs of it

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is known, and the commit to measure next; None when the answer is sure enough, or nothing can be added."""

    posterior: Posterior
    commit: int | None


def following(
    prior: Prior,
    pairs: Sequence[Pair],
    *,
    confidence: float = 0.95,
    skipped: Collection[int] = (),
    ready: Collection[int] = (),
) -> Step:
    """The next step of a bisection: first the bad end, for the size of the change; then whatever tells the most.

    `skipped` commits cannot be measured; `ready` ones cost no build.
    """
    posterior = learn(prior, pairs)
    last = len(prior.commits) - 1
    if sum(pair.commit == last for pair in pairs) < _AT_THE_END:
        return Step(posterior=posterior, commit=last)
    if max(posterior.groups(skipped)[0].probability, posterior.nothing) >= confidence:
        return Step(posterior=posterior, commit=None)
    measurable = [index for index in range(last + 1) if index not in skipped]
    return Step(posterior=posterior, commit=choose(posterior, measurable, ready))


def learn(prior: Prior, pairs: Sequence[Pair]) -> Posterior:
    """What the pairs, in any order, say about the culprit."""
    count = len(prior.commits)
    measured = sorted({pair.commit for pair in pairs})
    effects, log_effects = _effects(prior, pairs)
    unchanged, changed = _evidence(measured, pairs, effects)
    # Stretch i: the culprit comes after the first i of the measured commits, and not after the next one.
    joint = np.zeros((len(measured) + 1, len(effects), len(_SCALES)))
    joint[1:] += np.cumsum(unchanged, axis=0)[:, None, :]
    joint[:-1] += np.cumsum(changed[::-1], axis=0)[::-1]
    joint += log_effects[:, None] + _LOG_SCALES
    top = joint.max(axis=(1, 2), keepdims=True)
    weights = np.exp(joint - top)
    sums = weights.sum(axis=(1, 2))
    evidence = np.log(sums) + top[:, 0, 0]
    stretch = np.searchsorted(np.array(measured, dtype=np.intp), np.arange(count))
    shares = np.array([*prior.commits, 0.0]) * (1 - prior.nothing) / sum(prior.commits)
    shares[-1] = prior.nothing
    of = np.append(stretch, len(measured))
    mass = shares * np.exp(evidence[of] - evidence[of][shares > 0].max())
    mass /= mass.sum()
    grid = Grid(effects=effects, weights=weights / sums[:, None, None], stretch=stretch, nothing=len(measured))
    return _told(mass, grid, len(pairs))


def choose(posterior: Posterior, measurable: Iterable[int], ready: Collection[int] = ()) -> int:
    """The commit whose pair promises to tell the most about the culprit; the last commit is a choice like any other.

    One that is `ready`, built already, is taken when it tells nearly as much.
    """
    gain = information(posterior)
    there = sorted(measurable)
    best = max(there, key=lambda index: gain[index])
    return max((i for i in there if i in ready and gain[i] >= _ENOUGH * gain[best]), key=lambda i: gain[i], default=best)


def information(posterior: Posterior) -> Floats:
    """For each commit, how many bits about the culprit a pair with it is expected to give."""
    grid = posterior.grid
    centre, reach = np.log(posterior.effect.point), 8 * posterior.noise
    seen = np.linspace(min(0.0, centre) - reach, max(0.0, centre) + reach, 65)
    slow = _predicted(grid, seen, grid.effects)
    same = _predicted(grid, seen, np.zeros_like(grid.effects))
    of = np.append(grid.stretch, grid.nothing)
    mass = np.array([*posterior.commits, posterior.nothing])
    if_slow, if_same = mass[:, None] * slow[of], mass[:, None] * same[of]
    before = np.cumsum(if_slow, axis=0)[:-1]  # the culprit is this commit or an earlier one
    after = np.cumsum(if_same[::-1], axis=0)[::-1][1:]
    known = np.cumsum(mass * _entropy(slow)[of])[:-1] + np.cumsum((mass * _entropy(same)[of])[::-1])[::-1][1:]
    gain: Floats = np.maximum(_entropy(before + after) - known, 0.0)
    return gain


def _effects(prior: Prior, pairs: Sequence[Pair]) -> tuple[Floats, Floats]:
    """A grid of effects, finer where the bad end says they are, with the logarithm of each one's prior weight."""
    last = len(prior.commits) - 1
    seen = np.log([pair.ratio for pair in pairs if pair.commit == last])
    points = [_COARSE, -_COARSE]
    if len(seen):
        centre = float(np.median(seen))
        spread = 1.4826 * float(np.median(np.abs(seen - centre))) if len(seen) > 2 else _USUAL_SCALE
        points.append(centre + _FINE * max(spread, _BUILDS) / math.sqrt(len(seen)))
    effects = np.unique(np.concatenate(points))
    density = 1 / (0.01 + np.abs(effects)) ** 1.5  # small changes are more common than large ones
    density /= 2 * 2 / math.sqrt(0.01)
    if prior.effect is not None:
        known = _around(prior.effect, effects)
        density = 0.3 * density + 0.7 * known
    weights = density * np.gradient(effects)
    return effects, np.log(weights / weights.sum())


def _around(effect: Estimate, effects: Floats) -> Floats:
    """A normal density around an effect that somebody estimated, twice as wide as the interval says."""
    centre = math.log(effect.point)
    known = effect.low is not None and effect.high is not None and effect.low > 0
    width = math.log(effect.high / effect.low) / 2 if known else abs(centre) / 2  # type: ignore[operator]
    width = max(width, 0.1 * abs(centre), _BUILDS)
    density: Floats = np.exp(-0.5 * ((effects - centre) / width) ** 2) / (width * math.sqrt(2 * math.pi))
    return density


def _evidence(measured: Sequence[int], pairs: Sequence[Pair], effects: Floats) -> tuple[Floats, Floats]:
    """For each measured commit the log-likelihood of its pairs: by scale if it is as good, by effect too if not."""
    levels = np.append(effects, 0.0)
    table = np.empty((len(measured), len(levels), len(_SCALES)))
    for row, commit in enumerate(measured):
        ratios = np.log([pair.ratio for pair in pairs if pair.commit == commit])
        missed = ratios[:, None, None] - levels[:, None] - _NODES  # (pairs, levels, nodes)
        by_node = _log_density(missed[..., None]).sum(axis=0)  # (levels, nodes, scales)
        top = by_node.max(axis=1)
        table[row] = top + np.log(np.einsum("lns,n->ls", np.exp(by_node - top[:, None, :]), _WEIGHTS))
    return table[:, -1], table[:, :-1]


def _log_density(missed: Floats) -> Floats:
    """Student's t with each of the scales in turn, the last axis."""
    density: Floats = _T_HEIGHT - np.log(_SCALES) - (_FREEDOM + 1) / 2 * np.log1p((missed / _SCALES) ** 2 / _FREEDOM)
    return density


def _predicted(grid: Grid, seen: Floats, levels: Floats) -> Floats:
    """For each stretch, how probable each of the logarithms is for a pair whose commit lies at one of the levels."""
    density = np.exp(_log_density(seen[:, None, None] - levels[:, None]))  # (seen, levels, scales)
    found: Floats = grid.weights.reshape(len(grid.weights), -1) @ density.reshape(len(seen), -1).T
    found /= found.sum(axis=1, keepdims=True)
    return found


def _entropy(probabilities: Floats) -> Floats:
    """In bits, along the last axis."""
    bits: Floats = -(probabilities * np.log2(np.maximum(probabilities, 1e-300))).sum(axis=-1)
    return bits


def _told(mass: Floats, grid: Grid, pairs: int) -> Posterior:
    of = np.append(grid.stretch, grid.nothing)
    whole = np.bincount(of[:-1], mass[:-1], minlength=len(grid.weights)) @ grid.weights.reshape(len(grid.weights), -1)
    whole = whole.reshape(grid.weights.shape[1:])
    changed = whole.sum(axis=1) / max(whole.sum(), 1e-300)
    low, point, high = (float(np.exp(_quantile(grid.effects, changed, q))) for q in (0.025, 0.5, 0.975))
    every = whole + mass[-1] * grid.weights[grid.nothing]
    scale = math.exp(float(every.sum(axis=0) @ np.log(_SCALES)))
    return Posterior(
        commits=tuple(mass[:-1].tolist()),
        nothing=float(mass[-1]),
        effect=Estimate(point=point, low=low, high=high, method="posterior of a probabilistic bisection"),
        noise=scale,
        pairs=pairs,
        grid=grid,
    )


def _quantile(points: Floats, weights: Floats, q: float) -> float:
    middle = np.cumsum(weights) - weights / 2
    return float(np.interp(q, middle, points))
