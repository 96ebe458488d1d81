"""Is B different from A? A ratio with its interval, and a verdict that may be "unclear".

A and B are lists of estimates of one metric, one for each round, each round a process of its own. Differences between
processes of the very same program are routinely larger than any interval from inside one process says (Mytkowicz et
al., Producing Wrong Data Without Doing Anything Obviously Wrong, ASPLOS 2009), so the rounds are what is counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from benchwright.records import Better, Estimate, Verdict
from benchwright.stats.distributions import normal_cdf, reach_of_interval, student_cdf, student_quantile

_LARGEST = 700.0  # of a logarithm whose exponential is still a number
ALLOWANCE = 1.0  # how far two single processes of one program may lie apart, on a machine nothing is known of
WITHIN_ONE = "within one process each"  # how the method of such a ratio begins


class RatioComparison(NamedTuple):
    """B against A: the ratio b/a, what to make of it and why. No ratio where a value is not positive.

    A tuple, as is all that is made on the way: a page has a thousand of them, and records take far longer to make.
    """

    ratio: Estimate | None
    verdict: Verdict
    why: str
    p_value: float  # of "there is no difference"


def compare(
    a: Sequence[Estimate],
    b: Sequence[Estimate],
    *,
    better: Better | None,
    confidence: float = 0.95,
    smallest: float = 0.01,
    allowance: float = ALLOWANCE,
) -> RatioComparison:
    """Judges the rounds of `b` against the rounds of `a`.

    SAME when the whole interval of the ratio lies within ±`smallest`; BETTER or WORSE when it excludes 1 and the change
    is at least `smallest`; UNCLEAR otherwise. The interval is Student's t on logarithms, from the spread between
    rounds (the wider of the pooled and Welch's), and never narrower than the rounds' own intervals allow. Where only
    one side has several rounds, its spread stands for both. With one round each nothing is known about that spread, and
    no rate of false verdicts can be promised: the interval from inside the two processes is widened by `allowance` on
    both sides, by default to a factor of 2, and a verdict needs a change that exceeds it.
    """
    if not a or not b:
        raise ValueError("a comparison needs at least one round on each side")
    alone = len(a) == len(b) == 1
    if min(a[0].point, b[0].point) <= 0.0 or (not alone and min([e.point for e in (*a, *b)]) <= 0.0):
        return _without_ratio(a, b)
    difference = _one_process_each(a[0], b[0], confidence, allowance) if alone else _difference(a, b, confidence)
    return _judge(difference, better, confidence, math.log1p(smallest))


class _Difference(NamedTuple):
    """log b - log a: the centre, half the interval's width (None: unknown), the p-value, the method and a caveat."""

    centre: float
    half: float | None
    p_value: float
    method: str
    caveat: str = ""


def _difference(a: Sequence[Estimate], b: Sequence[Estimate], confidence: float) -> _Difference:
    centre = _mean_log(b) - _mean_log(a)
    within = math.hypot(_within_error(a, confidence), _within_error(b, confidence))
    errors = [(max(math.sqrt(variance), within), df) for variance, df in _variances(a, b)]
    alone = min(len(a), len(b)) == 1
    return _Difference(
        centre=centre,
        half=max(student_quantile((1.0 + confidence) / 2, df) * error for error, df in errors),
        p_value=max(_two_sided(centre, error, df) for error, df in errors),
        method=f"t on logarithms over {len(a)} and {len(b)} processes",
        caveat="one side has a single process, so the other side's spread stands for both" if alone else "",
    )


def _variances(a: Sequence[Estimate], b: Sequence[Estimate]) -> list[tuple[float, float]]:
    """The variance of the difference of mean logarithms with its degrees of freedom: pooled, and Welch's (1947).

    Welch's allows the sides to spread differently but calls equal programs different too often when one side has far
    fewer rounds (10 % instead of 5 % for 2 against 10); the pooled one does not. The wider of the two is kept.
    """
    squares_a, squares_b = _squares(a), _squares(b)
    count_a, count_b = len(a), len(b)
    df = count_a + count_b - 2.0
    found = [((squares_a + squares_b) / df * (1 / count_a + 1 / count_b), df)]
    if min(count_a, count_b) > 1 and squares_a + squares_b > 0.0:
        part_a = squares_a / (count_a - 1) / count_a
        part_b = squares_b / (count_b - 1) / count_b
        whole = part_a + part_b
        found.append((whole, whole**2 / (part_a**2 / (count_a - 1) + part_b**2 / (count_b - 1))))
    return found


def _one_process_each(a: Estimate, b: Estimate, confidence: float, allowance: float) -> _Difference:
    """A page judges a thousand such pairs: what is the same for all of them is made once."""
    slack, method, caveat = _describe_one_process(allowance)
    centre = math.log(b.point) - math.log(a.point)
    error_a, error_b = _own_error(a, confidence), _own_error(b, confidence)
    if error_a is None or error_b is None or a.confidence < confidence or b.confidence < confidence:
        return _Difference(centre, None, 1.0, method, caveat)
    error = math.hypot(error_a, error_b)
    beyond = abs(centre) - slack
    half = reach_of_interval(confidence) * error + slack
    p_value = _two_sided(beyond, error, math.inf) if beyond > 0.0 else 1.0
    return _Difference(centre, half, p_value, method, caveat)


@lru_cache(maxsize=16)
def _describe_one_process(allowance: float) -> tuple[float, str, str]:
    """What is allowed for, as a logarithm; the method and its caveat."""
    allowed = f"{100 * allowance:g} %"
    caveat = f"one process each cannot show how processes differ; {allowed} are allowed for it, no rate is promised"
    return math.log1p(allowance), f"{WITHIN_ONE}, widened by {allowed}", caveat


def _judge(difference: _Difference, better: Better | None, confidence: float, smallest: float) -> RatioComparison:
    centre, half, p_value, method, caveat = difference
    low = high = None
    if half is not None:
        low, high = math.exp(max(centre - half, -_LARGEST)), math.exp(min(centre + half, _LARGEST))
    ratio = Estimate(point=math.exp(centre), low=low, high=high, confidence=confidence, method=method)
    verdict, why = _verdict(centre, half, better, smallest)
    return RatioComparison(ratio, verdict, f"{why}; {caveat}" if caveat else why, p_value)


def _verdict(centre: float, half: float | None, better: Better | None, smallest: float) -> tuple[Verdict, str]:
    if half is None:
        return Verdict.UNCLEAR, "too few values for an interval"
    change = abs(centre)
    if change + half <= smallest:
        return Verdict.SAME, f"the whole interval lies within {_percent(smallest)}"
    if change <= half:
        return Verdict.UNCLEAR, f"the interval includes no change and reaches beyond {_percent(smallest)}"
    if change < smallest:
        return Verdict.UNCLEAR, f"a change, but perhaps one within {_percent(smallest)}"
    direction = "higher" if centre > 0 else "lower"
    if better is None:
        return Verdict.UNCLEAR, f"{direction}, and neither direction is better"
    improved = (centre > 0) == (better is Better.HIGHER)
    return (Verdict.BETTER if improved else Verdict.WORSE), f"{direction}: the interval does not reach no change"


@lru_cache(maxsize=16)
def _percent(smallest: float) -> str:
    return f"±{100 * math.expm1(smallest):.3g} %"


def _without_ratio(a: Sequence[Estimate], b: Sequence[Estimate]) -> RatioComparison:
    values = {e.point for e in (*a, *b)}
    if len(values) == 1:
        return RatioComparison(ratio=None, verdict=Verdict.SAME, why="equal in every round", p_value=1.0)
    return RatioComparison(
        ratio=None, verdict=Verdict.UNCLEAR, why="zero or negative values have no ratio", p_value=1.0
    )


def _mean_log(rounds: Sequence[Estimate]) -> float:
    return math.fsum([math.log(e.point) for e in rounds]) / len(rounds)


def _squares(rounds: Sequence[Estimate]) -> float:
    mean = _mean_log(rounds)
    return math.fsum((math.log(e.point) - mean) ** 2 for e in rounds)


def _within_error(rounds: Sequence[Estimate], confidence: float) -> float:
    """The standard error of the mean logarithm that the rounds' own intervals imply; rounds without one add nothing."""
    errors = [error for e in rounds if (error := _own_error(e, confidence)) is not None]
    return math.hypot(*errors) / len(rounds)


def _own_error(e: Estimate, confidence: float) -> float | None:
    """The standard error of a logarithm that the estimate's interval implies; None without an interval."""
    if e.low is None or e.high is None:
        return None
    above, below, sure = e.high - e.point, e.point - e.low, e.confidence
    reach = reach_of_interval(sure if sure > confidence else confidence)
    return (above if above > below else below) / e.point / reach


def _two_sided(difference: float, error: float, df: float) -> float:
    if error == 0.0:
        return 1.0 if difference == 0.0 else 0.0
    t = -abs(difference) / error
    return min(1.0, 2.0 * (normal_cdf(t) if math.isinf(df) else student_cdf(t, df)))
