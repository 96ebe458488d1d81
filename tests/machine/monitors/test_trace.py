from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.machine.monitors.trace import Trace, metric
from benchwright.records import Estimate


@given(count=st.integers(1, 5000), limit=st.integers(2, 100))
def test_a_trace_stays_below_its_limit_with_even_spacing(count: int, limit: int) -> None:
    trace = Trace("rss", "B", limit)
    for i in range(count):
        trace.add(i / 10, i)
    line = trace.timeline()
    steps = {round((b - a) * 10) for a, b in zip(line.seconds, line.seconds[1:], strict=False)}
    assert 1 <= len(line.values) <= limit
    assert len(steps) <= 1
    assert line.seconds[0] == 0
    assert count <= limit or len(line.values) >= limit // 2
    assert all(value == round(second * 10) for second, value in zip(line.seconds, line.values, strict=True))


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=300))
def test_mean_and_maximum_count_every_value(values: list[int]) -> None:
    trace = Trace("rss", "B", limit=8)
    for i, value in enumerate(values):
        trace.add(i, value)
    assert trace.maximum == max(values)
    assert trace.mean().point == pytest.approx(statistics.fmean(values))


def test_the_interval_is_that_of_ten_batch_means() -> None:
    trace = Trace("cpu", "%")
    for i in range(100):
        trace.add(i, (i // 10) % 2)  # batches of ten zeros and ten ones: each batch mean is 0 or 1
    mean = trace.mean()
    assert mean.low is not None and mean.high is not None
    assert mean.point == 0.5
    assert mean.high - mean.point == pytest.approx(2.262 * 0.52705 / 10**0.5, rel=1e-4)


def test_few_values_have_no_interval() -> None:
    trace = Trace("cpu", "%")
    for i in range(19):
        trace.add(i, i)
    assert (trace.mean().low, trace.mean().high) == (None, None)


def test_a_single_figure_becomes_a_metric_without_interval() -> None:
    found = metric("io_read", "B", 7)
    assert (found.estimate.point, found.estimate.low, type(found.estimate.point)) == (7.0, None, float)
    estimate = Estimate(point=1.0, low=0.5, high=1.5)
    assert metric("cpu", "%", estimate).estimate is estimate
