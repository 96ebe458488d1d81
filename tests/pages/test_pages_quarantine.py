"""What a machine in quarantine measured is shown and marked, and neither best nor worse than anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

import series_of_runs as made
from benchwright import schema
from benchwright.analysis.rows import rows
from benchwright.pages.compare import compare
from benchwright.pages.compared_lines import LineFilter
from benchwright.pages.matrix import matrix
from benchwright.pages.pareto import pareto
from benchwright.pages.runs import runs_page
from benchwright.records import Run, Verdict
from benchwright.records.machines import Quarantine
from benchwright.records.quarantine_marks import is_marked, mark_run, unmark
from benchwright.report.csv import run_csv
from benchwright.report.html import html_page
from benchwright.store.files.transfer import export_runs, read_runs
from benchwright.store.sql import SqlStore

Keep = Callable[[Sequence[Run]], SqlStore]
BATCHES = (2, 4, 16)


def _runs() -> list[Run]:
    """Three runs of a batch size each: 1 s, 0.5 s and 2 s."""
    cases = [replace(made.CASE, params={"batch_size": size}) for size in BATCHES]
    return [made.run_of(i, seconds, case=cases[i]) for i, seconds in enumerate((1.0, 0.5, 2.0))]


def _hold(store: SqlStore, run: Run) -> None:
    """Puts the machine into quarantine while it measured the run, and no other."""
    since = round(datetime.fromisoformat(run.started_at).timestamp() * 1_000_000)
    key = schema.environment_key(made.ENVIRONMENT)
    store.quarantine(Quarantine(machine=key, since=since, until=since + 1, reason="fan broken"))


def test_the_best_of_a_row_is_chosen_among_what_is_judged(kept: Keep) -> None:
    runs = _runs()
    store = kept(runs)

    def standings() -> list[tuple[str, bool]]:
        view = matrix(store, rows="case", columns="batch_size")
        return [(cell.standing, cell.is_held) for cell in view.cells]

    assert standings() == [("", False), ("best", False), ("", False)]
    _hold(store, runs[1])
    assert standings() == [("best", False), ("", True), ("", False)]
    _hold(store, runs[2])
    assert standings() == [("", False), ("", True), ("", True)]  # nothing to choose from


def test_what_is_held_is_on_no_front_and_beats_nothing(kept: Keep) -> None:
    runs = _runs()
    store = kept(runs)

    def standings() -> dict[str, tuple[str, str | None, bool]]:
        points = pareto(store).points
        by = [points[one.beaten_by].label if one.beaten_by is not None else None for one in points]
        return {one.label: (one.standing, beaten, one.is_held) for one, beaten in zip(points, by, strict=True)}

    assert standings() == {
        "batch_size=4": ("front", None, False),
        "batch_size=2": ("dominated", "batch_size=4", False),
        "batch_size=16": ("dominated", "batch_size=4", False),
    }
    _hold(store, runs[1])
    assert standings() == {
        "batch_size=2": ("front", None, False),
        "batch_size=4": ("unclear", None, True),
        "batch_size=16": ("dominated", "batch_size=2", False),
    }


def test_a_front_of_nothing_but_held_points_is_empty(kept: Keep) -> None:
    runs = _runs()[:1]
    store = kept(runs)
    _hold(store, runs[0])
    assert [(one.standing, one.is_held) for one in pareto(store).points] == [("unclear", True)]


def test_a_comparison_with_a_held_side_is_unclear_at_once_and_says_why(kept: Keep) -> None:
    runs = [made.run_of(0, 1.0), made.run_of(1, 3.0), made.run_of(2, 3.0)]
    store = kept(runs)
    whole = ("run:run-0000", "run:run-0001", "run:run-0002")
    asked = LineFilter(metric="latency_p50")
    (line,) = compare(store, *whole, shown=asked).lines
    assert (line.verdict, line.others[0].verdict) == (Verdict.WORSE, Verdict.WORSE)
    _hold(store, runs[1])
    view = compare(store, *whole, shown=asked)  # what was kept of the comparison before does not count
    (line,) = view.lines
    assert (line.verdict, line.others[0].verdict) == (Verdict.UNCLEAR, Verdict.WORSE)
    assert line.sentence == "unclear: 3 times as long, measured in quarantine"
    assert [note for note in view.notes if "quarantine" in note] == [
        "run-0001: bench.py::encode batch_size=8: the second run was measured in quarantine: shown, and not judged"
    ]
    assert [mean.columns[0].cases for mean in view.means if mean.metric == "latency_p50"] == [0]  # no part of a mean
    assert [mean.columns[1].cases for mean in view.means if mean.metric == "latency_p50"] == [1]
    assert view.counts == {"unclear": len(view.judged)}


def test_lists_reports_and_files_mark_what_is_held(kept: Keep, tmp_path: Path) -> None:
    runs = _runs()
    store = kept(runs)
    _hold(store, runs[1])
    assert [one.held for one in runs_page(store).runs] == [0, 2, 0]  # its rounds
    marked, other = (mark_run(runs[i], store.quarantines()) for i in (1, 2))
    assert other == runs[2] and mark_run(marked, store.quarantines()) == marked
    assert all(is_marked(result) for result in marked.results)
    assert unmark(marked.results[0]) == runs[1].results[0]
    assert "measured in quarantine: fan broken" in html_page([marked]) and "quarantine" not in html_page([other])
    assert run_csv(marked).splitlines()[1].endswith(",true") and run_csv(other).splitlines()[1].endswith(",false")
    [row] = rows(marked)
    assert row.is_held
    export_runs(store, [run.id for run in runs], str(tmp_path / "all.parquet"))
    assert parquet_table(tmp_path / "all.parquet")["quarantined"] == [*[False] * 2, *[True] * 2, *[False] * 2]
    assert [*read_runs(str(tmp_path / "all.parquet"))] == runs


def parquet_table(path: Path) -> dict[str, list[object]]:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet

    found: dict[str, list[object]] = pyarrow.parquet.read_table(path).to_pydict()
    return found
