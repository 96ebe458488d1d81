"""Change points: where, by how much and how surely the level of a series of results changed.

A history of a benchmark is noisy in ways that fool simple rules: outliers on one side, two modes that take turns, slow
drifts, noise that comes and goes. The method, step by step:

1. Logarithms, so that changes are shares. Modes that recur are folded into one (`changepoint_modes`).
2. The noise around each point and its autocorrelation, from differences; outliers are cut off (`changepoint_noise`).
3. Penalised least squares over candidate boundaries at many scales (`changepoint_segments`), again with less
   autocorrelation once the first changes found no longer pass for it.
4. Boundaries are dropped, the weakest first, until each is beyond chance, large enough to matter, and a step rather
   than a piece of a drift (`changepoint_evidence`).
5. Each is dated anew on the values as they were measured, outliers and all (`changepoint_positions`).
6. Those are told that stand out where they are (`changepoint_contrast`).

Everything is deterministic. `docs/statistics.md` says how often it is right.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchwright.stats.changepoint_contrast import find_outstanding
from benchwright.stats.changepoint_evidence import Evidence
from benchwright.stats.changepoint_modes import FoldedSeries, fold, fold_by, gap_among
from benchwright.stats.changepoint_noise import Array, inflation, local_noise, winsorise
from benchwright.stats.changepoint_positions import ChangeDating
from benchwright.stats.changepoint_segments import Whole, neighbours, segment, settle_changes

FEWEST = 12  # values; two levels cannot be told from chance in fewer
SPAN = 256  # values that a `Detector` looks back at, at least
_FLOOR = 0.01  # noise below this share of the smallest change that matters makes no difference
_FEWER = 0.65  # of the changes may be left after folding, or there were no modes
_LONG, _MANY = 1000, 40  # points and changes from which on it pays to look for modes early
_TYPICAL = 1e-12  # of the largest size: what is typical is no less, or shares would have no squares
_LOGARITHMS = (math.log(sys.float_info.min), math.log(sys.float_info.max))  # of all numbers there are
_SAME_AS_GAP = 0.15  # a jump within this share of the gap is a mode that was missed


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of level.

    `index` is the first point after it. `before` and `after` are the levels on both sides, in the unit of the values
    and without outliers (of two modes: the lower). `effect` is after / before, `low` and `high` its 95 % interval.
    `confidence` is one less the probability that chance shows as much anywhere in such a series. `position` lists the
    probable indexes with their probabilities, the most probable first.
    """

    index: int
    before: float
    after: float
    effect: float
    low: float
    high: float
    confidence: float
    position: tuple[tuple[int, float], ...]


def detect(values: Sequence[float] | Array, *, smallest: float = 0.01) -> list[Change]:
    """The changes of level in a series, in order; those clearly below `smallest` (a share) are left out.

    Values must be finite. Where some are not positive there are no ratios: changes are then shares of the typical size,
    and `effect` is one plus that share.
    """
    given = np.asarray(values, np.float64)
    if given.ndim != 1 or not np.isfinite(given).all():
        raise ValueError("a series is a list of finite numbers")
    if smallest <= 0.0:
        raise ValueError(f"the smallest change that matters is a positive share, not {smallest}")
    if len(given) < FEWEST or given.min() == given.max():
        return []
    scale = _Scale.of(given)
    return _describe_changes(_find_changes(scale.shares(given), smallest), scale)


