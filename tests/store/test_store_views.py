"""Views are the same on every database, and whatever order the runs came in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sample_project as project
import sample_store
from benchwright.pages.compare import compare
from benchwright.pages.findings import finding_view, findings_page
from benchwright.pages.matrix import matrix
from benchwright.pages.results import result_view
from benchwright.pages.series import series_page, series_view
from benchwright.pages.view_json import dumps
from benchwright.records import ResultWarning
from benchwright.store.archive import SeriesFilter
from benchwright.store.sql import SqlStore

RUNS = (78, 80, 81, 82, 83, 118, 119)  # around the regression, and the newest
Look = Callable[[SqlStore], Any]


@pytest.fixture(scope="module")
def both(
    fresh_url: Callable[[Path], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[SqlStore, SqlStore]]:
    """The database under test, and an SQLite file to which the same was added backwards."""
    folder = tmp_path_factory.mktemp("stores")
    findings = [one for one in sample_store.findings() if one.effect.point == 1.12]
    with (
        closing(SqlStore(fresh_url(folder))) as store,
        closing(SqlStore(f"sqlite:///{folder / 'backwards.db'}")) as backwards,
    ):
        for number in RUNS:
            store.add_run(project.run(number))
        for number in reversed(RUNS):
            backwards.add_run(project.run(number))
        for finding in findings:
            store.keep_finding(finding)
            backwards.keep_finding(finding)
        yield store, backwards


@pytest.mark.parametrize(
    "look",
    [
        pytest.param(lambda store: series_page(store, SeriesFilter(words="Resnet P50")), id="list of series"),
        pytest.param(lambda store: series_view(store, _key(store)), id="series"),
        pytest.param(lambda store: compare(store, f"run:{project.run_id(80)}", f"run:{project.run_id(82)}"), id="runs"),
        pytest.param(
            lambda store: compare(store, f"revision:{project.revision(40).id}", f"revision:{project.revision(41).id}"),
            id="revisions",
        ),
        pytest.param(lambda store: compare(store, "runtime:openvino", "runtime:torch"), id="runtimes"),
        pytest.param(lambda store: matrix(store, baseline="torch"), id="matrix"),
        pytest.param(lambda store: result_view(store, store.run(project.run_id(118)).results[0].id), id="result"),
        pytest.param(findings_page, id="findings"),
        pytest.param(lambda store: finding_view(store, store.findings()[0].id), id="finding"),
    ],
)
def test_a_view_is_the_same(both: tuple[SqlStore, SqlStore], look: Look) -> None:
    """Lists of runs are not among them: those are in the order in which runs were added."""
    ours, theirs = (_told(look(store)) for store in both)
    assert ours == theirs


def test_how_a_result_ended_is_told_whatever_else_its_document_says(store: SqlStore) -> None:
    fake = '"error":{"kind":"no"},"instrument":{"verdict":"no"},"status":"ok","environment":{'
    run = project.run(119)
    results = [
        replace(
            one,
            case=replace(
                one.case, name=f"{one.case.name} {fake}", params={**one.case.params, "round": 1, "status": "ok"}
            ),
            details={"error": {"kind": "no"}, "instrument": {"verdict": "no"}, "environment": {}},
            log_tail=fake,
            warnings=(ResultWarning(code=fake, seen=fake, remedy=fake),),
        )
        for one in run.results
    ]
    store.add_run(replace(run, results=tuple(results)))
    told = store.outcomes([run.id])
    assert [one.result for one in told] == [one.id for one in results]
    for outcome, result in zip(told, results, strict=True):
        assert json.loads(outcome.params) == dict(result.case.params)
        assert (outcome.status, outcome.round, outcome.version) == (result.status, result.round, result.case.version)
        assert outcome.verdict == str(result.instrument.get("verdict", ""))
        assert outcome.failure == (replace(result.error, log_tail="") if result.error else None)


def _key(store: SqlStore) -> str:
    return sorted(
        one.series.key for one in store.series(SeriesFilter(case="vision/resnet50.onnx", metric="latency_p50"))
    )[0]


def _told(view: Any) -> Any:
    """The view without the numbers of rows, and lists of series in one order."""
    return _settled(json.loads(dumps(view)))


def _settled(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _settled(item) for name, item in value.items() if name not in ("result", "sparks", "next")}
    if isinstance(value, list):
        items = [_settled(item) for item in value]
        series = bool(items) and all(isinstance(item, dict) and ("key" in item or "sentence" in item) for item in items)
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True)) if series else items
    return value
