"""What the noise of a series is like: how large around each point, and how much neighbours resemble each other.

Everything here is estimated from a series whose level may change at unknown points, so nothing may be mistaken for
noise that is a change: sizes come from differences of neighbours, of which a change spoils one, and from medians.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

Array = npt.NDArray[np.float64]

_WINDOW = 31  # differences that tell the noise around a point; noise that switches faster is averaged
_STRIDE = 8  # points between places where it is computed; in between it is interpolated
_MEDIAN_DIFFERENCE = 0.9539  # median of |difference of two values| whose standard deviation is 1
_TRIMMED_DIFFERENCE = 0.93  # mean of the smaller 90 % of them
_MEDIAN_SIZE = 0.6745  # median of |value| whose standard deviation is 1
_LAGS = range(3, 8)  # differences that autocorrelation enlarges and few changes fall into
_LARGEST_CORRELATION = 0.7  # beyond it, a drift
_RESIDUAL_LAGS = 12
_LARGEST_RESIDUAL = 0.8  # correlation that neighbours may have beside their levels
_CAUTION = 1.35  # standard errors by which their correlation may be larger than it seems
_EXPECTED = 0.1  # correlation that is expected before any value is seen
_BELIEVED = 33  # values from which on only what they show is believed; of fewer, as much as they are of these
_PUT_BACK = 0.8  # of correlation is seen at least, however short the levels that took the rest with them
_ROUNDED = 0.1  # of neighbours that are equal make values rounded ones, and not unchanged
_TURNS = 4  # differences that rounded values have at least, up and down
_GRAIN = 0.5  # of the distance between rounded values is their noise at least
_FEWEST = 20  # values that tell anything about autocorrelation
_STEPS = 60  # values from which on a step spoils few of the differences that tell it
_NARROW = 7  # points of the running median that outliers are measured from
_OUTLIER = 2.7  # standard deviations from it at which they are cut off


def running_median(values: Array, width: int) -> Array:
    """The median around each point; the ends are mirrored."""
    width = min(width, len(values) - 1 + len(values) % 2)
    half = width // 2
    if half < 1:
        return values.copy()
    padded = np.concatenate((values[half:0:-1], values, values[-2 : -half - 2 : -1]))
    return np.partition(sliding_window_view(padded, width), half, axis=1)[:, half]


def winsorise(values: Array, noise: Array) -> Array:
    """The values with outliers cut off at a few standard deviations from the running median."""
    middle = running_median(values, _NARROW)
    return np.clip(values, middle - _OUTLIER * noise, middle + _OUTLIER * noise)


def winsorise_beside(cut: Array, measured: Array, noise: Array, changes: Sequence[int]) -> Array:
    """Values cut off like that, next to the changes anew: there the running median belongs to the other level."""
    values, half = cut.copy(), _NARROW // 2
    edges = [0, *changes, len(cut)]
    for first, change, last in zip(edges, edges[1:], edges[2:], strict=False):
        sides = ((change - half, change, first, change), (change, change + half, change, last))
        for begin, end, low, high in sides:
            near = measured[max(low, change - _NARROW) : min(high, change + _NARROW)]
            middle, reach = median(near.tolist()), _OUTLIER * noise[begin:end]
            values[begin:end] = np.maximum(np.minimum(measured[begin:end], middle + reach), middle - reach)
    return values


def local_noise(values: Array, floor: float) -> Array:
    """The standard deviation around each point, as independent noise would have it, and at least `floor`."""
    steps = np.abs(np.diff(values))
    whole, count = _typical(steps), len(values)
    grain = _grain(np.diff(values))
    if count < 20 or grain > 0.0:  # the differences of rounded values are none or one grain: no window tells more
        return np.full(count, max(whole, _GRAIN * grain, floor))
    width = min(_WINDOW, 2 * (count // 4) + 1)
    stride = _STRIDE if count >= 500 else _STRIDE // 2
    windows = sliding_window_view(steps, width)[::stride]
    around = np.partition(windows, width // 2, axis=1)[:, width // 2] / _MEDIAN_DIFFERENCE
    places = np.arange(len(around)) * stride + width // 2
    here: Array = 0.8 * np.interp(np.arange(count), places, around) + 0.2 * whole
    return np.maximum(np.maximum(here, 0.25 * whole), floor)


def _typical(steps: Array) -> float:
    """The noise of the whole series; where most neighbours are equal, as rounded values are, from the others too."""
    middle = float(np.median(steps))
    if np.count_nonzero(steps) >= 0.7 * len(steps):
        return middle / _MEDIAN_DIFFERENCE
    small = np.sort(steps)[: max(1, int(0.9 * len(steps)))]
    return max(middle / _MEDIAN_DIFFERENCE, float(small.mean()) / _TRIMMED_DIFFERENCE)


def _grain(differences: Array) -> float:
    """The distance between neighbouring values of a series that was rounded; 0 if it was not.

    Many neighbours are equal, and the others go up and down. Of a count that changes once or twice, which is not
    rounded, they do not.
    """
    up, down = differences[differences > 0.0], -differences[differences < 0.0]
    equal = len(differences) - len(up) - len(down)
    if equal < _ROUNDED * len(differences) or min(len(up), len(down)) < _TURNS:
        return 0.0
    return float(np.quantile(np.concatenate((up, down)), 0.25))


def median_deviation(values: Array) -> float:
    """The standard deviation around zero, as the median of the sizes tells it."""
    sizes = np.abs(values)
    middle = len(sizes) // 2
    return float(np.partition(sizes, middle)[middle]) / _MEDIAN_SIZE


def inflation(values: Array, noise: Array) -> float:
    """By how much autocorrelation enlarges the variance of long means, over `noise` squared; at least 1.

    Differences over several points against those of neighbours tell the correlation of a first-order autoregressive
    noise. What chance alone would give in a series of this length is taken off first. In a short series a single step
    enlarges most of these differences, so the best one is taken out before.
    """
    count = len(values)
    if count < _FEWEST:
        return 1.0
    scaled = (values if count >= _STEPS else _without_best_step(values)) / noise
    near = max(_lagged_spread(scaled, 1), 1e-9)
    growth = sum(_lagged_spread(scaled, lag) for lag in _LAGS) / len(_LAGS) / near - 2.0 / math.sqrt(count)
    correlation = 0.0
    for _ in range(4):  # growth = (1 - correlation^6) / (1 - correlation)
        correlation = min(max(1.0 - (1.0 - correlation**6) / max(growth, 1.0), 0.0), _LARGEST_CORRELATION)
    return max(1.0, min(near, 1.2) * (1.0 + correlation) / (1.0 - correlation) ** 2)


def _without_best_step(values: Array) -> Array:
    """What is left when the mean before and the mean after the place where they differ most are taken out."""
    count, sums = len(values), np.cumsum(values)
    places = np.arange(6, count - 5)
    before, after = sums[places - 1], sums[-1] - sums[places - 1]
    change = int(places[(before * before / places + after * after / (count - places)).argmax()])
    return np.concatenate((values[:change] - values[:change].mean(), values[change:] - values[change:].mean()))


def _lagged_spread(scaled: Array, lag: int) -> float:
    return median_deviation(scaled[lag:] - scaled[:-lag]) ** 2 / 2.0


@dataclass(frozen=True, slots=True)
class Inflation:
    """By how much autocorrelation enlarges the variance of long means: as it shows, and as it may be at most."""

    likely: float
    cautious: float


def residual_inflation(residuals: Array, segments: npt.NDArray[np.int64]) -> Inflation:
    """By how much autocorrelation enlarges the variance of long means, from what is left without the levels.

    One and twice the correlations until they vanish, and no less than neighbours tell of a first-order autoregressive
    noise. Levels that were fitted take correlation with them (Marriott and Pope 1954), which is put back. What a few
    values show of correlation is mostly chance, so it is believed only as far as there are many of them.
    """
    count, variance = len(residuals), float(np.mean(residuals * residuals))
    if variance == 0.0:
        return Inflation(1.0, 1.0)
    believed = min(1.0, count / _BELIEVED)
    total, neighbours = 1.0, 0.0
    length = count / (int(segments[-1]) + 1)
    for lag in range(1, min(_RESIDUAL_LAGS, count - 1)):
        same = segments[lag:] == segments[:-lag]
        if np.count_nonzero(same) < 10:
            break
        correlation = float(np.mean((residuals[lag:] * residuals[:-lag])[same])) / variance
        if lag == 1:
            neighbours = correlation + 1.0 / length
        if correlation <= 0.0:
            break
        total += 2.0 * correlation * believed
    more = _CAUTION / math.sqrt(count)
    rest = (1.0 - believed) * _EXPECTED
    likely = _autoregressive(believed * neighbours + rest)
    cautious = _autoregressive(believed * neighbours / max(1.0 - 4.0 / length, _PUT_BACK) + rest + more)
    return Inflation(max(total, likely), max(total, cautious))


def _autoregressive(correlation: float) -> float:
    """By how much a correlation of neighbours enlarges the variance of long means."""
    correlation = min(max(correlation, 0.0), _LARGEST_RESIDUAL)
    return (1.0 + correlation) / (1.0 - correlation)
