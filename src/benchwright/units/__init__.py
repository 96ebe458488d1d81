"""Units, scaling and reading of quantities people type.

Values are kept in base units (seconds, bytes, calls per second); only what is shown is scaled.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from benchwright.errors import OptionError
from benchwright.records.costs import is_money

_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "B": ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")),
    "/s": ((1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")),
    "J": ((1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ")),
    "W": ((1e3, "kW"), (1.0, "W"), (1e-3, "mW")),
}

_FACTORS: dict[str, dict[str, float]] = {
    "s": {
        "ns": 1e-9,
        "us": 1e-6,
        "µs": 1e-6,
        "ms": 1e-3,
        "s": 1.0,
        "m": 60.0,
        "min": 60.0,
        "h": 3600.0,
        "d": 86400.0,
        "w": 7 * 86400.0,
        "y": 365 * 86400.0,
    },
    "B": {
        "B": 1.0,
        **{f"{p}B": 1000.0 ** (i + 1) for i, p in enumerate("kMGT")},
        **{f"{p}iB": 1024.0 ** (i + 1) for i, p in enumerate("KMGT")},
    },
    "/s": {"/s": 1.0, "k/s": 1e3, "M/s": 1e6, "/min": 1 / 60},
    "%": {"%": 1.0},
    "J": {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6, "µJ": 1e-6, "kJ": 1e3, "Wh": 3600.0, "kWh": 3.6e6},
}

# Percentages that are no share of a whole: 100 is one core, or the mean of the copies.
_BEYOND_A_HUNDRED = frozenset({"cpu", "cpu_others", "imbalance"})

_QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(\S*)\s*", re.ASCII)
_MOST_DIGITS = 18  # of what 64 bits hold
_A_HAIR = 1 + 1e-9  # 1,000 times 1e-9 may be less than 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantityLimits:
    """What a quantity can be: nothing below `low`, nothing above `high`; None where there is no such end."""

    low: float | None = None
    high: float | None = None


def limits(metric: str, unit: str) -> QuantityLimits:
    """What a metric of that unit can be. No time, size, rate, energy or power is negative, and a share ends at 100 %.

    A rate is anything per second, `samples/s` too. Of a number without one of these units nothing is known: a
    difference or a score may be negative.
    """
    if unit == "%":
        return QuantityLimits(low=0.0, high=None if metric in _BEYOND_A_HUNDRED else 100.0)
    is_positive = unit in _SCALES or unit.endswith("/s") or is_money(metric)
    return QuantityLimits(low=0.0) if is_positive else QuantityLimits()


def whole_number(text: str) -> int | None:
    """The number that a text of plain digits states, as a header of HTTP or a model's shape does; None for other texts.

    Not `int`: it takes digits of every script, fails at a superscript that `str.isdigit` accepts, and at thousands.
    """
    plain = text.strip()
    return int(plain) if plain.isascii() and plain.isdigit() and len(plain) <= _MOST_DIGITS else None


def scale_for(value: float, unit: str) -> tuple[float, str]:
    """The factor and the label that show `value` with one to three digits before the point."""
    scales = _SCALES.get(unit)
    if not scales:
        return 1.0, unit
    magnitude = abs(value)
    for factor, label in scales:
        if magnitude >= factor:
            return factor, label
    return scales[-1] if magnitude > 0 else next(s for s in scales if s[1] == unit)


def format_number(value: float, digits: int = 3) -> str:
    """`value` with `digits` significant digits and never an exponent for everyday sizes."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    powers = f"{value:.{digits - 1}e}"
    magnitude = int(powers.partition("e")[2])  # of the rounded number: 0.9996 is 1.00
    if magnitude < -6:  # a row of zeros says less than a power of ten
        return powers
    decimals = max(0, digits - 1 - magnitude)
    return f"{value:,.{min(decimals, 12)}f}"


