"""What becomes of the values of one series: first, mean, any percentile, rate. Memory is bounded, whatever comes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

from benchwright.errors import OptionError, did_you_mean
from benchwright.machine.monitors.trace import Trace
from benchwright.records import Estimate, Timeline
from benchwright.worker.tasks.quantiles import Quantiles

POINTS = 2000  # of a timeline
_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?|100)")
# Other names, the older driver's among them.
ALIASES = {"average": "mean", "total": "sum", "average_aggregate": "mean_of_all_workers", "median": "p50"}
OF_HITS = frozenset({"count", "rate", "time_to_first"})  # which need no numbers
NEEDS_WORKERS = frozenset({"sum_per_worker", "mean_of_all_workers"})


class UncomputableError(ValueError):
    """Values that came, but do not allow the computation."""


def canonical(name: str) -> str:
    """The computation that `name` stands for; an unknown one is an `OptionError` that names the nearest."""
    known = ALIASES.get(name, name)
    if known in _PLAIN or _PERCENTILE.fullmatch(known):
        return known
    remedy = did_you_mean(name, [*_PLAIN, *ALIASES, "p90", "p99.9"])
    raise OptionError(f"unknown computation {name!r}", remedy=remedy)


def compute(series: CapturedSeries, name: str, workers: int = 0) -> Estimate:
    """The computation `name` of a series. `workers` is 0 when nobody said how many. Raises `UncomputableError`."""
    how = canonical(name)
    if not series.count and how not in OF_HITS:
        raise UncomputableError("no number was found")
    if how in NEEDS_WORKERS and workers < 1:
        raise no_workers(name)
    percentile = _PERCENTILE.fullmatch(how)
    if percentile is None:
        return _PLAIN[how](series, workers)
    value, error = series.quantile(float(percentile[1]) / 100)
    method = f"{how} of {series.count}" + (f", relative error below {error:.2g}" if error else "")
    return _exact(value, method)


def no_workers(name: str) -> OptionError:
    """The error of a computation over workers of which nobody said how many there are."""
    return OptionError(
        f"{name} needs the number of workers",
        remedy="set the environment variable DEEPLEARNING_WORKERS_COUNT, or `workers` in the task",
    )


class CapturedSeries:
    """The values of one captured group, in the order they came. Keeps what the computations it is made for need."""

    def __init__(self, computations: Iterable[str] = ()) -> None:
        names = {canonical(name) for name in computations}
        self.wants_numbers = not names <= OF_HITS
        self.hits = 0  # numbers or not
        self.began = self.ended = 0.0  # when the first and the last hit came, in seconds
        self.count = 0  # of numbers
        self.first = self.last = 0.0
        self.minimum, self.maximum = math.inf, -math.inf
        self._sums: list[float] = []  # of the batches, and in time of batches of batches: nothing wears down
        self._squares = _Squares() if "std" in names else None
        self._quantiles = Quantiles() if any(map(_PERCENTILE.fullmatch, names)) else None
        self._points = _Points()

    def hit(self, count: int, at: float) -> None:
        """Notes so many hits that came at that second."""
        if not self.hits:
            self.began = at
        self.hits += count
        self.ended = at

    def add(self, values: Sequence[float], at: float) -> None:
        """Adds the next numbers, at least one, and the second they came at."""
        if not self.count:
            self.first = values[0]
        self.last = values[-1]
        self.minimum, self.maximum = min(self.minimum, min(values)), max(self.maximum, max(values))
        self._sums.append(math.fsum(values))
        if len(self._sums) > POINTS:
            self._sums[:] = [math.fsum(self._sums)]
        self._points.add(values, at, self.count)
        self.count += len(values)
        if self._squares is not None:
            self._squares.add(values)
        if self._quantiles is not None:
            self._quantiles.add(values)

    @property
    def sum(self) -> float:
        """The sum of all values."""
        return math.fsum(self._sums)

    def std(self) -> float:
        """The standard deviation of the values as a sample; 0 when there is only one."""
        assert self._squares is not None, "a series made for std"
        return math.sqrt(self._squares.total / (self.count - 1)) if self.count > 1 else 0.0

    def quantile(self, share: float) -> tuple[float, float]:
        """The value below which that share lies, and the relative error it is known to."""
        assert self._quantiles is not None, "a series made for percentiles"
        value = self._quantiles.at(share)
        return min(max(value, self.minimum), self.maximum), self._quantiles.error

    def mean(self) -> Estimate:
        """The mean, with an interval from batches over time when there are enough values."""
        point = self.sum / self.count
        rough = self._points.mean()
        if rough.low is None or rough.high is None:
            return _exact(point, f"mean of {self.count}")
        half = (rough.high - rough.low) / 2
        method = f"mean of {self.count}; interval from 10 batch means"
        return Estimate(point=point, low=point - half, high=point + half, method=method)

    def timeline(self, name: str, unit: str, factor: float = 1.0) -> Timeline:
        """At most `POINTS` of the values over time, each times `factor`."""
        values = tuple(value * factor for value in self._points.values)
        return Timeline(name=name, unit=unit, seconds=tuple(self._points.seconds), values=values)


class _Points:
    """Every value of a short series over time; of a long one every second, fourth, ..."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.values: list[float] = []
        self._stride = 1

    def add(self, values: Sequence[float], at: float, before: int) -> None:
        chosen = values[-before % self._stride :: self._stride]
        self.values += chosen
        self.seconds += [at] * len(chosen)
        while len(self.values) > POINTS:
            del self.values[1::2], self.seconds[1::2]
            self._stride *= 2

    def mean(self) -> Estimate:
        trace = Trace("", "")
        for second, value in zip(self.seconds, self.values, strict=True):
            trace.add(second, value)
        return trace.mean()


