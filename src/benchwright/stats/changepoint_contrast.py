"""Which changes stand out where they are.

In a series that wanders the others are not reported, nor are short visits to another level.

Real histories wander: over fifty points their level scatters more than the noise of neighbours explains. Means over
hundreds of points then find differences everywhere that are true and mean nothing. So the more a series wanders, the
more a change has to show in the dozen points on both sides of it, as a person would look at it, whatever else happens
among them: a level that is left again at once convinces only if it is far off. In a series that does not wander the
long means are believed, and faint changes are found that show a little where they are.

A visit is a level of a dozen points or fewer after which the series is back where it was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from benchwright.stats.changepoint_noise import Array, median_deviation
from benchwright.stats.changepoint_segments import cumulative_sums

_NEAR = 12  # points on both sides in which a change must show
_BESIDE = 2  # points by which its place may be wrong
_CONTRAST = 5.8  # Student's t that it must have there, where the series wanders
_LEAST = 0.45  # of that, in any series of which is known whether it wanders
_FAR = 9.0  # Student's t between two levels that are as long as they are, from which on a short one convinces
_QUIET = 0.8  # of the noise around: points beside a change scatter as much at least
_WANDERING = (1.1, 1.4)  # growth of the variance of means at which contrast begins to be asked for, and is in full
_BLOCKS = (6, 24, 48)  # points of the means whose variances are held against each other
_TELLING = 4  # such blocks at least tell a variance
_SHORT, _LONG = 200, 400  # points: below the first nothing is known about wandering, from the second on something is
_VISIT = 12  # points that a visit lasts at most
_HISTORY = 100  # points of a series in which a visit is nothing; in a shorter one it may be half of what is known
_RETURNED = 0.35  # of the smaller jump: how far from its old level a series that is back may be


def find_outstanding(values: Array, noise: Array, changes: Sequence[int]) -> list[bool]:
    """For each change whether it stands out. `values` are without outliers, `noise` is that of single points."""
    if not changes:
        return []
    needed = _CONTRAST * max(_share(measure_wander(values, noise, changes)), _LEAST if len(values) >= _SHORT else 0.0)
    kept = [True] * len(changes)
    if needed > 0.0:
        sides, edges = _Sides(values, noise), [0, *changes, len(values)]
        kept = [sides.contrast(*around) >= needed for around in zip(edges, edges[1:], edges[2:], strict=False)]
    visits = _visits(values, [change for change, keep in zip(changes, kept, strict=True) if keep])
    return [keep and change not in visits for change, keep in zip(changes, kept, strict=True)]


def measure_wander(values: Array, noise: Array, changes: Sequence[int]) -> float:
    """How much more means over fifty points scatter than those over six explain, as a factor of the variance.

    It compares neighbouring blocks between changes (the variance of Allan 1966, here from medians), less one standard
    error. 1 where a series is too short to tell; infinite where changes leave no stretch long enough to look at.
    """
    if len(values) < _SHORT:
        return 1.0
    sums = cumulative_sums(values)
    short, middle, long = (_inflation(sums, noise, changes, block) for block in _BLOCKS)
    if short is None or middle is None:
        return math.inf if len(values) >= _LONG else 1.0
    if long is None:
        return middle / short * math.exp(-math.sqrt(_BLOCKS[1] / len(values)))
    return math.sqrt(middle * long) / short * math.exp(-math.sqrt(sum(_BLOCKS[1:]) / 1.8 / len(values)))


def _share(wander: float) -> float:
    """The share of the full contrast that is asked for."""
    begin, full = _WANDERING
    return min(max((wander - begin) / (full - begin), 0.0), 1.0)


def _inflation(sums: Array, noise: Array, changes: Sequence[int], block: int) -> float | None:
    """The variance of means over `block` points, over that of independent noise; None where too few show it."""
    count = len(noise)
    edges = np.array([0, *changes, count])
    segments = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    middles = np.arange(block, count - block + 1)
    middles = middles[segments[middles - block] == segments[middles + block - 1]]
    if len(middles) < _TELLING * block:
        return None
    steps = (sums[middles + block] - 2.0 * sums[middles] + sums[middles - block]) / block
    scatter = median_deviation(steps / noise[np.minimum(middles, count - 1)])
    return max(scatter * scatter * block / 2.0, 0.05)


class _Sides:
    """The points right before and right after any place of a series, by sums: a place costs next to nothing."""

    def __init__(self, values: Array, noise: Array) -> None:
        self._sums: list[float] = cumulative_sums(values).tolist()
        self._squares: list[float] = cumulative_sums(values * values).tolist()
        self._noise: list[float] = noise.tolist()

    def contrast(self, first: int, change: int, last: int) -> float:
        """Student's t between a dozen points on both sides, at the best place beside the change; of levels far apart
        that between the levels, which begin and end at the given indexes."""
        within = self._t(first, change, last)
        if within >= _FAR:
            return within
        count = len(self._noise)
        places = range(max(4, change - _BESIDE), min(count - 4, change + _BESIDE) + 1)
        return max((self._t(0, place, count) for place in places), default=0.0)

    def _t(self, first: int, change: int, last: int) -> float:
        begin, end = max(first, change - _NEAR), min(last, change + _NEAR)
        left, right = change - begin, end - change
        before = (self._sums[change] - self._sums[begin]) / left
        after = (self._sums[end] - self._sums[change]) / right
        squares = self._squares[end] - self._squares[begin] - left * before * before - right * after * after
        scatter = max(math.sqrt(max(squares, 0.0) / max(1, end - begin - 2)), _QUIET * self._noise[change])
        return abs(after - before) / (scatter * math.sqrt(1.0 / left + 1.0 / right))


def _visits(values: Array, changes: Sequence[int]) -> set[int]:
    """The changes that begin or end a visit."""
    if len(values) < _HISTORY:
        return set()
    edges, ends = [0, *changes, len(values)], set[int]()
    levels = [float(np.median(values[first:last])) for first, last in pairwise(edges)]
    for number in range(1, len(levels) - 1):
        there, back = levels[number] - levels[number - 1], levels[number + 1] - levels[number]
        returned = there * back < 0.0 and abs(there + back) < _RETURNED * min(abs(there), abs(back))
        if returned and edges[number + 1] - edges[number] <= _VISIT:
            ends |= {edges[number], edges[number + 1]}
    return ends
