"""Quantiles with intervals from the ranks alone: no assumption about the distribution. Standard library only.

The rank-sum test, whether one group tends to be larger than another, is here too.

How many of n independent calls fall at or below the true q-quantile is binomial(n, q), whatever the distribution. So
a pair of ranks brackets the quantile with a probability that can be computed exactly (David & Nagaraja, Order
Statistics, 3rd ed., section 7.1). Ranks count from 1.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol, SupportsFloat

from benchwright.records import Estimate
from benchwright.stats import correlation, reach
from benchwright.stats.distributions import normal_cdf, normal_quantile


class SortedNumbers(Protocol):
    """Sorted numbers, whether a list or an array."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> SupportsFloat: ...


def rank(count: int, q: float) -> int:
    """The rank of the q-quantile of `count` values: the smallest with at least a share q at or below it."""
    _check(q)
    return min(count, max(1, math.ceil(q * count - 1e-9)))  # 0.07 * 100 is a hair above 7


def quantile_ranks(count: int, q: float, confidence: float = 0.95) -> tuple[int, int] | None:
    """The ranks that bracket the true q-quantile with at least `confidence`, each end missing it half the time.

    None when `count` is too small for both ends; `samples_for_quantile` says how many it takes.
    """
    upper = _upper(count, q, (1.0 - confidence) / 2)
    mirrored = _upper(count, 1.0 - q, (1.0 - confidence) / 2)
    if upper is None or mirrored is None:
        return None
    return count + 1 - mirrored.exact, upper.exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Where an interval's ends lie among the sorted values (ranks with a fraction), and what it really covers."""

    low: float
    high: float
    confidence: float
    count: int  # of the values
    effective: int  # independent values that would say as much


def quantile_bounds(count: int, q: float, confidence: float = 0.95, inflation: float = 1.0) -> Bounds:
    """The interval for the q-quantile of `count` values that are worth `count / inflation` independent ones.

    Whole ranks cover more than was asked, for small counts by several percent. Nyblom (Statistics & Probability
    Letters 14, 1992) interpolates between neighbouring ranks; the result lies between two exact intervals and covers
    very nearly `confidence` for any continuous distribution. Where the count is too small for that confidence the ends
    are the outermost values and `confidence` is the smaller one that they do reach. Of a quantile in the middle half
    they are the outermost of the independent values, at the places that these have among all: the median of thousands
    of values that are worth three lies between their sixth parts, not between their extremes.
    """
    effective = max(1, round(count / inflation))
    tail = (1.0 - confidence) / 2
    upper, mirrored = _upper(effective, q, tail), _upper(effective, 1.0 - q, tail)
    if upper and mirrored:
        return _stretch_ranks(count, effective, effective + 1 - mirrored.interpolated, upper.interpolated, confidence)
    miss_low, miss_high = (1.0 - q) ** effective, q**effective  # of the outermost values
    stretch, low, high = (count + 1) / (effective + 1), 1.0, float(count)
    if 0.25 <= q <= 0.75:  # further out the extremes are right more often
        inwards = (count / max(2, effective) - 1.0) / 2  # half of the share that the outermost of so many stands for
        low, high = low + inwards, high - inwards
    if mirrored and mirrored.interpolated > 2.0:
        low, miss_low = (effective + 1 - mirrored.interpolated) * stretch, tail
    elif upper and upper.interpolated > 2.0:
        high, miss_high = upper.interpolated * stretch, tail
    reached = min(confidence, max(0.0, 1.0 - miss_low - miss_high))
    return Bounds(low=max(low, 1.0), high=min(high, float(count)), confidence=reached, count=count, effective=effective)


def _stretch_ranks(count: int, effective: int, low: float, high: float, confidence: float) -> Bounds:
    """Ranks among `effective` values as ranks among `count`."""
    stretch = (count + 1) / (effective + 1)
    return Bounds(
        low=max(low * stretch, 1.0),
        high=min(high * stretch, float(count)),
        confidence=confidence,
        count=count,
        effective=effective,
    )


