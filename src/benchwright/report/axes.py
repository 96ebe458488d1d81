"""Axes: where a value lies in a drawing, and which round values to name."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from benchwright.report.svg import element, text
from benchwright.units import format_number, format_value, scale_for

LOG_FROM = 8.0  # largest over smallest; below it a linear axis shows more
FONT = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Maps values from `low` to `high` onto drawing units from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    unit: str
    log: bool = False

    def at(self, value: float) -> float:
        """The place of a value; values beyond the ends lie on them."""
        value = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """Round values inside the axis with their words, few enough to be read."""
        room = 72.0 if self.end > self.start else 34.0
        most = max(2, int(abs(self.end - self.start) / room))
        if self.log:
            return [(v, tick_text(v, self.unit)) for v in _log_ticks(self.low, self.high, most)]
        values = _linear_ticks(self.low, self.high, self.unit, most)
        largest = max(abs(self.low), abs(self.high))  # one unit along a linear axis
        return [(v, tick_text(v, self.unit, largest)) for v in values]


def axis(
    values: Iterable[float], unit: str, start: float, end: float, *, zero: bool = False, log: bool | None = None
) -> Axis:
    """An axis around the values: logarithmic when they span much, from zero when asked."""
    found = [v for v in values if math.isfinite(v)]
    low, high = min(found, default=0.0), max(found, default=1.0)
    positive = low > 0
    if log is None:
        log = positive and high / low > LOG_FROM and not zero
    if log and positive:
        room = (high / low) ** 0.04 if high > low else 1.1
        return Axis(low=low / room, high=high * room, start=start, end=end, unit=unit, log=True)
    if zero:
        low = min(0.0, low)
    apart = high - low > abs(high) * 1e-9  # nearer than that, rounding would eat the ticks
    room = (high - low) * 0.05 if apart else abs(high) * 0.05 or 1.0
    return Axis(low=low if zero else low - room, high=high + room, start=start, end=end, unit=unit)


_SHORT = 5  # letters of a unit beside a tick; a longer one stands in the title


def tick_text(value: float, unit: str, like: float | None = None) -> str:
    """A round value in words, in the unit that suits it, or that suits a value `like` it: `2.5 ms`, `0`."""
    if value == 0:
        return "0"
    factor, label = scale_for((like or value) * (1 + 1e-9), unit)
    number = format_number(value / factor, 4)
    number = number.rstrip("0").rstrip(".") if "." in number else number
    if label in ("", "1") or (len(label) > _SHORT and factor == 1):
        return number
    return f"{number}{label}" if label == "%" or label.startswith("/") else f"{number} {label}"


def exact(value: float, unit: str) -> str:
    """A value in words for a tooltip, with four digits."""
    return format_value(value, unit, 4)


def frame(across: Axis, up: Axis, across_title: str, up_title: str, *, name_across: bool = True) -> str:
    """Grid lines, tick labels and the two titles; without `name_across` the caller names the ticks across."""
    parts = []
    for value, words in up.ticks():
        y = up.at(value)
        parts.append(element("line", class_="grid", x1=across.start, x2=across.end, y1=y, y2=y))
        parts.append(text(across.start - 8, y + 4, words, class_="tick", text_anchor="end"))
    parts.append(bottom(across, up.start, across_title, named=name_across))
    unit = f" ({up.unit})" if len(up.unit) > _SHORT else ""  # which the ticks have no room for
    parts.append(text(4, 14, f"{up_title}{unit}", class_="axis-title"))
    return "".join(parts)


def bottom(across: Axis, y: float, title: str, *, top: float | None = None, named: bool = True) -> str:
    """The horizontal axis at height `y`; with `top`, its grid lines too."""
    parts = [element("line", class_="axis", x1=across.start, x2=across.end, y1=y, y2=y)]
    for value, words in across.ticks() if named else ():
        x = across.at(value)
        parts.append(element("line", class_="axis", x1=x, x2=x, y1=y, y2=y + 4))
        if top is not None:
            parts.append(element("line", class_="grid", x1=x, x2=x, y1=top, y2=y))
        parts.append(text(x, y + 18, words, class_="tick", text_anchor="middle"))
    parts.append(text(across.end, y + 38, title, class_="axis-title", text_anchor="end"))
    return "".join(parts)


def _linear_ticks(low: float, high: float, unit: str, most: int) -> list[float]:
    factor = scale_for(max(abs(low), abs(high)), unit)[0]
    span = (high - low) / factor
    rough = span / most
    magnitude = 10.0 ** math.floor(math.log10(rough))
    step = next(m * magnitude for m in (1, 2, 2.5, 5, 10) if m * magnitude >= rough * (1 - 1e-9))
    first, last = math.ceil(low / factor / step - 1e-9), math.floor(high / factor / step + 1e-9)
    return [i * step * factor for i in range(first, last + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,)):
        found = [v for d in decades for m in digits if low <= (v := m * 10.0**d) <= high]
        if len(found) <= most + 1:
            return found if len(found) > 1 else _linear_ticks(low, high, "", most)
    return found[:: math.ceil(len(found) / most)]
