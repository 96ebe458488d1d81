"""Percentiles of a stream in bounded memory.

They are exact up to `EXACT` values. Beyond, values are counted in buckets of their leading bits, and a percentile is
known to a relative error below `ERROR`.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

EXACT = 65_536
ERROR = 2.0**-11
_STEPS = 1024  # buckets between two powers of two
_LOWEST = 1100  # below the exponent of the smallest float


class Quantiles:
    """Values one by one, then counts of buckets."""

    def __init__(self, exact: int = EXACT) -> None:
        self._exact = exact
        self._values = array("d")
        self._counts: dict[int, int] = {}
        self._count = 0
        self.error = 0.0  # relative, of what `at` answers

    def add(self, values: Sequence[float]) -> None:
        """Adds the next values."""
        self._count += len(values)
        if self.error:
            self._fold(values)
            return
        self._values.extend(values)
        if len(self._values) > self._exact:
            self.error = ERROR
            self._fold(self._values)
            del self._values[:]

    def at(self, share: float) -> float:
        """The value below which that share of all lies, interpolated linearly between its two neighbours."""
        place = share * (self._count - 1)
        below = math.floor(place)
        low, high = self._values_at_ranks(below, min(below + 1, self._count - 1))
        return low + (high - low) * (place - below)

    def _fold(self, values: Sequence[float]) -> None:
        counts = self._counts
        for value in values:
            key = _bucket(value)
            counts[key] = counts.get(key, 0) + 1

    def _values_at_ranks(self, low: int, high: int) -> tuple[float, float]:
        if not self.error:
            ordered = sorted(self._values)
            return ordered[low], ordered[high]
        seen, found = 0, None
        for key in sorted(self._counts):
            seen += self._counts[key]
            if found is None and low < seen:
                found = _middle(key)
            if found is not None and high < seen:
                return found, _middle(key)
        raise AssertionError("a rank below the count")


def _bucket(value: float) -> int:
    """A whole number that grows with the value: its sign, exponent and leading bits."""
    if value == 0:
        return 0
    mantissa, exponent = math.frexp(abs(value))
    key = (exponent + _LOWEST) * _STEPS + int((mantissa * 2 - 1) * _STEPS) + 1
    return key if value > 0 else -key


def _middle(key: int) -> float:
    if key == 0:
        return 0.0
    exponent, step = divmod(abs(key) - 1, _STEPS)
    size = math.ldexp((1 + (step + 0.5) / _STEPS) / 2, exponent - _LOWEST)
    return size if key > 0 else -size
