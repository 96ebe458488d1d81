"""What single processes on a busy machine are off by: a tight core, and a one-sided rest. Pure functions.

Most processes run undisturbed and agree within a fraction of a per cent; some are slowed by whatever else runs, by
anything, and hardly one is faster than it can be. The ratio of two neighbours is undisturbed only if both are, so a
process is set against what the undisturbed ones of its control did around the same time: a low quantile of the nearest
few. How many are asked, and which quantile, is chosen by the noise alone: each of them in turn is set against its
neighbours, and the reference that leaves the least uncertainty is taken; so are processes of one program, once there
are some. On a machine whose speed changes from minute to minute that is the process's own partner; on one that is
steady, all of them. These differences have no label to get wrong, and they also say what the noise is like, before any
commit is believed to be slower.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_FREEDOM = 3.0  # of Student's t, the core
_HEIGHT = math.gamma((_FREEDOM + 1) / 2) / math.gamma(_FREEDOM / 2) / math.sqrt(_FREEDOM * math.pi)  # of its density
_SCALES = np.geomspace(0.001, 0.6, 13)  # of the core
_USUAL_SCALE, _SCALE_SPREAD = 0.012, 1.3  # where the scale is before anything is seen: a log-normal
_SLOWER = (0.03, 0.15, 0.35)  # shares of processes that something slowed
_FASTER = (0.02, 0.12, 0.3)  # shares that look fast, as their reference was slowed
_RESTS = (0.03, 0.1, 0.35, 1.0)  # by how much, on average
_BELIEVED = 1e-3  # of the most probable noise: one that is less probable is left out
_MOST_NOISES = 48
_ENOUGH_CONTROLS = 7  # to choose a reference by
_TEMPER = 0.5  # of what controls say: each of them is a part of several differences
_TIED = 0.7  # of all figures: fewer that are distinct, and they come in steps
_COARSEST = 0.01  # a step that is believed
_FINEST = 2e-4  # differences below this are none: a clock's steps are no precision


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightedNoises:
    """Kinds of noise, each with the logarithm of its weight."""

    scale: Floats
    slower: Floats
    faster: Floats
    rest: Floats
    weight: Floats

    def __len__(self) -> int:
        return len(self.scale)

    def density(self, off: Floats, factor: Floats | float = 1.0) -> Floats:
        """The density of what a process is off by, under each noise: the last axis, which `off` must have room for.

        `factor` makes all noises smaller or larger.
        """
        scale, rest = self.scale * factor, self.rest * factor
        core = _HEIGHT / scale / np.square(1.0 + np.square(off / (scale * math.sqrt(_FREEDOM))))
        far = np.abs(off)
        long, short = (np.exp(-far / each) / (rest + scale) for each in (rest, scale))
        is_above = off >= 0
        found: Floats = (1 - self.slower - self.faster) * core
        found += (
            np.where(is_above, self.slower, self.faster) * long + np.where(is_above, self.faster, self.slower) * short
        )
        return found

    def spread(self) -> float:
        """What a process is typically off by: the core's scale, over all noises."""
        weights = np.exp(self.weight - self.weight.max())
        return math.exp(float(weights @ np.log(self.scale)) / float(weights.sum()))

    def of(self, chosen: NDArray[np.intp]) -> WeightedNoises:
        """The noises that `chosen` selects."""
        return WeightedNoises(
            scale=self.scale[chosen],
            slower=self.slower[chosen],
            faster=self.faster[chosen],
            rest=self.rest[chosen],
            weight=self.weight[chosen],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NeighbourNoise:
    """What one series of neighbours says: its processes against their references, and its controls against theirs."""

    off: Floats  # logarithm of each process over its reference
    between: Floats  # the same for the controls, where nothing but noise can be


def against_controls(
    controls: Sequence[float], processes: Sequence[float], labels: Sequence[int] | None = None
) -> NeighbourNoise:
    """Sets each process against the controls around it; both are logarithms, in the order in which they ran.

    `labels` say which processes are of one program. What two of the same differ by is noise as well: it shows whether a
    pair shares what the machine does, so that its own control is the best one although the next is another.
    """
    x, y = np.asarray(controls, dtype=float), np.asarray(processes, dtype=float)
    same = _same(labels or [])
    best = (0, 0.5)
    if len(x) >= _ENOUGH_CONTROLS:
        ways = [(half, quantile) for half in (1, 2, 4) for quantile in (0.5, 0.3) if 2 * half + 2 <= len(x)]
        ways = [best, *ways, (len(x), 0.5), (len(x), 0.3)]
        if len(same) >= _ENOUGH_CONTROLS:
            best = min(ways, key=lambda way: _uncertainty(_differences(_off(x, y, *way), same)))
        else:
            best = min(ways, key=lambda way: _uncertainty(_between(x, *way)))
    off = _off(x, y, *best)
    alone = best[0] == 0 and len(same) >= _ENOUGH_CONTROLS
    return NeighbourNoise(off=off, between=_differences(off, same) if alone else _between(x, *best))


def learn_noises(between: Sequence[tuple[Floats, float]], least: float = 0.0) -> WeightedNoises:
    """The kinds of noise that controls leave probable, from their differences and the factor of each series.

    `least` is the smallest scale that figures can show (`coarseness`).
    """
    known = _known_noises()
    weight = np.where(known.scale >= min(least, _SCALES[-1]), known.weight, -np.inf)
    for off, factor in between:
        if len(off):
            weight += _TEMPER * np.log(known.density(off[:, None], factor)).sum(axis=0)
    order = np.argsort(-weight, kind="stable")[:_MOST_NOISES]
    kept = order[weight[order] > weight[order[0]] + math.log(_BELIEVED)]
    chosen = known.of(kept)
    return WeightedNoises(
        scale=chosen.scale, slower=chosen.slower, faster=chosen.faster, rest=chosen.rest, weight=weight[kept]
    )


def coarseness(logs: Floats) -> float:
    """Half of the step in which figures come, where many are equal: a coarse clock looks like no noise at all."""
    distinct = np.unique(np.round(logs, 9))
    if len(logs) < 2 or len(distinct) >= _TIED * len(logs):
        return 0.0
    return float(min(np.diff(distinct).min(), _COARSEST)) / 2 if len(distinct) > 1 else _COARSEST / 2


def width(off: Floats) -> float:
    """How far differences spread, the rest apart: half of the shortest interval that holds half of them."""
    if len(off) < 2:
        return 0.0
    ordered = np.sort(off)
    half = max(1, math.ceil(len(ordered) / 2) - 1)
    return max(float((ordered[half:] - ordered[:-half]).min()) / 2, _FINEST)


@lru_cache(maxsize=1)
def _known_noises() -> WeightedNoises:
    each = [
        (scale, slower, faster, rest)
        for scale in _SCALES
        for slower in _SLOWER
        for faster in _FASTER
        for rest in _RESTS
        if rest > scale
    ]
    scale, slower, faster, rest = np.array(each).T
    weight = -0.5 * (np.log(scale / _USUAL_SCALE) / _SCALE_SPREAD) ** 2
    return WeightedNoises(scale=scale, slower=slower, faster=faster, rest=rest, weight=weight)


def _off(x: Floats, y: Floats, half: int, quantile: float) -> Floats:
    found: Floats = y - np.quantile(x[_nearest(len(x), 2 * half + 1, itself=True)], quantile, axis=1)
    return found


def _same(labels: Sequence[int]) -> list[tuple[int, int]]:
    """Each process with the one before it of the same program."""
    last: dict[int, int] = {}
    found = []
    for place, label in enumerate(labels):
        if label in last:
            found.append((last[label], place))
        last[label] = place
    return found


def _differences(off: Floats, same: Sequence[tuple[int, int]]) -> Floats:
    """Returns the differences of equal processes, in pairs, scaled to vary as one process does."""
    first, second = np.array(same).T
    found: Floats = (off[second] - off[first]) / math.sqrt(2.0)
    return found


def _between(x: Floats, half: int, quantile: float) -> Floats:
    """Each control against as many of the others as a process would be set against."""
    if len(x) < 2:
        return np.zeros(0)
    near = _nearest(len(x), min(2 * half + 1, len(x) - 1), itself=False)
    found: Floats = x - np.quantile(x[near], quantile, axis=1)
    return found if half else found[:-1]  # of two neighbours' differences one is enough


def _nearest(count: int, wanted: int, *, itself: bool) -> NDArray[np.intp]:
    """For each place the places nearest to it, with or without itself."""
    distance = np.abs(np.arange(count)[:, None] - np.arange(count)[None, :]).astype(float)
    distance[np.arange(count)[:, None] < np.arange(count)[None, :]] -= 0.5  # the later one of two
    if not itself:
        np.fill_diagonal(distance, np.inf)
    found: NDArray[np.intp] = np.argsort(distance, axis=1, kind="stable")[:, : min(wanted, count)]
    return found


def _uncertainty(off: Floats) -> float:
    """The entropy of differences, from the distances of their ranks (Vasicek, 1976)."""
    ordered = np.sort(off)
    count = len(ordered)
    step = max(1, round(math.sqrt(count)))
    high = ordered[np.minimum(np.arange(count) + step, count - 1)]
    low = ordered[np.maximum(np.arange(count) - step, 0)]
    return float(np.mean(np.log(np.maximum(high - low, _FINEST))))
