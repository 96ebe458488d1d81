"""Which of many commits changed a figure, learnt from noisy pairs: a probabilistic bisection. Pure functions.

Commits are numbered 0 to n - 1 in the order of history; the last one is known as bad, the one before the first as good.
A pair is the good revision and a commit, measured next to each other on one machine, so that whatever the machine does
meanwhile falls out of the logarithm r of their ratio. If commit k is the culprit, then

    r = b             + s t   for a commit before k,
    r = b + e         + s t   for k and every later one,

with one effect e, a noise of unknown scale s and Student's t of 3 degrees of freedom, which no outlier impresses; where
processes fall into two modes, the t of a pair is shifted by their gap, to either side, in a share of the pairs. The
small b belongs to the commit alone: two builds of equal speed differ by a little for good, as code moves in memory
(Mytkowicz and others, "Producing wrong data without doing anything obviously wrong!", 2009), and repeating does not
average it out. k, e, s, gap and share are learnt together on a grid; that nothing changed at all is one of the answers.

The next commit is the one whose pair is expected to tell the most about k: the largest mutual information, after
Lindley, "On a measure of the information provided by an experiment" (1956). With known e and s this is the bisection of
Horstein, "Sequential transmission using noiseless feedback" (1963); how fast it closes in is shown by Waeber, Frazier
and Henderson, "Bisection search with noisy responses" (2013).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchwright.records import Estimate
from benchwright.stats.distributions import normal_quantile

Floats = NDArray[np.float64]

CONFIDENCE = 0.98  # enough to name a culprit

_FREEDOM = 3.0  # of Student's t
_HEIGHT = math.gamma((_FREEDOM + 1) / 2) / math.gamma(_FREEDOM / 2) / math.sqrt(_FREEDOM * math.pi)  # of its density
_SCALES = np.geomspace(0.001, 0.2, 11)  # of one pair
_USUAL_SCALE, _SCALE_SPREAD = 0.015, 1.2  # where the scale is before anything is seen: a log-normal
_GAPS = np.geomspace(0.015, 0.12, 10)  # between two modes
_SHARES = np.array([0.09, 0.2])  # of pairs shifted up, and of those shifted down
_SHAPES = 1 + len(_GAPS) * len(_SHARES)
_NOISES = _SHAPES * len(_SCALES)
_ONE_MODE = 0.3  # probability beforehand that there are no two modes
_BUILDS = 0.002  # standard deviation of what is a build's own
_NODES, _WEIGHTS = np.array([-1.0, 0.0, 1.0]) * math.sqrt(3.0) * _BUILDS, np.array([1 / 6, 2 / 3, 1 / 6])
_COARSE = np.geomspace(0.004, 2.5, 14)  # effects of either sign, as logarithms
_FINE = np.sinh(np.linspace(-4.5, 4.5, 23))  # around what the bad end says, in its own errors: dense near, yet far
_LEAST = 0.003  # an effect below this is none
_AT_THE_END = 3  # pairs with the last commit before anything else
_ANYWHERE = 0.1  # of a prior that somebody gives: spread over all commits, as it may be mistaken
_BELIEVED = 1e-3  # probability below which a level or a scale does not matter for what to do next
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
    """The posterior in full: stretches of commits that no pair told apart, by effects, by noises."""

    effects: Floats
    weights: Floats  # (stretches, effects, noises); each stretch adds up to 1
    stretch: NDArray[np.intp]  # of each commit
    nothing: int  # the stretch that stands for no change
    scale: float  # of the noise, its modes apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """What is known after some pairs."""

    commits: tuple[float, ...]  # probability of each that it is the culprit
    nothing: float  # probability that there is none
    effect: Estimate  # of the change, as a ratio
    noise: float  # of one pair's ratio: the standard deviation, outliers apart
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
    confidence: float = CONFIDENCE,
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
    joint = np.zeros((len(measured) + 1, len(effects), _NOISES))
    joint[1:] += np.cumsum(unchanged, axis=0)[:, None, :]
    joint[:-1] += np.cumsum(changed[::-1], axis=0)[::-1]
    joint += log_effects[:, None] + _log_noises()
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
    weights /= sums[:, None, None]
    grid = Grid(effects=effects, weights=weights, stretch=stretch, nothing=len(measured), scale=_USUAL_SCALE)
    return _told(mass, grid, len(pairs))


def choose(posterior: Posterior, measurable: Iterable[int], ready: Collection[int] = ()) -> int:
    """The commit whose pair promises to tell the most about the culprit; the last commit is a choice like any other.

    One that is `ready`, built already, is taken when it tells nearly as much.
    """
    gain = information(posterior)
    there = sorted(measurable)
    best = max(there, key=lambda index: gain[index])
    return max(
        (i for i in there if i in ready and gain[i] >= _ENOUGH * gain[best]), key=lambda i: gain[i], default=best
    )


def information(posterior: Posterior) -> Floats:
    """For each commit, how many bits about the culprit a pair with it is expected to give."""
    grid = posterior.grid
    around = grid.scale * np.sinh(np.linspace(-4.4, 4.4, 31))  # dense where a pair is likely, and far enough for modes
    seen = np.unique(np.concatenate([around, math.log(posterior.effect.point) + around]))
    widths = np.gradient(seen)
    slow = _predicted(grid.weights, seen, widths, grid.effects)
    same = _predicted(grid.weights.sum(axis=1, keepdims=True), seen, widths, np.zeros(1))
    of = np.append(grid.stretch, grid.nothing)
    mass = np.array([*posterior.commits, posterior.nothing])
    if_slow, if_same = mass[:, None] * slow[of], mass[:, None] * same[of]
    before = np.cumsum(if_slow, axis=0)[:-1]  # the culprit is this commit or an earlier one
    after = np.cumsum(if_same[::-1], axis=0)[::-1][1:]
    known = np.cumsum(mass * _entropy(slow, widths)[of])[:-1]
    known += np.cumsum((mass * _entropy(same, widths)[of])[::-1])[::-1][1:]
    gain: Floats = np.maximum(_entropy(before + after, widths) - known, 0.0)
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
    effects = effects[np.abs(effects) >= _LEAST]
    density = 0.025 / (0.01 + np.abs(effects)) ** 1.5  # small changes are more common than large ones
    if prior.effect is not None:
        density = 0.3 * density + 0.7 * _around(prior.effect, effects)
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
    """For each measured commit the log-likelihood of its pairs: by noise if it is as good, by effect too if not."""
    levels = (*effects.tolist(), 0.0)
    found = [_likelihood(tuple(pair.ratio for pair in pairs if pair.commit == commit), levels) for commit in measured]
    table = np.array(found).reshape(len(measured), len(levels), _NOISES)
    return table[:, -1], table[:, :-1]


@lru_cache(maxsize=256)  # from step to step only one commit has a new pair
def _likelihood(ratios: tuple[float, ...], levels: tuple[float, ...]) -> Floats:
    """Of one commit's pairs, its logarithm by level and noise, over whatever is the build's own."""
    missed = np.log(ratios)[:, None, None] - np.array(levels)[:, None] - _NODES  # (pairs, levels, nodes)
    by_node = np.log(_density(missed, _SCALES)).sum(axis=0)  # (levels, nodes, noises)
    top = by_node.max(axis=1)
    found: Floats = top + np.log(np.einsum("lnm,n->lm", np.exp(by_node - top[:, None, :]), _WEIGHTS))
    return found


def _density(missed: Floats, scales: Floats) -> Floats:
    """Of what a pair is off by, under each noise in turn, the last axis: by modes, then by scale."""
    shifts = np.concatenate([[0.0], _GAPS, -_GAPS])
    each = (missed[..., None, None] - shifts[:, None]) / (scales * math.sqrt(_FREEDOM))
    np.square(each, out=each)
    each += 1.0
    np.square(each, out=each)  # half of the degrees of freedom and one more
    np.divide(_HEIGHT / scales, each, out=each)
    middle, aside = each[..., :1, :], each[..., 1 : 1 + len(_GAPS), :] + each[..., 1 + len(_GAPS) :, :]
    modes = [(1 - 2 * share) * middle + share * aside for share in _SHARES]
    found: Floats = np.concatenate([middle, *modes], axis=-2)
    return found.reshape(*missed.shape, _SHAPES * len(scales))


def _log_noises() -> Floats:
    """The logarithm of each noise's weight beforehand."""
    shapes = np.full(_SHAPES, (1 - _ONE_MODE) / (_SHAPES - 1))
    shapes[0] = _ONE_MODE
    scales = -0.5 * (np.log(_SCALES / _USUAL_SCALE) / _SCALE_SPREAD) ** 2
    found: Floats = (np.log(shapes)[:, None] + scales).ravel()
    return found


