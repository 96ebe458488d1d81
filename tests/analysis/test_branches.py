"""The main line alone is judged: what topic branches measured neither opens a finding nor hides one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import benchwright
import series_of_runs as made
from benchwright.analysis import baseline, detection
from benchwright.analysis.judged_results import points_of_line
from benchwright.analysis.step_findings import moments_of
from benchwright.errors import OptionError
from benchwright.notify.notices import trace_of
from benchwright.records import Revision, Run
from benchwright.records.branches import main_line
from benchwright.records.findings import State
from benchwright.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "results.db")
    yield opened
    opened.close()


def _on(branch: str, run: Run) -> Run:
    assert run.revision is not None
    return replace(run, revision=replace(run.revision, branch=branch))


def _keep(store: Store, plan: Sequence[tuple[str, float]]) -> list[str]:
    """Keeps a run of each branch and value, and returns their ids."""
    for i, (branch, value) in enumerate(plan):
        store.add_run(_on(branch, made.run_of(i, value)))
    return [f"run-{i:04d}" for i in range(len(plan))]


def _steady(count: int, level: float = 0.010) -> list[float]:
    return made.levels((level, count))


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        ({}, ""),
        ({"": 9}, ""),
        ({"": 9, "topic": 1}, "topic"),
        ({"topic": 9, "master": 1}, "master"),
        ({"master": 9, "main": 1, "topic": 20}, "main"),
        ({"main": 0, "a": 2, "b": 3}, "b"),
        ({"a": 3, "b": 3}, "b"),
    ],
)
def test_one_rule_says_what_the_main_line_is(counts: dict[str, int], line: str) -> None:
    assert main_line(counts) == line


def test_a_slower_topic_branch_opens_nothing(store: Store) -> None:
    plan = [("main", value) for value in _steady(25)] + [("topic", value) for value in _steady(15, 0.0112)]
    runs = _keep(store, plan)
    assert [detection.judge(store, run) for run in (runs[-1], runs[24])] == [[], []]
    assert store.findings() == []


def test_a_change_of_the_main_line_is_found_among_topic_branches_and_names_its_commits(store: Store) -> None:
    plan = []
    for i, value in enumerate(made.levels((0.010, 20), (0.0112, 15))):
        plan += [("main", value), (f"topic-{i}", 0.010 + 0.004 * (i % 5))]
    runs = _keep(store, plan)
    (finding,) = detection.judge(store, runs[-2])
    assert (finding.run, finding.state) == ("run-0040", State.OPEN)
    assert finding.revisions == (made.commit(38), made.commit(40))
    assert finding.effect.point == pytest.approx(1.12, abs=0.01)
    moments, place = moments_of(store, finding)
    assert [moment.run for moment in moments] == runs[::2] and place == 20
    picture = trace_of(finding, store)
    assert picture is not None and len(picture.values) == 35 and picture.change == 20


def test_runs_of_topic_branches_do_not_let_a_suspicion_vanish(store: Store) -> None:
    runs = _keep(store, [("main", value) for value in made.levels((0.010, 20), (0.0112, 3))])
    detection.judge(store, runs[-1])
    (before,) = store.findings(states=[State.SUSPECTED, State.OPEN])
    for i, value in enumerate(_steady(6)):
        store.add_run(_on("topic", made.run_of(23 + i, value)))
        assert detection.judge(store, f"run-{23 + i:04d}") == []
    assert store.finding(before.id) == before


def test_a_drift_of_the_main_line_is_seen_and_one_of_a_topic_branch_is_not(store: Store) -> None:
    slope = [value * (1 + 0.004 * max(0, min(i - 20, 40))) for i, value in enumerate(_steady(80))]
    runs = _keep(store, [("main", value) for value in _steady(80)])
    for i, value in enumerate(slope):
        store.add_run(_on("topic", made.run_of(80 + i, value)))
    assert detection.judge(store, "run-0159") == detection.judge(store, runs[-1]) == []
    for i, value in enumerate(slope):
        store.add_run(_on("main", made.run_of(160 + 2 * i, value)))
        store.add_run(_on("topic", made.run_of(161 + 2 * i, 0.010)))
    found = detection.judge(store, "run-0318")
    assert [finding.drift is not None for finding in found] == [True]


def test_without_branches_and_with_one_branch_alone_everything_is_the_line(store: Store) -> None:
    runs = _keep(store, [("", value) for value in made.levels((0.010, 20), seed=1)])
    for i, value in enumerate(made.levels((0.0112, 15), seed=2)):
        store.add_run(_on("release-2", made.run_of(20 + i, value)))
    (finding,) = detection.judge(store, "run-0034")
    assert (finding.run, len(runs)) == ("run-0020", 20)


def test_a_watch_judges_the_branch_that_it_follows(store: Store) -> None:
    plan = []
    for value in made.levels((0.010, 20), (0.0112, 15)):
        plan += [("main", 0.020), ("release-2", value)]
    runs = _keep(store, plan)
    assert detection.judge(store, runs[-1]) == []
    (finding,) = detection.judge(store, runs[-1], own_branch=True)
    assert (finding.run, finding.revisions) == ("run-0041", (made.commit(39), made.commit(41)))
    assert len(moments_of(store, finding)[0]) == 35
    assert detection.judge(store, runs[-2]) == []  # the main line leaves what is known of the other alone
    assert store.finding(finding.id) == finding


def test_a_run_that_measured_a_topic_branch_against_the_main_line_has_no_place(store: Store) -> None:
    _keep(store, [("main", value) for value in _steady(5)])
    run = _on("topic", made.run_of(5, 0.010))
    first, second = run.results
    pair = (first, replace(second, revision=Revision(vcs="git", id=made.commit(4))))
    store.add_run(replace(run, results=pair))
    (series,) = store.history(made.CASE.name, metrics=["latency_p50"])
    assert [point.branch for point in series.points[-2:]] == ["topic", ""]
    assert {point.run for point in points_of_line(series.points)} == {f"run-{i:04d}" for i in range(5)}


# ---- history, and a gate against it ----


def test_a_history_is_that_of_the_main_line_however_much_was_measured_since(tmp_path: Path, store: Store) -> None:
    runs = _keep(store, [("main", value) for value in _steady(4)] + [("topic", 0.020)] * 30)
    told = benchwright.history(made.CASE.name, metrics="latency_p50", limit=3, store=tmp_path / "results.db")
    (series,) = told.series
    assert [step.run for step in series.steps] == runs[1:4]


def test_a_topic_branch_is_judged_against_the_history_of_the_main_line(store: Store) -> None:
    plan = []
    for i, value in enumerate(_steady(60)):
        plan += [("main", value), (f"topic-{i}", 0.020)]
    runs = _keep(store, [*plan, ("mine", 0.013)])
    sides = baseline.sides_from_history(store, store.run(runs[-1]))
    levels = [result.metric("latency_p50") for result in sides.before.results]
    assert len(levels) == baseline.RUNS and max(m.estimate.point for m in levels if m) < 0.011
    assert sides.against == "the 40 runs before it"


def test_the_main_line_of_a_history_is_looked_for_beyond_the_newest_runs(store: Store) -> None:
    runs = _keep(store, [("trunk", 0.010)] * 5 + [("topic", 0.020)] * 50)
    sides = baseline.sides_from_history(store, store.run(runs[-1]))
    assert sides.before.results and sides.against == "the 5 runs before it"


def test_a_history_of_other_branches_alone_is_the_line_of_the_most_runs(store: Store) -> None:
    runs = _keep(store, [("a", 0.010), ("b", 0.020), ("b", 0.020), ("a", 0.010), ("b", 0.020), ("a", 0.010)])
    with pytest.raises(OptionError, match="2 earlier runs"):
        baseline.sides_from_history(store, store.run(runs[3]))
    assert baseline.sides_from_history(store, store.run(runs[5])).against == "the 3 runs before it"