def format_value(value: float, unit: str, digits: int = 3) -> str:
    """A value for people: `format_value(1.83e-05, "s")` is `'18.3 µs'`; bytes are whole below 1 KiB."""
    factor, label = scale_for(value, unit)
    number = _format_scaled(value / factor, label, digits)
    shown = _read_number(number) * factor * _A_HAIR
    if scale_for(shown, unit)[0] > factor:  # rounding reached the next unit: 999.6 µs is 1.00 ms
        factor, label = scale_for(shown, unit)
        number = _format_scaled(value / factor, label, digits)
    if label in ("", "1"):
        return number
    return f"{number}{label}" if label == "%" or label.startswith("/") else f"{number} {label}"


def parse_quantity(text: str, unit: str, *, what: str = "value", bare: bool = True) -> float:
    """Reads `'20ms'`, `'1.5 GiB'` or a bare number (taken in `unit`) into `unit`.

    Without `bare` a time needs its unit: people who write 20 mean milliseconds as often as seconds.
    """
    match = _QUANTITY.fullmatch(text)
    factors = _FACTORS.get(unit, {unit: 1.0})
    if match is None or not math.isfinite(float(match[1])):
        raise OptionError(
            f"{what}: {text!r} is not a quantity", remedy=f"write a number and one of: {', '.join(factors)}"
        )
    number, suffix = match.groups()
    if suffix and suffix not in factors:
        raise OptionError(
            f"{what}: {suffix!r} in {text!r} is not a unit here", remedy=f"use one of: {', '.join(factors)}"
        )
    if unit == "s" and not (suffix or bare) and float(number):
        raise OptionError(
            f"{what}: {text.strip()!r} may mean {number} ms or {number} s", remedy=f"write {number}ms or {number}s"
        )
    return float(number) * (factors[suffix] if suffix else 1.0)


def parse_expiry(text: str, what: str) -> str:
    """Reads a length of time, `'90d'`, and returns the instant that is so far from now; "" for "", which is never.

    `what` is the flag, for errors.
    """
    if not text:
        return ""
    seconds = parse_quantity(text, "s", what=what)
    if not 0 < seconds < 100 * 366 * 86400:
        raise OptionError(f"{what} {text}: give a time between now and a hundred years", remedy="such as 90d")
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat(timespec="seconds")


def parse_percent(text: str, what: str, *, zero: bool = True) -> float:
    """Reads a percentage, `'1%'`, and returns it as a share of 1: 0.01. `what` is the flag, for errors.

    Every flag that takes a percentage is read here, so that a bare number means the same everywhere. Above 1 it is in
    per cent, since nothing here reaches 100 %. From 1 down to 0 it is refused: 0.01 is 0.01 % to some people, and 1 %
    to others. `zero=False` refuses 0 % as well.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in ("", "%") or not math.isfinite(float(match[1])):
        raise OptionError(f"{what}: {text!r} is not a percentage", remedy="write it with its sign, for example 1%")
    number = float(match[1])
    if not match[2] and 0 < number <= 1:
        low, high = (f"{percent:.6g}%" for percent in (number, 100 * number))
        raise OptionError(
            f"{what}: {text.strip()!r} may mean {low} or {high}",
            remedy=f"write {low}" if number == 1 else f"write {low} or {high}",
        )
    if not (0 < number < 100 or (zero and number == 0)):
        raise OptionError(f"{what}: {text} is not between 0 and 100 %", remedy="write it with its sign, for example 1%")
    return number / 100


def _format_scaled(value: float, label: str, digits: int) -> str:
    text = format_number(value, digits)
    return (
        f"{value:,.0f}" if label == "B" and abs(_read_number(text)) >= 1 else text
    )  # a share of a byte keeps its digits


def _read_number(number: str) -> float:
    return float(number.replace(",", ""))


def format_probability(probability: float) -> str:
    """Returns a probability in per cent, never rounded to certainty: "87.3 %", "99.99 %", "below 0.1 %"."""
    if probability < 0.001:
        return "below 0.1 %"
    percent = min(100 * probability, 99.99)
    return f"{percent:.3g} %" if percent < 99.5 else f"{math.floor(100 * percent + 1e-9) / 100:.4g} %"
