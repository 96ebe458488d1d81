"""The calls behind a row: latencies with weights, and latency over time, thinned for drawing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchwright.records import Result, Samples
from benchwright.stats import histogram
from benchwright.units.numbers import number

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedLatencies:
    """Latencies of a call in seconds in ascending order, each with how often it occurred."""

    seconds: Floats  # middles of buckets for calls that were folded into a histogram
    counts: Ints
    shortest: float  # exact
    longest: float  # exact
    loops: int = 1  # calls that one value is the mean of, the most of all copies

    @property
    def total(self) -> int:
        """How many values there are: calls, or means of several."""
        return int(self.counts.sum())

    def describe_count(self, number: int) -> str:
        """So many values in words: `1 call`, `3 calls`, `2 means of 64 calls`."""
        many = "s" if number != 1 else ""
        return f"{number:,} call{many}" if self.loops == 1 else f"{number:,} mean{many} of {self.loops:,} calls"

    def quantiles(self, levels: Floats) -> Floats:
        """The latency below or at which the given shares of all calls lie (the inverse of the ECDF)."""
        ranks = np.cumsum(self.counts)
        wanted = np.clip(np.ceil(np.asarray(levels) * ranks[-1] - 1e-9), 1, ranks[-1])
        found: Floats = self.seconds[np.searchsorted(ranks, wanted)]
        return found

    def count_in_bins(self, edges: Floats) -> Ints:
        """How many calls lie in each bin; the last one includes its upper edge."""
        counts, _ = np.histogram(self.seconds, bins=edges, weights=self.counts)
        return counts.astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """A quantity over time in at most so many slots: of each slot the smallest, middle and largest value."""

    seconds: Floats
    low: Floats
    middle: Floats
    high: Floats
    points: int  # how many values were thinned into this


def calls(results: Iterable[Result], column: str = "latency") -> WeightedLatencies | None:
    """Every call of the results in the table's own terms: per call, the loop's cost taken off; None without any."""
    found: list[tuple[Floats, Ints]] = []
    ends: list[Floats] = []
    loops = 1
    for result, samples in ((r, s) for r in results for s in r.samples):
        values, counts, extremes = _count_values(samples, column)
        if len(values):
            found.append((per_call(values, samples, result), counts))
            ends.append(per_call(extremes, samples, result))
            loops = max(loops, samples.loops)
    if not found:
        return None
    seconds = np.concatenate([v for v, _ in found])
    order = np.argsort(seconds, kind="stable")
    return WeightedLatencies(
        seconds=seconds[order],
        counts=np.concatenate([n for _, n in found])[order],
        shortest=float(np.min(ends)),
        longest=float(np.max(ends)),
        loops=loops,
    )


def track_latency(result: Result, slots: int) -> Track | None:
    """A result's latency against the moment each call ended, all copies together, as far as calls were kept raw."""
    kept = [s for s in result.samples if s.columns.get("end")]
    if not kept:
        return None
    moments = np.concatenate([raw_column(s, "end") for s in kept]) / 1e9
    return thin(moments, np.concatenate([per_call(raw_column(s, "latency"), s, result) for s in kept]), slots)


def thin(moments: Floats, values: Floats, slots: int) -> Track:
    """Cuts time into `slots` equal parts; each keeps its smallest, middle and largest value, so no spike is lost."""
    order = np.argsort(moments, kind="stable")
    moments, values = moments[order], values[order]
    if len(values) <= slots:
        return Track(seconds=moments, low=values, middle=values, high=values, points=len(values))
    edges = np.linspace(moments[0], moments[-1], slots + 1)
    cuts = np.unique(np.searchsorted(moments, edges[1:-1]))
    parts = [p for p in np.split(np.arange(len(values)), cuts) if len(p)]
    return Track(
        seconds=np.array([moments[p].mean() for p in parts]),
        low=np.array([values[p].min() for p in parts]),
        middle=np.array([np.median(values[p]) for p in parts]),
        high=np.array([values[p].max() for p in parts]),
        points=len(values),
    )


def _count_values(samples: Samples, column: str) -> tuple[Floats | Ints, Ints, Ints]:
    """The clock's nanoseconds, how often each occurred, and the smallest and largest.

    A histogram holds every call, those that were kept raw too, so where there is one it alone is counted.
    """
    whole = samples.histograms.get(column)
    if whole is not None and whole.total:
        middles, numbers = zip(*histogram.buckets(whole), strict=True)
        return np.array(middles), np.array(numbers), np.array([whole.minimum, whole.maximum])
    values, counts = np.unique(raw_column(samples, column), return_counts=True)
    return values, counts.astype(np.int64), values[[0, -1]] if len(values) else values


def per_call(nanoseconds: Floats | Ints, samples: Samples, result: Result) -> Floats:
    """Seconds of one call, as the metrics have them: what timing a sample costs taken off, the rest shared out."""
    cost = number(result.instrument.get("cost_taken_off_ns")) or 0.0  # a call's share, in the first copy
    per_sample = cost * result.samples[0].loops
    seconds: Floats = np.maximum(nanoseconds - per_sample, 0.0) / (samples.loops * 1e9)
    return seconds


def raw_column(samples: Samples, column: str) -> Ints:
    """A raw column; of requests to a served model those that succeeded, as the metrics have it."""
    values = np.frombuffer(samples.columns.get(column, b""), dtype=np.int64)
    outcomes = np.frombuffer(samples.columns.get("outcome", b""), dtype=np.int64)
    return values[outcomes == 0] if outcomes.size and values.size else values
