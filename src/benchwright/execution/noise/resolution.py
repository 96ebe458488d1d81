"""What a spread between processes allows to resolve.

With n rounds on each side, a true change of the logarithm by

    d = (t[0.975; 2n-2] + t[0.80; 2n-2]) * s * sqrt(2 / n)

is found with 80 % power by a two-sided test at 5 %, s being the standard deviation between processes of the logarithm
of their medians, t Student's quantiles. The smallest change is exp(d) - 1. Slow drifts over the whole time are part of
s; a comparison that interleaves its contenders removes them and does a little better.
"""

from __future__ import annotations

import math

from benchwright.stats.distributions import normal_quantile, student_quantile

ROUNDS = 5
POWER = 0.80
CONFIDENCE = 0.95


def smallest_change(between: float, rounds: int = ROUNDS) -> float:
    """The relative change that `rounds` rounds on each side find with 80 % power; `between` is s of the formula."""
    df = 2 * rounds - 2
    t = student_quantile((1 + CONFIDENCE) / 2, df) + student_quantile(POWER, df)
    return math.expm1(t * between * math.sqrt(2 / rounds))


def rounds_to_resolve(change: float, between: float) -> int:
    """How many rounds on each side find a relative change with 80 % power: the formula turned round."""
    z = normal_quantile((1 + CONFIDENCE) / 2) + normal_quantile(POWER)
    rounds = max(2, math.floor(2 * (z * between / math.log1p(change)) ** 2))  # a little too few: t is wider than z
    while smallest_change(between, rounds) > change:
        rounds += 1
    return rounds
