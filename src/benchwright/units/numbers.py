"""Numbers for people: one unit for a whole column, digits that the interval supports, points that line up."""

from __future__ import annotations

import math
import statistics
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchwright.records import Estimate, Value
from benchwright.units import format_number, scale_for

MOST_DIGITS = 6  # more than any clock here supports
POWERS_BELOW = 1e-6  # below it, a row of zeros says less than a power of ten
FEWEST_DIGITS = 2  # of the point, however wide its interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """What a column's values are divided by, and the unit that leaves."""

    factor: float
    unit: str

    def heading(self, title: str) -> str:
        """The title with the unit: `median (ms)`."""
        return f"{title} ({self.unit})" if self.unit else title


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberText:
    """A number and its interval as text, without the unit."""

    point: str
    interval: str  # "± 0.12", "[1.2, 1.9]", or "" where one observation is all there is

    def __str__(self) -> str:
        return f"{self.point} {self.interval}".rstrip()


def scale_of(points: Iterable[float], unit: str) -> Scale:
    """The unit in which the middle one of `points` has one to three digits before the point."""
    sizes = [abs(p) for p in points if p]
    factor, label = scale_for(statistics.median_low(sizes), unit) if sizes else (1.0, unit)
    return Scale(factor=factor, unit="" if label == "1" else label)


def scale_of_estimates(estimates: Iterable[Estimate], unit: str) -> Scale:
    """The same of estimates; where every point is zero, the unit of what their intervals reach, for zero has none."""
    given = list(estimates)
    points = [one.point for one in given]
    return scale_of(points if any(points) else [one.high or 0.0 for one in given], unit)


def cell(estimate: Estimate, scale: Scale) -> NumberText:
    """The point with two digits of its uncertainty; `±` takes the longer side, lopsided intervals show both ends.

    So do those as wide as the value: hardly anything that is measured can be negative or nothing at all, and `25 ± 49`
    or `13 ± 13` would say it can.
    """
    point = estimate.point / scale.factor
    if estimate.low is None or estimate.high is None:
        return NumberText(point=format_number(point, 4), interval="")
    below, above = point - estimate.low / scale.factor, estimate.high / scale.factor - point
    half = max(abs(below), abs(above))
    decimals = _decimals(point, half)
    step = 0.0 if decimals is None else 10**-decimals
    reaches_zero = estimate.low > 0 and _digits(half, decimals) == _digits(point, decimals)
    if min(below, above) < 0 or half > 2 * min(below, above) + step or half > point >= 0 or reaches_zero:
        low, high = estimate.low / scale.factor, estimate.high / scale.factor
        return NumberText(point=_digits(point, decimals), interval=f"[{_end(low, decimals)}, {_end(high, decimals)}]")
    return NumberText(point=_digits(point, decimals), interval=f"± {_digits(max(below, above), decimals)}")


def ends(estimate: Estimate, scale: Scale) -> tuple[str, str] | None:
    """Both ends of the interval with the digits of `cell`; None where one observation is all there is."""
    if estimate.low is None or estimate.high is None:
        return None
    point, low, high = (v / scale.factor for v in (estimate.point, estimate.low, estimate.high))
    decimals = _decimals(point, max(abs(point - low), abs(high - point)))
    return _end(low, decimals), _end(high, decimals)


def instant(text: str) -> str:
    """An ISO 8601 instant in UTC as people write it: `2026-11-15 23:31:27 UTC`."""
    return f"{text[:19].replace('T', ' ')} UTC" if text else ""


def number(value: Value) -> float | None:
    """The value when it is a number."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def line_up(texts: Sequence[str], *, space: str = " ") -> list[str]:
    """The texts padded on both sides so that their decimal points stand in one column; no digits, no padding."""
    numbers = [t for t in texts if t[:1].isdigit() or (t[:1] == "-" and len(t) > 1)]
    left = max((len(t.partition(".")[0]) for t in numbers), default=0)
    right = max((len(t) - len(t.partition(".")[0]) for t in numbers), default=0)
    return [_pad(t, left, right, space) if t in numbers else t for t in texts]


def printable(text: str, *, lines: bool = False) -> str:
    """The text with control characters written out, so that no name or log can drive a terminal."""
    kept = "\n\t" if lines else ""
    return "".join(
        c if c in kept or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") else _escape(c) for c in text
    )


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _pad(text: str, left: int, right: int, space: str) -> str:
    before = text.partition(".")[0]
    return space * (left - len(before)) + text + space * (right - (len(text) - len(before)))


def _digits(value: float, decimals: int | None) -> str:
    if decimals is None:
        return f"{value:.1e}" if value else "0"
    return f"{value:,.{decimals}f}"


def _end(value: float, decimals: int | None) -> str:
    """An end of an interval; one that rounding would make nothing keeps a digit: a latency of 0 ms is impossible."""
    if decimals is None or value == 0 or float(f"{value:.{decimals}f}") != 0:
        return _digits(value, decimals)
    return _digits(value, None if abs(value) < POWERS_BELOW else _decimals_for(value, 1))


def _decimals(point: float, half: float) -> int | None:
    """How many decimals the uncertainty supports; None where a power of ten says more."""
    if 0 < max(abs(point), half) < POWERS_BELOW:
        return None
    if point == 0:
        return _decimals_for(half, FEWEST_DIGITS)
    fewest = _decimals_for(point, FEWEST_DIGITS)
    if half == 0:
        return _decimals_for(point, 4)
    return max(fewest, min(_decimals_for(half, 2), _decimals_for(point, MOST_DIGITS)))


def _decimals_for(value: float, digits: int) -> int:
    if value == 0:
        return 0
    return min(12, max(0, digits - 1 - math.floor(math.log10(abs(value)))))
