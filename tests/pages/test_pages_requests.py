"""Served models on pages: the requests of a result, the sweeps of a run, series of their metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from benchwright import schema
from benchwright.pages.results import result_view
from benchwright.pages.runs import run_view
from benchwright.pages.series import series_page
from benchwright.records import Run
from benchwright.store.archive import SeriesFilter
from benchwright.store.sql import SqlStore

Keep = Callable[[Sequence[Run]], SqlStore]


def test_a_result_has_its_slowest_requests_and_what_failed(kept: Keep, served_failures: Run) -> None:
    archive = kept([served_failures])
    view = result_view(archive, served_failures.results[0].id)
    assert view.requests is not None
    made = len(served_failures.results[0].samples[0].columns["end"])
    assert view.requests.made == made and len(view.requests.slowest) == min(50, made)
    assert {kind.kind: kind.first for kind in view.requests.failures}["stream_error"] == "the engine died"
    assert len(view.requests.failed_at) == 3
    assert any(len(one.ticks) == 8 for one in view.requests.slowest)


def test_its_distributions_are_of_what_its_metrics_are_of(kept: Keep, served_failures: Run) -> None:
    archive = kept([served_failures])
    view = result_view(archive, served_failures.results[0].id)
    found = {one.column: one for one in view.distributions}
    assert [*found] == ["latency", "service", "lateness", "ttft", "itl"]
    metrics = {metric.name: metric.count for metric in view.metrics}
    assert {name: found[name].count for name in ("latency", "ttft", "itl")} == {
        name: metrics[f"{name}_p50"] for name in ("latency", "ttft", "itl")
    }
    assert (found["itl"].of, found["ttft"].of) == ("gap", "request") and len(found["ttft"].over_time) == metrics["ttft"]


@pytest.mark.soak
def test_a_run_has_its_sweep_with_the_knee(kept: Keep, served_sweep: Run, served_rates: Run) -> None:
    archive = kept([served_sweep, served_rates])
    view = run_view(archive, served_sweep.id)
    (sweep,) = view.sweeps
    assert [mark.load for mark in sweep.points] == [1, 2, 3, 4, 8] and sweep.kind == "users"
    assert sweep.points[sweep.knee].words in sweep.text and sweep.points[sweep.knee].load < 8
    assert view.requests[0].endswith("none failed")
    assert all(mark.goodput is not None for mark in run_view(archive, served_rates.id).sweeps[0].points)
    assert view.metrics[:4] == ["latency_p50", "throughput", "ttft_p50", "itl_p50"]


@pytest.mark.parametrize("metric", ["ttft_p50", "itl_p50", "output_tokens_rate", "errors"])
def test_series_are_of_their_metrics_too(kept: Keep, served_sweep: Run, metric: str) -> None:
    archive = kept([served_sweep])
    found = series_page(archive, SeriesFilter(metric=metric))
    assert len(found.series) == 5
    result = served_sweep.results[0]
    assert schema.series_key(result.case, result.environment, metric) in {one.key for one in found.series}


def test_what_is_no_served_model_has_neither(archive: SqlStore) -> None:
    view = run_view(archive, "last")
    assert view.sweeps == [] and view.requests == []
    assert result_view(archive, view.cases[0].results[0]).requests is None
