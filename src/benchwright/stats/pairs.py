"""Is the treatment slower than the control? Judged pair by pair, with a false-alarm rate that holds at every look.

A pair is one process of each, run next to each other in an order that a coin decides. What the machine does to both
cancels in their ratio. The interval of the ratio holds every change that two tests do not reject, and the verdict
is read from it alone, so the two never disagree:

- From the eighth pair on `signflips`: exact whatever the noise, because the coin makes it so.
- After six and after seven pairs the *window*: the tightest one that holds all (of seven: all but one) of the
  logarithms of the ratios, widened by its own width on either side. No test can be exact with so few pairs (flips of
  seven signs reject at 1.6 % at best), so this one rests on an assumption, that the two processes of a pair differ
  independently of each other, and on calibration. A range [a, 2a) holds at most a quarter of the differences of two
  independent draws, whatever their distribution (Mantel's theorem, as a graph of such ranges has no triangles); that
  quarter is reached by processes with two speeds, equally frequent. Of all noises tried they are the worst: the window
  is wrong in 0.27 % of cases. Where the second process of a pair is slower because it is the second, ratios of one
  order look like a change; so a window counts only if it holds pairs of both orders, and never where the order is not
  known. Where fewer than 1 % false alarms are asked for it is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np

from benchwright.records import Better, Estimate, Verdict
from benchwright.stats import signflips
from benchwright.stats.pairs_weights import centre, halfway

WINDOW_LEVEL = 0.003  # what the window takes of the false alarms
_WINDOW_FROM = 0.01  # false alarms from which on it is used
_WINDOWS = {6: 0, 7: 1}  # pairs: how many of them may lie outside
_LARGEST = 700.0  # of a logarithm whose exponential is still a number
_COARSE, _FEWEST = 3.0, 16  # when no more pairs are taken
_TINY = 1e-12  # what is excluded lies outside of the interval
_HALVINGS = 6  # of a bracket around an end of the interval


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedEvidence:
    """What is known after so many pairs. The ratio is treatment over control; its ends are None before six pairs.

    The p-value of "no change" is valid at every look: 1 until a test rejects, then how rare that is. That of
    `judge` is the ordinary one.
    """

    pairs: int
    effect: Estimate
    verdict: Verdict | None  # None: go on
    why: str
    p_value: float


class Sequential:
    """Judges pairs as they come in and says when to stop.

    WORSE or BETTER when the interval excludes no change and the change is at least `smallest`; SAME when the whole
    interval lies within ±`smallest`; UNCLEAR when `most` pairs were not enough. Whatever is true, and however often one
    looks, in at most `false_alarms` of all comparisons the interval ever excludes it. Two equal programs are therefore
    called different, and two that differ by more than `smallest` the same, no more often than that.
    """

    def __init__(
        self,
        *,
        smallest: float = 0.01,
        false_alarms: float = 0.01,
        most: int = 40,
        better: Better | None = Better.LOWER,
    ) -> None:
        if most < 1:
            raise ValueError(f"at least one pair is needed, not {most}")
        self._question = _TestSettings(smallest=smallest, false_alarms=false_alarms, better=better)
        self._most = most
        self._tests = _plan_tests(false_alarms, most)
        self._seen = _PairLogarithms()

    def add(self, control: float, treatment: float, *, control_first: bool | None = None) -> PairedEvidence:
        """Takes one more pair into account. ValueError for values that are not positive and for one pair too many.

        `control_first` says which process of the pair ran first. Where that is not known nothing is called before the
        eighth pair.
        """
        seen = self._seen
        if len(seen.ratios) == self._most:
            raise ValueError(f"all {self._most} pairs were judged")
        seen.add(control, treatment, control_first)
        return _look(seen, self._question, self._tests, last=len(seen.ratios) == self._most)


def judge(
    pairs: Sequence[tuple[float, float]],
    *,
    control_first: Sequence[bool] | None = None,
    smallest: float = 0.01,
    false_alarms: float = 0.01,
    better: Better | None = Better.LOWER,
) -> PairedEvidence:
    """Judges (control, treatment) pairs whose number was settled before; sharper than `Sequential`, but only once.

    `control_first` says for each pair which process ran first; fewer than eight pairs tell nothing without it.
    """
    if not pairs:
        raise ValueError("at least one pair is needed")
    question = _TestSettings(smallest=smallest, false_alarms=false_alarms, better=better)
    seen = _PairLogarithms.of(pairs, control_first)
    count = len(pairs)
    windows = (count,) if count in _WINDOWS and false_alarms >= WINDOW_LEVEL else ()
    spent = (*([0.0] * (count - 1)), false_alarms if count >= signflips.FIRST else 0.0)
    return _look(seen, question, _Tests(windows=windows, spent=spent), last=True)


def stop(
    pairs: Sequence[tuple[float, float]],
    *,
    control_first: Sequence[bool] | None = None,
    smallest: float = 0.01,
    false_alarms: float = 0.01,
    most: int = 40,
    better: Better | None = Better.LOWER,
) -> tuple[int, Verdict | None]:
    """After how many of these pairs `Sequential` stops, and with what verdict; None where it would go on.

    What a simulation needs: no interval is worked out, so it takes a small part of the time.
    """
    asked = _TestSettings(smallest=smallest, false_alarms=false_alarms, better=better)
    seen = _PairLogarithms.of(pairs[:most], None if control_first is None else control_first[:most])
    tests = _plan_tests(false_alarms, most)
    limit = math.log1p(smallest)
    looks = [(mark, *_excluded_from(seen, mark, tests)) for mark in (-limit, 0.0, limit)]
    for count in range(1, len(seen.ratios) + 1):
        bounds = _bounds_after(looks, count)
        if bounds == _Bounds() and count < most:
            continue
        point = _point(seen, count, tests) if bounds.excludes(0.0) else 0.0  # nothing else asks for it
        verdict, _ = _verdict(point, bounds, asked, last=count == most)
        if verdict is not None:
            return count, verdict
    return len(seen.ratios), None


def reach(look: PairedEvidence, most: int) -> float | None:
    """The size of change that `most` pairs may tell from none, as a share, judged from the interval so far; None: not
    known yet. An interval narrows with the square root of the number of pairs."""
    low, high = look.effect.low, look.effect.high
    if low is None or high is None:
        return None
    return math.expm1(math.log(high / low) / 2 * math.sqrt(look.pairs / max(most, look.pairs)))


def is_in_vain(look: PairedEvidence, *, smallest: float, most: int) -> bool:
    """Whether the pairs that are left will hardly decide it: half of them are used, what all may tell is more than
    `_COARSE` times what matters, and what shows so far is less than a quarter of that. To end here calls nothing."""
    told = reach(look, most)
    if look.verdict is not None or told is None or look.pairs < max(_FEWEST, most / 2):
        return False
    return told > _COARSE * smallest and abs(math.log(look.effect.point)) < math.log1p(told) / 4


def _excluded_from(seen: _PairLogarithms, mark: float, tests: _Tests) -> tuple[float, bool]:
    """From which pair on a change is excluded (infinity: never), and whether what was seen lies above it."""
    for count in (c for c in tests.windows if c <= len(seen.ratios)):
        window = _window(seen, count)
        if window.excludes(mark):
            return count, window.low is not None and window.low > mark
    found = signflips.look_by_look(*seen.without(mark), tests.spent)
    return math.inf if found.look is None else found.look, found.positive


def _bounds_after(looks: Sequence[tuple[float, float, bool]], count: int) -> _Bounds:
    """What the marks say after `count` pairs: an end lies beyond the last one that is excluded, coming from outside."""
    low = high = None
    for mark, _, _ in takewhile(lambda look: look[1] <= count and look[2], looks):
        low = mark + _TINY
    for mark, _, _ in takewhile(lambda look: look[1] <= count and not look[2], reversed(looks)):
        high = mark - _TINY
    return _Bounds(low=low, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PairLogarithms:
    """The pairs: the logarithms of both values, that of their ratio, and whether the control ran first (None: not
    known)."""

    controls: list[float] = field(default_factory=list)
    treatments: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    orders: list[bool | None] = field(default_factory=list)

    @classmethod
    def of(cls, pairs: Sequence[tuple[float, float]], control_first: Sequence[bool] | None) -> _PairLogarithms:
        orders: Sequence[bool | None] = [None] * len(pairs) if control_first is None else control_first
        if len(orders) != len(pairs):
            raise ValueError(f"the order of {len(orders)} pairs, but {len(pairs)} pairs")
        seen = cls()
        for (control, treatment), order in zip(pairs, orders, strict=True):
            seen.add(control, treatment, order)
        return seen

    def add(self, control: float, treatment: float, order: bool | None) -> None:
        if not (0.0 < control < math.inf and 0.0 < treatment < math.inf):
            raise ValueError(f"only positive numbers have a ratio, not {control} and {treatment}")
        self.controls.append(math.log(control))
        self.treatments.append(math.log(treatment))
        self.ratios.append(self.treatments[-1] - self.controls[-1])
        self.orders.append(order)

    def without(self, change: float) -> tuple[signflips.Floats, signflips.Floats]:
        """Both sides as they would be without a change of this size."""
        return halfway(np.asarray(self.controls), np.asarray(self.treatments), change)


@dataclass(frozen=True, slots=True, kw_only=True)
class _TestSettings:
    """The settings of a paired test: the smallest change that matters, the false-alarm rate, the better direction."""

    smallest: float
    false_alarms: float
    better: Better | None

    def __post_init__(self) -> None:
        if not 0.0 <= self.smallest < math.inf:
            raise ValueError(f"the smallest change that matters is zero or more, not {self.smallest}")
        if not 0.0 < self.false_alarms < 1.0:
            raise ValueError(f"a false-alarm rate lies between 0 and 1, not at {self.false_alarms}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tests:
    """Which tests are made, and at what level after each pair."""

    windows: tuple[int, ...]  # the numbers of pairs after which the window is looked at
    spent: tuple[float, ...]


def _plan_tests(false_alarms: float, most: int) -> _Tests:
    windows = tuple(_WINDOWS) if false_alarms >= _WINDOW_FROM else ()
    left = false_alarms - (WINDOW_LEVEL if windows else 0.0)
    return _Tests(windows=windows, spent=signflips.plan_spending(left, most))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounds:
    """An interval of the logarithm of the ratio; None where nothing is excluded."""

    low: float | None = None
    high: float | None = None

    def excludes(self, mark: float) -> bool:
        """Whether the mark lies outside."""
        return (self.low is not None and self.low > mark) or (self.high is not None and self.high < mark)


def _look(seen: _PairLogarithms, asked: _TestSettings, tests: _Tests, *, last: bool) -> PairedEvidence:
    ratios = seen.ratios
    point = _point(seen, len(ratios), tests)
    windows = _within(*(_window(seen, count) for count in tests.windows if count <= len(ratios)))
    bounds = windows
    if any(tests.spent[: len(ratios)]):
        bounds = _within(windows, _flip_bounds(seen, point, asked, tests.spent, windows))
    verdict, why = _verdict(point, bounds, asked, last=last)
    return PairedEvidence(
        pairs=len(ratios),
        effect=_estimate(point, bounds, asked, len(ratios)),
        verdict=verdict,
        why=why,
        p_value=_p_value(seen, windows, bounds, tests),
    )


def _point(seen: _PairLogarithms, count: int, tests: _Tests) -> float:
    """The change that the first pairs show: where the test's own weights balance, once it is made."""
    if not any(tests.spent[:count]):
        return hodges_lehmann(seen.ratios[:count])
    return centre(np.asarray(seen.controls[:count]), np.asarray(seen.treatments[:count]))


