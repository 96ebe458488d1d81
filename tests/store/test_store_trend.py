"""One value per run, and changes that are called changes only when they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.errors import OptionError, TargetError
from benchwright.records import Estimate, Status, Verdict
from benchwright.stats.summary import combine
from benchwright.store import Point, Series
from benchwright.store.sql import SqlStore
from benchwright.store.trend import look_up, sparkline, steps

Make = Callable[..., Any]


def _series(*rounds: tuple[str, float], half: float = 0.01, better: str = "lower") -> Series:
    points = tuple(
        Point(
            run=run,
            result=f"r{i}",
            round=0,
            started_at="2026-01-01T00:00:00Z",
            status=Status.OK,
            revision=f"commit-{run}",
            estimate=Estimate(point=value, low=value - half, high=value + half),
        )
        for i, (run, value) in enumerate(rounds)
    )
    return Series(key="k", case="m", params="{}", metric="latency", unit="s", better=better, points=points)


def test_rounds_of_a_run_are_one_step() -> None:
    series = _series(("a", 1.0), ("a", 1.1), ("b", 2.0))
    first, second = steps(series)
    assert (first.run, first.rounds, first.revision) == ("a", 2, "commit-a")
    assert first.estimate == combine([point.estimate for point in series.points[:2]])
    assert first.change is None
    assert second.change == pytest.approx(2.0 / 1.05 - 1)


@pytest.mark.parametrize(
    ("after", "better", "verdict"),
    [
        (1.5, "lower", Verdict.WORSE),
        (0.5, "lower", Verdict.BETTER),
        (1.5, "higher", Verdict.BETTER),
        (0.5, "higher", Verdict.WORSE),
        (1.5, "", Verdict.UNCLEAR),
        (1.01, "lower", Verdict.UNCLEAR),
        (0.99, "higher", Verdict.UNCLEAR),
    ],
)
def test_a_change_counts_when_the_intervals_lie_apart(after: float, better: str, verdict: Verdict) -> None:
    assert steps(_series(("a", 1.0), ("b", after), better=better))[1].verdict is verdict


def test_without_an_interval_nothing_is_called_a_change() -> None:
    series = _series(("a", 1.0), ("b", 5.0))
    before, after = series.points
    alone = replace(after, estimate=Estimate(point=5.0, low=None, high=None))
    step = steps(replace(series, points=(before, alone)))[1]
    assert (step.change, step.verdict) == (4.0, Verdict.UNCLEAR)


def test_rounds_that_are_not_ok_do_not_count() -> None:
    series = _series(("a", 1.0), ("a", 9.0), ("b", 1.0))
    first, killed, last = series.points
    (a, b) = steps(replace(series, points=(first, replace(killed, status=Status.KILLED), last)))
    assert (a.rounds, a.estimate.point, b.change) == (1, 1.0, 0.0)


def test_after_zero_there_is_no_ratio() -> None:
    assert steps(_series(("a", 0.0), ("b", 5.0)))[1].change is None


@given(
    st.lists(
        st.floats(allow_subnormal=False, allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300),
        max_size=50,
    )
)
def test_a_sparkline_keeps_the_order_of_its_values(values: list[float]) -> None:
    bars = sparkline(values)
    assert len(bars) == len(values)
    ordered = [bars[i] for i in sorted(range(len(values)), key=values.__getitem__)]
    assert ordered == sorted(ordered)
    if len(set(values)) > 1:
        assert {ordered[0], ordered[-1]} == {"▁", "█"}


# ---- targets ----


@pytest.fixture
def filled(store: SqlStore, make_run: Make, make_result: Make) -> SqlStore:
    results = (
        make_result("a"),
        make_result("b", case="bench.py::encode"),
        make_result("c", case="bench.py::decode"),
        make_result("d", case="broken.onnx", status=Status.FAILED),
    )
    store.add_run(make_run("run-1", results=results))
    return store


@pytest.mark.parametrize(
    ("target", "cases"),
    [
        ("model.onnx", {"model.onnx"}),
        ("some/where/model.onnx", {"model.onnx"}),
        ("mod*", {"model.onnx"}),
        ("bench.py", {"bench.py::encode", "bench.py::decode"}),
        ("./bench.py::encode", {"bench.py::encode"}),
    ],
)
def test_a_target_is_found(filled: SqlStore, target: str, cases: set[str]) -> None:
    series, misses = look_up(filled, target, metrics=(), runs=5)
    assert {one.case for one in series} == cases
    assert {one.metric for one in series} == {"latency_p50", "throughput"}
    assert misses == []


def test_a_case_that_never_worked_has_only_misses(filled: SqlStore) -> None:
    series, misses = look_up(filled, "broken.onnx", metrics=(), runs=5)
    assert (series, [miss.status for miss in misses]) == ([], [Status.FAILED])


def test_metrics_are_chosen_by_name(filled: SqlStore) -> None:
    series, _ = look_up(filled, "model.onnx", metrics=["latency"], runs=5)
    assert [one.metric for one in series] == ["latency"]
    with pytest.raises(OptionError, match=r"has no metric 'latncy'\n  did you mean 'latency'"):
        look_up(filled, "model.onnx", metrics=["latncy"], runs=5)


def test_series_come_in_the_order_of_their_params(store: SqlStore, make_run: Make, make_result: Make) -> None:
    store.add_run(make_run("run-1", results=tuple(make_result(f"r{batch}", batch=batch) for batch in (16, 2, 1))))
    series, _ = look_up(store, "model.onnx", metrics=(), runs=5)
    assert [(one.params[-4:].strip(':"}'), one.metric) for one in series] == [
        (batch, metric) for batch in ("1", "2", "16") for metric in ("latency_p50", "throughput")
    ]


def test_an_unknown_target_names_the_nearest(filled: SqlStore) -> None:
    with pytest.raises(TargetError, match=r"no results for 'x/modl.onnx'.*\n  did you mean 'model.onnx'"):
        look_up(filled, "x/modl.onnx", metrics=(), runs=5)


def test_an_empty_store_has_no_target(store: SqlStore) -> None:
    with pytest.raises(TargetError, match="benchwright run TARGET makes some"):
        look_up(store, "model.onnx", metrics=(), runs=5)
