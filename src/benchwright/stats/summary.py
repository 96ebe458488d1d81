"""Means, quantiles and rounds with their intervals.

Every interval here allows for autocorrelation, because calls that follow each other resemble each other, and none of
them assumes normal latencies. A few values are summed up without numpy (`moments`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from benchwright.records import Estimate, Histogram
from benchwright.stats import correlation, histogram, ranks, reach
from benchwright.stats.distributions import reach_of_interval, student_quantile
from benchwright.stats.moments import FEW, Values, as_floats, as_list, moments
from benchwright.units import QuantityLimits

PERCENTILES: tuple[float, ...] = (50, 90, 95, 99, 99.9)
TWO_SPEEDS = "two speeds seen"  # how a method says that one number does not tell it
_GAPS_LOOKED_AT = 12
_TAKES_TURNS = 0.5  # of the switches that independent calls would make
ENOUGH_ROUNDS = 5  # whose range holds the level of all processes in 94 of 100 cases


if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    _Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outliers:
    """Values beyond Tukey's fences: `mild` past 1.5 times the quartiles' distance, `severe` past 3 times."""

    count: int  # of all values
    mild: int  # without the severe ones
    severe: int
    share: float  # of both together among all


def mean_interval(values: Values, confidence: float = 0.95) -> Estimate:
    """The mean with an interval that stays honest for skewed and for autocorrelated values.

    Student's t after Hall's cubic transformation (Journal of the Royal Statistical Society B 54, 1992), which takes
    out the skewness that makes the plain t interval of latencies miss too often on one side; stretched by the root of
    the variance inflation that batch means show (`correlation.inflation`), and as far as they lean where they do.
    """
    shape = moments(values)
    count, point, variance, batches = shape.values, shape.mean, shape.variance, shape.batches
    if count == 1:
        return Estimate(point=point, low=None, high=None, confidence=confidence, method="one value")
    if variance == 0.0:
        return Estimate(point=point, low=point, high=point, confidence=confidence, method="all values equal")
    seen = correlation.resemblance(batches, correlation.batch_length(count), variance)
    inflation = correlation.enlarge_inflation(seen.inflation, count) if seen.is_evident else seen.inflation
    error = math.sqrt(variance * inflation / count)
    effective = count / inflation
    t = student_quantile((1.0 + confidence) / 2, max(1.0, effective - 1.0))
    leans = [shape.skewness / math.sqrt(effective)]
    if seen.is_evident:
        leans.append(correlation.lean(batches))
    low = min(point - correlation.invert_hall(t, lean) * error for lean in leans)
    high = max(point - correlation.invert_hall(-t, lean) * error for lean in leans)
    if seen.is_evident:  # few independent values: their spread allows what no call comes near to
        low, high = max(low, shape.smallest), min(high, shape.largest)
    return Estimate(
        point=point,
        low=low,
        high=high,
        confidence=confidence,
        method="t with Hall's skewness transformation, allowing for autocorrelation",
    )


def quantile_interval(values: Values, q: float, confidence: float = 0.95) -> Estimate:
    """The q-quantile of values in the order they were measured; its interval assumes no distribution.

    The same method as `ranks.quantile_estimate`, by selection instead of sorting.
    """
    if len(values) < FEW:  # too few for two speeds as well
        return ranks.quantile_estimate(as_list(values), q, confidence)
    import numpy as np

    array = as_floats(values)
    count = array.size
    middle = ranks.rank(count, q) - 1
    ordered = np.partition(array, middle)
    point = float(ordered[middle])
    if count == 1:
        return Estimate(point=point, low=None, high=None, confidence=confidence, method="one value")
    bounds = _bounds(array, q, confidence)
    ordered.partition(sorted({min(int(r) + i, count) - 1 for r in (bounds.low, bounds.high) for i in (0, 1)}))
    found = _ordered_estimate(
        point, ranks.interpolate(ordered, bounds.low), ranks.interpolate(ordered, bounds.high), bounds, confidence
    )
    if q != 0.5 or (two := speeds(array)) is None:
        return found
    apart = f"{100 * (two.higher / two.lower - 1):.2g} % apart, {100 * two.share:.0f} % of the calls at the higher"
    method = f"{found.method}; {TWO_SPEEDS}, {apart}"
    if abs(two.share - 0.5) > math.sqrt(1.2 / two.turns):  # most calls are at one of them, and that is sure
        return replace(found, method=method)
    low, high = (found.low or point, found.high or point)
    return replace(found, low=min(low, two.lower), high=max(high, two.higher), method=method)


class Speeds(NamedTuple):
    """Two levels that calls take turns at: the median of each, the share of the calls at the higher one, the turns."""

    lower: float
    higher: float
    share: float
    turns: int  # from one to the other, and one


def speeds(values: Values) -> Speeds | None:
    """The two speeds of calls that stay at one for a while; None where a gap in the middle does not tell them apart.

    Calls that are slow now and then, each by itself, are one speed with a tail. Values of nothing, as the gaps between
    events that arrive together are, are no speed at all.
    """
    if len(values) < FEW:
        return None
    import numpy as np

    array = as_floats(values)
    steps = np.quantile(array, np.linspace(0.02, 0.98, 49))
    if steps[0] <= 0.0:
        return None
    gaps = np.diff(np.log(steps))
    least = max(0.02, 6.0 * float(np.median(gaps)))
    for at in np.argsort(gaps)[: -1 - _GAPS_LOOKED_AT : -1]:  # the widest ones may be those of outliers
        if gaps[at] < least:
            return None
        is_slow = array > (steps[at] + steps[at + 1]) / 2
        share = float(is_slow.mean())
        switches = int(np.count_nonzero(is_slow[1:] != is_slow[:-1]))
        if switches <= _TAKES_TURNS * 2.0 * share * (1.0 - share) * array.size:
            lower, higher = float(np.median(array[~is_slow])), float(np.median(array[is_slow]))
            return Speeds(lower, higher, share, 1 + switches) if lower > 0.0 else None
    return None


def worth(values: Values, q: float = 0.5) -> int:
    """How many independent values would say as much about the q-quantile as these, in the order they were measured."""
    import numpy as np

    array = as_floats(values)
    middle = ranks.rank(array.size, q) - 1
    return max(1, round(array.size / _inflation(array, float(np.partition(array, middle)[middle]))))


def from_histogram(
    counts: Histogram, q: float, confidence: float = 0.95, *, inflation: float = 1.0, kept: Values | None = None
) -> Estimate:
    """The q-quantile of a histogram. The ends are rounded outwards to the edges of their buckets.

    A histogram forgets the order of the calls. `kept` are calls that were kept one by one, in their order, in any
    unit: they tell how the calls resemble each other. Without them it is `inflation` that does; 1 takes the calls as
    independent.
    """
    point = histogram.quantile(counts, q)
    if counts.total == 1:
        return Estimate(point=point, low=None, high=None, confidence=confidence, method="one value")
    bounds = ranks.quantile_bounds(counts.total, q, confidence, inflation)
    if kept is not None and len(kept) > 1:
        bounds = _bounds(as_floats(kept), q, confidence, among=counts.total)
    low = histogram.edges_at(counts, math.floor(bounds.low))[0]
    high = histogram.edges_at(counts, math.ceil(bounds.high))[1]
    estimate = _ordered_estimate(point, low, high, bounds, confidence)
    error = histogram.error_bound(counts)
    return replace(estimate, method=f"{estimate.method}; histogram, error below {100 * error:.2g} %")


def mean_from_histogram(counts: Histogram, confidence: float = 0.95, *, inflation: float = 1.0) -> Estimate:
    """The exact mean of what a histogram has seen; the interval's width comes from its buckets."""
    point = histogram.mean(counts)
    if counts.total == 1:
        return Estimate(point=point, low=None, high=None, confidence=confidence, method="one value")
    squares = math.fsum(n * (middle - point) ** 2 for middle, n in histogram.buckets(counts))
    effective = counts.total / inflation
    t = student_quantile((1.0 + confidence) / 2, max(1.0, effective - 1.0))
    half = t * math.sqrt(squares / (counts.total - 1) / effective)
    return Estimate(
        point=point, low=point - half, high=point + half, confidence=confidence, method="t, from a histogram"
    )


