"""Is the treatment slower than the control? Judged pair by pair, with a false-alarm rate that holds at every look.

A pair is one process of each, run next to each other in an order that a coin decides. What the machine does to both
cancels in their ratio. The interval of the ratio holds every change that two tests do not reject, and the verdict
is read from it alone, so the two never disagree:

- From the eighth pair on `signflips`: exact whatever the noise, because the coin makes it so.
- After six and after seven pairs the *window*: the tightest one that holds all (of seven: all but one) of the
  logarithms of the ratios, widened by its own width on either side. No test can be exact with so few pairs (flips of
  seven signs reject at 1.6 % at best), so this one rests on an assumption, that the two processes of a pair differ
  independently of each other, and on calibration: of all noises tried the worst are processes with two speeds, equally
  frequent, for which it is wrong in 0.27 % of cases. That follows from Mantel's theorem: a range [a, 2a) holds at most a
  quarter of the differences of two independent draws, whatever their distribution. Where fewer than 1 % false alarms
  are asked for it is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from benchwright.records import Better, Estimate, Verdict
from benchwright.stats import signflips

WINDOW_LEVEL = 0.003  # what the window takes of the false alarms
_WINDOW_FROM = 0.01  # false alarms from which on it is used
_WINDOWS = {6: 0, 7: 1}  # pairs: how many of them may lie outside
_HALVINGS = 8  # of a bracket around an end of the interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What is known after so many pairs. The ratio is treatment over control; its ends are None before six pairs.

    The p-value of "no change" is valid at every look: it is 1 until a test rejects, and then how rare that is.
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
        self._question = _Question(smallest=smallest, false_alarms=false_alarms, better=better)
        self._most = most
        window = false_alarms >= _WINDOW_FROM
        left = false_alarms - (WINDOW_LEVEL if window else 0.0)
        self._tests = _Tests(window=window, spent=signflips.spending(left, most))
        self._ratios: list[float] = []

    def add(self, control: float, treatment: float) -> Look:
        """Takes one more pair into account. Raises ValueError for values that are not positive, or for one pair too many."""
        if len(self._ratios) == self._most:
            raise ValueError(f"all {self._most} pairs were judged")
        self._ratios.append(_log_ratio(control, treatment))
        return _look(self._ratios, self._question, self._tests, last=len(self._ratios) == self._most)


def judge(
    pairs: Sequence[tuple[float, float]],
    *,
    smallest: float = 0.01,
    false_alarms: float = 0.01,
    better: Better | None = Better.LOWER,
) -> Look:
    """Judges (control, treatment) pairs whose number was settled beforehand. Sharper than `Sequential`, but once only."""
    if not pairs:
        raise ValueError("at least one pair is needed")
    question = _Question(smallest=smallest, false_alarms=false_alarms, better=better)
    ratios = [_log_ratio(control, treatment) for control, treatment in pairs]
    count = len(ratios)
    few = count < signflips.FIRST
    spent = (*([0.0] * (count - 1)), 0.0 if few else false_alarms)
    return _look(ratios, question, _Tests(window=few and false_alarms >= WINDOW_LEVEL, spent=spent), last=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What is asked."""

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

    window: bool
    spent: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounds:
    """An interval of the logarithm of the ratio; None where nothing is excluded."""

    low: float | None = None
    high: float | None = None


def _look(ratios: Sequence[float], asked: _Question, tests: _Tests, *, last: bool) -> Look:
    point = hodges_lehmann(ratios)
    early = _window_bounds(ratios, last) if tests.window else _Bounds()
    bounds = _around(point, _tightest(early, _flip_bounds(ratios, point, asked, tests.spent)))
    verdict, why = _verdict(point, bounds, asked, len(ratios), last)
    return Look(
        pairs=len(ratios),
        effect=_estimate(point, bounds, 1.0 - asked.false_alarms, len(ratios)),
        verdict=verdict,
        why=why,
        p_value=_p_value(ratios, early, tests),
    )