class Detector:
    """Detects as `detect` does, one value at a time: `append` returns all changes known after it.

    Up to 512 values (twice `SPAN`) the answer is that of `detect` on all of them. In longer series only the latest 256
    to 512 are looked at again; what was found before is settled and stays as it was reported. So the answer differs
    from that of `detect` on everything only where a value changes the verdict on points more than 256 back, or where
    the latest ones alone cannot show what all of them do: a small change in strong noise, modes that seldom switch.
    Appending costs the same however long the series is.
    """

    def __init__(self, values: Iterable[float] = (), *, smallest: float = 0.01) -> None:
        self._smallest = smallest
        self._values = list(values)
        self._anchor = 0  # values before it are settled
        self._settled: list[Change] = []
        self._recent = detect(self._values, smallest=smallest)
        self._settle()

    def append(self, value: float) -> list[Change]:
        """Adds a value; all present changes, in order."""
        if not math.isfinite(value):
            raise ValueError(f"a series consists of finite numbers, not {value}")
        self._values.append(value)
        found = detect(self._values[self._anchor :], smallest=self._smallest)
        self._recent = [_shift_change(change, self._anchor) for change in found]
        self._settle()
        return self.changes

    @property
    def changes(self) -> list[Change]:
        """All present changes, in order."""
        return [*self._settled, *self._recent]

    def _settle(self) -> None:
        """Moves the anchor to the last change that is far enough back; without one, as far as is allowed."""
        if len(self._values) - self._anchor <= 2 * SPAN:
            return
        latest = len(self._values) - SPAN
        self._anchor = max((change.index for change in self._recent if change.index <= latest), default=latest)
        if len(self._values) - self._anchor > 2 * SPAN:
            self._anchor = latest
        self._settled += [change for change in self._recent if change.index <= self._anchor]
        self._recent = [change for change in self._recent if change.index > self._anchor]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """Between values and the scale on which changes add up: logarithms, or shares of the typical size."""

    typical: float  # of logarithms: that of the typical size
    logarithmic: bool

    @classmethod
    def of(cls, values: Array) -> _Scale:
        if values.min() > 0.0:
            return cls(typical=float(np.median(np.log(values))), logarithmic=True)
        sizes = np.abs(values)
        largest = float(sizes.max())
        share = float(np.median(sizes / largest)) or float(np.mean(sizes / largest))
        return cls(typical=max(max(share, _TYPICAL) * largest, sys.float_info.min), logarithmic=False)

    def shares(self, values: Array) -> Array:
        return np.log(values) - self.typical if self.logarithmic else values / self.typical

    def level(self, share: float) -> float:
        return _exp(self.typical + share) if self.logarithmic else _within_reach(self.typical * share)

    def effect(self, difference: float) -> float:
        return _exp(difference) if self.logarithmic else 1.0 + difference


@dataclass(frozen=True, slots=True, kw_only=True)
class _DetectedChanges:
    """Changes in a series, with what they were judged by."""

    changes: list[int]
    evidence: Evidence
    measured: Array  # with outliers
    noise_around: Array  # as independent noise would have it

    @property
    def noise(self) -> float:
        """The noise of the series as a whole: the standard deviation of a single value."""
        return float(np.median(self.noise_around))

    def jumps(self) -> Array:
        """The differences between the means of neighbouring levels."""
        edges = np.array([0, *self.changes, self.evidence.count])
        return np.diff(np.add.reduceat(self.evidence.values, edges[:-1]) / np.diff(edges))


def _find_changes(shares: Array, smallest: float) -> _DetectedChanges:
    """The changes, modes folded where there are two: seen in the differences of points, or in the jumps found."""
    folded = fold(shares)
    first = _PreparedSeries.at(shares if folded is None else folded.values, smallest)
    if folded is None and len(shares) >= _LONG and len(first.changes) >= _MANY:
        early = _find_changes_early(first, smallest)
        if early is not None:
            return early
    found = _find_changes_of_one_mode(first, smallest)
    if folded is None:
        gap = gap_among(found.jumps(), found.noise)
        folded = None if gap is None else fold_by(shares, gap, found.noise, cuts=found.changes)
        if folded is None or folded.switches < len(found.changes) / 2:
            return found
        again = _find_changes_of_one_mode(_PreparedSeries.at(folded.values, smallest), smallest)
        if len(again.changes) > _FEWER * len(found.changes):
            return found
        found = again
    return _without_missed_modes(folded, found, smallest)


def _find_changes_early(first: _PreparedSeries, smallest: float) -> _DetectedChanges | None:
    """The changes of a long series in which a first look shows two modes already; None if it does not.

    Only to save time: each of a hundred switches would otherwise be judged as a change first.
    """
    usual = float(np.median(first.noise))
    gap = gap_among(np.diff(first.levels()[0]), usual)
    folded = None if gap is None else fold_by(first.measured, gap, usual, cuts=first.changes)
    if folded is None or folded.switches < len(first.changes) / 2:
        return None
    found = _find_changes_of_one_mode(_PreparedSeries.at(folded.values, smallest), smallest)
    return None if len(found.changes) > _FEWER * len(first.changes) else _without_missed_modes(folded, found, smallest)


