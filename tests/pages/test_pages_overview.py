"""What is new, worse, better and failing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

import sample_project as project
from benchwright.pages.names import suite_of
from benchwright.pages.overview import overview
from benchwright.records import Run, Status, Verdict
from benchwright.store.archive import SeriesFilter
from benchwright.store.sql import SqlStore


def test_it_tells_what_a_visitor_should_look_at(archive: SqlStore) -> None:
    view = overview(archive)
    assert [run.id for run in view.runs] == [project.run_id(i) for i in range(119, 109, -1)]
    assert [(one.findings, one.worse, one.better) for one in view.causes] == [(4, 4, 0), (2, 0, 2)]
    assert [view.counts[name] for name in ("open", "causes")] == [6, 2]
    assert len(view.worse) == 1
    assert {(one.case, one.verdict) for one in view.worse} == {("vision/resnet50.onnx", Verdict.WORSE)}
    assert all(one.culprit and one.culprit.subject == project.CULPRIT_SUBJECT for one in view.worse)
    assert all(len(one.spark) == 30 for one in view.worse)
    assert {one.params["runtime"] for one in view.better} == {"openvino"}
    assert [*view.worse, *view.better] == [one.lead for one in view.causes]
    assert view.counts["runs"] == 120
    assert view.counts["findings"] == 8
    assert view.counts["points"] == sum(one.count for one in archive.series(SeriesFilter()))


def test_what_fails_is_told_with_its_reason(archive: SqlStore) -> None:
    (failing,) = overview(archive).failing
    assert (failing.case, failing.status, failing.run) == ("audio/whisper.onnx", Status.FAILED, project.run_id(119))
    assert failing.machine_name == "Example Server 7, 32 cores"
    assert "5.6 GiB wanted" in failing.reason


def test_suites_come_by_machine_and_the_changed_first(archive: SqlStore) -> None:
    suites = overview(archive).suites
    assert len(suites) == 8
    assert [one.suite for one in suites[:2]] == ["vision", "vision"]
    assert (suites[0].worse, suites[0].better, suites[0].failing, suites[0].series) == (2, 1, 0, 42)
    assert [(one.suite, one.failing) for one in suites if one.failing] == [("audio", 1)]
    assert suites[0].sparks[0].findings  # a changed one leads
    assert all(one.suite == suite_of(line.case) for one in suites for line in one.sparks)


def test_a_case_that_works_again_fails_no_more(kept: Callable[[Sequence[Run]], SqlStore]) -> None:
    fine, broken = project.run(97), project.run(101)
    assert [one.case for one in overview(kept([broken, fine])).failing] == ["audio/whisper.onnx"]
    later = "2026-11-01T00:00:00+00:00"
    results = tuple(replace(one, id=f"{one.id}-again", started_at=later) for one in fine.results)
    again = replace(fine, id="again", started_at=later, results=results)
    assert list(overview(kept([again])).failing) == []


def test_an_empty_store_has_an_overview(kept: Callable[[Sequence[Run]], SqlStore]) -> None:
    view = overview(kept([]))
    assert (list(view.runs), list(view.suites), list(view.failing), view.counts["runs"]) == ([], [], [], 0)


@pytest.mark.parametrize(
    ("case", "suite"),
    [
        ("vision/resnet50.onnx", "vision"),
        ("bench.py::encode", "bench"),
        ("a::b", "a"),
        ("plain", "plain"),
        ("/x", "/x"),
        ("alexa_v0.1.onnx", "alexa_v0.1"),
        ("alexa_v0.1", "alexa_v0.1"),
        ("model.tflite", "model"),
        ("tasks.toml::train", "tasks"),
        ("my.tasks.toml::train", "my.tasks"),
        ("package.module.Class.method", "package"),
        ("gzip -k data.v2 out.bin", "gzip -k data.v2 out.bin"),
    ],
)
def test_a_suite_is_what_names_begin_with_without_a_known_ending(case: str, suite: str) -> None:
    assert suite_of(case) == suite
