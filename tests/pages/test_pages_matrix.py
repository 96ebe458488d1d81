"""Newest values by two dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

import sample_project as project
import series_of_runs as made
from benchwright.errors import StoreError
from benchwright.pages.matrix import ABSENT, matrix
from benchwright.pages.shapes import Matrix
from benchwright.records import Run
from benchwright.store.sql import SqlStore


def test_cases_by_runtimes_is_what_one_sees_first(archive: SqlStore) -> None:
    view = matrix(archive)
    assert (view.metric, view.unit, view.row_dimension, view.column_dimension) == (
        "latency_p50",
        "s",
        "case",
        "runtime",
    )
    assert list(view.columns) == ["onnxruntime", "openvino", "torch", ABSENT]
    assert view.dimensions[:2] == ["case", "machine"]
    assert view.chosen["batch_size"] == "1"
    assert list(view.choices["batch_size"]) == ["1", "8"]
    assert _cell(view, "tokenizer.py::encode", ABSENT) is not None  # it has no runtime and no batch size, and is there


def test_a_cell_holds_the_rounds_of_the_newest_run_together(archive: SqlStore) -> None:
    machine = "Example Core 9000, 8 cores"
    view = matrix(archive, chosen={"machine": machine, "batch_size": "8"})
    cell = _cell(view, "vision/resnet50.onnx", "torch")
    assert cell.run == project.run_id(118)
    run = archive.run(cell.run, samples=False)
    rounds = [
        one.metric("latency_p50").estimate.point  # type: ignore[union-attr]
        for one in run.results
        if one.case.name == "vision/resnet50.onnx" and one.case.params["runtime"] == "torch"
        if one.case.params["batch_size"] == 8
    ]
    assert cell.estimate.point == pytest.approx(sum(rounds) / len(rounds), rel=1e-12)
    assert cell.estimate.method == "t over 2 processes"


def test_relative_to_a_column(archive: SqlStore) -> None:
    view = matrix(archive, baseline="openvino")
    base, other = (_cell(view, "text/bert.onnx", name) for name in ("openvino", "torch"))
    assert base.relative == 1.0
    assert other.relative == other.estimate.point / base.estimate.point
    assert _cell(view, "tokenizer.py::encode", ABSENT).relative is None


def test_any_dimensions_and_the_case_is_then_chosen(archive: SqlStore) -> None:
    view = matrix(
        archive, metric="throughput", rows="batch_size", columns="machine", chosen={"case": "vision/resnet50.onnx"}
    )
    assert (list(view.rows), view.better) == (["1", "8"], "higher")
    assert len(view.columns) == 2
    assert view.chosen["case"] == "vision/resnet50.onnx"
    assert "runtime" in view.chosen


def test_numbers_stand_in_the_order_of_their_size(kept: Callable[[Sequence[Run]], SqlStore]) -> None:
    case = made.CASE
    runs = [
        replace(run, id=f"run-{size}", results=tuple(replace(one, id=f"{one.id}-{size}") for one in run.results))
        for size in (16, 2, 128)
        for run in [made.run_of(1, 1.0, case=replace(case, params={"batch_size": size}))]
    ]
    view = matrix(kept(runs), rows="batch_size", columns="machine")
    assert list(view.rows) == ["2", "16", "128"]


@pytest.mark.parametrize(
    ("asked", "trouble"),
    [
        ({"metric": "latency_p5"}, "did you mean 'latency_p50'"),
        ({"rows": "runtim"}, "did you mean 'runtime'"),
        ({"columns": "color"}, "known: "),
        ({"baseline": "openvin"}, "did you mean 'openvino'"),
        ({"chosen": {"batch_sise": "1"}}, "did you mean 'batch_size'"),
        ({"chosen": {"batch_size": "7"}}, "no batch_size '7'"),
    ],
)
def test_an_unknown_word_is_refused_with_the_nearest(archive: SqlStore, asked: dict[str, Any], trouble: str) -> None:
    with pytest.raises(StoreError, match=trouble):
        matrix(archive, **asked)


def test_an_empty_store_has_an_empty_matrix(kept: Callable[[Sequence[Run]], SqlStore]) -> None:
    view = matrix(kept([]))
    assert (view.metric, list(view.cells), list(view.metrics)) == ("", [], [])


def _cell(view: Matrix, row: str, column: str) -> Any:
    place = view.rows.index(row), view.columns.index(column)
    return next(cell for cell in view.cells if (cell.row, cell.column) == place)
