"""Lists of series, and one series with marks, notes and relatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

import sample_project as project
import series_of_runs as made
from benchwright.errors import StoreError
from benchwright.pages.lines import milliseconds
from benchwright.pages.series import series_page, series_view
from benchwright.records import Run
from benchwright.records.findings import State
from benchwright.store.archive import Annotation, SeriesFilter
from benchwright.store.sql import SqlStore


def test_a_page_goes_on_where_the_last_one_ended(archive: SqlStore) -> None:
    seen: list[str] = []
    after = 0
    while True:
        page = series_page(archive, SeriesFilter(words="RESNET p50", after=after, limit=5))
        seen += [f"{line.key} {line.unit}" for line in page.series]
        if not page.next:
            break
        after = int(page.next)
    assert len(seen) == len(set(seen)) == 12  # three runtimes, two batch sizes, two machines
    assert page.cases == ["audio/whisper.onnx", "text/bert.onnx", "tokenizer.py::encode", "vision/resnet50.onnx"]
    assert "latency_p50" in page.metrics
    assert sorted(page.machines.values()) == ["Example Core 9000, 8 cores", "Example Server 7, 32 cores"]


def test_a_line_has_the_newest_values_and_the_open_findings(archive: SqlStore) -> None:
    page = series_page(archive, SeriesFilter(words="onnxruntime", case="vision/*", metric="latency_p50"))
    line = next(one for one in page.series if one.params["batch_size"] == 1)
    columns = archive.columns(line.key, line.unit)
    assert list(line.spark) == columns.point[-30:].tolist()
    assert line.last == columns.point[-1]
    assert (line.count, line.last_at) == (120, int(columns.at[-1]) // 1000)
    assert list(line.findings) == [one.id for one in archive.findings(states=[State.OPEN], series=[line.key])]
    assert line.findings


def test_a_series_has_its_points_with_runs_and_commits(archive: SqlStore) -> None:
    (line,) = series_page(
        archive, SeriesFilter(case="tokenizer*", metric="latency_p50", machine=_machine(archive, 0))
    ).series
    view = series_view(archive, line.key)
    lengths = {
        len(column) for column in (view.at, view.point, view.low, view.high, view.run, view.revision, view.result)
    }
    assert lengths == {120}
    assert list(view.at) == sorted(view.at)
    assert view.runs[view.run[0]] == project.run_id(0)
    last = view.revisions[view.revision[-1]]
    assert view.subjects[last] == project.revision(59).subject
    assert view.line.count == 120
    first = archive.result(archive.result_ids([int(view.result[0])])[int(view.result[0])])[1]
    assert first.metric("latency_p50").estimate.point == view.point[0]  # type: ignore[union-attr]


def test_a_mark_lies_at_the_first_point_of_its_run(archive: SqlStore) -> None:
    finding = next(one for one in archive.findings(states=[State.RESOLVED]) if one.case == "tokenizer.py::encode")
    (mark,) = series_view(archive, finding.series).marks
    start = archive.header(project.run_id(2 * project.SLOW_FROM)).started_at
    assert (mark.at, mark.finding, mark.state) == (milliseconds(start), finding.id, State.RESOLVED)


def test_related_are_other_metrics_first_then_the_same_elsewhere(archive: SqlStore) -> None:
    chosen = SeriesFilter(case="vision/resnet50.onnx", metric="latency_p50")
    view = series_view(archive, series_page(archive, chosen).series[0].key)
    here = view.line
    others = [one for one in view.related if (one.params, one.machine) == (here.params, here.machine)]
    assert [one.metric for one in view.related[: len(others)]] == [one.metric for one in others]
    assert len(others) == 6
    assert {one.metric for one in view.related[len(others) :]} == {"latency_p50"}
    assert len(view.related) == 6 + 11
    assert here.key not in {one.key for one in view.related}


def test_notes_of_the_series_and_of_all(kept: Callable[[Sequence[Run]], SqlStore]) -> None:
    archive = kept([made.run_of(i, 1.0) for i in range(2)])
    key = archive.series(SeriesFilter(metric="latency_p50"))[0].series.key
    note = Annotation(id=0, series=key, at=1_772_323_200_000_000, text="<b>new disk</b>", who="ada", made_at="")
    archive.annotate(note)
    archive.annotate(replace(note, series="", text="all"))
    archive.annotate(replace(note, series="other"))
    found = series_view(archive, key).notes
    assert {(one.text, one.everywhere, one.at) for one in found} == {
        ("<b>new disk</b>", False, 1_772_323_200_000),
        ("all", True, 1_772_323_200_000),
    }


def test_a_value_without_an_interval_has_a_gap(archive: SqlStore) -> None:
    (line,) = series_page(
        archive, SeriesFilter(case="tokenizer*", metric="rss_peak", machine=_machine(archive, 1))
    ).series
    view = series_view(archive, line.key, "B")
    assert np.isnan(np.asarray(view.low, dtype=float)).all()


@pytest.mark.parametrize(("key", "unit"), [("nope", ""), ("", ""), ("nope", "s")])
def test_an_unknown_series_is_refused(archive: SqlStore, key: str, unit: str) -> None:
    with pytest.raises(StoreError, match="no series"):
        series_view(archive, key, unit)


def test_an_unknown_unit_of_a_known_series_is_refused(archive: SqlStore) -> None:
    key = archive.series(SeriesFilter(limit=1))[0].series.key
    with pytest.raises(StoreError, match="in 'parsec'"):
        series_view(archive, key, "parsec")


def _machine(archive: SqlStore, number: int) -> str:
    names = {"Example Core 9000": 0, "Example Server 7": 1}
    return next(key for key, one in archive.environments().items() if names[str(one.machine["cpu"])] == number)