def hodges_lehmann(values: Sequence[float]) -> float:
    """The median of the means of any two values (Hodges and Lehmann, Annals of Mathematical Statistics 34, 1963)."""
    given = np.asarray(values, dtype=np.float64)
    first, second = np.triu_indices(len(given))
    return float(np.median((given[first] + given[second]) / 2))


def _window(seen: _PairLogarithms, count: int) -> _Bounds:
    """The tightest window that holds all of the first ratios but those that may lie outside, widened by its width on
    both sides. It says nothing unless it holds pairs of both orders: what the order does would pass for a change."""
    ordered = sorted(zip(seen.ratios[:count], seen.orders[:count], strict=True), key=lambda pair: pair[0])
    held = count - _WINDOWS[count]
    parts = [ordered[begin : begin + held] for begin in range(count - held + 1)]
    tightest = [(part[-1][0] - part[0][0], not {True, False} <= {o for _, o in part}, part[0][0]) for part in parts]
    width, one_order, low = min(tightest)
    return _Bounds() if one_order else _Bounds(low=low - width, high=low + 2 * width)


def _flip_bounds(
    seen: _PairLogarithms, point: float, asked: _TestSettings, spent: tuple[float, ...], windows: _Bounds
) -> _Bounds:
    """Where the tests cease to reject, coming from far below and from far above the point.

    They are made at no change itself and at both ends of what does not matter; only between those is the end
    searched for by halving. So what the interval says about them is what the tests say.
    """

    def end(side: float) -> float | None:
        def is_excluded(distance: float) -> bool:
            mark = point - side * distance
            found = signflips.look_by_look(*seen.without(mark), spent)
            return windows.excludes(mark) or (found.look is not None and found.positive == (side > 0))

        marks = sorted((side * (point - mark) for mark in (-smallest, 0.0, smallest)), reverse=True)
        beyond = float(np.max(side * (point - ratios))) * 1.001 + 1e-12  # all ratios lie on one side of it
        near, far = 0.0, max(beyond, marks[0])
        if not is_excluded(far):
            return None
        for probe in (*marks, 2 * guess, guess):
            if near < probe < far:
                near, far = (near, probe) if is_excluded(probe) else (probe, far)
        for _ in range(_HALVINGS):
            middle = (near + far) / 2
            near, far = (near, middle) if is_excluded(middle) else (middle, far)
        return point - side * (near + far) / 2

    smallest, ratios = math.log1p(asked.smallest), np.asarray(seen.ratios)
    guess = 4.0 * float(np.median(np.abs(ratios - point))) / math.sqrt(len(ratios))  # saves halvings, decides nothing
    return _Bounds(low=end(1.0), high=end(-1.0))


