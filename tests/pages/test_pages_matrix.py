"""Newest values by two dimensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

import sample_project as project
import series_of_runs as made
from benchwright.errors import StoreError
from benchwright.pages.matrix import ABSENT, CHOICES, matrix, offered
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


# ---- the best of a row ----


def _measured(
    kept: Callable[[Sequence[Run]], SqlStore], points: Mapping[str, Sequence[float]], **changes: Any
) -> SqlStore:
    """One case on several runtimes, each with the rounds that are given."""
    runs = []
    for number, (runtime, rounds) in enumerate(points.items()):
        run = made.run_of(number + 1, rounds[0], case=replace(made.CASE, params={"runtime": runtime}))
        first = run.results[0]
        results = [
            replace(
                first,
                id=f"{runtime}-{i}",
                round=i,
                metrics=tuple(
                    replace(m, estimate=replace(m.estimate, point=point, low=None, high=None)) for m in first.metrics
                ),
                **changes,
            )
            for i, point in enumerate(rounds)
        ]
        runs.append(replace(run, id=f"run-{runtime}", results=tuple(results)))
    return kept(runs)


POINTS = {
    "fast": (1.0, 1.01, 0.99, 1.0, 1.02),
    "near": (1.01, 1.02, 0.98, 1.03, 1.0),
    "slow": (2.0, 2.02, 1.98, 2.01, 1.99),
}


def test_the_best_of_a_row_and_what_cannot_be_told_from_it_are_marked(
    kept: Callable[[Sequence[Run]], SqlStore],
) -> None:
    view = matrix(_measured(kept, POINTS), columns="runtime")
    row = view.rows[0]
    assert [_cell(view, row, name).standing for name in ("fast", "near", "slow")] == ["best", "tied", ""]


def test_what_the_instrument_does_not_trust_ties_within_what_noise_explains(
    kept: Callable[[Sequence[Run]], SqlStore],
) -> None:
    points = {"fast": POINTS["fast"], "slower": tuple(1.15 * point for point in POINTS["fast"])}
    busy = {"instrument": {"verdict": "unreliable: others took 158 % of a core"}}
    view = matrix(_measured(kept, points, **busy), columns="runtime")
    assert [cell.standing for cell in view.cells] == ["best", "tied"]


def test_a_row_of_one_cell_has_no_best(kept: Callable[[Sequence[Run]], SqlStore]) -> None:
    view = matrix(_measured(kept, {"fast": POINTS["fast"]}), columns="runtime")
    assert [cell.standing for cell in view.cells] == [""]


def test_the_direction_of_the_metric_decides(archive: SqlStore) -> None:
    for metric, choose in (("latency_p50", min), ("throughput", max)):
        view = matrix(archive, metric=metric, rows="case", columns="runtime")
        for row in range(len(view.rows)):
            cells = [cell for cell in view.cells if cell.row == row]
            best = [cell for cell in cells if cell.standing == "best"]
            if len(cells) > 1:
                assert [one.estimate.point for one in best] == [choose(cell.estimate.point for cell in cells)]
            else:
                assert best == []


def test_rows_come_in_pages(archive: SqlStore) -> None:
    whole = matrix(archive)
    first = matrix(archive, limit=2)
    second = matrix(archive, limit=100, after=int(first.next))
    assert (first.row_count, first.next, second.next) == (len(whole.rows), "2", "")
    assert [*first.rows, *second.rows] == list(whole.rows)
    assert len(first.cells) + len(second.cells) == len(whole.cells)
    assert len(first.missing) + len(second.missing) == len(whole.missing)


def test_a_wide_matrix_is_cut_and_says_so_and_the_best_is_of_all_columns(
    kept: Callable[[Sequence[Run]], SqlStore],
) -> None:
    view = matrix(_measured(kept, POINTS), columns="runtime", widest=2)
    assert (list(view.columns), view.column_count) == (["fast", "near"], 3)
    assert [cell.standing for cell in view.cells] == ["best", "tied"]
    slow_first = {"a": POINTS["slow"], "b": POINTS["slow"], "c": POINTS["fast"]}
    hidden = matrix(_measured(kept, slow_first), columns="runtime", widest=2)
    shown = [cell.standing for cell in hidden.cells if hidden.columns[cell.column] in ("a", "b")]
    assert shown == ["", ""]  # the best of the row is in a column that is not shown


def test_of_many_values_a_page_offers_the_first_and_the_chosen() -> None:
    names = [f"case {number}" for number in range(CHOICES + 5)]
    assert offered(names[:3], names[1]) == names[:3]
    assert offered(names, names[-1]) == [*names[:CHOICES], names[-1]]
