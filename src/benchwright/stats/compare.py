"""Is B different from A? A ratio with its interval, and a verdict that may be "unclear".

A and B are lists of estimates of one metric, one for each round, each round a process of its own. Differences between
processes of the very same program are routinely larger than any interval from inside one process says (Mytkowicz et
al., Producing Wrong Data Without Doing Anything Obviously Wrong, ASPLOS 2009), so the rounds are what is counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from benchwright.records import Better, Estimate, Verdict
from benchwright.stats.distributions import normal_cdf, normal_quantile, student_cdf, student_quantile

_LARGEST = 700.0  # of a logarithm whose exponential is still a number
ALLOWANCE = 0.10  # how far two single processes of one program may lie apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """B against A: the ratio b/a, what to make of it and why. No ratio where a value is not positive."""

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
) -> Comparison:
    """Judges the rounds of `b` against the rounds of `a`.

    SAME when the whole interval of the ratio lies within ±`smallest`; BETTER or WORSE when it excludes 1 and the change
    is at least `smallest`; UNCLEAR otherwise. The interval is Student's t on logarithms, from the spread between
    rounds (the wider of the pooled and Welch's), and never narrower than the rounds' own intervals allow. Where only
    one side has several rounds, its spread stands for both. With one round each nothing is known about that spread: the
    interval from inside the two processes is widened by `allowance` on both sides, and a verdict needs a change that
    exceeds it.
    """
    if not a or not b:
        raise ValueError("a comparison needs at least one round on each side")
    if min([e.point for e in (*a, *b)]) <= 0.0:
        return _without_ratio(a, b)
    difference = _difference(a, b, confidence, allowance)
    return _judged(difference, better, confidence, math.log1p(smallest))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """log b - log a: the centre, half the interval's width (None: unknown), the p-value, the method and a caveat."""

    centre: float
    half: float | None
    p_value: float
    method: str
    caveat: str = ""


def _difference(a: Sequence[Estimate], b: Sequence[Estimate], confidence: float, allowance: float) -> _Difference:
    centre = _mean_log(b) - _mean_log(a)
    within = math.hypot(_within_error(a, confidence), _within_error(b, confidence))
    if len(a) == len(b) == 1:
        known = all(e.low is not None and e.high is not None and e.confidence >= confidence for e in (*a, *b))
        return _one_process_each(centre, within if known else None, confidence, allowance)
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


def _one_process_each(centre: float, error: float | None, confidence: float, allowance: float) -> _Difference:
    method, caveat = _said_of_one_process(allowance)
    if error is None:
        return _Difference(centre=centre, half=None, p_value=1.0, method=method, caveat=caveat)
    slack = math.log1p(allowance)
    beyond = max(0.0, abs(centre) - slack)
    return _Difference(
        centre=centre,
        half=normal_quantile((1.0 + confidence) / 2) * error + slack,
        p_value=_two_sided(beyond, error, math.inf),
        method=method,
        caveat=caveat,
    )


@lru_cache(maxsize=16)
def _said_of_one_process(allowance: float) -> tuple[str, str]:
    """The method and its caveat."""
    allowed = f"{100 * allowance:g} %"
    caveat = f"one process each cannot exclude differences between processes; {allowed} are allowed for them"
    return f"within one process each, widened by {allowed}", caveat


def _judged(d: _Difference, better: Better | None, confidence: float, smallest: float) -> Comparison:
    low = None if d.half is None else math.exp(max(d.centre - d.half, -_LARGEST))
    high = None if d.half is None else math.exp(min(d.centre + d.half, _LARGEST))
    ratio = Estimate(point=math.exp(d.centre), low=low, high=high, confidence=confidence, method=d.method)
    verdict, why = _verdict(d, better, smallest)
    return Comparison(ratio=ratio, verdict=verdict, why=f"{why}; {d.caveat}" if d.caveat else why, p_value=d.p_value)


def _verdict(d: _Difference, better: Better | None, smallest: float) -> tuple[Verdict, str]:
    bound = _percent(smallest)
    if d.half is None:
        return Verdict.UNCLEAR, "too few values for an interval"
    if abs(d.centre) + d.half <= smallest:
        return Verdict.SAME, f"the whole interval lies within {bound}"
    if abs(d.centre) <= d.half:
        return Verdict.UNCLEAR, f"the interval includes no change and reaches beyond {bound}"
    if abs(d.centre) < smallest:
        return Verdict.UNCLEAR, f"a change, but perhaps one within {bound}"
    direction = "higher" if d.centre > 0 else "lower"
    if better is None:
        return Verdict.UNCLEAR, f"{direction}, and neither direction is better"
    improved = (d.centre > 0) == (better is Better.HIGHER)
    return (Verdict.BETTER if improved else Verdict.WORSE), f"{direction}, and the interval excludes no change"


@lru_cache(maxsize=16)
def _percent(smallest: float) -> str:
    return f"±{100 * math.expm1(smallest):.3g} %"


def _without_ratio(a: Sequence[Estimate], b: Sequence[Estimate]) -> Comparison:
    values = {e.point for e in (*a, *b)}
    if len(values) == 1:
        return Comparison(ratio=None, verdict=Verdict.SAME, why="equal in every round", p_value=1.0)
    return Comparison(ratio=None, verdict=Verdict.UNCLEAR, why="zero or negative values have no ratio", p_value=1.0)


def _mean_log(rounds: Sequence[Estimate]) -> float:
    return math.fsum([math.log(e.point) for e in rounds]) / len(rounds)


def _squares(rounds: Sequence[Estimate]) -> float:
    mean = _mean_log(rounds)
    return math.fsum((math.log(e.point) - mean) ** 2 for e in rounds)


def _within_error(rounds: Sequence[Estimate], confidence: float) -> float:
    """The standard error of the mean logarithm that the rounds' own intervals imply; rounds without one add nothing."""
    errors = [
        max(e.high - e.point, e.point - e.low) / e.point / normal_quantile((1.0 + max(e.confidence, confidence)) / 2)
        for e in rounds
        if e.low is not None and e.high is not None
    ]
    return math.hypot(*errors) / len(rounds)


def _two_sided(difference: float, error: float, df: float) -> float:
    if error == 0.0:
        return 1.0 if difference == 0.0 else 0.0
    t = -abs(difference) / error
    return min(1.0, 2.0 * (normal_cdf(t) if math.isinf(df) else student_cdf(t, df)))


def benjamini_hochberg(p_values: Sequence[float], rate: float = 0.05) -> list[bool]:
    """Which of many comparisons to call different so that at most `rate` of those called are false, on average.

    Benjamini & Hochberg, Journal of the Royal Statistical Society B 57 (1995); holds for independent comparisons and
    for positively dependent ones.
    """
    count = len(p_values)
    order = sorted(range(count), key=p_values.__getitem__)
    passed = [k for k, i in enumerate(order, start=1) if p_values[i] <= rate * k / count]
    called = set(order[: passed[-1]] if passed else ())
    return [i in called for i in range(count)]