def combine(
    estimates: Sequence[Estimate], *, confidence: float = 0.95, limits: QuantityLimits | None = None
) -> Estimate:
    """Rounds, each measured in a process of its own, as one estimate. The process is the unit of repetition.

    The interval is of the *typical* process, the one in the middle of all that might be started; what a rare process
    does that none of the rounds showed, no interval from them can hold (`unseen_share`). Where the rounds fall into two
    groups, the interval reaches from one to the other, and the method tells the groups.

    The point is the mean of the rounds' points: its interval, Student's t on R - 1 degrees of freedom, is the one whose
    coverage is known for as few rounds as people run (a median's needs six rounds to exist). What differs from process
    to process - layout of memory, placement, neighbours - is in that spread and in no single round's interval (Georges
    et al., OOPSLA 2007; Kalibera & Jones, ISMM 2013).

    Each side is at least as long as the rounds' own intervals allow on that side: the median of their lengths over the
    root of R. A median, because one round that caught a burst of slow calls knows its p99 to within a hundred times,
    and the others do not. From `ENOUGH_ROUNDS` on no end lies beyond the outermost end of the rounds' own intervals:
    the range of so many rounds holds the truth nearly as often as the interval does. Where every round is positive and
    t reaches zero, which happens with two to four rounds that differ much, the low end is as many times below the point
    as the high end is above it. `limits` says what the quantity can be; without them it has no negative end where no
    round is negative.
    """
    if not estimates:
        raise ValueError("no rounds")
    if len(estimates) == 1:
        only = within_limits(estimates[0], limits)
        return replace(only, method=f"{only.method}; within one process" if only.method else "within one process")
    count = len(estimates)
    points = [estimate.point for estimate in estimates]
    point = points[0] if len(set(points)) == 1 else math.fsum(points) / count
    spread = math.sqrt(math.fsum((p - point) ** 2 for p in points) / (count - 1) / count)
    between = student_quantile((1.0 + confidence) / 2, count - 1.0) * spread
    sides = [_sides(estimate, confidence) for estimate in estimates]
    below, above = (statistics.median(side) / math.sqrt(count) for side in zip(*sides, strict=True))
    low, high, method = (
        point - max(between, below),
        point + max(between, above),
        _rounds_method(count, between, below, above),
    )
    if (
        count > ENOUGH_ROUNDS and abs(statistics.median(points) - point) > spread
    ):  # some lie aside: the mean leans to them
        low, high = _with_the_median(points, low, high, confidence)
    can_be = limits or QuantityLimits(low=0.0)
    if (
        count < ENOUGH_ROUNDS and can_be.low == 0.0 and low <= 0.0 < min(points)
    ):  # as many times below the point as the other end is above it
        low, method = point * point / high, f"{method}, low end by its ratio"
    own_low, own_high = _outermost(estimates) if count >= ENOUGH_ROUNDS else (low, high)
    if low < own_low or high > own_high:
        low, high, method = max(low, own_low), min(high, own_high), f"{method}, within their own intervals"
    if two := groups(estimates):  # the typical process is in one of them: which, so few rounds cannot tell
        low, high = min(low, two[0][0]), max(high, two[1][-1])
        apart = 100 * (_mean(two[1]) / _mean(two[0]) - 1)
        method = f"{method}; {TWO_SPEEDS}, {apart:.3g} % apart, {len(two[1])} of {count} processes at the higher"
    if any(e.confidence < confidence for e in estimates):
        method += "; some with too few values for this metric"
    whole = Estimate(point=point, low=low, high=high, confidence=confidence, method=method)
    return within_limits(whole, _seen_within(can_be, points))


