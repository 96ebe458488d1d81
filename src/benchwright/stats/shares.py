"""Did a share change? Of requests that fail most often none do, and zero has no ratio: shares are told by difference.

The interval of the difference is the hybrid score interval of R. G. Newcombe (Interval estimation for the difference
between independent proportions, Statistics in Medicine 17, 1998, method 10), made of the intervals of both shares.
"""

from __future__ import annotations

import math

from benchwright.records import Better, Estimate, Verdict
from benchwright.stats.compare import RatioComparison
from benchwright.stats.distributions import normal_cdf, reach_of_interval


def compare_shares(a: Estimate, b: Estimate, *, better: Better | None, smallest: float = 0.01) -> RatioComparison:
    """Judges the share `b` against the share `a`, both in per cent. There is never a ratio.

    SAME when both are equal, or when the whole interval of the difference lies within ±`smallest` as points; BETTER or
    WORSE when it excludes zero; UNCLEAR otherwise, and where a share has no interval.
    """
    step = b.point - a.point
    if step == 0.0:
        return RatioComparison(None, Verdict.SAME, f"{_points(a.point)} % on both sides", 1.0)
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return RatioComparison(None, Verdict.UNCLEAR, "a share without an interval", 1.0)
    low = step - math.hypot(b.point - b.low, a.high - a.point)
    high = step + math.hypot(b.high - b.point, a.point - a.low)
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


def _two_sided(size: float, error: float) -> float:
    return min(1.0, 2.0 * normal_cdf(-size / error)) if error > 0.0 else 0.0


def _points(value: float) -> str:
    return f"{value:.2g}" if abs(value) < 10 else f"{value:.3g}"


def _signed(value: float) -> str:
    return f"{value:+.2g}"
