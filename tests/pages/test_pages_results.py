"""Runs, one run, and one result with all its calls."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sample_project as project
from benchwright import schema
from benchwright.errors import StoreError
from benchwright.pages.distributions import distributions
from benchwright.pages.results import AGED, FOLDED, result_view
from benchwright.pages.runs import run_view, runs_page
from benchwright.records import Objective, ResultWarning, Run, Samples, Status, Timeline, Value
from benchwright.records.goals import GoalOutcome, encode_goals
from benchwright.report.html import html_page
from benchwright.report.markup import escape
from benchwright.stats.histogram import fold
from benchwright.store.sql import SqlStore

Keep = Callable[[Sequence[Run]], SqlStore]


def test_runs_go_on_where_the_last_page_ended(archive: SqlStore) -> None:
    first = runs_page(archive, limit=7)
    second = runs_page(archive, limit=7, before=first.next)
    assert [run.id for run in (*first.runs, *second.runs)] == [project.run_id(i) for i in range(119, 105, -1)]
    assert runs_page(archive, limit=200).next == ""
    assert [run.id for run in runs_page(archive, tag="release-2.0").runs] == [project.run_id(i) for i in (61, 60)]
    assert first.runs[0].failed == 2


def test_a_training_shows_its_rounds_as_a_band_and_says_what_its_numbers_leave_out(kept: Keep) -> None:
    first = project.run(0).results[0]
    case = replace(first.case, name="tasks.toml::train", target=replace(first.case.target, runtime="task"))
    outcome = GoalOutcome(when="accuracy >= 0.95", reached=False, seconds=9.0)
    log: dict[str, Value] = {"accuracy": {"hits": 9, "left_out": 2, "left_out_until": 1.5, "left_out_why": "said so"}}
    results = [
        replace(
            first,
            id=f"train{number}",
            case=case,
            round=number,
            metrics=(replace(first.metrics[0], name="accuracy", unit=""),),
            samples=(),
            timelines=(Timeline(name="accuracy", unit="", seconds=(1.0, 2.0, 3.0), values=(0.1, 0.2 + number, 0.5)),),
            details={"goals": encode_goals({"accuracy_95": outcome}), "log": log},
        )
        for number in range(3)
    ]
    run = replace(project.run(0), results=tuple(results))
    archive = kept([run])
    [band] = result_view(archive, "train1").bands
    assert (band.name, band.rounds, len(band.seconds)) == ("accuracy", 3, len(band.middle))
    assert (min(band.low), max(band.high)) == (0.1, 2.2)
    said = run_view(archive, run.id).training
    assert said[0].startswith("Goal of ") and "accuracy >= 0.95 was reached in 0 of 3 rounds" in said[0]
    assert said[1].startswith("Warm-up of ") and "the first 2 of 9 values" in said[1]
    page = html_page([run])
    assert all(escape(line) in page for line in said)


def test_a_kind_of_warning_is_shown_once_with_the_range_of_its_numbers(kept: Keep) -> None:
    run = project.run(0)
    seen = [
        ResultWarning(code="busy-machine", seen=f"others took {140 + i} % of a core", remedy="wait") for i in range(3)
    ]
    results = [replace(one, warnings=(w,)) for one, w in zip(run.results[:3], seen, strict=True)]
    archive = kept([replace(run, results=tuple(results))])
    [warned] = run_view(archive, run.id).warned
    assert warned.warning.seen == "others took 140 to 142 % of a core (3 times)"
    assert warned.warning.remedy == "wait" and warned.count == len(warned.cases) >= 1


def test_the_bin_of_equal_calls_is_wide_enough_for_an_axis() -> None:
    columns = {name: array("q", [19_332_504_596]) for name in ("latency", "end")}
    samples = Samples(copy=0, calls=1, loops=1, elapsed=19_332_504_596, columns=columns)
    result = replace(project.run(0).results[0], samples=(samples,))
    low, high = distributions(result)[0].edges
    assert low == pytest.approx(19.332504596) and (high - low) / low > 1e-6


def test_a_run_has_its_cases_with_rounds_together(archive: SqlStore) -> None:
    view = run_view(archive, "last")
    assert view.line.id == project.run_id(119)
    assert view.previous == project.run_id(117)  # the same machine
    assert list(view.machines.values()) == ["Example Server 7, 32 cores"]
    assert len(view.cases) == 11
    failed = next(one for one in view.cases if one.case == "audio/whisper.onnx")
    assert failed.statuses == {"failed": 2}
    assert "5.6 GiB wanted" in failed.reason
    fine = view.cases[0]
    assert fine.reason == "" and len(fine.results) == 2
    assert {metric.name: metric.estimate.method for metric in fine.metrics}["latency_p50"] == "t over 2 processes"
    assert run_view(archive, project.run_id(0)).previous == ""


def test_a_result_has_everything_that_was_recorded(archive: SqlStore) -> None:
    run = archive.run(project.run_id(118), samples=False)
    result = next(one for one in run.results if one.round == 1 and one.case.target.runtime == "torch")
    view = result_view(archive, result.id)
    assert (view.run, view.round, view.status, view.note) == (run.id, 1, Status.OK, "")
    assert [one.name for one in view.timelines] == ["rss", "cpu"]
    assert view.warnings[0].code == "noisy-machine"
    assert [one.name for one in view.artifacts] == ["worker.log", "calls.trace.json"]
    assert view.rounds[1] == view.id and len(view.rounds) == 2
    assert view.series["latency_p50"] == schema.series_key(result.case, result.environment, "latency_p50")
    assert view.revision == run.revision
    assert view.command == run.command
    assert view.environment["machine"]["cpu"] == "Example Core 9000"  # type: ignore[index,call-overload]
    first = next(one for one in run.results if one.case.target.runtime == "onnxruntime")
    assert result_view(archive, first.id).operators[0].name == "conv1"


def test_a_failed_result_has_its_log(archive: SqlStore) -> None:
    failed = next(one for one in archive.run(archive.find("last"), samples=False).results if one.error)
    view = result_view(archive, failed.id)
    assert view.error is not None and view.error.remedy.startswith("free memory")
    assert view.log_tail.endswith("MemoryError: 5.6 GiB wanted")
    assert (view.distributions, view.note) == ([], "")


def test_a_result_is_found_by_the_number_in_a_series(archive: SqlStore) -> None:
    assert result_view(archive, "1").id == archive.result_ids([1])[1]
    for unknown in ("0", "999999999", "nope", "9" * 40, "²"):
        with pytest.raises(StoreError, match="no result"):
            result_view(archive, unknown)


# ---- calls ----


def test_a_distribution_counts_every_call(archive: SqlStore) -> None:
    run = archive.run(project.run_id(118))
    result = run.results[0]
    (found,) = result_view(archive, result.id).distributions
    together = result_view(archive, result.id, together=True)
    assert together.distributed > 1 == result_view(archive, result.id).distributed
    assert together.distributions[0].count > found.count
    values = np.frombuffer(result.samples[0].columns["latency"], np.int64) / 1e9
    assert (found.column, found.count, sum(found.counts)) == ("latency", 2000, 2000)
    assert len(found.edges) == len(found.counts) + 1
    assert (found.edges[0], found.edges[-1]) == (values.min(), values.max())
    shares = dict(found.quantiles)
    assert shares[0.5] == np.sort(values)[999]
    assert shares[1.0] == values.max()
    assert [value for _, value in found.over_time] == values.tolist()  # few enough to be shown one by one


def test_many_calls_are_thinned_without_losing_a_spike() -> None:
    values = np.full(1_000_000, 1_000_000, np.int64)
    values[123_456], values[777_777] = 90_000_000, 1_000
    (found,) = distributions(_with_calls(values))
    assert len(found.over_time) <= 2000
    assert found.count == 1_000_000
    ends = np.cumsum(values) / 1e9
    assert (ends[123_456], 0.09) in found.over_time
    assert (ends[777_777], 1e-6) in found.over_time
    moments = [moment for moment, _ in found.over_time]
    assert moments == sorted(moments)


@pytest.mark.parametrize("values", [[5], [7, 7, 7], [0, 0], [1, 2]])
def test_few_or_equal_calls_still_have_a_picture(values: list[int]) -> None:
    (found,) = distributions(_with_calls(np.array(values, np.int64)))
    assert sum(found.counts) == len(values)
    assert all(low < high for low, high in zip(found.edges, found.edges[1:], strict=False))
    assert found.quantiles[-1] == (1.0, max(values) / 1e9)


def test_calls_that_were_folded_are_shown_from_their_histogram_and_said_to_be(kept: Keep) -> None:
    run = project.run(118)
    calls = run.results[0].samples[0]
    bare = replace(calls, columns={}, histograms={"latency": fold(calls.columns["latency"])})
    archive = kept(
        [replace(run, results=(replace(run.results[0], samples=(bare,)), replace(run.results[1], samples=())))]
    )
    folded = result_view(archive, run.results[0].id)
    assert folded.note == FOLDED
    assert folded.distributions[0].count == 2000
    assert list(folded.distributions[0].over_time) == []
    removed = result_view(archive, run.results[1].id)
    assert (removed.note, list(removed.distributions)) == (AGED, [])


def _with_calls(values: np.ndarray) -> Any:
    ends = np.cumsum(values)
    columns = {"latency": array("q", values.tobytes()), "end": array("q", ends.tobytes())}
    samples = Samples(copy=0, calls=len(values), loops=1, elapsed=int(ends[-1]), columns=columns)
    return replace(project.run(0).results[0], samples=(samples,))


def test_a_run_says_of_every_objective_how_it_was_read_and_whether_it_is_met(archive: SqlStore, kept: Keep) -> None:
    run = archive.run(archive.find("last"), samples=False)
    result = next(result for result in run.results if result.metric("latency_p50"))
    limits = [Objective(metric="latency_p50", relation="<", bound=bound) for bound in (1000.0, 1e-9)]
    asked = replace(result, case=replace(result.case, load=replace(result.case.load, objectives=tuple(limits))))
    view = run_view(kept([replace(run, results=(asked,), planned=1)]), run.id)
    first, second = view.objectives
    assert (first.objective, first.met) == ("latency_p50 < 1,000 s", True) and first.verdict.startswith("met")
    assert (second.objective, second.met) == ("latency_p50 < 1.00 ns", False) and "missed" in second.verdict
    assert run_view(archive, "last").objectives == []


def test_a_run_has_the_advice_that_the_report_has(archive: SqlStore, kept: Keep) -> None:
    run = archive.run(archive.find("last"), samples=False)
    run = replace(run, results=tuple(one for one in run.results if one.round == 0))  # of which one must be cautious
    view = run_view(kept([run]), run.id)
    page = html_page([run])
    assert {one.aim for one in view.advice} == {"Lowest latency", "Highest throughput"}
    assert all(one.text.startswith(f"{one.case.partition(' ')[0]}: {one.aim}") for one in view.advice if not one.rivals)
    labels = {line.label for line in view.cases}
    for one in view.advice:
        assert escape(one.text) in page
        assert one.case in labels and labels >= {*one.rivals}
    assert view.cautions and all(escape(said) in page for said in view.cautions)