def _within(*bounds: _Bounds) -> _Bounds:
    """Returns the interval that lies within all of the intervals."""
    lows = [b.low for b in bounds if b.low is not None]
    highs = [b.high for b in bounds if b.high is not None]
    return _Bounds(low=max(lows, default=None), high=min(highs, default=None))


def _verdict(point: float, bounds: _Bounds, asked: _TestSettings, *, last: bool) -> tuple[Verdict | None, str]:
    smallest = math.log1p(asked.smallest)
    matters = f"±{100 * asked.smallest:.3g} %"
    low = -math.inf if bounds.low is None else bounds.low
    high = math.inf if bounds.high is None else bounds.high
    if low > high:
        return Verdict.UNCLEAR, "the pairs contradict each other: what they compare changed in between"
    if (-smallest < low and high < smallest) or low == high == 0.0:
        return Verdict.SAME, f"the whole interval lies within {matters}"
    if (low > 0.0 and point >= smallest) or (high < 0.0 and point <= -smallest):
        direction = "higher" if point > 0.0 else "lower"
        if asked.better is None:
            return Verdict.UNCLEAR, f"{direction}, and neither direction is better"
        improved = (point > 0.0) == (asked.better is Better.HIGHER)
        return (Verdict.BETTER if improved else Verdict.WORSE), f"{direction}: the interval does not reach no change"
    if not low <= 0.0 <= high:
        why = f"a change, but perhaps one within {matters}"
    elif math.isinf(low) or math.isinf(high):
        why = "too few pairs for an interval"
    else:
        why = f"the interval includes no change and reaches beyond {matters}"
    return (Verdict.UNCLEAR if last else None), why


def _estimate(point: float, bounds: _Bounds, asked: _TestSettings, pairs: int) -> Estimate:
    """The ratio. Its point is moved into the interval where robust location and test differ."""
    low, high = bounds.low, bounds.high
    if low is None or high is None or low > high:
        low = high = None
    else:
        point = min(max(point, low), high)
    return Estimate(
        point=_exp(point),
        low=None if low is None else _exp(low),
        high=None if high is None else _exp(high),
        confidence=1.0 - asked.false_alarms,
        method=f"{'window' if pairs < signflips.FIRST else 'sign flips'} over {pairs} pairs",
    )


def _p_value(seen: _PairLogarithms, windows: _Bounds, bounds: _Bounds, tests: _Tests) -> float:
    """How rare this is when nothing changed. What the windows may spend comes before what the flips spend."""
    if windows.excludes(0.0):
        return WINDOW_LEVEL
    found = signflips.look_by_look(seen.controls, seen.treatments, tests.spent)
    if found.look is not None and not bounds.excludes(0.0):
        return 1.0
    return min(1.0, found.p_value + (WINDOW_LEVEL if tests.windows else 0.0))


def _exp(value: float) -> float:
    return math.exp(min(max(value, -_LARGEST), _LARGEST))
