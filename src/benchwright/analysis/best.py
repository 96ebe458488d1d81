"""Which of several is best, which others cannot be told from it, and which are best in two respects.

Whoever measured best need not be best: others may have had a worse day. So an alternative is set aside only when it is
told from another as `benchwright compare` tells two runs apart, and the chance to set the truly best one aside is
bounded for all comparisons with it together: of m alternatives each test has a level of 5 % / (m - 1). Then the ones
that are left hold the truly best in at least 95 of 100 such choices (a subset selection, as Gupta, Technometrics 7,
1965, with the bound of Bonferroni instead of tables that ask for equal variances).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchwright.analysis import doubt
from benchwright.analysis.comparison import FALSE_RATE, SMALLEST
from benchwright.records import Better, Estimate, Verdict
from benchwright.stats.compare import ALLOWANCE, RatioComparison, compare

FRONT, UNCLEAR, DOMINATED = "front", "unclear", "dominated"


class Alternative(NamedTuple):
    """One of several: what its rounds say of one metric, and whether the instrument trusts them."""

    rounds: Sequence[Estimate]
    point: float  # of all rounds together, as it is shown
    is_doubted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Respect:
    """What alternatives are compared by."""

    metric: str
    better: Better
    allowance: float = ALLOWANCE  # how far two single rounds may lie apart and still be no choice


class Best(NamedTuple):
    """The place of the alternative that measured best, and the places of those that cannot be told from it."""

    place: int
    ties: tuple[int, ...]  # the nearest first


def find_best(among: Sequence[Alternative], respect: Respect) -> Best | None:
    """The best of several and its ties; None where there is nothing to choose from."""
    if not among:
        return None
    sign = 1.0 if respect.better is Better.LOWER else -1.0
    best = min(range(len(among)), key=lambda i: sign * among[i].point)
    ties = [i for i in range(len(among)) if i != best and not _is_worse(among, i, best, respect)]
    return Best(best, tuple(sorted(ties, key=lambda i: abs(among[i].point - among[best].point))))


def _is_worse(among: Sequence[Alternative], one: int, than: int, respect: Respect) -> bool:
    """Whether an alternative is told to be worse than another, so surely that all of them may be tested so."""
    return _judge(among[than], among[one], respect, len(among)) is Verdict.WORSE


def _judge(than: Alternative, one: Alternative, respect: Respect, count: int) -> Verdict:
    """One alternative against another, as two runs are compared, at the level that `count` alternatives ask for."""
    found = compare(than.rounds, one.rounds, better=respect.better, smallest=SMALLEST, allowance=respect.allowance)
    judged = doubt.judge_by_size(found, respect.metric, respect.better, than.rounds, one.rounds)
    if judged.verdict is not found.verdict:  # told by values alone: equal in every round, or seen once and far apart
        return judged.verdict
    if judged.verdict in (Verdict.BETTER, Verdict.WORSE) and not _is_sure(judged, count):
        return Verdict.UNCLEAR
    doubted = than.is_doubted or one.is_doubted
    if doubted and not doubt.withstands_noise(respect.metric, judged.verdict, judged.ratio):
        return Verdict.UNCLEAR
    return judged.verdict


def _is_sure(judged: RatioComparison, count: int) -> bool:
    """Whether the one-sided p-value, half of the two-sided, passes for one of `count - 1` comparisons."""
    return judged.p_value / 2 * max(1, count - 1) <= FALSE_RATE


# ---- best in two respects ----


class Standing(NamedTuple):
    """Where one of several stands: on the front, dominated, or perhaps on it; and by which place it is beaten."""

    state: str
    by: int | None = None


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """The indices of the points that no other beats, by ascending first value (lower and higher are better)."""
    front: list[int] = []
    best = -math.inf
    for i in sorted(range(len(points)), key=lambda i: (points[i][0], -points[i][1])):
        if points[i][1] > best:
            front.append(i)
            best = points[i][1]
    return front


def find_standings(
    first: Sequence[Alternative], second: Sequence[Alternative], respects: tuple[Respect, Respect]
) -> list[Standing]:
    """How each of several stands in two respects at once.

    The front holds those that no other beats by its points. One beside it is dominated when another is told to be
    better in one respect, and better or the same in the other. It is unclear when its points alone say so.
    """
    x, y = respects
    across = 1.0 if x.better is Better.LOWER else -1.0
    upward = 1.0 if y.better is Better.HIGHER else -1.0
    points = [(across * a.point, upward * b.point) for a, b in zip(first, second, strict=True)]
    front = pareto_front(points)
    found = {i: Standing(FRONT) for i in front}
    for i in range(len(points)):
        if i not in found:
            found[i] = _standing_beside(i, front, (first, second), respects, points)
    return [found[i] for i in range(len(points))]


def _standing_beside(
    place: int,
    front: Sequence[int],
    sides: tuple[Sequence[Alternative], Sequence[Alternative]],
    respects: tuple[Respect, Respect],
    points: Sequence[tuple[float, float]],
) -> Standing:
    """Of one that the front beats; only those of the front that beat it by points can dominate it."""
    beating = [i for i in front if points[i][0] <= points[place][0] and points[i][1] >= points[place][1]]
    for i in beating:
        judged = [
            _judge(side[place], side[i], respect, len(points)) for side, respect in zip(sides, respects, strict=True)
        ]
        if Verdict.BETTER in judged and all(one in (Verdict.BETTER, Verdict.SAME) for one in judged):
            return Standing(DOMINATED, i)
    return Standing(UNCLEAR, beating[0] if beating else None)
