"""Series that jump between two modes: the upper mode is folded onto the lower one.

The placement of memory, a neighbour or a clock makes many benchmarks alternate between two levels a fixed gap apart.
Every switch looks like a change, and none is one. A real change moves both modes. A regression that is repaired some
days later comes and goes as well, now and then, and is no mode. So where levels recur often enough, and shortly enough
that nobody could have acted in between, a path of hidden states is fitted - a base level that seldom changes, and a
mode that switches more cheaply - by dynamic programming over a grid of levels (Viterbi 1967); then the gap is taken off
wherever the upper mode was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

_FEWEST = 30  # points; in fewer, modes and changes look alike
_DISTANCES = (1, 2, 3, 4, 6, 8, 12, 16, 24)  # pairs of points whose differences show the gap
_SEPARATION = 3.2  # standard deviations of noise from which two modes can be told apart
_SHARE = 0.04  # of the pairs must be a gap apart
_SWITCHES = 4  # there and back, twice: once could be a regression and its repair
_BRIEF = 300  # points of a series in which that is all that can be asked for
_MANY = (24, 400.0)  # switches that make modes of however long visits, and points of a turn (there and back) then
_SHORT = (30.0, 250.0)  # points of the typical visit to one of the modes, and of a turn, otherwise
_CHANGE = 24.0  # price of a change of the base level, in squared standard deviations
_SWITCH = 9.0  # of a switch of the mode
_OUTLIER = 9.0  # the most that a point can cost
_LEVELS = 250  # of the grid, about


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedSeries:
    """A series without its modes, the gap that was between them, and how often one followed the other."""

    values: Array
    gap: float
    switches: int


def fold(values: Array) -> FoldedSeries | None:
    """The series with one mode, if it has two that show in the differences of near points."""
    if len(values) < _FEWEST:
        return None
    noise = float(np.quantile(np.abs(np.diff(values)), 0.25)) / 0.4506  # of |difference| for a deviation of 1
    gap = _gap(values, noise) if noise > 0.0 else None
    return None if gap is None else fold_by(values, gap, noise)


def gap_among(jumps: Array, noise: float) -> float | None:
    """The size that at least a third of the jumps have, some up and some down; None if there is none."""
    if len(jumps) < _SWITCHES:
        return None
    sizes = np.abs(jumps)
    alike = np.abs(sizes[:, None] - sizes[None, :]) < max(noise, 0.05 * float(np.median(sizes)))
    up = (alike & (jumps > 0)).sum(axis=1)
    down = (alike & (jumps < 0)).sum(axis=1)
    best = int(np.minimum(up, down).argmax())
    if min(up[best], down[best]) < 2 or up[best] + down[best] < 0.35 * len(jumps):
        return None
    gap = float(sizes[alike[best]].mean())
    return gap if gap > 2.5 * noise else None


def fold_by(
    values: Array, gap: float, noise: float, *, cuts: Sequence[int] = (), established: bool = False
) -> FoldedSeries | None:
    """The series with its two modes, `gap` apart, folded; None if one mode explains it best.

    `cuts` are indexes at which a switch is likely. `established` modes need not prove themselves again.
    """
    jumps = np.flatnonzero(np.abs(np.diff(values)) > max(gap / 2, 2.5 * noise)) + 1
    starts = np.concatenate(([0], np.union1d(jumps, np.asarray(cuts, np.int64))))
    counts = np.diff(np.append(starts, len(values)))
    means = np.add.reduceat(values, starts) / counts
    grid = _Grid.over(values, gap, noise)
    if len(grid.levels) > 4 * _LEVELS:  # a gap that is nothing against the changes
        return None
    costs = grid.costs(means, counts, noise)
    paths = _Paths(costs)
    modes, levels = paths.best()
    upper = np.repeat(modes, counts) == 1
    share = float(upper.mean())
    if not 3 <= share * len(values) <= len(values) - 3:
        return None
    if paths.switches < 2 if established else not _recur(upper, paths.switches):
        return None
    left = values - np.repeat(grid.levels[levels], counts)
    exact = float(np.median(left[upper]) - np.median(left[~upper]))
    return FoldedSeries(values=values - exact * upper, gap=exact, switches=paths.switches)


def _recur(upper: npt.NDArray[np.bool_], switches: int) -> bool:
    """Whether modes take turns often enough, and stay shortly enough, to be modes."""
    if switches < _SWITCHES or len(upper) <= _BRIEF:
        return switches >= _SWITCHES
    turn = 2 * len(upper) / switches
    if switches >= _MANY[0] and turn <= _MANY[1]:
        return True
    edges = np.concatenate(([0], np.flatnonzero(np.diff(upper)) + 1, [len(upper)]))
    visits, which = np.diff(edges), upper[edges[:-1]]
    visit = min(float(np.median(visits[which])), float(np.median(visits[~which])))
    return visit <= _SHORT[0] and turn <= _SHORT[1]


def _gap(values: Array, noise: float) -> float | None:
    """The most prominent peak, away from zero, in the distribution of differences between near points."""
    pairs = np.concatenate([np.abs(values[d:] - values[:-d]) for d in _DISTANCES if d < len(values) // 3])
    top = min(0.4, 1.2 * float(np.quantile(pairs, 0.995)))
    width = max(noise / 3, top / 400)
    bins, first = int(top / width), max(1, int(_SEPARATION * noise / width))
    if bins < max(12, first + 4):
        return None
    counts = np.bincount(np.minimum((pairs / width).astype(np.int64), bins), minlength=bins + 1)[:bins].astype(float)
    smooth = np.convolve(counts, np.array([1, 2, 3, 4, 3, 2, 1]) / 16, mode="same")
    valley = np.minimum.accumulate(smooth)
    inner = smooth[first:-1]
    peaks = np.flatnonzero((inner >= smooth[first - 1 : -2]) & (inner >= smooth[first + 1 :])) + first
    best: tuple[float, float] | None = None
    for peak in peaks:
        rise = float(smooth[peak] - valley[peak])
        mass = counts[max(0, peak - 5) : peak + 6].sum() / len(pairs)
        stands_out = smooth[peak] > 1.5 * valley[peak] + 2.0 * math.sqrt(valley[peak])
        if stands_out and mass > _SHARE and (best is None or rise > best[0]):
            best = (rise, (peak + 0.5) * width)
    return None if best is None else best[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """Levels that the lower mode may have; the upper one is `shift` grid steps above."""

    levels: Array
    shift: int

    @classmethod
    def over(cls, values: Array, gap: float, noise: float) -> _Grid:
        low, high = float(np.quantile(values, 0.01)) - gap, float(np.quantile(values, 0.99)) + noise
        shift = max(2, round(gap / max(noise / 2, (high - low) / _LEVELS)))
        step = gap / shift
        count = int((high - low) / step) + 1
        return cls(levels=np.linspace(low, low + step * (count - 1), count), shift=shift)

    def costs(self, means: Array, counts: Whole, noise: float) -> Array:
        """What each block costs in each mode at each level: an array of blocks, modes and levels."""
        step = self.levels[1] - self.levels[0]
        wider = self.levels[0] + step * np.arange(len(self.levels) + self.shift)
        weights = np.minimum(counts, 60)[:, None] / (noise * noise)  # a long block is no surer than drift allows
        cost = np.minimum((means[:, None] - wider) ** 2 * weights, _OUTLIER * counts[:, None])
        return np.stack((cost[:, : len(self.levels)], cost[:, self.shift :]), axis=1)


class _Paths:
    """The cheapest paths through modes and levels, one block after the other."""

    def __init__(self, costs: Array) -> None:
        self._sums = np.empty_like(costs)
        self._sums[0] = costs[0]
        self._changed: list[float] = []  # for each block: the price of the cheapest path that changes level after it
        for block in range(1, len(costs)):
            before, here = self._sums[block - 1], self._sums[block]
            np.add(before[::-1], _SWITCH, out=here)
            np.minimum(here, before, out=here)
            self._changed.append(float(np.minimum.reduce(before, axis=None)) + _CHANGE)
            np.minimum(here, self._changed[-1], out=here)
            here += costs[block]
        self.switches = 0

    def best(self) -> tuple[Whole, Whole]:
        """The mode and the level of each block on the cheapest path; counts its switches."""
        blocks, _, levels = self._sums.shape
        modes, places = np.zeros(blocks, np.int64), np.zeros(blocks, np.int64)
        mode, level = divmod(int(self._sums[-1].argmin()), levels)
        for block in range(blocks - 1, -1, -1):
            modes[block], places[block] = mode, level
            if block == 0:
                break
            before = self._sums[block - 1]
            stay, turn = before[mode, level], before[1 - mode, level] + _SWITCH
            if self._changed[block - 1] < min(stay, turn):
                mode, level = divmod(int(before.argmin()), levels)
            elif turn < stay:
                mode = 1 - mode
                self.switches += 1
        return modes, places
