"""Which commit to measure next: the one whose pair tells the most about where the largest jump is. Pure functions.

The measure is mutual information, after Lindley, "On a measure of the information provided by an experiment" (1956).
With known size and noise this is the bisection of Horstein, "Sequential transmission using noiseless feedback" (1963);
how fast it closes in is shown by Waeber, Frazier and Henderson, "Bisection search with noisy responses" (2013).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchwright.stats.culprit_posterior import CommitPair, Posterior
from benchwright.stats.level_paths import draw_paths

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

_ENOUGH = 0.9  # of the most information: a commit that is already built will do
_IN_A_ROW = 3  # pairs of one commit: what disturbs the machine for a minute shall not look like the commit
_SOMETHING = 0.25  # of the most information: worth a pair in between
_DRAWN = 300  # paths
_CANDIDATES = 40  # commits that are looked at for the next pair


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedInformation:
    """For each commit that may be next, how many bits about the place a pair with it is expected to tell."""

    gain: Mapping[int, float]
    unknown: float  # bits that are missing


def information(posterior: Posterior, measurable: Sequence[int], named: Collection[int] = ()) -> ExpectedInformation:
    """Draws paths, looks where the largest jump of each is that is not `named`, and what a pair would tell of it."""
    rng = np.random.default_rng(len(posterior.stops) + 1000 * posterior.pairs)
    noise, drawn = draw_paths(posterior.paths, _DRAWN, rng)
    levels = posterior.paths.terrain.levels[drawn]  # (paths, 1 + stops)
    where, place = _whereabouts(posterior, levels, named, rng)
    candidates = _candidates(posterior, measurable, place)
    of = np.searchsorted(np.array(posterior.stops), np.array(candidates))
    # The level of a candidate: that of the stop behind it, or still the one before, where the jump is later.
    after = where[:, of] <= np.array(candidates)[None, :]
    level = np.where(after, levels[:, 1 + of], levels[:, of])  # (paths, candidates)
    since = place[:, None] <= np.array(candidates)[None, :]
    centre, spread = math.log(posterior.effect.point), posterior.noise
    around = spread * np.sinh(np.linspace(-4.4, 4.4, 21))
    middles = np.quantile(level, [0.02, 0.25, 0.5, 0.75, 0.98])
    near = [middle + 3 * spread * np.linspace(-1, 1, 7) for middle in middles]
    seen = np.unique(np.concatenate([around, centre + around, *near]))
    widths = np.gradient(seen)
    kinds = posterior.noises.of(noise)
    gain: dict[int, float] = {}
    for number, candidate in enumerate(candidates):
        later = since[:, number]
        if later.all() or not later.any():
            gain[candidate] = 0.0
            continue
        density = kinds.density(seen[:, None] - level[:, number]).T  # (paths, seen)
        gain[candidate] = _mutual(density, later, widths)
    counts = np.bincount(np.minimum(place, len(posterior.commits)), minlength=1 + len(posterior.commits))
    return ExpectedInformation(gain=gain, unknown=float(_entropy(counts / counts.sum())))


def choose(told: ExpectedInformation, pairs: Sequence[CommitPair] = (), ready: Collection[int] = ()) -> int:
    """The commit whose pair promises to tell the most about the place; the last commit is a choice like any other.

    One that is `ready`, built already, is taken when it tells nearly as much; one that was measured several times in a
    row gives way to another one that tells something.
    """
    gain = dict(told.gain)
    row = [pair.commit for pair in pairs[-_IN_A_ROW:]]
    best = max(gain, key=lambda index: gain[index])
    if len(row) == _IN_A_ROW and {*row} == {best}:
        others = [index for index in gain if index != best and gain[index] >= _SOMETHING * gain[best]]
        best = max(others, key=lambda index: gain[index], default=best)
    near = [index for index in gain if index in ready and gain[index] >= _ENOUGH * gain[best]]
    return best if best in ready else max(near, key=lambda index: gain[index], default=best)


def _whereabouts(
    posterior: Posterior, levels: Floats, named: Collection[int], rng: np.random.Generator
) -> tuple[Places, Places]:
    """For each drawn path the commit of the jump in each stretch, and of the largest jump; n where there is none."""
    count, stops = len(posterior.commits), posterior.stops
    shares = np.array(posterior.prior.commits)
    where = np.full((len(levels), len(stops)), count, dtype=np.intp)
    sizes = np.abs(np.diff(levels, axis=1))
    for number, stop in enumerate(stops):
        begin = stops[number - 1] + 1 if number else 0
        cumulative = np.cumsum(shares[begin : stop + 1] + 1e-12)
        drawn = begin + np.searchsorted(cumulative / cumulative[-1], rng.random(len(levels)))
        where[:, number] = np.where(sizes[:, number] > 0, np.minimum(drawn, stop), count)
        if {*range(begin, stop + 1)} & {*named}:
            sizes[:, number] = 0.0
    largest = sizes.argmax(axis=1)
    everyone = np.arange(len(levels))
    place = np.where(sizes[everyone, largest] > 0, where[everyone, largest], count)
    return where, place


def _candidates(posterior: Posterior, measurable: Sequence[int], place: Places) -> list[int]:
    if len(measurable) <= _CANDIDATES:
        return sorted(measurable)
    there = np.array(sorted(measurable))
    marks = np.quantile(place, np.linspace(0, 1, _CANDIDATES - 10))
    near = {int(there[min(np.searchsorted(there, mark), len(there) - 1)]) for mark in marks}
    near |= {int(there[max(np.searchsorted(there, mark) - 1, 0)]) for mark in marks[:: len(marks) // 8]}
    return sorted(near | ({*posterior.stops[-10:]} & {*measurable}) | {int(there[-1])})


def _mutual(density: Floats, later: NDArray[np.bool_], widths: Floats) -> float:
    """Bits that one observation tells about a yes or no, from its density under each of many equally probable paths."""
    share = float(later.mean())
    yes, no = (_normal(density[chosen].mean(axis=0), widths) for chosen in (later, ~later))
    mixed = share * yes + (1 - share) * no
    told = _entropy(mixed, widths) - share * _entropy(yes, widths) - (1 - share) * _entropy(no, widths)
    return max(0.0, float(told))


def _normal(density: Floats, widths: Floats) -> Floats:
    found: Floats = density / float((density * widths).sum())
    return found


def _entropy(density: Floats, widths: Floats | float = 1.0) -> float:
    """Returns the entropy of probabilities, in bits."""
    return -float((widths * density * np.log2(np.maximum(density, 1e-300))).sum())
