"""Which of the found boundaries are changes: large enough, beyond chance, and steps rather than drifts.

The weakest boundary is dropped, its neighbours settle anew, and so on until every one that is left convinces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from benchwright.stats.changepoint_noise import residual_inflation
from benchwright.stats.changepoint_segments import Array, WeightedSums, cumulative_sums, neighbours
from benchwright.stats.distributions import normal_cdf, student_quantile

_CAUTION = 6.0  # a change must exceed sqrt(2 log n + this): about one series in 100 has a chance peak beyond
_PRIOR = 4  # points' worth of belief that the noise around a change is as its surroundings say
_WINDOWS = (10**9, 256, 64, 24, 10)  # how far to look on both sides; drifts spoil the far, noise the near
_APART = 10  # points that levels without a common value have at least, or chance would part them
_SMALLEST_SHARE = 0.8  # of the smallest change that matters: what is measured scatters around what is
_LINE_MARGIN = 1.0  # by how much a straight line must fit better than a step, in squared standard deviations
_NEAR = 400  # points on both sides that the line is compared over


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelChange:
    """The change of level at a boundary: its size with its standard error, and the strength of the evidence."""

    size: float
    error: float
    freedom: float
    strength: float  # as a standard normal deviate

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Returns the interval in which the size of the change lies."""
        freedom = float(min(round(self.freedom), 100))  # coarse, as every new quantile costs time
        reach = student_quantile(0.5 + confidence / 2, freedom) * self.error
        return self.size - reach, self.size + reach


def deviate(ratio: float, freedom: float) -> float:
    """A value of Student's t as a standard normal deviate, without its sign (Wallace 1959)."""
    return math.sqrt(freedom * math.log1p(ratio * ratio / freedom))


class Evidence:
    """A series with the noise that a first segmentation leaves; judges its boundaries."""

    def __init__(self, values: Array, noise: Array, changes: list[int], *, smallest: float) -> None:
        self.values, self.smallest = values, smallest
        self.count = len(values)
        # the strength that a change must have grows with the number of places where chance could strike
        self.threshold = math.sqrt(2.0 * math.log(self.count) + _CAUTION)
        edges = np.array([0, *changes, self.count])
        lengths = np.diff(edges)
        segments = np.repeat(np.arange(len(lengths)), lengths)
        means = np.add.reduceat(values, edges[:-1]) / lengths
        left = (values - means[segments]) / noise
        squares = np.add.reduceat(left * left, edges[:-1])
        around = max(1.0, float(squares.sum()) / max(1, self.count - len(lengths)))
        scale = (squares + _PRIOR * around) / (lengths - 1 + _PRIOR)
        inflated = residual_inflation(left / np.sqrt(scale)[segments], segments)
        self.noise = noise * np.sqrt(scale[segments] * inflated.cautious)
        self._excess = math.sqrt(inflated.cautious / inflated.likely)
        self.weighted = WeightedSums(values, self.noise)
        self._sums, self._variances = cumulative_sums(values).tolist(), cumulative_sums(self.noise**2).tolist()
        weights, time = self.noise**-2.0, np.arange(self.count, dtype=np.float64)
        products = (weights, weights * time, weights * time * time, weights * values, weights * time * values)
        self._lines = [
            cumulative_sums(product).tolist() for product in products
        ]  # lists: single numbers are read, and often

    def recut(self, values: Array) -> None:
        """Takes other values for outliers than those it began with: means and steps are from these."""
        self.values, self._sums = values, cumulative_sums(values).tolist()

    def drop_unconvincing(self, changes: list[int]) -> list[int]:
        """The changes that are left when the unconvincing have been dropped, the weakest first."""
        changes = list(changes)
        strengths = [self._strength(changes, number) for number in range(len(changes))]
        while changes and min(strengths) < self.threshold:
            worst = strengths.index(min(strengths))
            del changes[worst], strengths[worst]
            near = range(max(0, worst - 2), min(len(changes), worst + 2))
            self.weighted.settle(changes, near)
            for number in range(max(0, near.start - 1), min(len(changes), near.stop + 1)):
                strengths[number] = self._strength(changes, number)
        return changes

    def step(self, first: int, change: int, last: int, window: int = _WINDOWS[0]) -> LevelChange:
        """The step between the levels on both sides, seen from at most `window` points away."""
        left, right = min(change - first, window), min(last - change, window)
        low, high = change - left, change + right
        size = (self._sums[high] - self._sums[change]) / right - (self._sums[change] - self._sums[low]) / left
        before, after = self._variances[change] - self._variances[low], self._variances[high] - self._variances[change]
        before, after = before / left**2, after / right**2
        error = math.sqrt(before + after)
        freedom = error**4 / (before**2 / (left - 1 + _PRIOR) + after**2 / (right - 1 + _PRIOR))  # Welch's
        return LevelChange(size=size, error=error, freedom=freedom, strength=deviate(size / error, freedom))

    def confidence(self, first: int, change: int, last: int) -> float:
        """One less the probability that chance shows as much anywhere."""
        return max(0.0, 1.0 - 2.0 * self.count * normal_cdf(-self._strongest(first, change, last)))

    def _strength(self, changes: list[int], number: int) -> float:
        """The evidence for a change from whichever distance shows it best; little if it is rather a drift."""
        change, (first, last) = changes[number], neighbours(changes, number, self.count)
        best = self._strongest(first, change, last)
        if best >= self.threshold and self._line_fits(first, change, last):
            return self.threshold / 2
        return best

    def _strongest(self, first: int, change: int, last: int) -> float:
        widest = max(change - first, last - change)
        enough, best = _SMALLEST_SHARE * math.log1p(self.smallest), 0.0
        for tried, window in enumerate(_WINDOWS):
            if best > 2 * self.threshold or (tried and window >= widest):
                continue  # convincing enough, or the same again
            step = self.step(first, change, last, window)
            best = max(best, step.strength if abs(step.size) >= enough else 0.0)
        if 0.0 < best < self.threshold and self._apart(first, change, last):
            step = self.step(first, change, last)
            best = max(best, deviate(self._excess * step.size / step.error, step.freedom))
        return best

    def _apart(self, first: int, change: int, last: int) -> bool:
        """Whether every value of one level lies beyond every value of the other.

        No estimate of noise or correlation says so, so correlation is then taken as it shows, not as it may be.
        """
        if min(change - first, last - change) < _APART:
            return False
        before, after = self.values[first:change], self.values[change:last]
        return bool(before.max() < after.min() or after.max() < before.min())

    def _line_fits(self, first: int, change: int, last: int) -> bool:
        """Whether one straight line explains both levels better than the step does."""
        first, last = max(first, change - _NEAR), min(last, change + _NEAR)
        left, right, both = self._line(first, change), self._line(change, last), self._line(first, last)
        by_step = left.weight * right.weight / both.weight * (right.mean - left.mean) ** 2
        return both.slope**2 * both.squares - by_step > _LINE_MARGIN

    def _line(self, first: int, last: int) -> _Line:
        weights, times, squared, values, products = self._lines
        weight, time, value = weights[last] - weights[first], times[last] - times[first], values[last] - values[first]
        centre = time / weight
        squares = squared[last] - squared[first] - time * centre
        slope = (products[last] - products[first] - centre * value) / squares
        return _Line(weight=weight, squares=squares, mean=value / weight, slope=slope)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """The weighted straight line through a part of the series."""

    weight: float
    squares: float
    mean: float
    slope: float
