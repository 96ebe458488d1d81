"""The arithmetic of a report. Instants and durations are nanoseconds; nothing here is ever NaN."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchwright.records import Histogram
from benchwright.stats import histogram

SECOND = 1_000_000_000
PERCENTILES = (0, 50, 90, 95, 99, 100)
Nanoseconds = NDArray[np.int64]


def throughput_avg(calls: int, batch_size: int, elapsed: float) -> float | None:
    """Items per second over all of `elapsed` seconds, the empty ones included."""
    return calls * batch_size / elapsed if elapsed > 0 else None


def throughput_peak(ends: Nanoseconds, batch_size: int, begin: int, end: int) -> float | None:
    """Items in the best whole second between two instants; None when there is none."""
    seconds = (end - begin) // SECOND
    if seconds < 1:
        return None
    which = (np.asarray(ends, dtype=np.int64) - begin) // SECOND
    counts = np.bincount(which[(which >= 0) & (which < seconds)], minlength=1)
    return float(counts.max() * batch_size)


def whole_until(ends: Nanoseconds) -> int:
    """Up to which instant every thread's calls are there, where each thread kept only its first ones."""
    last_of_each = np.append(ends[:-1][np.diff(ends) < 0], ends[-1:])
    return int(last_of_each.min()) if len(last_of_each) else 0


def percentiles_ms(values: Nanoseconds | Histogram) -> dict[int, float]:
    """Percentiles in milliseconds, interpolated between neighbours; from a histogram, to within its error."""
    if isinstance(values, Histogram):
        if not values.total:
            return {}
        inner = {q: histogram.quantile(values, q / 100) / 1e6 for q in PERCENTILES[1:-1]}
        return {0: values.minimum / 1e6, **inner, 100: values.maximum / 1e6}
    if not len(values):
        return {}
    found = np.percentile(np.asarray(values, dtype=np.float64) / 1e6, PERCENTILES)
    return dict(zip(PERCENTILES, map(float, found), strict=True))


def mean_ms(values: Nanoseconds | Histogram) -> float | None:
    """The mean in milliseconds; None of nothing."""
    if isinstance(values, Histogram):
        return histogram.mean(values) / 1e6 if values.total else None
    return float(np.mean(values)) / 1e6 if len(values) else None


def pool_columns(columns: Sequence[Any]) -> Nanoseconds | Histogram:
    """One column of what several copies saw: one by one, or a histogram once any of them had to count."""
    if any(isinstance(column, Histogram) for column in columns):
        whole = histogram.empty()
        for column in columns:
            part = column if isinstance(column, Histogram) else histogram.fold(int(v) for v in column)
            whole = histogram.merge(whole, part)
        return whole
    arrays = [np.asarray(column, dtype=np.int64) for column in columns]
    return np.concatenate(arrays) if arrays else np.array([], dtype=np.int64)


def cost_per_1m(cost_per_hour: float | None, throughput: float | None) -> float | None:
    """What a million items cost at this throughput."""
    if cost_per_hour is None or not throughput:
        return None
    return cost_per_hour * 1e6 / (3600 * throughput)


def mean(samples: Sequence[float]) -> float | None:
    """Returns the mean of the values; None when there are none."""
    return math.fsum(samples) / len(samples) if samples else None


def median(samples: Sequence[float]) -> float | None:
    """Returns the median of the values; None when there are none."""
    return float(np.percentile(samples, 50)) if samples else None


def resample(seconds: Sequence[float], values: Sequence[float], interval: float) -> list[float]:
    """One sample for each interval: the mean of what was seen in it."""
    bins: dict[int, list[float]] = {}
    for at, value in zip(seconds, values, strict=True):
        bins.setdefault(int(at / interval) if interval > 0 else len(bins), []).append(value)
    return [math.fsum(part) / len(part) for _, part in sorted(bins.items())]