def _with_the_median(points: Sequence[float], low: float, high: float, confidence: float) -> tuple[float, float]:
    """The ends moved outwards to hold the rounds' median with its own error, from the median deviation."""
    middle = statistics.median(points)
    error = 1.4826 * statistics.median(abs(p - middle) for p in points) * math.sqrt(math.pi / 2 / len(points))
    half = student_quantile((1.0 + confidence) / 2, len(points) - 1.0) * error
    return min(low, middle - half), max(high, middle + half)


def unseen_share(rounds: int, confidence: float = 0.95) -> float:
    """How large the share of processes may be that are unlike all of so many rounds, and yet none was among them."""
    return float(1.0 - (1.0 - confidence) ** (1.0 / rounds))


def groups(estimates: Sequence[Estimate]) -> tuple[list[float], list[float]] | None:
    """The rounds' points in two groups, the lower one first, where a gap tells them apart; None where none does.

    The gap is at least 2 % of the point, wider than either of the groups three times over, and wider than what the
    rounds' own intervals explain. Three rounds are the fewest.
    """
    points = sorted(estimate.point for estimate in estimates)
    if len(points) < 3 or points[0] <= 0.0:
        return None
    gap, at = max((after - before, i) for i, (before, after) in enumerate(pairwise(points), start=1))
    low, high = points[:at], points[at:]
    own = statistics.median(sum(_sides(estimate, 0.95)) for estimate in estimates)
    scatter = max(low[-1] - low[0], high[-1] - high[0])
    return (low, high) if gap > max(0.02 * points[0], 3.0 * scatter, own) else None


def _mean(points: Sequence[float]) -> float:
    return math.fsum(points) / len(points)


