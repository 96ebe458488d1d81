"""The rank-sum test: whether the values of one group tend to be larger than those of another, whatever their shape.

Mann and Whitney, 1947, https://doi.org/10.1214/aoms/1177730491, in the normal approximation with a correction for
continuity. Ties count half; they are left out of the variance, which errs on the side of "not larger".
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from benchwright.stats.distributions import normal_cdf


def larger(before: Sequence[float], after: Sequence[float]) -> float:
    """The probability that chance makes `after` stand above `before` as much as it does; 1 where a group is empty."""
    n, m = len(before), len(after)
    if not n or not m:
        return 1.0
    ordered = sorted(before)
    wins = sum(bisect_left(ordered, value) + bisect_right(ordered, value) for value in after) / 2
    spread = math.sqrt(n * m * (n + m + 1) / 12)
    return normal_cdf((n * m / 2 - wins + 0.5) / spread)
