"""Where the level of a series changes: candidates at many scales, then the best choice among them.

The exact answer of penalised least squares (Jackson et al. 2005; Killick, Fearnhead & Eckley 2012) needs a look at
every point. A change shows in the difference of the means of neighbouring windows (Eichinger & Kirch 2018), at one
scale or another, so the exact search is over the peaks of such differences only: a few hundred instead of thousands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

SHORTEST = 6  # points that a level must last
_SCALES = (4, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024)
_MOST = 400  # candidates
_PROMISING = 0.8  # of what a change must gain; at the wrong scale it shows less
_PENALTY = (4.0, 1.3)  # of a change: constant, and times the logarithm of the length


def segment(values: Array, noise: Array) -> list[int]:
    """The indexes of the first point of each new level, for independent noise of the given standard deviations: the
    best choice among candidates, which `settled` moves to where they fit best."""
    constant, factor = _PENALTY
    penalty = constant + factor * math.log(len(values))
    candidates = _candidates(values, noise, _PROMISING * math.sqrt(penalty))
    return _partition(values, noise, candidates, penalty) if len(candidates) else []


def settle_changes(values: Array, noise: Array, changes: Sequence[int]) -> list[int]:
    """The changes, each moved to where it fits best between its neighbours; beside those that moved, once more."""
    moved, sums = list(changes), WeightedSums(values, noise)
    sums.settle(moved, range(len(moved)))
    beside = {n + by for n, change in enumerate(changes) if moved[n] != change for by in (-1, 0, 1)}
    sums.settle(moved, sorted(beside & {*range(len(moved))}))
    return moved


class WeightedSums:
    """Sums of a series in which every point counts by its precision, so that any part's mean costs nothing."""

    def __init__(self, values: Array, noise: Array) -> None:
        weights = 1.0 / (noise * noise)
        self.weights, self.values = cumulative_sums(weights), cumulative_sums(weights * values)

    def settle(self, changes: list[int], which: Sequence[int]) -> None:
        """Moves the changes of the given numbers to where they fit best between their neighbours."""
        for number in which:
            first, last = neighbours(changes, number, len(self.weights) - 1)
            places, gains = self.profile(first, last)
            if len(places):
                changes[number] = int(places[gains.argmax()])

    def profile(self, first: int, last: int) -> tuple[Whole, Array]:
        """Each place for a change between two indexes, and how much of the scatter it would explain."""
        begin, end = first + SHORTEST, max(last - SHORTEST + 1, first + SHORTEST)
        values, weights = self.values[begin:end], self.weights[begin:end]
        left, right = values - self.values[first], self.values[last] - values
        gains = left * left / (weights - self.weights[first]) + right * right / (self.weights[last] - weights)
        return np.arange(begin, end), gains


def neighbours(changes: Sequence[int], number: int, length: int) -> tuple[int, int]:
    """Where the levels on both sides of a change begin and end."""
    first = changes[number - 1] if number else 0
    return first, changes[number + 1] if number + 1 < len(changes) else length


def cumulative_sums(values: Array) -> Array:
    """Cumulative sums with a leading zero."""
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, out=sums[1:])
    return sums


def _candidates(values: Array, noise: Array, least: float) -> Whole:
    """In every stretch of half a window's length the place where neighbouring windows differ most, if they do."""
    count, sums = len(values), cumulative_sums(values)
    strength = np.zeros(count + 1)
    for scale in _SCALES:
        if scale > count // 2:
            break
        places = np.arange(4, count - 3)
        left, right = np.minimum(scale, places), np.minimum(scale, count - places)
        step = (sums[places + right] - sums[places]) / right - (sums[places] - sums[places - left]) / left
        scores = np.abs(step) / (noise[places] * np.sqrt(1.0 / left + 1.0 / right))
        peaks = _peaks(scores, max(2, scale // 2))
        peaks = peaks[scores[peaks] > least]
        strength[places[peaks]] = np.maximum(strength[places[peaks]], scores[peaks])
    found = np.flatnonzero(strength)
    found = found[
        strength[found] >= np.maximum(strength[found - 1], strength[found + 1])
    ]  # of neighbours one is enough
    if len(found) > _MOST:
        found = np.sort(found[np.argsort(-strength[found], kind="stable")[:_MOST]])
    return found


def _peaks(scores: Array, stretch: int) -> Whole:
    """The index of the largest score of each stretch that its neighbours do not exceed."""
    stretches = -(-len(scores) // stretch)
    padded = np.zeros(stretches * stretch)
    padded[: len(scores)] = scores
    rows = padded.reshape(stretches, stretch)
    largest: Whole = rows.argmax(axis=1) + np.arange(0, stretches * stretch, stretch)
    tops = np.zeros(stretches + 2)
    tops[1:-1] = padded[largest]
    return largest[(tops[1:-1] >= tops[:-2]) & (tops[1:-1] >= tops[2:]) & (tops[1:-1] > 0.0)]


def _partition(values: Array, noise: Array, candidates: Whole, penalty: float) -> list[int]:
    """The subset of the candidates with the least squared error plus penalty: dynamic programming over all of them."""
    places = np.concatenate(([0], candidates, [len(values)]))
    precision = 1.0 / (noise * noise)
    weight, total = cumulative_sums(precision)[places], cumulative_sums(precision * values)[places]
    squares = cumulative_sums(precision * values * values)[places]
    between = weight - weight[:, None]
    between[between <= 0.0] = 1.0
    cost = squares - squares[:, None] - (total - total[:, None]) ** 2 / between + penalty
    cost[places - places[:, None] < SHORTEST] = math.inf
    least, previous = np.full(len(places), math.inf), np.zeros(len(places), np.int64)
    least[0] = 0.0
    columns = np.ascontiguousarray(cost.T)
    for end in range(1, len(places)):
        options = least[:end] + columns[end, :end]
        best = int(options.argmin())
        least[end], previous[end] = options[best], best
    chosen: list[int] = []
    place = int(previous[-1])
    while place > 0:
        chosen.append(int(places[place]))
        place = int(previous[place])
    return chosen[::-1]