def _variances() -> Floats:
    """Of the best estimate of a place from one pair, for each noise."""
    modes = np.concatenate([[0.0], *(2 * share * _GAPS**2 for share in _SHARES)])
    found: Floats = (modes[:, None] + _SCALES**2 * (_FREEDOM + 3) / (_FREEDOM + 1)).ravel()
    return found


def _predicted(weights: Floats, seen: Floats, widths: Floats, levels: Floats) -> Floats:
    """For each stretch, the density of each of the logarithms for a pair whose commit lies at one of the levels.

    Levels and scales that no stretch believes in are left out, which is most of them.
    """
    by_scale = weights.reshape(*weights.shape[:2], _SHAPES, -1)
    scales = np.flatnonzero(by_scale.sum(axis=(1, 2)).max(axis=0) > _BELIEVED)
    kept = np.flatnonzero(weights.sum(axis=2).max(axis=0) > _BELIEVED)
    believed = by_scale[:, kept][..., scales]
    believed /= believed.sum(axis=(1, 2, 3), keepdims=True)
    density = _density(seen[:, None] - levels[kept], _SCALES[scales])  # (seen, levels, noises)
    # Not a matrix product, whose threads would wake up for what takes a fraction of a millisecond.
    found: Floats = np.einsum("kn,sn->ks", believed.reshape(len(weights), -1), density.reshape(len(seen), -1))
    found /= (found * widths).sum(axis=1, keepdims=True)
    return found


