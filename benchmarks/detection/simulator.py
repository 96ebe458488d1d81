"""Scores of a detector on simulated series: F1 within ±5 points, and false alarms per 1,000 unchanged points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from detection.series import Array, Series

Detect = Callable[[Array], Sequence[int]]
TOLERANCE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Counts over many series; they add up."""

    hits: int = 0
    found: int = 0  # in series with changes
    real: int = 0
    alarms: int = 0  # in series without any
    unchanged: int = 0  # points of those

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.hits / max(1, self.found + self.real)

    @property
    def precision(self) -> float:
        """The share of what was found that is real."""
        return self.hits / max(1, self.found)

    @property
    def recall(self) -> float:
        """The share of what is real that was found."""
        return self.hits / max(1, self.real)

    @property
    def false_alarms(self) -> float:
        """Per 1,000 points of series that never change."""
        return 1000 * self.alarms / max(1, self.unchanged)

    def __add__(self, other: Score) -> Score:
        return Score(
            hits=self.hits + other.hits,
            found=self.found + other.found,
            real=self.real + other.real,
            alarms=self.alarms + other.alarms,
            unchanged=self.unchanged + other.unchanged,
        )


def score(detect: Detect, series: Iterable[Series]) -> dict[str, Score]:
    """The detector's score for each family."""
    scores: dict[str, Score] = {}
    for one in series:
        found = detect(one.values)
        if one.changes:
            one_score = Score(hits=hits(found, one.changes), found=len(found), real=len(one.changes))
        else:
            one_score = Score(alarms=len(found), unchanged=len(one.values))
        scores[one.family] = scores.get(one.family, Score()) + one_score
    return scores


def hits(found: Sequence[int], real: Sequence[int]) -> int:
    """How many real changes have a found one within the tolerance, each found one counting once."""
    left, count = sorted(found), 0
    for place in sorted(real):
        while left and left[0] < place - TOLERANCE:
            left.pop(0)
        if left and left[0] <= place + TOLERANCE:
            left.pop(0)
            count += 1
    return count
