"""Times until a goal, where some runs ended before they got there.

A run that ended without reaching its goal is no number and no failure: its time is known to be longer than the run. It
is called censored. Leaving such runs out, or putting their length in, would make a training look faster than it is.

- The share of runs that have not got there, over time: E. L. Kaplan and P. Meier, Nonparametric estimation from
  incomplete observations, JASA 53, 1958. Its variance is M. Greenwood's (1926).
- The band around it and the interval of the median, on the scale log(-log): R. Brookmeyer and J. Crowley, A confidence
  interval for the median survival time, Biometrics 38, 1982.
- The mean time within a horizon, which exists whatever was reached: P. Royston and M. Parmar, Restricted mean survival
  time, BMC Medical Research Methodology 13, 2013.
- Two sides: the log-rank test (N. Mantel, 1966; R. Peto and J. Peto, Asymptotically efficient rank invariant test
  procedures, JRSS A 135, 1972) as a permutation test of its scores, which holds for few runs as well; for shares that
  got there at all, R. A. Fisher's exact test.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from benchwright.records import Estimate
from benchwright.stats.distributions import reach_of_interval, student_quantile

DRAWS = 20_000  # relabellings that are drawn where there are more
_TINY = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeToGoal:
    """One run: when it reached its goal, or how long it was seen not to have reached it."""

    at: float
    reached: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivalStep:
    """From `at` on, `left` is the share of runs that have not got there, with its band; None: no band is known."""

    at: float
    left: float
    low: float | None
    high: float | None


def survival_curve(runs: Sequence[TimeToGoal], confidence: float = 0.95) -> list[SurvivalStep]:
    """The share that has not got there after each instant at which a run did (Kaplan and Meier)."""
    steps, left, spread = [], 1.0, 0.0
    for at, events, risk in _instants(runs):
        left *= 1.0 - events / risk
        spread = spread + events / (risk * (risk - events)) if risk > events else math.inf
        low, high = _band(left, spread, reach_of_interval(confidence))
        steps.append(SurvivalStep(at=at, left=left, low=low, high=high))
    return steps


def _instants(runs: Sequence[TimeToGoal]) -> list[tuple[float, int, int]]:
    """Each instant at which runs got there, how many did, and how many were still on their way just before."""
    instants = sorted({run.at for run in runs if run.reached})
    return [
        (at, sum(run.reached and run.at == at for run in runs), sum(run.at >= at for run in runs)) for at in instants
    ]


def _band(left: float, spread: float, reach: float) -> tuple[float | None, float | None]:
    """The band of the share, on the scale log(-log), so that it never leaves 0 to 1."""
    if not 0.0 < left < 1.0 or not math.isfinite(spread):
        return None, None
    half = reach * math.sqrt(spread) / abs(math.log(left))
    return left ** math.exp(half), left ** math.exp(-half)


@dataclass(frozen=True, slots=True, kw_only=True)
class MedianTime:
    """The time by which half of the runs have got there. An end, or the point, is None where no run is that late."""

    point: float | None
    low: float | None
    high: float | None


def median_time(runs: Sequence[TimeToGoal], confidence: float = 0.95) -> MedianTime:
    """The median of Kaplan and Meier's curve, with the interval of Brookmeyer and Crowley.

    The upper end is None where the band never falls below a half: nothing says how late the median may be.
    """
    steps = survival_curve(runs, confidence)
    return MedianTime(
        point=next((step.at for step in steps if step.left <= 0.5 + _TINY), None),
        low=next((step.at for step in steps if (0.0 if step.low is None else step.low) <= 0.5), None),
        high=next((step.at for step in steps if step.high is not None and step.high <= 0.5), None),
    )


def common_horizon(*sides: Sequence[TimeToGoal]) -> float:
    """The longest time up to which the curve of every side is known.

    Of a side whose last run got there it is known for ever: nobody is left.
    """
    known = [max(run.at for run in runs) for runs in sides if _last(runs) > 0.0]
    return min(known) if known else max(run.at for runs in sides for run in runs)


def _last(runs: Sequence[TimeToGoal]) -> float:
    """The share that had not got there when the last run ended."""
    steps = survival_curve(runs)
    return steps[-1].left if steps else 1.0


def restricted_mean(runs: Sequence[TimeToGoal], horizon: float, confidence: float = 0.95) -> Estimate:
    """The mean time until the goal or the horizon, whichever comes first: the area under the curve up to there.

    Its interval rests on Greenwood's variance, made wider for few runs: by n/(n-1), and Student's t with n - 1 degrees.
    """
    steps = [step for step in survival_curve(runs) if step.at < horizon]
    ends = [*(step.at for step in steps), horizon]
    parts = [step.left * (end - step.at) for step, end in zip(steps, ends[1:], strict=True)]
    area = ends[0] + math.fsum(parts)
    method = f"mean within {horizon:.4g} of {len(runs)} rounds (restricted mean of Kaplan and Meier)"
    if len(runs) < 2:
        return Estimate(point=area, low=None, high=None, confidence=confidence, method=method)
    spread = 0.0
    for place, (at, events, risk) in enumerate(_instants(runs)):
        if at < horizon and risk > events:
            spread += math.fsum(parts[place:]) ** 2 * events / (risk * (risk - events))
    if not spread:  # every run was alike up to the horizon: that tells nothing of how runs differ
        return Estimate(point=area, low=None, high=None, confidence=confidence, method=method)
    error = math.sqrt(spread * len(runs) / (len(runs) - 1))
    half = student_quantile((1.0 + confidence) / 2.0, len(runs) - 1) * error
    low, high = max(0.0, area - half), min(horizon, area + half)
    return Estimate(point=area, low=low, high=high, confidence=confidence, method=method)


# ---- two sides ----


def log_rank_scores(runs: Sequence[TimeToGoal]) -> list[float]:
    """Peto and Peto's score of each run: 1 if it got there, less what was to be expected up to its time.

    The scores add up to zero. Runs that got there early have high ones, runs that never did the lowest.
    """
    instants = _instants(runs)
    return [
        float(run.reached) - math.fsum(events / risk for at, events, risk in instants if at <= run.at) for run in runs
    ]


def log_rank_p_value(before: Sequence[TimeToGoal], after: Sequence[TimeToGoal], seed: int = 0) -> float:
    """How probable so large a difference is when nothing changed: the log-rank scores under other labels.

    Every relabelling counts where there are few, else drawn ones. Runs that got there and runs that did not count
    for what is known of them; none gets a number that it did not have.
    """
    scores = log_rank_scores([*before, *after])
    size = min(len(before), len(after))
    chosen = scores[: len(before)] if size == len(before) else scores[len(before) :]
    seen = abs(math.fsum(chosen)) - _TINY
    if size == 0:
        return 1.0
    if math.comb(len(scores), size) <= DRAWS:
        sums = [abs(sum(part)) >= seen for part in combinations(scores, size)]
        return sum(sums) / len(sums)
    draw = random.Random(seed)
    hits = sum(abs(sum(draw.sample(scores, size))) >= seen for _ in range(DRAWS))
    return (hits + 1) / (DRAWS + 1)  # what was seen is a relabelling itself: the level holds


def smallest_p_value(before: int, after: int) -> float:
    """The smallest p-value that so many runs on each side can give: below it nothing can ever be told."""
    return 2.0 / math.comb(before + after, before) if before and after else 1.0


def fisher_p_value(reached_before: int, before: int, reached_after: int, after: int) -> float:
    """How probable so different shares of runs that got there are when nothing changed; two-sided, exact."""
    reached, whole = reached_before + reached_after, before + after
    every = math.comb(whole, reached)

    def chance(count: int) -> float:
        return math.comb(before, count) * math.comb(after, reached - count) / every

    counts = range(max(0, reached - after), min(before, reached) + 1)
    seen = chance(reached_before) * (1.0 + _TINY)
    return min(1.0, math.fsum(chance(count) for count in counts if chance(count) <= seen))


def ratio_of_means(before: Estimate, after: Estimate, runs: int) -> Estimate | None:
    """After over before, with an interval on logarithms (delta method); None where one of them is not above zero."""
    if min(before.point, after.point) <= 0.0:
        return None
    ratio = after.point / before.point
    errors = [(one.high - one.low) / 2.0 / one.point for one in (before, after) if one.low is not None and one.high]
    method = f"ratio of restricted means of {runs} rounds"
    if not errors:
        return Estimate(point=ratio, low=None, high=None, method=method)
    width = math.exp(math.hypot(*errors))
    return Estimate(point=ratio, low=ratio / width, high=ratio * width, method=method)
