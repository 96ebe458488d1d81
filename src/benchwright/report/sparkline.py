"""The shape of a distribution in one line of blocks; that of a few calls without numpy, whose import takes longer."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

from benchwright.records import Result
from benchwright.stats import ranks
from benchwright.stats.moments import FEW
from benchwright.units.numbers import number

BLOCKS = " ▁▂▃▄▅▆▇█"
LOG_FROM = 4.0  # largest over smallest, from which equal steps would put nearly all calls into one bin
WIDTH = 12


def sparkline_of(results: Sequence[Result]) -> str:
    """The calls of the results from the smallest to the 99th percentile, tallest bin full; "" where none were kept.

    Bins are logarithmic where the two lie far apart.
    """
    copies = [samples for result in results for samples in result.samples]
    if any(samples.histograms for samples in copies) or sum(len(s.columns.get("latency", ())) for s in copies) >= FEW:
        from benchwright.analysis.calls import calls
        from benchwright.report.terminal import sparkline

        return sparkline(found) if (found := calls(results)) else ""
    values = sorted(seconds for result in results for seconds in _seconds(result))
    if not values:
        return ""
    low, high = values[0], values[ranks.rank(len(values), 0.99) - 1]
    return bars(_count(values, low, high)) if high > low else "█".ljust(WIDTH)


def bars(counts: Sequence[int]) -> str:
    """A block for each count, the largest full."""
    top = max(counts)
    return "".join(BLOCKS[math.ceil(count / top * 8)] for count in counts)


def _seconds(result: Result) -> list[float]:
    """Returns the seconds of each call, as `analysis.calls.per_call` does."""
    cost = number(result.instrument.get("cost_taken_off_ns")) or 0.0
    return [
        max(value - cost * result.samples[0].loops, 0.0) / (samples.loops * 1e9)
        for samples in result.samples
        for value in samples.columns.get("latency", ())
    ]


def _count(values: Sequence[float], low: float, high: float) -> list[int]:
    """How many of the sorted values lie in each bin; the last one includes its upper edge."""
    if low > 0 and high / low > LOG_FROM:
        inner = [low * (high / low) ** (i / WIDTH) for i in range(1, WIDTH)]
    else:
        inner = [low + (high - low) * i / WIDTH for i in range(1, WIDTH)]
    counts = [0] * WIDTH
    for value in values:
        if value <= high:
            counts[bisect_right(inner, value)] += 1
    return counts
