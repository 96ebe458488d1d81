"""Which verdicts hold although a side is unreliable, or although each side was seen only once.

Noise of the machine explains a change of some size, not every change: what is five times as slow is slower. Memory does
not depend on who else used the CPU. A number that a benchmark reported once has no interval, and no test can judge it;
but when it fell to less than half, that is reported.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchwright.analysis.judged_metrics import MEMORY
from benchwright.records import Better, Estimate, Verdict
from benchwright.records.findings import verdict_of
from benchwright.records.request_metrics import ERRORS
from benchwright.stats.compare import RatioComparison

ALLOWANCE = 0.25  # a change up to this may be the noise of an unreliable side
ONCE = 2.0  # a change by this factor is judged although each side was seen once
UNTOUCHED = frozenset(["rss_peak", ERRORS])  # a busy CPU does not change these
_COUNTS = ("steps_to_", "epochs_to_", "reached_")  # nor what a training counts until it reaches its goal


def withstands_noise(metric: str, verdict: Verdict, ratio: Estimate | None) -> bool:
    """Whether a verdict holds although a side is unreliable.

    Better and worse need a ratio beyond 1 + `ALLOWANCE`, or below its inverse, and an interval that lies wholly beyond
    half of that; the inverse, so that swapping the sides changes nothing. Sameness cannot be shown at all.
    """
    if metric in UNTOUCHED or metric.startswith(_COUNTS):
        return True
    if verdict not in (Verdict.BETTER, Verdict.WORSE) or ratio is None or ratio.low is None or ratio.high is None:
        return False
    far, near = 1 + ALLOWANCE, 1 + ALLOWANCE / 2
    return (ratio.point > far and ratio.low > near) or (ratio.point < 1 / far and ratio.high < 1 / near)


def judge_by_size(
    found: RatioComparison, metric: str, better: Better | None, before: Sequence[Estimate], after: Sequence[Estimate]
) -> RatioComparison:
    """The comparison with a verdict where values alone give one, though there is no interval.

    Equal numbers in every round are the same, whoever else used the machine. Of one value on each side, a change by the
    factor `ONCE` or more is better or worse. Memory is left out: its peak in a short process is seen by samples.
    """
    if is_equal(before, after):
        return found._replace(verdict=Verdict.SAME, why="equal in every round", p_value=1.0)
    ratio = found.ratio
    if ratio is None or better is None or metric in MEMORY or not is_seen_once(before, after):
        return found
    if max(ratio.point, 1 / ratio.point) < ONCE * (1 - 1e-9):
        return found
    return found._replace(
        verdict=verdict_of(ratio.point, better), why=f"seen once on each side, and {ONCE:g} times apart"
    )


def is_seen_once(before: Sequence[Estimate], after: Sequence[Estimate]) -> bool:
    """Whether each side is one number without an interval."""
    return len(before) == len(after) == 1 and before[0].low is None and after[0].low is None


def is_equal(before: Sequence[Estimate], after: Sequence[Estimate]) -> bool:
    """Whether every round of both sides gave exactly the same number, without an interval."""
    if before and before[0].low is not None:  # as nearly all have
        return False
    every = [*before, *after]
    return len({one.point for one in every}) == 1 and all(one.low is None for one in every)