def quantile_estimate(values: Sequence[float], q: float, confidence: float = 0.95) -> Estimate:
    """The q-quantile of values in the order they were measured, with an interval that allows for autocorrelation."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    count = len(ordered)
    point = ordered[rank(count, q) - 1]
    if count == 1:
        return Estimate(point=float(point), low=None, high=None, confidence=confidence, method="one value")
    bounds = _bounds_in_order(values, ordered, q, confidence)
    low, high = interpolate(ordered, bounds.low), interpolate(ordered, bounds.high)
    return Estimate(
        point=float(point),
        low=min(low, point),
        high=max(high, point),
        confidence=bounds.confidence,
        method=describe(bounds, confidence),
    )


def _bounds_in_order(values: Sequence[float], ordered: Sequence[float], q: float, confidence: float) -> Bounds:
    count = len(ordered)
    length = correlation.batch_length(count)
    if length == 1:
        return quantile_bounds(count, q, confidence, inflation(values, ordered[rank(count, q) - 1]))
    at = reach.thresholds(count, q)
    edges = [ordered[r - 1] for r in at]
    batches = []
    for start in range(0, count - count % length, length):
        counted = [0] * (len(edges) + 1)
        for value in values[start : start + length]:
            counted[bisect_left(edges, value)] += 1
        batches.append(list(accumulate(counted[:-1])))
    return bounds_in_order(reach.BatchCounts(at, batches, length, count), q, confidence)


def bounds_in_order(counts: reach.BatchCounts, q: float, confidence: float = 0.95, among: int | None = None) -> Bounds:
    """The interval for the q-quantile of calls that resemble each other as `counts` say, among so many calls."""
    count = counts.total if among is None else among
    return reach.widest(counts, q, confidence, count, lambda i: quantile_bounds(count, q, confidence, i))


def describe(bounds: Bounds, asked: float) -> str:
    """The method in words: what the values are worth where they resemble each other, and when that is too little."""
    method = "order statistics, allowing for autocorrelation"
    if 2 * bounds.effective <= bounds.count:
        ones = "one" if bounds.effective == 1 else "ones"
        method = f"order statistics, {bounds.count:,} values worth {bounds.effective:,} independent {ones}"
    if bounds.confidence < asked:
        return f"{method.removesuffix(', allowing for autocorrelation')}, too few values for {100 * asked:g} %"
    return method


def relative_half_width(values: Sequence[float], q: float = 0.5, confidence: float = 0.95) -> float | None:
    """Half the interval's width over the quantile: the stop rule. None while no interval of that confidence exists."""
    if len(values) < samples_for_quantile(q, confidence):
        return None
    estimate = quantile_estimate(values, q, confidence)
    if estimate.low is None or estimate.high is None or estimate.point <= 0 or estimate.confidence < confidence:
        return None
    return (estimate.high - estimate.low) / 2 / estimate.point


def inflation(values: Sequence[float], threshold: float) -> float:
    """By how much autocorrelation inflates the variance of the share of values at or below `threshold` (>= 1).

    `count / inflation` is the number of independent values that would say as much about that quantile. In samples too
    short for batches a row of zeros and ones says too little; there the values' ranks tell how they hang together.
    """
    count = len(values)
    length = correlation.batch_length(count)
    if length == 1:
        ordered = sorted(values)
        places = [bisect_left(ordered, value) + bisect_right(ordered, value) for value in values]
        return correlation.inflation(places, 1)
    batches = (values[start : start + length] for start in range(0, count - count % length, length))
    means = [sum([value <= threshold for value in batch]) / length for batch in batches]
    share = math.fsum(means) / len(means)
    return correlation.inflation(means, length, share * (1.0 - share))


def interpolate(ordered: SortedNumbers, position: float) -> float:
    """The value at a rank with a fraction, on the line between its two neighbours."""
    below = min(int(position), len(ordered))
    above = min(below + 1, len(ordered))
    start = float(ordered[below - 1])
    return start + (position - below) * (float(ordered[above - 1]) - start)


