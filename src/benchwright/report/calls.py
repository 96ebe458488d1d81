"""The calls behind a row: latencies with weights, and latency over time, thinned for drawing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchwright.records import Histogram, Result, Samples
from benchwright.stats import histogram

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Latencies in seconds in ascending order, each with how often it occurred."""

    seconds: Floats  # middles of buckets for calls that were folded into a histogram
    counts: Ints
    shortest: float  # exact
    longest: float  # exact

    @property
    def total(self) -> int:
        """How many calls there are."""
        return int(self.counts.sum())

    def quantiles(self, levels: Floats) -> Floats:
        """The latency below or at which the given shares of all calls lie (the inverse of the ECDF)."""
        ranks = np.cumsum(self.counts)
        wanted = np.clip(np.ceil(np.asarray(levels) * ranks[-1] - 1e-9), 1, ranks[-1])
        found: Floats = self.seconds[np.searchsorted(ranks, wanted)]
        return found

    def binned(self, edges: Floats) -> Ints:
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


def calls(results: Iterable[Result], column: str = "latency") -> Calls | None:
    """Every recorded call of the results, folded ones included; None where nothing was kept."""
    raw: list[Ints] = []
    folded: list[Histogram] = []
    for samples in (s for r in results for s in r.samples):
        if samples.columns.get(column):
            raw.append(_numbers(samples, column))
        if column in samples.histograms and samples.histograms[column].total:
            folded.append(samples.histograms[column])
    if not raw and not folded:
        return None
    found = [np.unique(np.concatenate(raw), return_counts=True)] if raw else []
    for counts in folded:
        middles, numbers = zip(*histogram.buckets(counts), strict=True)
        found.append((np.array(middles), np.array(numbers)))
    values = np.concatenate([v for v, _ in found]) / 1e9
    order = np.argsort(values, kind="stable")
    return Calls(
        seconds=values[order],
        counts=np.concatenate([n for _, n in found])[order],
        shortest=min([int(v.min()) for v in raw] + [h.minimum for h in folded]) / 1e9,
        longest=max([int(v.max()) for v in raw] + [h.maximum for h in folded]) / 1e9,
    )


def over_time(result: Result, slots: int) -> Track | None:
    """A result's latency against the moment each call ended, all copies together."""
    pairs = [(_numbers(s, "end"), _numbers(s, "latency")) for s in result.samples if s.columns.get("end")]
    if not pairs:
        return None
    moments = np.concatenate([end for end, _ in pairs]) / 1e9
    return thin(moments, np.concatenate([latency for _, latency in pairs]) / 1e9, slots)


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


def _numbers(samples: Samples, column: str) -> Ints:
    return np.frombuffer(samples.columns[column], dtype=np.int64)