def _entropy(density: Floats, widths: Floats | float = 1.0) -> Floats:
    """In bits, along the last axis."""
    bits: Floats = -(widths * density * np.log2(np.maximum(density, 1e-300))).sum(axis=-1)
    return bits


def _told(mass: Floats, grid: Grid, pairs: int) -> Posterior:
    by_stretch = np.bincount(grid.stretch, mass[:-1], minlength=len(grid.weights))
    whole = (by_stretch[:, None, None] * grid.weights).sum(axis=0)
    changed = whole.sum(axis=1) / max(whole.sum(), 1e-300)
    low, point, high = (float(np.exp(_quantile(grid.effects, changed, q))) for q in (0.025, 0.5, 0.975))
    noises = (whole + mass[-1] * grid.weights[grid.nothing]).sum(axis=0)
    scale = math.exp(float(noises.reshape(_SHAPES, -1).sum(axis=0) @ np.log(_SCALES)))
    return Posterior(
        commits=tuple(mass[:-1].tolist()),
        nothing=float(mass[-1]),
        effect=Estimate(point=point, low=low, high=high, method="posterior of a probabilistic bisection"),
        noise=math.exp(float(noises @ np.log(_variances())) / 2),
        pairs=pairs,
        grid=replace(grid, scale=scale),
    )


def _quantile(points: Floats, weights: Floats, q: float) -> float:
    middle = np.cumsum(weights) - weights / 2
    return float(np.interp(q, middle, points))


def expected_pairs(posterior: Posterior) -> int:
    """About how many more pairs it takes: what is not known over what the best one tells, and two to be sure."""
    mass = np.array([*posterior.commits, posterior.nothing])
    return math.ceil(float(_entropy(mass)) / max(float(information(posterior).max()), 0.05)) + 2


def plain_runs(posterior: Posterior, confidence: float = CONFIDENCE) -> int:
    """How many runs halving the range would take to be as sure: as many pairs at each of its steps as at its bad end.

    Each step must be right with a probability whose product is `confidence`; it takes the side that the mean of its
    pairs is nearer to.
    """
    steps = max(1, math.ceil(math.log2(len(posterior.commits))))
    wrong = 1 - confidence ** (1 / steps)
    signal = max(abs(math.log(posterior.effect.point)) / 2, 1e-4)
    return 2 * (steps + 1) * max(1, math.ceil((normal_quantile(1 - wrong) * posterior.noise / signal) ** 2))