def within_limits(estimate: Estimate, limits: QuantityLimits | None) -> Estimate:
    """The estimate with no end of its interval where the quantity cannot be; a point beyond a limit disproves it."""
    if limits is None or estimate.low is None or estimate.high is None:
        return estimate
    if (limits.low is None or estimate.low >= limits.low) and (limits.high is None or estimate.high <= limits.high):
        return estimate  # nearly all are
    can_be = _seen_within(limits, [estimate.point])
    low = estimate.low if can_be.low is None else max(estimate.low, can_be.low)
    high = estimate.high if can_be.high is None else min(estimate.high, can_be.high)
    if low == estimate.low and high == estimate.high:
        return estimate
    return replace(estimate, low=low, high=high)


def scale_estimate(estimate: Estimate, factor: float) -> Estimate:
    """The estimate in another unit: every number times a positive `factor`."""
    return replace(
        estimate,
        point=estimate.point * factor,
        low=None if estimate.low is None else estimate.low * factor,
        high=None if estimate.high is None else estimate.high * factor,
    )


def outliers(values: Values) -> Outliers:
    """How many values lie far outside the middle half (Tukey, Exploratory Data Analysis, 1977). They are counted,
    never removed."""
    import numpy as np

    array = as_floats(values)
    first, third = np.quantile(array, (0.25, 0.75))
    distance = np.maximum(first - array, array - third)
    severe = int(np.count_nonzero(distance > 3.0 * (third - first)))
    both = int(np.count_nonzero(distance > 1.5 * (third - first)))
    return Outliers(count=array.size, mild=both - severe, severe=severe, share=both / array.size)


def _bounds(array: _Floats, q: float, confidence: float, among: int | None = None) -> ranks.Bounds:
    """As `ranks.quantile_estimate` finds them, for many values at numpy's speed."""
    import numpy as np

    count, length = array.size, correlation.batch_length(array.size)
    if length == 1:
        point = float(np.partition(array, ranks.rank(count, q) - 1)[ranks.rank(count, q) - 1])
        return ranks.quantile_bounds(among or count, q, confidence, ranks.inflation(array.tolist(), point))
    at = reach.thresholds(count, q)
    edges = np.partition(array, [r - 1 for r in at])[[r - 1 for r in at]]
    whole = count // length
    places = np.searchsorted(edges, array[: whole * length], side="left")
    cells = np.repeat(np.arange(whole), length) * (len(at) + 1) + places
    table = np.bincount(cells, minlength=whole * (len(at) + 1)).reshape(whole, -1)[:, :-1].cumsum(axis=1)
    return ranks.bounds_in_order(reach.BatchCounts(at, table.tolist(), length, count), q, confidence, among)


def _inflation(array: _Floats, threshold: float) -> float:
    """`ranks.inflation`, for many values at numpy's speed."""
    length = correlation.batch_length(array.size)
    if length == 1:
        return ranks.inflation(array.tolist(), threshold)
    below = (array[: array.size - array.size % length] <= threshold).reshape(-1, length).mean(axis=1)
    share = float(below.mean())
    return correlation.inflation(below.tolist(), length, share * (1.0 - share))


def _ordered_estimate(point: float, low: float, high: float, bounds: ranks.Bounds, asked: float) -> Estimate:
    return Estimate(
        point=point,
        low=min(low, point),
        high=max(high, point),
        confidence=bounds.confidence,
        method=ranks.describe(bounds, asked),
    )


def _sides(estimate: Estimate, confidence: float) -> tuple[float, float]:
    """How far the interval reaches below and above the point at `confidence`; one with less is taken as it is."""
    if estimate.low is None or estimate.high is None:
        return 0.0, 0.0
    below, above = estimate.point - estimate.low, estimate.high - estimate.point
    if estimate.confidence <= confidence:
        return below, above
    shrunk = reach_of_interval(confidence) / reach_of_interval(estimate.confidence)
    return below * shrunk, above * shrunk


def _rounds_method(count: int, between: float, below: float, above: float) -> str:
    """What the two sides of a combined interval are made of, in words."""
    if between >= max(below, above):
        return f"t over {count} processes"
    if between < min(below, above):
        return f"own intervals of {count} processes, which agree"
    return f"t over {count} processes, {'below' if below > between else 'above'} their own intervals"


def _outermost(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """The smallest lower and the largest upper end; none where a round has no interval of its own."""
    lows, highs = [e.low for e in estimates if e.low is not None], [e.high for e in estimates if e.high is not None]
    if len(lows) < len(estimates) or len(highs) < len(estimates):
        return -math.inf, math.inf
    return min(lows), max(highs)


def _seen_within(limits: QuantityLimits, points: Sequence[float]) -> QuantityLimits:
    """The limits that no point contradicts."""
    low = limits.low if limits.low is not None and min(points) >= limits.low else None
    high = limits.high if limits.high is not None and max(points) <= limits.high else None
    return QuantityLimits(low=low, high=high)
