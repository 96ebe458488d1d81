"""Counts of nanoseconds in log-linear buckets, in the manner of HdrHistogram. Standard library only.

A value keeps its leading `bits` bits; the rest is the bucket's width. So a bucket's middle is off by less than
2**-bits of the value at any magnitude, memory depends on the spread and not on the number of calls, and histograms of
several copies or rounds add up without loss.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, islice

from benchwright.records import Histogram
from benchwright.stats import ranks

BITS = 10  # error below 0.1 %
_CHUNK = 1 << 16  # values counted at once: bounds the memory that distinct values take


def fold(values: Iterable[int], into: Histogram | None = None, *, bits: int = BITS) -> Histogram:
    """Counts `values`, on top of `into` when given (whose `bits` then hold)."""
    result = into or empty(bits)
    remaining = iter(values)
    while counts := Counter(islice(remaining, _CHUNK)):
        result = fold_counts(counts, result)
    return result


def fold_counts(counts: Mapping[int, int], into: Histogram | None = None, *, bits: int = BITS) -> Histogram:
    """Adds each value as often as `counts` says."""
    start = into or empty(bits)
    if not counts:
        return start
    bits = start.bits
    buckets = dict(start.counts)
    total = summed = 0
    for value, count in counts.items():
        index = bucket(operator.index(value), bits)
        buckets[index] = buckets.get(index, 0) + count
        total += count
        summed += value * count
    low, high = operator.index(min(counts)), operator.index(max(counts))
    return Histogram(
        bits=bits,
        counts=buckets,
        total=start.total + total,
        minimum=min(start.minimum, low) if start.total else low,
        maximum=max(start.maximum, high) if start.total else high,
        sum=start.sum + int(summed),
    )


def empty(bits: int = BITS) -> Histogram:
    """A histogram that has seen nothing."""
    if bits < 1:
        raise ValueError(f"a bucket needs at least one bit, not {bits}")
    return Histogram(bits=bits, counts={}, total=0, minimum=0, maximum=0, sum=0)


def merge(a: Histogram, b: Histogram) -> Histogram:
    """What one histogram of both would be; the coarser `bits` of the two hold."""
    if not a.total or not b.total:
        return coarsen(a if a.total else b, min(a.bits, b.bits))
    bits = min(a.bits, b.bits)
    counts = Counter(coarsen(a, bits).counts)
    counts.update(coarsen(b, bits).counts)
    return Histogram(
        bits=bits,
        counts=dict(counts),
        total=a.total + b.total,
        minimum=min(a.minimum, b.minimum),
        maximum=max(a.maximum, b.maximum),
        sum=a.sum + b.sum,
    )


def scale_values(h: Histogram, factor: int) -> Histogram:
    """Every value times a power of two, which moves whole buckets and so loses nothing."""
    if factor < 1 or factor & (factor - 1):
        raise ValueError(f"{factor} is not a power of two")
    if factor == 1 or not h.total:
        return h
    counts: dict[int, int] = {}
    for index, count in h.counts.items():
        moved = bucket(edges(index, h.bits)[0] * factor, h.bits)
        counts[moved] = counts.get(moved, 0) + count
    return Histogram(
        bits=h.bits,
        counts=counts,
        total=h.total,
        minimum=h.minimum * factor,
        maximum=h.maximum * factor,
        sum=h.sum * factor,
    )


def coarsen(h: Histogram, bits: int) -> Histogram:
    """The same counts with fewer bits: every fine bucket lies inside one coarse bucket."""
    if bits > h.bits:
        raise ValueError(f"a histogram of {h.bits} bits has no {bits}")
    if bits == h.bits:
        return h
    counts: dict[int, int] = {}
    for index, count in h.counts.items():
        coarse = bucket(edges(index, h.bits)[0], bits)
        counts[coarse] = counts.get(coarse, 0) + count
    return Histogram(bits=bits, counts=counts, total=h.total, minimum=h.minimum, maximum=h.maximum, sum=h.sum)


def quantile(h: Histogram, q: float) -> float:
    """The q-quantile (the smallest value with at least a share q at or below it), to within `error_bound`."""
    low, high = edges_at(h, ranks.rank(h.total, q))
    return (low + high) / 2


def mean(h: Histogram) -> float:
    """The mean, exact: sums are kept beside the counts."""
    if not h.total:
        raise ValueError("an empty histogram has no mean")
    return h.sum / h.total


def error_bound(h: Histogram) -> float:
    """The worst relative error of a value read from a bucket."""
    return 2.0**-h.bits


def buckets(h: Histogram) -> Iterator[tuple[float, int]]:
    """(middle, count) of each bucket that holds something, in ascending order."""
    for index in sorted(h.counts):
        low, high = _clip_edges(h, index)
        yield (low + high) / 2, h.counts[index]


def edges_at(h: Histogram, rank: int) -> tuple[int, int]:
    """The smallest and the largest value that the call of this rank (from 1) can have had."""
    if not 1 <= rank <= h.total:
        raise ValueError(f"no rank {rank} among {h.total} values")
    order = sorted(h.counts)
    for index, reached in zip(order, accumulate(h.counts[i] for i in order), strict=True):
        if reached >= rank:
            return _clip_edges(h, index)
    raise ValueError("counts do not add up to the total")


def bucket(value: int, bits: int = BITS) -> int:
    """The index of a value's bucket. Negative values, which a clock set back can yield, mirror the positive ones."""
    if value < 0:
        return -bucket(-value, bits)
    shift = value.bit_length() - bits
    return value if shift <= 0 else (shift << (bits - 1)) + (value >> shift)


def edges(index: int, bits: int = BITS) -> tuple[int, int]:
    """The smallest and the largest value of a bucket."""
    if index < 0:
        low, high = edges(-index, bits)
        return -high, -low
    shift = max(0, (index >> (bits - 1)) - 1)
    low = (index - (shift << (bits - 1))) << shift
    return low, low + (1 << shift) - 1


def _clip_edges(h: Histogram, index: int) -> tuple[int, int]:
    low, high = edges(index, h.bits)
    return max(low, h.minimum), min(high, h.maximum)
