"""Which series a target means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchwright.errors import OptionError, TargetError
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
