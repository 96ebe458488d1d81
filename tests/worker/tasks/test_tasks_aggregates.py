from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.errors import OptionError
from benchwright.worker.tasks.aggregates import POINTS, CapturedSeries, UncomputableError, canonical, compute
from benchwright.worker.tasks.quantiles import ERROR, Quantiles

numbers = st.floats(min_value=-1e9, max_value=1e9, allow_subnormal=False)


def _series(values: list[float], *names: str, batch: int = 1) -> CapturedSeries:
    series = CapturedSeries(names)
    for i in range(0, len(values), batch):
        part = values[i : i + batch]
        series.hit(len(part), float(i))
        series.add(part, float(i))
    return series


@pytest.mark.parametrize(
    ("name", "workers", "value"),
    [
        ("average", 0, 2.3333333333333335),
        ("last", 0, 4),
        ("first", 0, 1),
        ("min", 0, 1),
        ("max", 0, 4),
        ("total", 0, 7),
        ("count", 0, 3),
        ("median", 0, 2),
        ("p50", 0, 2.0),
        ("p90", 0, 3.6),
        ("p0", 0, 1),
        ("p100", 0, 4),
        ("p99.9", 0, 3.996),
        ("std", 0, 1.5275252316519468),
        ("rate", 0, 1.0),
        ("sum_per_worker", 2, 3.5),
        ("average_aggregate", 2, 4.666666666666667),
    ],
)
def test_one_two_four(name: str, workers: int, value: float) -> None:
    assert compute(_series([1.0, 2.0, 4.0], name), name, workers).point == pytest.approx(value, rel=1e-15)


def test_a_computation_over_workers_needs_their_number() -> None:
    with pytest.raises(OptionError, match="average_aggregate needs the number of workers"):
        compute(_series([1.0], "average_aggregate"), "average_aggregate", 0)


@pytest.mark.parametrize("name", ["mode9", "p101", "p", "averag", "", "P90"])
def test_an_unknown_computation_is_refused_with_the_nearest(name: str) -> None:
    with pytest.raises(OptionError, match="unknown computation") as caught:
        canonical(name)
    assert caught.value.remedy


@given(st.lists(numbers, min_size=1, max_size=200), st.integers(1, 50))
def test_batches_change_nothing_and_numpy_agrees(values: list[float], batch: int) -> None:
    series = _series(values, "std", "p90", batch=batch)
    assert series.sum == pytest.approx(math.fsum(values), rel=1e-12, abs=1e-6)
    assert compute(series, "mean").point == pytest.approx(np.mean(values), rel=1e-9, abs=1e-6)
    assert compute(series, "p90").point == pytest.approx(np.percentile(values, 90), rel=1e-9, abs=1e-6)
    spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
    assert series.std() == pytest.approx(spread, rel=1e-6, abs=1e-3)
    assert (series.minimum, series.maximum) == (min(values), max(values))


@given(st.lists(numbers, min_size=1, max_size=300), st.floats(0, 1))
def test_a_percentile_of_many_values_keeps_its_stated_error(values: list[float], share: float) -> None:
    folded = Quantiles(exact=0)
    folded.add(values)
    ordered = sorted(values)
    place = share * (len(values) - 1)
    low, high = ordered[math.floor(place)], ordered[min(math.floor(place) + 1, len(values) - 1)]
    slack = ERROR * max(abs(low), abs(high)) + 1e-300
    assert folded.error == ERROR
    assert low - slack <= folded.at(share) <= high + slack


def test_a_long_series_keeps_a_bounded_timeline_over_its_whole_length() -> None:
    series = _series([float(i) for i in range(50_000)], "mean", batch=37)
    line = series.timeline("speed", "samples/s", 2.0)
    assert 500 <= len(line.values) <= POINTS
    assert line.values[0] == 0 and line.values[-1] > 90_000
    assert list(line.values) == sorted(line.values)


def test_the_mean_of_many_values_has_an_interval() -> None:
    estimate = compute(_series([1.0, 2.0] * 100, "mean"), "mean")
    assert estimate.low is not None and estimate.high is not None and estimate.low <= 1.5 <= estimate.high
    assert compute(_series([1.0, 2.0], "mean"), "mean").low is None


def test_a_rate_needs_two_times_and_a_count_needs_nothing() -> None:
    with pytest.raises(UncomputableError, match="two different times"):
        compute(_series([1.0], "rate"), "rate")
    with pytest.raises(UncomputableError, match="no number"):
        compute(CapturedSeries(["last"]), "last")
    assert compute(CapturedSeries(["count"]), "count").point == 0
