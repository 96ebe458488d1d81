"""Lengths that people write: `128`, `uniform(64,256)`, `normal(128,32)`, `lognormal(128,64)`. Pure functions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import shake_128

from benchwright.errors import OptionError
from benchwright.units import whole_number

LONGEST = 10_000_000  # tokens of one prompt or answer
FORMS = "128, uniform(64,256), normal(128,32), normal(128,32,16,512) or lognormal(128,64)"
_CALL = re.compile(r"([a-z]+)\s*\(([^()]*)\)", re.ASCII)
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,12})?", re.ASCII)
_WHOLE = 2.0**64
_Shape = Callable[[float, float, float, float], float]  # two chances between 0 and 1, two parameters: a length


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """A number of tokens or turns, or the distribution that it is drawn from; never below `low` or above `high`."""

    shape: str  # one of `SHAPES`
    first: float
    second: float = 0.0
    low: int = 1
    high: int = LONGEST

    @property
    def is_fixed(self) -> bool:
        """Whether nothing is left to chance."""
        return self.shape == "fixed"

    def at(self, chances: tuple[float, float]) -> int:
        """The length that two chances, evenly spread above 0 and up to 1, give."""
        drawn = SHAPES[self.shape](*chances, self.first, self.second)
        return int(min(max(round(drawn), self.low), self.high))

    @property
    def middle(self) -> float:
        """About the mean of what is drawn."""
        middle = (self.first + self.second) / 2 if self.shape == "uniform" else self.first
        return min(max(middle, self.low), self.high)


def parse_length(text: str, what: str, *, most: int = LONGEST) -> Length:
    """Reads a length; an `OptionError` that begins with `what`, the flag, says what is understood."""
    plain = text.strip().lower()
    if (number := whole_number(plain)) is not None:
        _check_bounds(text, what, (number,), most)
        return Length(shape="fixed", first=number, high=most)
    match = _CALL.fullmatch(plain)
    shape = match[1] if match else ""
    if match is None or shape not in _COUNTS:
        raise OptionError(f"{what}: {text[:60]!r} is no length", remedy=f"write {FORMS}")
    numbers = [_number(part, text, what) for part in match[2].split(",")]
    if len(numbers) not in _COUNTS[shape]:
        counts = " or ".join(map(str, _COUNTS[shape]))
        raise OptionError(f"{what}: {shape} takes {counts} numbers, not {len(numbers)}", remedy=f"write {FORMS}")
    bounds = numbers if shape == "uniform" else numbers[2:]
    if any(bound != int(bound) for bound in bounds) or bounds != sorted(bounds):
        raise OptionError(
            f"{what}: {text[:60]!r}: the bounds are whole numbers, the lower one first", remedy=f"write {FORMS}"
        )
    _check_bounds(text, what, (numbers[0], *bounds), most)
    low, high = (int(bounds[0]), int(bounds[1])) if bounds else (1, most)
    return Length(shape=shape, first=numbers[0], second=numbers[1], low=low, high=high)


def draw_chances(key: str, count: int) -> Sequence[tuple[float, float]]:
    """`count` pairs of chances above 0 and up to 1; the same for the same key, wherever and whenever."""
    drawn = shake_128(key.encode()).digest(16 * count)
    numbers = [(int.from_bytes(drawn[i : i + 8], "little") + 1) / _WHOLE for i in range(0, len(drawn), 8)]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _number(text: str, whole: str, what: str) -> float:
    plain = text.strip()
    if not _NUMBER.fullmatch(plain):
        raise OptionError(f"{what}: {plain[:40]!r} in {whole[:60]!r} is not a number", remedy=f"write {FORMS}")
    return float(plain)


def _check_bounds(text: str, what: str, numbers: Sequence[float], most: int) -> None:
    if not all(1 <= number <= most for number in numbers):
        raise OptionError(f"{what}: {text[:60]!r} is not within 1 and {most:,}", remedy=f"write {FORMS}")


def _fixed(_: float, __: float, length: float, ___: float) -> float:
    return length


def _uniform(chance: float, _: float, low: float, high: float) -> float:
    return math.ceil(low - 1 + chance * (high - low + 1))


def _normal(chance: float, angle: float, mean: float, deviation: float) -> float:
    return mean + deviation * _standard_normal(chance, angle)


def _lognormal(chance: float, angle: float, mean: float, deviation: float) -> float:
    spread = math.log1p((deviation / mean) ** 2)  # of the logarithms, so that lengths have this mean and deviation
    return mean * math.exp(math.sqrt(spread) * _standard_normal(chance, angle) - spread / 2)


def _standard_normal(chance: float, angle: float) -> float:
    """Draws from the standard normal, as Box and Muller did."""
    return math.sqrt(-2.0 * math.log(chance)) * math.cos(2.0 * math.pi * angle)


SHAPES: dict[str, _Shape] = {"fixed": _fixed, "uniform": _uniform, "normal": _normal, "lognormal": _lognormal}
_COUNTS = {"uniform": (2,), "normal": (2, 4), "lognormal": (2, 4)}  # how many numbers each may have
