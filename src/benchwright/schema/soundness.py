"""What must hold among the fields of a record beyond their types, so that code that calculates with it can rely on it.

Records that are made here hold it anyway; `schema` asks for each record that comes from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchwright.records import Estimate, Histogram, Metric, Result, Samples, Timeline
from benchwright.records.prices import HOURS, Price

LARGEST = 1e150  # of a measured value: beyond, sums and squares would overflow
LARGEST_AMOUNT = 1e12  # of money, or of watts
MOST_BITS = 30  # of a histogram's resolution
_VALUE = 64  # bits of a nanosecond count


def estimate_flaw(estimate: Estimate) -> str:
    """Says what is wrong with an interval; "" when nothing is."""
    if not 0.0 <= estimate.confidence <= 1.0:
        return f"confidence {estimate.confidence:g} is not between 0 and 1"
    ends = (estimate.point, estimate.low, estimate.high)
    for end in ends:
        if end is not None and not -LARGEST <= end <= LARGEST:
            return f"{end:g} is larger than anything that is measured"
    return ""


def is_sane(value: float) -> bool:
    """Whether a number is one that something can be measured to have: finite, and not absurdly large."""
    return -LARGEST <= value <= LARGEST


def metric_flaw(metric: Metric) -> str:
    """Says what is wrong with a metric's values; "" when nothing is."""
    absurd = next((value for value in metric.values if not is_sane(value)), None)
    return "" if absurd is None else f"{absurd:g} is larger than anything that is measured"


def result_flaw(result: Result) -> str:
    """Says what is wrong with a result as a whole; "" when nothing is."""
    return "" if is_sane(result.duration) else f"a duration of {result.duration:g} s"


def histogram_flaw(histogram: Histogram) -> str:
    """Says what is wrong with counts; "" when nothing is. A bucket stands for values of 64 bits."""
    if not 1 <= histogram.bits <= MOST_BITS:
        return f"bits {histogram.bits} is not between 1 and {MOST_BITS}"
    most = (_VALUE + 1) << histogram.bits
    if any(not -most < index < most for index in histogram.counts):
        return f"counts of a bucket that no value of {_VALUE} bits falls into"
    if any(count < 0 for count in histogram.counts.values()) or histogram.total < 0:
        return "a count is below 0"
    return ""


def samples_flaw(samples: Samples) -> str:
    """Says what is wrong with raw columns; "" when nothing is."""
    for what, columns in (("columns", samples.columns), ("columns of chunks", samples.chunks)):
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            return f"{what} of {min(lengths):,} and of {max(lengths):,} values beside each other"
    calls, rows = samples.chunks.get("call"), len(samples.columns.get("latency", ()))
    if calls and (min(calls) < 0 or max(calls) >= rows):
        return "a chunk of a call that is not among the columns"
    return ""


def timeline_flaw(timeline: Timeline) -> str:
    """Says what is wrong with what a monitor saw; "" when nothing is."""
    seconds, values = len(timeline.seconds), len(timeline.values)
    return "" if seconds == values else f"{values:,} values at {seconds:,} instants"


def price_flaw(price: Price) -> str:
    """Says what is wrong with a price; "" when nothing is. An amount of 0 is one that nobody knows."""
    if price.per not in HOURS:
        return f"per {price.per[:20]!r} is not a time"
    if not 0 < price.amount <= LARGEST_AMOUNT:
        return f"an amount of {price.amount:g}"
    if any(value is not None and not 0 < value <= LARGEST_AMOUNT for value in (price.watts, price.kilowatt_hour)):
        return "a power, or a price of it, that is not above 0"
    return ""


CHECKS: dict[type, Callable[[Any], str]] = {
    Estimate: estimate_flaw,
    Histogram: histogram_flaw,
    Metric: metric_flaw,
    Price: price_flaw,
    Result: result_flaw,
    Samples: samples_flaw,
    Timeline: timeline_flaw,
}