def samples_for_quantile(q: float, confidence: float = 0.95, *, sides: int = 2) -> int:
    """The fewest independent values that can bound the q-quantile: on both sides, or from above only (`sides=1`)."""
    _check(q)
    if sides not in (1, 2):
        raise ValueError(f"a bound has one side or two, not {sides}")
    miss = (1.0 - confidence) / sides
    rarest = q if sides == 1 else max(q, 1.0 - q)
    return max(1, math.ceil(math.log(miss) / math.log(rarest) - 1e-9))


def queries_for_percentile(q: float, margin: float | None = None, confidence: float = 0.99) -> int:
    """How many queries MLPerf asks for so that the share below the q-quantile is known to within `margin`.

    The sample size of a proportion, p (1 - p) (z / margin)², as in Reddi et al., MLPerf Inference Benchmark (ISCA
    2020); there the margin is a twentieth of 1 - q and the confidence 99 %, which are the defaults. The
    benchmark's own rules then round up to a multiple of 2**13; this does not.
    """
    _check(q)
    wanted = (1.0 - q) / 20 if margin is None else margin
    z = normal_quantile((1.0 + confidence) / 2)
    return math.ceil(q * (1.0 - q) * (z / wanted) ** 2 - 1e-9)


@dataclass(frozen=True, slots=True)
class _UpperRank:
    exact: int
    interpolated: float


def _upper(count: int, q: float, tail: float) -> _UpperRank | None:
    """The rank whose value lies above the q-quantile but for a chance of `tail`; None when even the largest may not.

    With B ~ binomial(count, q) values at or below the quantile, value number r is not above it when B >= r.
    """
    _check(q)
    if count < 1 or q**count > tail:
        return None
    spread = math.sqrt(count * q * (1.0 - q))
    r = min(count, max(0, round(count * q - normal_quantile(tail) * spread)))
    reach = _tail(count, q, r)
    while reach < tail:
        r -= 1
        reach += _pmf(count, q, r)
    while (beyond := max(0.0, reach - _pmf(count, q, r))) > tail:
        r, reach = r + 1, beyond
    # now P(B >= r) >= tail >= P(B >= r + 1)
    if reach == tail or r == count:
        return _UpperRank(r, float(r))
    ratio = r * (1.0 - q) * (tail - beyond) / ((count - r) * q * (reach - tail))
    return _UpperRank(r + 1, r + 1.0 / (1.0 + ratio))


def _tail(count: int, q: float, r: int) -> float:
    """P(B >= r) for r above the middle: terms shrink from the first on, so few are needed."""
    term = total = _pmf(count, q, r)
    odds = q / (1.0 - q)
    for k in range(r, count):
        term *= (count - k) / (k + 1) * odds
        total += term
        if term < total * 1e-17:
            break
    return min(1.0, total)


def _pmf(count: int, q: float, k: int) -> float:
    if k < 0 or k > count:
        return 0.0
    choose = math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
    return math.exp(choose + k * math.log(q) + (count - k) * math.log1p(-q))


def _check(q: float) -> None:
    if not 0.0 < q < 1.0:
        raise ValueError(f"a quantile lies between 0 and 1, not at {q}")


def rank_sum_p_value(before: Sequence[float], after: Sequence[float]) -> float:
    """The probability that chance makes `after` stand above `before` as much as it does; 1 where a group is empty.

    Mann and Whitney, 1947, https://doi.org/10.1214/aoms/1177730491, in the normal approximation with a correction for
    continuity. Ties count half; they are left out of the variance, which errs on the side of "not larger".
    """
    n, m = len(before), len(after)
    if not n or not m:
        return 1.0
    ordered = sorted(before)
    wins = sum(bisect_left(ordered, value) + bisect_right(ordered, value) for value in after) / 2
    spread = math.sqrt(n * m * (n + m + 1) / 12)
    return normal_cdf((n * m / 2 - wins + 0.5) / spread)
