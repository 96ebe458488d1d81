"""When a change came: how probable each place for it is, with outliers as they were measured.

The search works on values whose outliers were cut off at a running median. Right before a change that median belongs to
the new level already, so a cut-off outlier there passes for the first point after. Here every point is asked anew,
uncut: does it belong to the level before, to that after, or is it an outlier, which says nothing? The rarer outliers
are in the series, the less one is believed in.
"""

from __future__ import annotations

import math

import numpy as np

from benchwright.stats.changepoint_evidence import Evidence
from benchwright.stats.changepoint_noise import winsorise_beside
from benchwright.stats.changepoint_segments import SHORTEST, Array, cumulative_sums, neighbours

_LEVEL = 64  # points on either side that tell the levels; drifts spoil what is farther off
_REACH = 400  # points on either side among which the place is looked for
_FAR = 4.0  # standard deviations from its level that make an outlier
_SPREAD = 0.1  # how dense outliers lie where they fall, against the density of noise at its level
_HELD = 0.995  # probability that the listed places hold together
_ROUNDS = 3  # of moving changes to their most probable places

Positions = tuple[tuple[int, float], ...]


class ChangeDating:
    """The places of changes. `measured` are the values with their outliers; in `evidence` they are cut off, and next to
    the changes they are so anew, at so many standard deviations of `noise` from the level of their own side."""

    def __init__(self, measured: Array, noise: Array, evidence: Evidence, changes: list[int]) -> None:
        self._measured, self._noise, self._count = measured, evidence.noise, evidence.count
        self.changes = list(changes)  # each where it fits best
        self.positions: list[Positions] = [()] * len(changes)  # the most probable place first
        cut, which = evidence.values, {*range(len(changes))}
        for _ in range(_ROUNDS):
            if not which:
                break
            before = list(self.changes)
            evidence.recut(winsorise_beside(cut, measured, noise, before))
            self._sums = cumulative_sums(evidence.values)
            self._reluctance = -2.0 * math.log(_SPREAD * self._outliers(evidence, before))
            for number in sorted(which):
                self._settle(number)
            moved = [number for number, change in enumerate(before) if self.changes[number] != change]
            which = {number + by for number in moved for by in (-1, 0, 1)} & {*range(len(changes))}

    def _outliers(self, evidence: Evidence, changes: list[int]) -> float:
        """Returns the share of outliers among all points; a series without any might have one."""
        edges = np.array([0, *changes, self._count])
        means = np.diff(self._sums[edges]) / np.diff(edges)
        away = np.abs(self._measured - np.repeat(means, np.diff(edges)))
        return (float(np.count_nonzero(away > _FAR * evidence.noise)) + 0.5) / (self._count + 1.0)

    def _settle(self, number: int) -> None:
        """Moves a change to its most probable place between its neighbours, and keeps the others beside it."""
        change, (first, last) = self.changes[number], neighbours(self.changes, number, self._count)
        begin, end = max(first, change - _REACH), min(last, change + _REACH)
        low, high = max(first, change - _LEVEL), min(last, change + _LEVEL)
        before = (self._sums[change] - self._sums[low]) / (change - low)
        after = (self._sums[high] - self._sums[change]) / (high - change)
        gains = cumulative_sums(self._misfit(begin, end, after) - self._misfit(begin, end, before))
        places = np.arange(max(begin, first + SHORTEST), min(end, last - SHORTEST) + 1)
        if not len(places):
            self.positions[number] = ((change, 1.0),)
            return
        likely = gains[places - begin]
        odds = np.exp((likely - likely.max()) / 2)
        probabilities = odds / odds.sum()
        order = np.argsort(-probabilities, kind="stable")
        needed = int(np.searchsorted(np.cumsum(probabilities[order]), _HELD)) + 1
        self.positions[number] = tuple((int(places[i]), float(probabilities[i])) for i in order[:needed])
        self.changes[number] = int(places[order[0]])

    def _misfit(self, begin: int, end: int, level: float) -> Array:
        """Twice what each point's likelihood lacks at that level, as noise or as an outlier."""
        away = (self._measured[begin:end] - level) / self._noise[begin:end]
        missing: Array = -2.0 * np.logaddexp(-0.5 * away * away, -0.5 * self._reluctance)
        return missing
