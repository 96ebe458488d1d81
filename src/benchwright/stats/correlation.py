"""What autocorrelation costs: by how much it inflates the variance of a mean. Standard library only.

Calls that follow each other resemble each other, so n of them say less than n independent ones: their mean varies as
if there were only n / inflation. Ignoring it is the commonest way to print an interval that is too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

_LARGEST = 0.97  # a lag-1 correlation above it is a drift, for which no interval holds
_FEWEST = 6  # batches from which anything is read
_ENOUGH = 20  # batches from which their skewness is read
_RATHER, _HARDLY = 0.52, 2.33  # normal quantiles: chance shows more in 30 and in 1 of 100 cases


def batch_length(count: int) -> int:
    """How many consecutive values should form one batch.

    Long batches leave little correlation between them, many batches make the estimate precise; both grow with the
    count: 50 batches of 2 for 100 values, 217 of 46 for 10 000. Chosen by simulating coverage.
    """
    return max(1, int(count ** (2 / 3) / 10))


def inflation(means: Sequence[float], length: int, variance: float | None = None) -> float:
    """The variance of the whole mean over what independence would give, never below 1; see `resemblance`."""
    return resemblance(means, length, variance).inflation


class Resemblance(NamedTuple):
    """By how much order inflates the variance of a mean, and whether chance alone would hardly show as much."""

    inflation: float
    is_evident: bool


def resemblance(means: Sequence[float], length: int, variance: float | None = None) -> Resemblance:
    """How consecutive values hang together.

    `means` are the means of consecutive batches of `length` values whose own variance is `variance` (None: that of the
    means, which for batches of one it is). Batch means (Law & Carson 1979) catch correlation shorter than a batch; what
    is left between batches is taken to be first-order autoregressive, its coefficient corrected for the bias of short
    series (Marriott & Pope 1954). With one value per batch, as in samples too small for batching, the second part does
    all the work.

    Speeds that last longer than a batch, under noise that hides them from one batch to the next, show only in longer
    batches. So the batches are joined two by two, as long as there are `_FEWEST`. What these longer ones show counts
    where it is evident (chance shows it once in a hundred cases) and more.
    """
    count = len(means)
    if count < 4:
        return Resemblance(1.0, False)
    centre = math.fsum(means) / count
    deviations = [mean - centre for mean in means]
    squares = math.fsum([d * d for d in deviations])
    if squares == 0.0 or variance == 0.0:
        return Resemblance(1.0, False)
    lagged = math.fsum([d * e for d, e in pairwise(deviations)]) / squares
    correlation = min(max(lagged + (1.0 + 3.0 * lagged) / count, 0.0), _LARGEST)
    within = 1.0 if variance is None else length * squares / (count - 1) / variance
    found = max(1.0, within * (1.0 + correlation) / (1.0 - correlation))
    evident = lagged > _HARDLY / math.sqrt(count) or within > _by_chance(count - 1, _HARDLY)
    single = squares / (count - 1) if variance is None else variance / length
    joined = 1
    while len(deviations) >= 2 * _FEWEST:
        deviations = [(d + e) / 2 for d, e in zip(deviations[::2], deviations[1::2], strict=False)]
        joined *= 2
        seen = joined * _variance(deviations) / single
        if seen > _by_chance(len(deviations) - 1, _HARDLY):
            found, evident = max(found, seen / _by_chance(len(deviations) - 1, _RATHER)), True
    return Resemblance(found, evident)


def enlarge_inflation(inflation: float, count: int) -> float:
    """The inflation of `count` values enlarged for its own error: few independent ones hide a part of it."""
    return 1.0 + (inflation - 1.0) * (1.0 + 3.0 * math.sqrt(inflation / count))


def lean(means: Sequence[float]) -> float:
    """How far the mean of all values leans to one side: its skewness, read from the means of consecutive batches.

    Slow calls that come in bursts are few events, however many calls each of them takes, so their mean leans far more
    than that of as many independent calls, which only batches as long as a burst show. So the batches are joined two by
    two, as long as there are `_ENOUGH`, and the lean is that of the length which shows most.
    """
    found, values = 0.0, list(means)
    while (count := len(values)) >= _ENOUGH:
        spread = math.sqrt(_variance(values))
        if spread == 0.0:
            break
        centre = math.fsum(values) / count
        cubes = math.fsum([((v - centre) / spread) ** 3 for v in values])  # of a tiny spread it would be nothing at all
        found = max(found, math.sqrt(count) / (count - 1) / (count - 2) * cubes, key=abs)
        values = [(v + w) / 2 for v, w in zip(values[::2], values[1::2], strict=False)]
    return found


def invert_hall(t: float, lean: float) -> float:
    """Where Student's `t` lies for a mean that leans so much: the inverse of Hall's transformation (J. R. Statist. Soc.
    B 54, 1992), g(t) = t + lean t²/3 + lean² t³/27 + lean/6, a cubic that is monotone for every lean."""
    if abs(lean) < 1e-8:
        return t
    return 3.0 / lean * (math.cbrt(1.0 + lean * (t - lean / 6.0)) - 1.0)


def _variance(deviations: Sequence[float]) -> float:
    centre = math.fsum(deviations) / len(deviations)
    return math.fsum([(d - centre) ** 2 for d in deviations]) / (len(deviations) - 1)


@lru_cache(maxsize=512)
def _by_chance(df: int, normal: float) -> float:
    """A quantile, named by that of the normal distribution, of the variance of df + 1 independent values of variance 1.

    Wilson & Hilferty's approximation of chi-square (Proceedings of the National Academy of Sciences 17, 1931).
    """
    return float((1.0 - 2.0 / (9.0 * df) + normal * math.sqrt(2.0 / (9.0 * df))) ** 3)
