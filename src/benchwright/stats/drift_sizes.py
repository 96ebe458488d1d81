"""How large slopes and steps of a series are when they are taken together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from benchwright.stats.changepoint import Change
from benchwright.stats.drift_noise import BELIEFS, Array, log_determinants, weights, whiten

BINS = 160  # means over neighbours that a series is looked at by
_PARTS = (6, 4, 3, 2)  # of a drift, from the finest
_TOLD = 3.0  # standard deviations that an average part must have, to be told
_DOUBT = 0.001  # how often chance shows a drift at the margin at which it is as probable as none
_BESIDE = 10  # points on either side of a step that tell whether its levels slope
_SLIGHT = -2.0  # logarithm of the evidence for a slope around a step, below which it is left out of its size
_SURE = 0.02  # kinds of noise less probable than that are left out
_SIGMA, _NINETY = 1.96, 1.645  # standard deviations that hold 95 % and 90 %


@dataclass(frozen=True, slots=True, kw_only=True)
class SlopePart:
    """A part of a drift: by which factor the level changes from the point `start` to the point `end`."""

    start: int
    end: int
    effect: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SlopeSize:
    """One slope between two levels.

    `start` is the last point of the old level, and may lie between `earliest` and `latest` (90 %); `end` is the first
    point of the new one, or the last of the series while the slope goes on (`ongoing`). `before` and `after` are the
    levels there, in the unit of the values; `effect` is after / before without steps that lie between, and `low` and
    `high` are its 95 % interval. `slope` is by how much each point is larger than the one before it, as a share.
    `parts` says how much each part of it carries, as far as the noise lets that be told. `confidence` is one less the
    probability that a series without drift shows as much.
    """

    start: int
    end: int
    earliest: int
    latest: int
    ongoing: bool
    before: float
    after: float
    effect: float
    low: float
    high: float
    slope: float
    slope_low: float
    slope_high: float
    parts: tuple[SlopePart, ...]
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """A slope between two points, with what is known of its beginning."""

    start: int
    end: int
    earliest: int
    latest: int
    size: float
    steps: tuple[int, ...]  # beside it
    gain: float  # logarithm of the evidence

    def ramp(self, count: int) -> Array:
        """Returns a column that rises from 0 to 1 along the slope."""
        return ramp(self.start, self.end, count)

    def shifts(self, count: int, steps: Sequence[int]) -> list[Array]:
        """How the values would change if the slope began, and if it ended, a point later; not at the series' ends.

        A slope and a step at its end differ by just that, so where there is a step the end is taken as known.
        """
        time, length, near = np.arange(count), self.end - self.start, max(1, -(-count // BINS) - 1)
        found = []
        for end, other in ((self.start, self.end), (self.end, self.start)):
            if 0 < end < count - 1:
                is_known = any(abs(step - end) <= near for step in steps)
                on = (time > self.start) & (time < self.end) & (not is_known)
                found.append(np.where(on, -self.size * np.abs(other - time) / length**2, 0.0))
        return found


def allow_for_slopes(cut: Array, changes: Sequence[Change]) -> tuple[Change, ...]:
    """The changes with sizes that allow for a slight slope around each, as far as one is probable."""
    edges = [0, *(change.index for change in changes), len(cut)]
    found = []
    for first, change, last in zip(edges, changes, edges[2:], strict=False):
        level = min(change.index - first, last - change.index) >= _BESIDE
        leaning = _fit_step_on_line(cut[first:last], change.index - first) if level else None
        found.append(change if leaning is None else _mix_sizes(change, *leaning))
    return tuple(found)


def _fit_step_on_line(cut: Array, place: int) -> tuple[float, float, float] | None:
    """The size of a step beside a straight line, its standard deviation, and how probable the line is."""
    time = np.arange(len(cut), dtype=np.float64)
    whole = Slope(start=0, end=len(cut) - 1, earliest=0, latest=0, size=0.0, steps=(), gain=0.0)
    joint = Joint(cut, [whole], [place])
    sure = joint.deviate(1) ** 2 / 2.0 - math.log(len(time)) / 2.0  # Schwarz's
    if sure < _SLIGHT:
        return None
    return joint.size(2), joint.spread(2), 1.0 / (1.0 + math.exp(-min(sure, 30.0)))


def _mix_sizes(change: Change, size: float, spread: float, probable: float) -> Change:
    """A change whose size is partly that beside a slope."""
    plain = math.log(change.effect)
    plain_spread = math.log(change.high / change.low) / 2.0 / _SIGMA
    mean = probable * size + (1.0 - probable) * plain
    variance = probable * (spread**2 + (size - mean) ** 2) + (1.0 - probable) * (plain_spread**2 + (plain - mean) ** 2)
    reach = _SIGMA * math.sqrt(variance)
    middle = math.sqrt(change.before) * math.sqrt(change.after)
    return replace(
        change,
        before=middle * math.exp(-mean / 2.0),
        after=middle * math.exp(mean / 2.0),
        effect=math.exp(mean),
        low=math.exp(mean - reach),
        high=math.exp(mean + reach),
    )


def ramp(start: float, end: float, count: int) -> Array:
    """Returns a column that rises from 0 at a point to 1 at another, flat before and after."""
    return np.clip((np.arange(count) - start) / (end - start), 0.0, 1.0)


def step_at(place: int, count: int) -> Array:
    """Returns a column that is 0 before a point, and 1 from it on."""
    return (np.arange(count) >= place).astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Regression:
    """Sizes of columns, and how they vary together."""

    sizes: Array
    covariance: Array

    def spread(self, place: int) -> float:
        """The standard deviation of a size."""
        return math.sqrt(max(0.0, float(self.covariance[place, place])))


def _regress(columns: Sequence[Array], cut: Array) -> _Regression:
    """The columns fitted to the values under each kind of noise, weighed by how well it fits; zeros have no size."""
    count = len(cut)
    width = -(-count // BINS)
    told = [place for place, column in enumerate(columns) if column.any()]
    full = np.column_stack([*(columns[place] for place in told), cut])
    binned = full[count % width :].reshape(-1, width, full.shape[1]).mean(axis=1)
    left = whiten(binned)
    freedom = max(1, len(binned) - len(told))
    given, values = left[:, :, :-1], left[:, :, -1]
    products = given.transpose(0, 2, 1) @ given
    inverse = np.linalg.pinv(products, hermitian=True)
    sizes = np.einsum("kij,kj->ki", inverse, np.einsum("kni,kn->ki", given, values))
    squares = np.maximum(((values - np.einsum("kni,ki->kn", given, sizes)) ** 2).sum(axis=1), 1e-300)
    sign, determinant = np.linalg.slogdet(products)
    determinant[sign <= 0.0] = determinant[sign > 0.0].max(initial=0.0)  # columns that rounding cannot tell apart
    shares = weights(BELIEFS - 0.5 * (freedom * np.log(squares) + log_determinants(len(binned)) + determinant))
    shares = np.where(shares < _SURE, 0.0, shares)
    shares /= shares.sum()
    mean: Array = shares @ sizes
    away = sizes - mean
    covariance = inverse * (squares / freedom)[:, None, None] + away[:, :, None] * away[:, None, :]
    found = _Regression(sizes=np.zeros(len(columns)), covariance=np.zeros((len(columns), len(columns))))
    found.sizes[told], found.covariance[np.ix_(told, told)] = mean, np.tensordot(shares, covariance, axes=1)
    return found


class Joint:
    """Slopes and steps of a series together."""

    def __init__(self, cut: Array, slopes: Sequence[Slope], steps: Sequence[int]) -> None:
        self._cut, self._count, self._slopes = cut, len(cut), slopes
        shifts = [slope.shifts(self._count, steps) for slope in slopes]
        self._plain = [np.ones(self._count), *(slope.ramp(self._count) for slope in slopes)]
        self._plain += [step_at(step, self._count) for step in steps]
        known = len(self._plain)
        self._all = _regress([*self._plain, *(shift for two in shifts for shift in two)], cut)
        self._sizes = self._all.sizes[:known]
        self._fitted = np.column_stack(self._plain) @ self._sizes
        self._shifts = [known + sum(map(len, shifts[:number])) for number in range(len(slopes))]

    def size(self, place: int) -> float:
        """The size of a column: the level, then slopes, then steps."""
        return float(self._sizes[place])

    def spread(self, place: int) -> float:
        """Returns the standard deviation of the size."""
        return self._all.spread(place)

    def deviate(self, place: int) -> float:
        """Returns the size of a slope or step in standard deviations."""
        return self.size(place) / max(self.spread(place), 1e-300)

    def drift(self, number: int, slope: Slope) -> SlopeSize:
        """A slope with its size."""
        size, length = float(self._sizes[1 + number]), slope.end - slope.start
        reach = _SIGMA * self.spread(1 + number)
        steep = _SIGMA * self._steepness(number, slope, size)
        shift = self._shifts[number]
        vague = math.ceil(_NINETY * self.spread(shift)) if slope.start > 0 else 0
        before = math.exp(float(self._fitted[slope.start]))
        return SlopeSize(
            start=slope.start,
            end=slope.end,
            earliest=max(0, min(slope.earliest, slope.start - vague)),
            latest=min(slope.end - 1, max(slope.latest, slope.start + vague)),
            ongoing=slope.end >= self._count - 1,
            before=before,
            after=before * math.exp(size),
            effect=math.exp(size),
            low=math.exp(size - reach),
            high=math.exp(size + reach),
            slope=math.expm1(size / length),
            slope_low=math.expm1(size / length - steep),
            slope_high=math.expm1(size / length + steep),
            parts=self._parts(number, slope, size),
            confidence=1.0 - min(1.0, _DOUBT * math.exp(-slope.gain)),
        )

    def _parts(self, number: int, slope: Slope, size: float) -> tuple[SlopePart, ...]:
        """How much each of as many parts as can be told carries; none where not even two can."""
        others = [column for place, column in enumerate(self._plain) if place != 1 + number]
        for count in _PARTS:
            knots = np.unique(np.linspace(slope.start, slope.end, count + 1).round().astype(np.intp)).tolist()
            pairs = list(pairwise(knots))
            fit = _regress([*others, *(ramp(first, last, self._count) for first, last in pairs)], self._cut)
            places = range(len(others), len(others) + len(pairs))
            if _TOLD * max(map(fit.spread, places)) > abs(size) / len(pairs):
                continue
            sizes = [(float(fit.sizes[place]), _SIGMA * fit.spread(place)) for place in places]
            return tuple(
                SlopePart(
                    start=first, end=last, effect=math.exp(by), low=math.exp(by - reach), high=math.exp(by + reach)
                )
                for (first, last), (by, reach) in zip(pairs, sizes, strict=True)
            )
        return ()

    def _steepness(self, number: int, slope: Slope, size: float) -> float:
        """The standard deviation of the size over the length, to first order."""
        length, shift = slope.end - slope.start, self._shifts[number]
        along = np.zeros(len(self._all.covariance))
        along[1 + number] = 1.0 / length
        if slope.start > 0:
            along[shift] = size / length**2
            shift += 1
        if slope.end < self._count - 1:
            along[shift] = -size / length**2
        return math.sqrt(max(0.0, float(along @ self._all.covariance @ along)))

    def step(self, number: int, change: Change) -> Change:
        """A step with the size that it has beside the slopes, and the levels right before and after it."""
        place = 1 + len(self._slopes) + number
        size, reach = float(self._sizes[place]), _SIGMA * self.spread(place)
        after = float(self._fitted[change.index])
        return replace(
            change,
            before=math.exp(after - size),
            after=math.exp(after),
            effect=math.exp(size),
            low=math.exp(size - reach),
            high=math.exp(size + reach),
        )
