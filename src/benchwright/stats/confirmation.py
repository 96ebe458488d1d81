"""Whether people are told of a change: what a series must show before a suspicion is confirmed, and when it is over.

A history is looked at again after every run, and a machine has moods: two speeds that take turns, days and nights, slow
walks, busy hours. Each of them looks like a change while it lasts. So a change of level is *suspected* when the newest
values stand out from the noise, and *confirmed* when they also

- have lasted for `LASTING` values, and the latest of them still show it;
- lie outside of every level that the past shows for as long a time (a burst of the same length, a mode, a swing);
- exceed by more than their own error `MOOD`, by which machines move without any change of code. Below that size a
  history says enough only when one side of the change was steady for `STEADY` values, the other for `SETTLED`, and
  the jump is `_SUDDEN` times what the past shows from one such stretch to the next.

Everything follows from the values alone, so that whoever looks at the same ones comes to the same answer. How often it
is wrong, and how long it takes: `benchmarks/online.py`, quoted in `docs/statistics.md`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from benchwright.stats.changepoint import FEWEST, Change
from benchwright.stats.distributions import normal_cdf
from benchwright.stats.ranks import rank_sum_p_value

Array = npt.NDArray[np.float64]

LASTING = 5  # values that show a change before a history alone confirms it
MOOD = 0.055  # a share: machines have levels so far apart without any change of code
STEADY, SETTLED = 80, 20  # values of the longer and of the shorter side that confirm a smaller change
_PAST = 8  # values before a change that are needed to know the past
_REACH = 120  # values of the past that are looked at, and values within which a change is looked for
_SUSPECTED, _CONFIRMED = 4.0, 5.0  # standard errors
_ORDERED, _BY_RANK = 3.0, 1e-4  # where values lie far apart but in clear order: standard errors, chance of the order
_OUTSIDE = 2.0  # standard errors beyond every level of the past
_ERROR = 1.5  # standard errors that a size may be smaller than it looks
_SUDDEN = 2.0  # times the largest difference of neighbouring stretches of the past
_WINDOW = 8  # values over which levels of the past are compared, at most
_SHORT = 12  # values of a level that may still be a busy hour
_STRETCH = 20  # the same for smaller changes
_MEDIAN = 1.2533  # the standard error of a median over that of a mean
_BACK, _HALF = 0.7, 0.5  # of the way back: from which on a level has returned, and a single value is on its side
_RETURNED = (LASTING + 1, 12, 24)  # values that show a return: the fewest, and where there is more noise
_NOISELESS = 0.1  # of the smallest change that matters: noise that is smaller makes no difference
_SMALLEST_SHARE = 0.8  # of the smallest change that matters: what is measured scatters around what is


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelShift:
    """A change of level that the newest values show."""

    index: int  # of the first value after it
    confirmed: bool
    size: float  # a difference of logarithms, with its sign
    error: float  # the standard error of that
    chance: float  # that nothing but noise shows as much at one place


class Policy(Protocol):
    """What is asked of a series before people are told; this module is one."""

    def newest(
        self, values: Sequence[float], *, smallest: float, since: int = 0, seen: int | None = None
    ) -> LevelShift | None:
        """The change that the newest values show."""
        ...

    def judge(
        self,
        values: Sequence[float],
        index: int,
        *,
        smallest: float,
        since: int = 0,
        seen: int | None = None,
        until: int | None = None,
        steady: bool = False,
    ) -> LevelShift | None:
        """What the values say of a change at that place."""
        ...

    def as_change(self, values: Sequence[float], shift: LevelShift, since: int = 0) -> Change:
        """The shift as a change point."""
        ...

    def is_back(self, values: Sequence[float], *, before: float, after: float) -> bool:
        """Whether the newest values are as before a change."""
        ...


def newest(values: Sequence[float], *, smallest: float, since: int = 0, seen: int | None = None) -> LevelShift | None:
    """The change that the newest values show, if any.

    `since` is where the last change that stands came: the past begins there. Levels before it, from `seen` on, were
    left and came back; they must last longer than they did to be confirmed as new.
    """
    logs = np.log(np.asarray(values, np.float64))
    if len(logs) < FEWEST or (place := _likeliest(logs, since, smallest)) is None:
        return None
    return _shift(logs, place, since, since if seen is None else seen, smallest)


def judge(
    values: Sequence[float],
    index: int,
    *,
    smallest: float,
    since: int = 0,
    seen: int | None = None,
    until: int | None = None,
    steady: bool = False,
) -> LevelShift | None:
    """What the values say of a change at `index`; None when they do not show it.

    `until` is where the next one came. A machine's moods do not move what is `steady`: an accuracy, a memory.
    """
    logs = np.log(np.asarray(values, np.float64))[:until]
    return _shift(logs, index, since, since if seen is None else seen, smallest, 0.0 if steady else MOOD)


def is_back(values: Sequence[float], *, before: float, after: float) -> bool:
    """Whether the newest values, all from the change on, are as before it, as surely as a change is confirmed.

    More of them are asked where they scatter; one outlier among the fewest is passed over.
    """
    if min(before, after) <= 0.0 or before == after:
        return False
    logs = np.log(np.asarray(values, np.float64))
    way = (math.log(after) - logs) / math.log(after / before)  # 0: as after the change, 1: as before it
    return any(_is_back(way, count) for count in _RETURNED if count <= len(way))


def _is_back(way: Array, count: int) -> bool:
    latest = way[-count:]
    noise = max(_scatter(latest), 1.4826 * _median(np.abs(np.diff(way))) / math.sqrt(2.0))
    level = min(_median(latest), _median(latest[count // 2 :]))
    few = count > _RETURNED[0] or np.sort(latest)[1] >= _HALF
    return bool(level >= _BACK and few and level >= _CONFIRMED * _MEDIAN * noise / math.sqrt(count))


def question(effect: float, smallest: float) -> float:
    """The smallest change that pairs, measured again, are asked for: half of what is suspected, or it is not there."""
    return max(smallest, abs(math.log(effect)) / 2.0)


def as_change(values: Sequence[float], shift: LevelShift, since: int = 0) -> Change:
    """The shift as change points are told: levels, effect with its interval, places that are about as likely."""
    logs = np.log(np.asarray(values, np.float64))
    past, fresh = logs[max(since, shift.index - _REACH) : shift.index], logs[shift.index :]
    before, looks = _median(past), len(logs) - since
    half = 2.0 * shift.error
    return Change(
        index=shift.index,
        before=math.exp(before),
        after=math.exp(_median(fresh)),
        effect=math.exp(shift.size),
        low=math.exp(shift.size - half),
        high=math.exp(shift.size + half),
        confidence=max(0.0, 1.0 - looks * shift.chance),
        position=_places(logs, shift, since, before),
    )


def _shift(logs: Array, index: int, since: int, seen: int, smallest: float, mood: float = MOOD) -> LevelShift | None:
    past, fresh = logs[max(since, index - _REACH, 0) : index], logs[index:]
    if len(past) < _PAST or len(fresh) < 2:
        return None
    before = _median(past)
    sign = 1.0 if _median(fresh) > before else -1.0
    # The latest half counts as much as the whole: what has come back already is no level.
    level = min(sign * _median(fresh), sign * _median(fresh[-max(3, len(fresh) // 2) :]))
    if len(fresh) == 2:  # one of them may be an outlier
        level = float(np.min(sign * fresh))
    size = level - sign * before
    noise = _noise(past, fresh, smallest)
    error = _MEDIAN * noise * math.sqrt(1.0 / len(fresh) + 1.0 / len(past))
    whole = sign * (_median(fresh) - before)
    by_rank = _chance_of_order(past, fresh) if whole >= _ORDERED * error else 1.0
    is_sure = size >= _CONFIRMED * error or by_rank <= _BY_RANK
    if size < _SMALLEST_SHARE * smallest or not (is_sure or size >= _SUSPECTED * error):
        return None
    window = min(len(fresh), _WINDOW, len(past) // 2)
    outside = level - float(np.max(sign * _rolling_medians(past, window)))
    if outside <= 0.0:
        return None
    stands_out = is_sure and outside >= _OUTSIDE * noise / math.sqrt(min(len(fresh), _WINDOW))
    confirmed = (
        len(fresh) >= LASTING
        and stands_out
        and (size - _ERROR * error >= mood or _is_sudden(past, fresh, sign))
        and not _was_there(logs[max(seen, index - _REACH) : since], fresh, sign * level, noise)
    )
    chance = 2.0 * min(by_rank, normal_cdf(-size / error))
    return LevelShift(index=index, confirmed=confirmed, size=sign * size, error=error, chance=chance)


def _is_sudden(past: Array, fresh: Array, sign: float) -> bool:
    """Whether both sides are long enough to know a machine's moods, and the jump between them is none of these."""
    shorter, longer = sorted((len(past), len(fresh)))
    if shorter < SETTLED or longer < STEADY:
        return False
    stretch = min(len(fresh), _STRETCH, len(past) // 3)
    levels = _rolling_medians(past, stretch)
    usual = float(np.abs(levels[stretch:] - levels[:-stretch]).max())
    return sign * (_median(fresh[:stretch]) - _median(past[-stretch:])) >= _SUDDEN * usual


def _was_there(earlier: Array, fresh: Array, level: float, noise: float) -> bool:
    """Whether the series was at that level before, for at least a quarter of the time that it is there now."""
    window = max(len(fresh) // 2, 3)
    if len(earlier) < window:
        return False
    return bool((np.abs(_rolling_medians(earlier, window) - level) <= 2.0 * noise).any())


def _chance_of_order(past: Array, fresh: Array) -> float:
    """How probable it is that chance puts the one above the other as far as they are."""
    low, high = sorted((past, fresh), key=_median)
    return rank_sum_p_value(low.tolist(), high.tolist())


def _noise(past: Array, fresh: Array, smallest: float) -> float:
    """Of a single value: what the past scatters by, whatever the reason, and the values after the change."""
    neighbours = 0.8 * 1.4826 * _median(np.abs(np.diff(past))) / math.sqrt(2.0)
    after = 0.8 * _scatter(fresh) if len(fresh) > 3 else 0.0
    if 3 < len(fresh) < _SHORT:  # a busy machine is slow by another share each time; code is not
        after = 0.8 * float(fresh.std(ddof=1))
    scarce = 1.0 + 2.0 / len(past)  # few values have not shown yet how far they may lie apart
    spread = min(_scatter(past), float(past.std(ddof=1)))  # the one knows outliers, the other few values
    return scarce * max(spread, neighbours, after, _NOISELESS * smallest)


def _likeliest(logs: Array, since: int, smallest: float) -> int | None:
    """Where the newest level begins, if there is one: the place that explains most, outliers cut off."""
    values = logs[since:]
    count = len(values)
    places = np.arange(max(_PAST, count - _REACH), count - 1)
    if not len(places):
        return None
    early = _median(values[: max(_PAST, count // 2)])
    latest = min(values[-2:], key=lambda value: abs(value - early))  # one of the two may be an outlier
    levels = early, float(latest), _median(values)
    noise = max(1.4826 * _median(np.abs(np.diff(values))) / math.sqrt(2.0), _NOISELESS * smallest)
    limits = min(levels) - 4.0 * noise, max(levels) + 4.0 * noise
    sums = np.concatenate(([0.0], np.cumsum(np.clip(values, *limits))))
    left, right = sums[places] / places, (sums[-1] - sums[places]) / (count - places)
    explained = np.abs(right - left) * np.sqrt(places * (count - places))
    return since + int(places[explained.argmax()])


def _places(logs: Array, shift: LevelShift, since: int, before: float) -> tuple[tuple[int, float], ...]:
    """The indexes at which it may have come, with probabilities, the most probable first."""
    noise = max(shift.error / _MEDIAN * math.sqrt(len(logs) - shift.index), 1e-9)
    low, high = max(since + 1, shift.index - 3), min(len(logs) - 1, shift.index + 3)
    after = _median(logs[shift.index :])
    places = range(low, high + 1)
    spread = [np.where(np.arange(low, high) < place, before, after) for place in places]
    misfit = np.array([np.minimum(((logs[low:high] - level) / noise) ** 2, 16.0).sum() for level in spread])
    odds = np.exp((misfit.min() - misfit) / 2.0)
    shares = odds / odds.sum()
    ranked = sorted(zip(places, shares.tolist(), strict=True), key=lambda each: (each[0] != shift.index, -each[1]))
    return tuple(ranked)


def _rolling_medians(values: Array, width: int) -> Array:
    """The median of every stretch of so many values."""
    rolled: Array = np.median(sliding_window_view(values, width), axis=1)
    return rolled


def _scatter(values: Array) -> float:
    return 1.4826 * _median(np.abs(values - _median(values)))


def _median(values: Array) -> float:
    ordered = np.sort(values)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2.0