def _without_missed_modes(folded: FoldedSeries, found: _DetectedChanges, smallest: float) -> _DetectedChanges:
    """The changes when jumps by the gap, up and down, that are left are folded too."""
    jumps = found.jumps()
    alike = np.abs(np.abs(jumps) - folded.gap) < max(found.noise, _SAME_AS_GAP * folded.gap)
    if not ((alike & (jumps > 0)).any() and (alike & (jumps < 0)).any()):
        return found
    again = fold_by(folded.values, folded.gap, found.noise, cuts=found.changes, established=True)
    return found if again is None else _find_changes_of_one_mode(_PreparedSeries.at(again.values, smallest), smallest)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PreparedSeries:
    """A series as measured and without its outliers, its noise, and a segmentation that allows for autocorrelation."""

    measured: Array
    values: Array
    noise: Array
    inflated: float
    changes: list[int]

    @classmethod
    def at(cls, shares: Array, smallest: float) -> _PreparedSeries:
        noise = local_noise(shares, _FLOOR * smallest)
        values = winsorise(shares, noise)
        inflated = inflation(values, noise)
        changes = segment(values, noise * math.sqrt(inflated))
        return cls(measured=shares, values=values, noise=noise, inflated=inflated, changes=changes)

    def levels(self) -> tuple[Array, Whole]:
        """The mean of each level, and how many points it has."""
        edges = np.array([0, *self.changes, len(self.values)])
        lengths = np.diff(edges)
        return np.add.reduceat(self.values, edges[:-1]) / lengths, lengths

    def less_correlated(self) -> _PreparedSeries | None:
        """A look that allows for less autocorrelation, where changes had been taken for it; None where they had not."""
        if not self.changes or self.inflated < 1.15:
            return None
        less = inflation(self.values - np.repeat(*self.levels()), self.noise)
        if less > 0.9 * self.inflated:
            return None
        return replace(self, inflated=less, changes=segment(self.values, self.noise * math.sqrt(less)))


def _find_changes_of_one_mode(look: _PreparedSeries, smallest: float) -> _DetectedChanges:
    """The changes in a series of one mode."""
    for _ in range(2):  # changes pass for autocorrelation until they are found
        again = look.less_correlated()
        if again is None:
            break
        look = again
    values, noise = look.values, look.noise
    changes = settle_changes(values, noise * math.sqrt(look.inflated), look.changes)
    evidence = Evidence(values, noise, changes, smallest=smallest)
    return _DetectedChanges(
        changes=evidence.drop_unconvincing(changes), evidence=evidence, measured=look.measured, noise_around=noise
    )


def _describe_changes(found: _DetectedChanges, scale: _Scale) -> list[Change]:
    evidence, described = found.evidence, []
    dated = ChangeDating(found.measured, found.noise_around, evidence, found.changes)
    edges = [0, *dated.changes, evidence.count]
    means = np.add.reduceat(evidence.values, edges[:-1]) / np.diff(edges)
    stand_out = find_outstanding(winsorise(found.measured, found.noise_around), found.noise_around, dated.changes)
    for number, index in enumerate(dated.changes):
        if not stand_out[number]:
            continue
        first, last = neighbours(dated.changes, number, evidence.count)
        step = evidence.step(first, index, last)
        low, high = step.interval()
        described.append(
            Change(
                index=index,
                before=scale.level(float(means[number])),
                after=scale.level(float(means[number + 1])),
                effect=scale.effect(step.size),
                low=scale.effect(low),
                high=scale.effect(high),
                confidence=evidence.confidence(first, index, last),
                position=dated.positions[number],
            )
        )
    return described


def _exp(logarithm: float) -> float:
    """The exponential, or the nearest number to it that there is."""
    return math.exp(min(max(logarithm, _LOGARITHMS[0]), _LOGARITHMS[1]))


def _within_reach(value: float) -> float:
    return min(max(value, -sys.float_info.max), sys.float_info.max)


def _shift_change(change: Change, by: int) -> Change:
    return Change(
        index=change.index + by,
        before=change.before,
        after=change.after,
        effect=change.effect,
        low=change.low,
        high=change.high,
        confidence=change.confidence,
        position=tuple((place + by, probability) for place, probability in change.position),
    )
