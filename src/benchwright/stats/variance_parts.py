"""How much of a spread lies between groups and how much within them: one-way analysis of variance, groups at random.

Values are positive and compared as logarithms, so that a spread is a share: 0.02 is about two percent. The part between
groups is the usual estimate from mean squares (Searle, Casella and McCulloch, Variance Components, 1992, chapter 3),
which is zero where the groups lie no further apart than chance within them allows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from benchwright.stats.distributions import fisher_tail


class VarianceParts(NamedTuple):
    """Standard deviations as shares; None where nothing was repeated within any group."""

    range: float  # from the mean of the lowest group to that of the highest, as a share of the lowest
    between: float | None
    within: float | None
    p_value: float | None  # of "the groups do not differ"


def variance_parts(groups: Sequence[Sequence[float]]) -> VarianceParts | None:
    """The parts of the spread; None for fewer than two groups, or where a value is not above zero."""
    filled = [group for group in groups if group]
    if len(filled) < 2 or any(value <= 0.0 for group in filled for value in group):
        return None
    logs = [[math.log(value) for value in group] for group in filled]
    means = [math.fsum(group) / len(group) for group in logs]
    apart = math.expm1(max(means) - min(means))
    count, number = len(logs), sum(map(len, logs))
    if number == count:
        return VarianceParts(range=apart, between=None, within=None, p_value=None)
    whole = math.fsum(value for group in logs for value in group) / number
    over = math.fsum(len(group) * (mean - whole) ** 2 for group, mean in zip(logs, means, strict=True)) / (count - 1)
    rest = math.fsum((v - mean) ** 2 for group, mean in zip(logs, means, strict=True) for v in group)
    under = rest / (number - count)
    size = (number - math.fsum(len(group) ** 2 for group in logs) / number) / (count - 1)  # of a group, as it counts
    ratio = over / under if under else math.inf if over else 0.0
    return VarianceParts(
        range=apart,
        between=math.sqrt(max(0.0, (over - under) / size)),
        within=math.sqrt(under),
        p_value=fisher_tail(ratio, count - 1, number - count),
    )
