"""Revisions on another machine: sent there, built there, planned there and measured there, both sides on the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import boxes
import repositories
import tiny_wheels
from benchwright.errors import OptionError
from benchwright.execution.builds.surroundings import Surroundings
from benchwright.execution.outposts.host import OutpostHost
from benchwright.execution.rounds import Plan, execute
from benchwright.records import Case, Load, Status, Target
from benchwright.records.trials import AbRules, Trial
from benchwright.store import open_store
from benchwright.targets.sources import Request
from benchwright.workflows import arguments
from benchwright.workflows.ab.run import BuildSpec, SideRequest, run_ab
from benchwright.workflows.bisect.run import Range, seek
from benchwright.workflows.bisect.search import BisectionTerms
from benchwright.workflows.watch.commits import FollowedBranch
from benchwright.workflows.watch.loop import watch
from benchwright.workflows.watch.settings import Watched

plain = repositories.plain
reach = boxes.reach
TARGET = Request(targets=[repositories.TARGET])


@pytest.fixture
def revisions(plain: None, reach: boxes.Reach) -> list[str]:
    return repositories.make(Path("repo"), [1.0, 1.5])


def compare(host: OutpostHost, ids: list[str], request: Request = TARGET, **fields: object) -> Trial:
    making = BuildSpec(repo=Path("repo"), host=host, **fields)  # type: ignore[arg-type]
    rules = AbRules(pairs=1, verify=False, metric="encode_time")
    control, treatment = SideRequest(revision=ids[0]), SideRequest(revision=ids[-1])
    return run_ab(request, control, treatment, rules, making, store="results.db")


def test_both_sides_are_measured_on_that_machine_in_pairs(reach: boxes.Reach, revisions: list[str]) -> None:
    trial = compare(reach(), revisions)
    (pair,) = trial.rows[0].heats[0].pairs
    assert pair.ratio == pytest.approx(1.5, rel=0.1), pair.why
    assert trial.machine == "box"
    store = open_store("results.db")
    control, treatment = (store.run(run) for run in trial.runs["benchmark"])
    for run, revision in ((control, revisions[0]), (treatment, revisions[1])):
        assert all(result.environment.system["host"] == {"name": "box"} for result in run.results)
        assert {result.revision.id for result in run.results if result.revision} == {revision}
        assert all(result.status is Status.OK for result in run.results)
    store.close()


@pytest.mark.soak
def test_a_build_line_is_run_there_once_and_what_it_makes_is_measured(
    reach: boxes.Reach, revisions: list[str], tmp_path: Path
) -> None:
    Path("bench_built.py").write_text(
        "import os\nclass Look:\n    def run(self, report):\n"
        "        made = open('made.txt').read().split()\n"
        "        assert made == [os.environ['BENCHWRIGHT_REVISION'], os.getcwd()], made\n"
        "        report('encode_time', 1.0, unit='s', better='lower')\n"
    )
    build = 'echo "$BENCHWRIGHT_REVISION $PWD" >> made.txt'
    request = Request(targets=["bench_built.py::Look.run"])
    host = reach()
    trial = compare(host, revisions, request, command=build)
    assert trial.ok, trial
    assert not trial.control.cached
    assert not list((tmp_path / "cache").rglob("made.txt")), "nothing is built here"
    for again in (False, True):
        builder = BuildSpec(repo=Path("repo"), host=reach(), command=build).builder()
        assert builder.prepare(revisions[0], rebuild=again).cached is not again


def test_a_build_that_fails_there_is_the_answer(reach: boxes.Reach, revisions: list[str]) -> None:
    trial = compare(reach(), revisions, command="echo no compiler; exit 3")
    assert not trial.built and not trial.rows
    assert trial.control.failure is not None
    assert "exit code 3" in trial.control.failure.message and "no compiler" in trial.control.failure.log_tail


@pytest.mark.soak
def test_packages_of_revisions_are_those_of_the_lock(reach: boxes.Reach, revisions: list[str]) -> None:
    wheels = Path("wheels")
    tiny_wheels.write(wheels, "1.0")
    Path("lock.txt").write_text("needed==1.0\n")
    Path("bench_needed.py").write_text(
        "import needed\nclass Look:\n    def run(self, report):\n"
        "        report('encode_time', float(needed.VERSION), unit='s', better='lower')\n"
    )
    request = Request(targets=["bench_needed.py::Look.run"])
    trial = compare(reach(), revisions, request, surroundings=Surroundings(environment="lock.txt", wheels=wheels))
    (pair,) = trial.rows[0].heats[0].pairs
    assert (pair.control, pair.treatment) == (1.0, 1.0), pair.why


def test_a_folder_goes_along_as_it_is(reach: boxes.Reach, revisions: list[str]) -> None:
    making = BuildSpec(repo=Path("repo"), host=reach())
    sides = SideRequest(revision=revisions[0]), SideRequest(folder="repo")
    Path("repo/cost.txt").write_text("2.0 1.0 9\n")
    trial = run_ab(TARGET, *sides, AbRules(pairs=1, verify=False, metric="encode_time"), making, save=False)
    (pair,) = trial.rows[0].heats[0].pairs
    assert pair.ratio == pytest.approx(2.0, rel=0.1), pair.why


@pytest.mark.soak
def test_a_branch_is_followed_on_that_machine(reach: boxes.Reach, revisions: list[str]) -> None:
    following = FollowedBranch(remote="", branch="main", since=revisions[0])
    watched = Watched(repo=Path("repo"), request=TARGET, following=following, rounds=1, pairs=0, store="results.db")
    assert watch(replace(watched, host=reach()))
    store = open_store("results.db")
    (result,) = store.run(store.find("last")).results
    assert result.environment.system["host"] == {"name": "box"}
    assert result.revision is not None and result.revision.id == revisions[1]
    store.close()


@pytest.mark.soak
def test_the_commit_behind_a_change_is_found_on_that_machine(reach: boxes.Reach, plain: None) -> None:
    ids = repositories.make(Path("repo"), [1.0, 1.0, 3.0])
    making = BuildSpec(repo=Path("repo"), host=reach())
    terms = BisectionTerms(metric="encode_time", most_runs=20)
    found = seek(Range(good=ids[0], bad=ids[2]), TARGET, terms, making, store="results.db")
    assert [culprit.revision for culprit in found.culprits] == [ids[2]], found.why


@pytest.mark.soak
def test_contenders_take_turns_on_each_machine(reach: boxes.Reach) -> None:
    cases = [
        Case(name=name, target=Target(runtime="fake", uri="fake:constant?ms=1"), load=Load(samples=1, warmup=0.0))
        for name in ("a", "b")
    ]
    run = execute(Plan(cases=cases, rounds=2, hosts=[reach("one"), reach("two")]))
    for name in ("one", "two"):
        own = [one for one in run.results if one.environment.system["host"] == {"name": name}]
        order = [one.case.name for one in sorted(own, key=lambda one: one.started_at)]
        assert order == ["a", "b", "a", "b"]


def test_several_machines_and_those_that_build_nothing_are_refused() -> None:
    with pytest.raises(OptionError, match="compared on one machine"):
        arguments.machine("ssh:a,b")
    assert arguments.machine("local") is None
