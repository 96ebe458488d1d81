"""Changes in series of goals: a training that stops getting there is found, and its time is not made up."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from benchwright.analysis import detection
from benchwright.records import Run, Verdict
from benchwright.records.goals import GoalOutcome, encode_goals
from benchwright.store.sql import SqlStore
from benchwright.worker.tasks.goals import metrics_of
from series_of_runs import levels, run_of


def _run(number: int, seconds: float, reached: tuple[bool, bool]) -> Run:
    """A run of two rounds that looked for a goal."""
    run = run_of(number, 1.0)
    found = []
    for result, got_there in zip(run.results, reached, strict=True):
        outcome = GoalOutcome(when="accuracy >= 0.9", reached=got_there, seconds=seconds)
        told = {"goals": encode_goals({"good": outcome})}
        found.append(replace(result, metrics=tuple(metrics_of("good", outcome)), details=told))
    return replace(run, results=tuple(found))


def _findings(path: Path, runs: list[Run]) -> dict[str, Verdict]:
    with closing(SqlStore(f"sqlite:///{path / 'results.db'}")) as store:
        for run in runs:
            store.add_run(run)
            found = detection.judge(store, run.id)
        known = store.findings(limit=100)
    assert found is not None
    return {finding.metric: finding.verdict for finding in known}


def test_a_training_that_stops_getting_there_is_found(tmp_path: Path) -> None:
    times = levels((10.0, 24))
    runs = [_run(i, at, (i < 14, i < 14)) for i, at in enumerate(times)]
    found = _findings(tmp_path, runs)
    assert found.get("reached_good") is Verdict.WORSE
    assert "time_to_good" not in found


def test_a_run_with_a_round_that_missed_its_goal_is_no_step_in_the_series_of_times(tmp_path: Path) -> None:
    """Where only lucky rounds get there, their times are short: that is no improvement."""
    times = levels((10.0, 12), (6.0, 12))
    runs = [_run(i, at, (True, i < 12)) for i, at in enumerate(times)]
    found = _findings(tmp_path, runs)
    assert "time_to_good" not in found and found.get("reached_good") is Verdict.WORSE


def test_a_time_that_became_longer_is_found_as_ever(tmp_path: Path) -> None:
    runs = [_run(i, at, (True, True)) for i, at in enumerate(levels((10.0, 12), (13.0, 12)))]
    assert _findings(tmp_path, runs) == {"time_to_good": Verdict.WORSE}
