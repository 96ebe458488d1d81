"""Values over time in bounded memory, and what can honestly be said of their mean."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from benchwright.records import Better, Estimate, Metric, Timeline

POINTS = 2000
_BATCHES = 10
_T = 2.262  # Student's t, 9 degrees of freedom, 97.5 %


class Trace:
    """A timeline of at most `limit` points: when full, every second point goes and the spacing doubles.

    Mean and maximum are of every value that was added, thinned out or not.
    """

    def __init__(self, name: str, unit: str, limit: int = POINTS) -> None:
        self.name, self.unit = name, unit
        self.count = 0
        self.total = 0.0
        self.maximum = -math.inf
        self._limit = limit
        self._stride = 1
        self._seconds: list[float] = []
        self._values: list[float] = []

    def add(self, seconds: float, value: float) -> None:
        """Adds the value that was seen at an instant."""
        value = float(value)
        if self.count % self._stride == 0:
            if len(self._values) == self._limit:
                del self._seconds[1::2], self._values[1::2]
                self._stride *= 2
            if self.count % self._stride == 0:
                self._seconds.append(seconds)
                self._values.append(value)
        self.count += 1
        self.total += value
        self.maximum = max(self.maximum, value)

    def timeline(self) -> Timeline:
        """Returns the points that were kept, as a timeline."""
        return Timeline(name=self.name, unit=self.unit, seconds=tuple(self._seconds), values=tuple(self._values))

    def mean(self) -> Estimate:
        """The mean of every value; its interval from the points kept. Needs at least one value."""
        half = _half_width(self._values)
        point = self.total / self.count
        return Estimate(
            point=point,
            low=None if half is None else point - half,
            high=None if half is None else point + half,
            method="mean over time; interval from 10 batch means" if half is not None else "mean over time",
        )


def metric(name: str, unit: str, value: float | Estimate, *, better: Better | None = None, count: int = 1) -> Metric:
    """A metric from an estimate, or from a single figure that has no interval."""
    if not isinstance(value, Estimate):
        value = Estimate(point=float(value), low=None, high=None, method="one reading")
    return Metric(name=name, unit=unit, better=better, estimate=value, count=count)


def _half_width(values: Sequence[float]) -> float | None:
    """Half of a 95 % interval of the mean, or None below two values for each of ten batches.

    Neighbours in time depend on each other, the means of long batches hardly.
    """
    size = len(values) // _BATCHES
    if size < 2:
        return None
    means = [statistics.fmean(values[i * size : (i + 1) * size]) for i in range(_BATCHES)]
    return _T * statistics.stdev(means) / math.sqrt(_BATCHES)