class _Squares:
    """The sum of squared distances from the mean, batch by batch (Chan, Golub and LeVeque, 1979)."""

    def __init__(self) -> None:
        self.total = 0.0
        self._count, self._mean = 0, 0.0

    def add(self, values: Sequence[float]) -> None:
        size, mean = len(values), math.fsum(values) / len(values)
        away, whole = mean - self._mean, self._count + size
        self.total += math.fsum((v - mean) ** 2 for v in values) + away**2 * self._count * size / whole
        self._mean += away * size / whole
        self._count = whole


def _rate(series: CapturedSeries) -> Estimate:
    span = series.ended - series.began
    if span <= 0:
        raise UncomputableError("a rate needs hits at two different times")
    return _exact((series.hits - 1) / span, f"{series.hits} hits over {span:.3g} s")


def _exact(point: float, method: str) -> Estimate:
    return Estimate(point=point, low=None, high=None, method=method)


_PLAIN: dict[str, Callable[[CapturedSeries, int], Estimate]] = {
    "first": lambda s, _: _exact(s.first, f"first of {s.count}"),
    "last": lambda s, _: _exact(s.last, f"last of {s.count}"),
    "min": lambda s, _: _exact(s.minimum, f"min of {s.count}"),
    "max": lambda s, _: _exact(s.maximum, f"max of {s.count}"),
    "mean": lambda s, _: s.mean(),
    "std": lambda s, _: _exact(s.std(), f"standard deviation of {s.count}"),
    "sum": lambda s, _: _exact(s.sum, f"sum of {s.count}"),
    "count": lambda s, _: _exact(float(s.hits), "count"),
    "rate": lambda s, _: _rate(s),
    "time_to_first": lambda s, _: _exact(s.began, "from the start of the command to the first value"),
    "sum_per_worker": lambda s, w: _exact(s.sum / w, f"sum of {s.count} over {w} workers"),
    "mean_of_all_workers": lambda s, w: _exact(s.sum / s.count * w, f"mean of {s.count} times {w} workers"),
}
