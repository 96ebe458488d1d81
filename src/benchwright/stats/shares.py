"""Did a share change? Of requests that fail most often none do, and zero has no ratio: shares are told by difference.

The interval of the difference is the hybrid score interval of R. G. Newcombe (Interval estimation for the difference
between independent proportions, Statistics in Medicine 17, 1998, method 10), made of the intervals of both shares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchwright.records import Better, Estimate, Verdict
from benchwright.stats.compare import RatioComparison
from benchwright.stats.distributions import normal_cdf, reach_of_interval

_Z = 1.959964  # 95 % of a normal distribution, both sides
_CLEAR = 3.5  # standard errors between the means of runs; a series is looked at after every run


def estimate_share(failed: int, of: int) -> Estimate:
    """The share of so many, in per cent, with the interval of E. B. Wilson (JASA 22, 1927)."""
    share = failed / of
    middle = share + _Z**2 / (2 * of)
    half = _Z * math.sqrt(share * (1 - share) / of + (_Z / (2 * of)) ** 2)
    scale = 100 / (1 + _Z**2 / of)
    return Estimate(
        point=100 * share,
        low=min(100 * share, max(0.0, scale * (middle - half))),
        high=max(100 * share, min(100.0, scale * (middle + half))),
        method="Wilson's interval of a share",
    )


def compare_shares(a: Estimate, b: Estimate, *, better: Better | None, smallest: float = 0.01) -> RatioComparison:
    """Judges the share `b` against the share `a`, both in per cent. There is never a ratio.

    SAME when both are equal, or when the whole interval of the difference lies within ±`smallest` as points; BETTER or
    WORSE when it excludes zero; UNCLEAR otherwise, and where a share has no interval.
    """
    step = b.point - a.point
    if step == 0.0:
        return RatioComparison(None, Verdict.SAME, f"{_points(a.point)} % on both sides", 1.0)
    ends = difference_interval(a, b)
    if ends is None:
        return RatioComparison(None, Verdict.UNCLEAR, "a share without an interval", 1.0)
    low, high = ends
    more = f"{_points(abs(step))} points {'more' if step > 0 else 'less'} [{_signed(low)}, {_signed(high)}]"
    toward_zero = step - low if step > 0 else high - step
    p_value = _two_sided(abs(step), toward_zero / reach_of_interval(min(a.confidence, b.confidence)))
    if low > 0.0 or high < 0.0:
        if better is None:
            return RatioComparison(None, Verdict.UNCLEAR, f"{more}, and neither direction is better", p_value)
        improved = (step > 0) == (better is Better.HIGHER)
        return RatioComparison(None, Verdict.BETTER if improved else Verdict.WORSE, more, p_value)
    if max(-low, high) <= 100 * smallest:
        return RatioComparison(None, Verdict.SAME, f"within ±{_points(100 * smallest)} points", p_value)
    return RatioComparison(None, Verdict.UNCLEAR, more, p_value)


def difference_interval(a: Estimate, b: Estimate) -> tuple[float, float] | None:
    """The interval of the difference `b` - `a`, in the unit of both; None where one has none."""
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return None
    step = b.point - a.point
    low = step - math.hypot(b.point - b.low, a.high - a.point)
    return low, step + math.hypot(b.high - b.point, a.point - a.low)


def exceeds_chance(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether the means of runs lie further apart than counts of few failures do by chance.

    Shares of few requests take few values, often two, and a median jumps from one to the other when nothing happened.
    Means do not: they must differ by `_CLEAR` of their standard errors, by what the runs scatter on their side.
    """
    if min(len(before), len(after)) < 2:
        return False
    (first, first_error), (second, second_error) = _mean_with_error(before), _mean_with_error(after)
    return abs(second - first) > _CLEAR * math.hypot(first_error, second_error)


def _mean_with_error(side: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error. Not by `statistics`, which takes longer to import than all of this."""
    mean = math.fsum(side) / len(side)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in side) / (len(side) - 1))
    return mean, spread / math.sqrt(len(side))


def _two_sided(size: float, error: float) -> float:
    return min(1.0, 2.0 * normal_cdf(-size / error)) if error > 0.0 else 0.0


def _points(value: float) -> str:
    return f"{value:.2g}" if abs(value) < 10 else f"{value:.3g}"


def _signed(value: float) -> str:
    return f"{value:+.2g}"
