"""The page says what the command says; other sides pair by what is left of a case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

import sample_project as project
import sample_runs
from benchwright.analysis.comparison import compare_runs, notes_of
from benchwright.errors import OptionError, StoreError
from benchwright.pages.compare import compare
from benchwright.records import Environment, Failure, Result, Run, Status, Verdict
from benchwright.store.sql import SqlStore

Keep = Callable[[Sequence[Run]], SqlStore]


def _run(name: str, **changes: Any) -> Run:
    """A run of four cases without samples."""
    made: Run = sample_runs.make_run(name, calls=50, **{"failing": False, **changes})
    return replace(made, results=tuple(replace(one, samples=(), timelines=()) for one in made.results))


def _said(a: Run, b: Run, metrics: Sequence[str]) -> dict[tuple[str, str], tuple[str, Any, str]]:
    """What the command says, by case and metric."""
    rows = compare_runs(a, b, metrics=metrics)
    labels = {row.label: row for row in rows}
    assert len(labels) == len(rows)
    return {(row.label, m.name): (m.verdict, m.ratio, m.sentence) for row in rows for m in row.metrics}


def _shown(archive: SqlStore, a: Run, b: Run, metrics: Sequence[str]) -> dict[tuple[str, str], tuple[str, Any, str]]:
    """What the page says, with the labels of the command: runtime and batch size tell these cases apart."""
    view = compare(archive, f"run:{a.id}", f"run:{b.id}", metrics=metrics)
    return {
        (
            f"runtime={line.params['runtime']} batch_size={line.params['batch_size']} copies={line.params['copies']}",
            line.metric,
        ): (
            line.verdict,
            line.ratio,
            line.sentence,
        )
        for line in view.lines
    }


METRICS = ("latency_p50", "latency_p99", "throughput", "rss_peak", "latency_max")


def test_two_runs_are_judged_as_the_command_judges_them(kept: Keep) -> None:
    a, b = _run("a"), _run("b", slower=1.08, seed=8)
    archive = kept([a, b])
    said = _said(a, b, METRICS)
    assert _shown(archive, a, b, METRICS) == said
    assert {verdict for verdict, _, _ in said.values()} >= {Verdict.WORSE, Verdict.UNCLEAR}


def test_a_run_that_the_instrument_does_not_trust_is_judged_as_the_command_does(kept: Keep) -> None:
    a, b = _run("a"), _run("b", slower=1.08, seed=8)
    b = replace(b, results=tuple(replace(one, instrument={"verdict": "unreliable: others ran"}) for one in b.results))
    archive = kept([a, b])
    view = compare(archive, "run:a", "run:b", metrics=METRICS)
    assert _shown(archive, a, b, METRICS) == _said(a, b, METRICS)
    told = notes_of(compare_runs(a, b, metrics=METRICS))
    assert view.notes[0] == told[0]
    assert [note[-60:] for note in view.notes] == [note[-60:] for note in told]  # the page labels cases by themselves
    assert "unreliable" in view.notes[0]


def test_another_machine_and_another_version_are_told_as_the_command_tells_them(kept: Keep) -> None:
    a, b = _run("a"), _run("b", environment=sample_runs.OTHER_MACHINE, version="b2")
    archive = kept([a, b])
    view = compare(archive, "run:a", "run:b")
    assert list(view.notes) == notes_of(compare_runs(a, b))
    assert all(line.before and line.after for line in view.lines)  # paired across machines
    assert ("machine.cpu", "Example CPU 9000", "Other CPU 1") in [(d.what, d.before, d.after) for d in view.differences]


def test_a_case_that_fails_in_the_second_run_alone_is_worse_and_comes_first(kept: Keep) -> None:
    a, b = _run("a"), _run("b")
    b = replace(b, results=tuple(_failed(one) if one.case.params["batch_size"] == 8 else one for one in b.results))
    view = compare(kept([a, b]), "run:a", "run:b")
    first = view.lines[0]
    assert (first.verdict, first.after, first.sentence) == (Verdict.WORSE, None, "second run: killed: out of memory")
    assert first.before is not None and first.before_result and not first.after_result
    assert any("second run: killed: out of memory" in note for note in view.notes)


def test_what_one_side_alone_has_is_told_and_comes_last(kept: Keep) -> None:
    a, b = _run("a"), _run("b")
    a = replace(a, results=tuple(one for one in a.results if one.case.params["runtime"] == "openvino"))
    view = compare(kept([a, b]), "run:a", "run:b")
    assert view.lines[-1].sentence == "only in the second run"
    assert view.lines[-1].before is None
    assert view.lines[0].ratio is not None


def test_the_largest_effect_comes_first(archive: SqlStore) -> None:
    before, after = (project.run_id(2 * commit) for commit in (project.REGRESSION - 1, project.REGRESSION))
    view = compare(archive, f"run:{before}", f"run:{after}")
    worst = view.lines[0]
    assert worst.case == "vision/resnet50.onnx" and worst.params["runtime"] == "onnxruntime"
    assert worst.verdict is Verdict.WORSE
    assert view.counts["worse"] >= 4
    assert view.metrics[:2] == ["latency", "latency_p50"]


def test_revisions_compare_what_was_measured_of_each_on_every_machine(archive: SqlStore) -> None:
    old, new = (project.revision(project.REGRESSION + step) for step in (-1, 0))
    view = compare(archive, f"revision:{old.id}", f"revision:{new.id[:12]}", metrics=["latency_p50"])
    assert view.b.label == f"{new.id[:10]} {project.CULPRIT_SUBJECT}"
    assert len(view.b.runs) == 2
    assert view.b.revision == new.id
    slower = [line for line in view.lines if line.verdict is Verdict.WORSE]
    assert {line.case for line in slower} == {"vision/resnet50.onnx"}
    assert len(slower) == 4  # two batch sizes on two machines


def test_machines_pair_cases_by_name_and_params(archive: SqlStore) -> None:
    keys = list(archive.environments())
    view = compare(archive, f"machine:{keys[0]}", f"machine:{keys[1][:8]}", metrics=["latency_p50"])
    assert len(view.lines) == 11
    assert all(line.before and line.after and len(line.series) == 2 for line in view.lines)
    assert not any("different machines" in note for note in view.notes)
    assert {"machine.cpu", "system.kernel"} <= {one.what for one in view.differences}


def test_runtimes_pair_cases_by_their_other_params(archive: SqlStore) -> None:
    view = compare(archive, "runtime:onnxruntime", "runtime:openvino", metrics=["latency_p50"])
    both = [line for line in view.lines if line.before and line.after]
    assert {line.case for line in both} == {"vision/resnet50.onnx", "text/bert.onnx"}
    assert len(both) == 6  # resnet at two batch sizes and bert, on two machines
    assert all("runtime" not in line.params for line in both)
    assert {line.case for line in view.lines if line.after is None} == {"audio/whisper.onnx"}


@pytest.mark.parametrize("side", ["run", "run:", "branch:main", "", "machine"])
def test_a_side_that_is_none_is_refused(archive: SqlStore, side: str) -> None:
    with pytest.raises(OptionError, match="not a side of a comparison"):
        compare(archive, side, "run:last")


@pytest.mark.parametrize(
    ("side", "trouble"),
    [
        ("run:nope", "nope"),
        ("revision:0123456789", "0123456789"),
        ("machine:zz", "no machine"),
        ("runtime:onnxruntim", "did you mean 'onnxruntime'"),
    ],
)
def test_a_side_that_is_not_there_is_refused(archive: SqlStore, side: str, trouble: str) -> None:
    with pytest.raises(StoreError, match=trouble):
        compare(archive, side, "run:last")


def test_an_unknown_metric_is_refused_with_the_nearest(archive: SqlStore) -> None:
    with pytest.raises(StoreError, match="did you mean 'latency_p50'"):
        compare(archive, "run:last", "run:last~1", metrics=["latency_p5"])


def _failed(result: Result) -> Result:
    failure = Failure(kind="signal", message="out of memory")
    return replace(result, status=Status.KILLED, metrics=(), error=failure)


def test_the_environments_are_those_of_the_newest_results(kept: Keep) -> None:
    newer: Environment = replace(sample_runs.ENVIRONMENT, packages={"numpy": "2.4.0", "onnx": "1.23.2"})
    view = compare(kept([_run("a"), _run("b", environment=newer)]), "run:a", "run:b")
    assert [(one.what, one.before, one.after) for one in view.differences] == [("packages.numpy", "2.3.1", "2.4.0")]
