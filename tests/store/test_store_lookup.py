"""Which series a target means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from benchwright.analysis.judged_metrics import headline_metrics
from benchwright.errors import OptionError, StoreError, TargetError
from benchwright.records import Status
from benchwright.store.lookup import look_up
from benchwright.store.sql import SqlStore

Make = Callable[..., Any]


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
    series, misses = look_up(filled, target, metrics=(), runs=5, usual=headline_metrics)
    assert {one.case for one in series} == cases
    assert {one.metric for one in series} == {"latency_p50", "throughput"}
    assert misses == []


@pytest.mark.parametrize("target", ["http://host:1/v1/chat", "kserve:http://host:1/v1/chat", "host:1/v1/chat"])
def test_a_served_model_is_found_by_its_address(
    store: SqlStore, make_run: Make, make_result: Make, target: str
) -> None:
    store.add_run(make_run("run-1", results=(make_result("r1", case="host:1/v1/chat"),)))
    series, _ = look_up(store, target, metrics=(), runs=5, usual=headline_metrics)
    assert {one.case for one in series} == {"host:1/v1/chat"}


def test_a_case_that_never_worked_has_only_misses(filled: SqlStore) -> None:
    series, misses = look_up(filled, "broken.onnx", metrics=(), runs=5, usual=headline_metrics)
    assert (series, [miss.status for miss in misses]) == ([], [Status.FAILED])


def test_metrics_are_chosen_by_name(filled: SqlStore) -> None:
    series, _ = look_up(filled, "model.onnx", metrics=["latency"], runs=5, usual=headline_metrics)
    assert [one.metric for one in series] == ["latency"]
    with pytest.raises(OptionError, match=r"has no metric 'latncy'\n  did you mean 'latency'"):
        look_up(filled, "model.onnx", metrics=["latncy"], runs=5, usual=headline_metrics)


def test_series_come_in_the_order_of_their_params(store: SqlStore, make_run: Make, make_result: Make) -> None:
    store.add_run(make_run("run-1", results=tuple(make_result(f"r{batch}", batch=batch) for batch in (16, 2, 1))))
    series, _ = look_up(store, "model.onnx", metrics=(), runs=5, usual=headline_metrics)
    assert [(one.params[-4:].strip(':"}'), one.metric) for one in series] == [
        (batch, metric) for batch in ("1", "2", "16") for metric in ("latency_p50", "throughput")
    ]


def test_an_unknown_target_names_the_nearest(filled: SqlStore) -> None:
    with pytest.raises(TargetError, match=r"no results for 'x/modl.onnx'.*\n  did you mean 'model.onnx'"):
        look_up(filled, "x/modl.onnx", metrics=(), runs=5, usual=headline_metrics)


def test_an_empty_store_has_no_target(store: SqlStore) -> None:
    with pytest.raises(TargetError, match="benchwright run TARGET makes some"):
        look_up(store, "model.onnx", metrics=(), runs=5, usual=headline_metrics)


# ---- the runs of a target ----


@pytest.fixture
def several(store: SqlStore, make_run: Make, make_result: Make) -> SqlStore:
    """Four runs; the model is in the first and the third."""
    for number, case in enumerate(("model.onnx", "bench.py::encode", "model.onnx", "bench.py::decode")):
        run = make_run(f"run-{number}", results=(make_result(f"r{number}", case=case),))
        store.add_run(replace(run, started_at=f"2026-03-0{number + 1}T09:00:00Z"))
    return store


@pytest.mark.parametrize(
    ("reference", "run"),
    [
        ("last:model.onnx", "run-2"),
        ("last~1:model.onnx", "run-0"),
        ("last~1:./some/where/model.onnx", "run-0"),
        ("last:bench.py", "run-3"),
        ("last~1:bench.py", "run-1"),
        ("last:bench.py::encode", "run-1"),
        ("last:*::enc*", "run-1"),
        ("last~1", "run-2"),
    ],
)
def test_runs_are_counted_among_those_that_measured_the_target(several: SqlStore, reference: str, run: str) -> None:
    assert several.find(reference) == run


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("last~2:model.onnx", "no run 2 before the last of 'model.onnx': 2 runs in this store measured it"),
        ("last:modell.onnx", "no run in this store measured 'modell.onnx'\n  did you mean 'model.onnx'"),
        ("last~999999999999999999:model.onnx", "before the last of 'model.onnx'"),
        ("last~99999999999999999999:model.onnx", "no run, tag or commit 'last~99999999999999999999:model.onnx'"),
    ],
)
def test_a_run_of_a_target_that_is_not_there_is_told(several: SqlStore, reference: str, said: str) -> None:
    with pytest.raises(StoreError, match=said):
        several.find(reference)
