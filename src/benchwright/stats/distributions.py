"""Quantiles and tails of the normal and of Student's t, and Fisher's F. Standard library only.

`statistics.NormalDist` would do for the normal, but importing it costs a worker 14 ms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

_Function = Callable[[float], float]
_EXPANDED_FROM = 3.0  # degrees of freedom: below, the expansion is far off
_NEARLY_SURE = 1.0 - 1e-12  # the largest probability that an interval is taken to promise
_NORMAL_FROM = 1e7  # degrees of freedom beyond which t and normal agree to better than 1e-7


def normal_cdf(x: float) -> float:
    """P(Z <= x) for a standard normal Z, accurate in both tails."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


@lru_cache(maxsize=256)
def normal_quantile(probability: float) -> float:
    """The x with P(Z <= x) = `probability`, for 0 < probability < 1."""
    return _invert(normal_cdf, _normal_density, probability)


def reach_of_interval(confidence: float) -> float:
    """How many standard errors an interval with this confidence reaches to each side of its middle.

    Some tools write that an interval holds with 100 %; no interval that ends does, so it counts as nearly sure.
    """
    return normal_quantile(min((1.0 + confidence) / 2, _NEARLY_SURE))


def student_cdf(x: float, df: float) -> float:
    """P(T <= x) for Student's t with `df` degrees of freedom, which need not be whole."""
    if df <= 0:
        raise ValueError(f"degrees of freedom must be positive, not {df}")
    if df > _NORMAL_FROM:
        return normal_cdf(x)
    square = x * x
    if math.isinf(square):
        return float(x > 0)
    tail = 0.5 * _incomplete_beta(df / 2, 0.5, df / (df + square), square / (df + square))
    return 1.0 - tail if x > 0 else tail


@lru_cache(maxsize=1024)
def student_quantile(probability: float, df: float) -> float:
    """The x with P(T <= x) = `probability`, for 0 < probability < 1."""
    near = _student_near(min(probability, 1.0 - probability), df) if 0.0 < probability < 1.0 else 0.0
    return _invert(lambda x: student_cdf(x, df), lambda x: _student_density(x, df), probability, near)


def fisher_tail(x: float, above: float, below: float) -> float:
    """P(F > x) for Fisher's F with `above` and `below` degrees of freedom."""
    if above <= 0 or below <= 0:
        raise ValueError(f"degrees of freedom must be positive, not {above} and {below}")
    if x <= 0.0:
        return 1.0
    if math.isinf(x):
        return 0.0
    whole = above * x + below
    return _incomplete_beta(below / 2, above / 2, below / whole, above * x / whole)


def _student_near(probability: float, df: float) -> float:
    """A quantile in the lower half, roughly: the normal one with the first terms of Cornish and Fisher's expansion.

    Where that is far off, from the exact ones for one and two degrees of freedom, whose logarithms lie about on a line
    over 1 / df.
    """
    if df < _EXPANDED_FROM:
        one = math.tan(math.pi * (0.5 - probability))
        two = (1.0 - 2.0 * probability) / math.sqrt(2.0 * probability * (1.0 - probability))
        return -two * (one / two) ** min(2.0 / df - 1.0, 1.0) if one > 0.0 < two else 0.0
    z = normal_quantile(probability)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return min(0.0, z + first / df + second / df**2 + third / df**3)


def _invert(cdf: _Function, density: _Function, probability: float, near: float = 0.0) -> float:
    """Newton's method in the lower tail, where a small probability keeps all its digits; symmetry does the rest.

    Below the middle the cumulative probability is convex: a step from the left ends at the right of what is sought, and
    steps from there never overshoot. So any start will do; one that is `near` needs fewer steps.
    """
    if not 0.0 < probability < 1.0:
        raise ValueError(f"a probability lies between 0 and 1, not at {probability}")
    if probability > 0.5:
        return -_invert(cdf, density, 1.0 - probability, near)
    x = near
    if x < 0.0 and (excess := cdf(x) - probability) < 0.0:
        x = min(0.0, x - excess / density(x))
    while (excess := cdf(x) - probability) > 0.0:
        following = x - excess / density(x)
        if following >= x:
            break
        x = following
    return x


def _normal_density(x: float) -> float:
    return math.exp(-x * x / 2.0) / math.sqrt(2.0 * math.pi)


def _student_density(x: float, df: float) -> float:
    if df > _NORMAL_FROM:
        return _normal_density(x)
    scale = math.exp(math.lgamma((df + 1.0) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    return scale * math.exp(-(df + 1.0) / 2 * math.log1p(x * x / df))


def _incomplete_beta(a: float, b: float, x: float, complement: float) -> float:
    """The regularised incomplete beta function I_x(a, b); `complement` is 1 - x without its rounding error."""
    if x <= 0.0 or complement <= 0.0:
        return float(x > 0.0)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(complement))
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _beta_fraction(a, b, x) / a
    return 1.0 - front * _beta_fraction(b, a, complement) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22) by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / ((1.0 - (a + b) * x / (a + 1.0)) or tiny)
    value = d
    for m in range(1, 20_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / ((1.0 + term * d) or tiny)
            c = (1.0 + term / c) or tiny
            value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value
