"""What a run is compared with: a run, a tag, a branch's nearest measured commit, or the runs before it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import series_of_runs as made
from benchwright.analysis import baseline
from benchwright.analysis.gate import check, parse_condition
from benchwright.analysis.rows import rows
from benchwright.errors import OptionError
from benchwright.records import Failure, Status
from benchwright.records.findings import FindingRules
from benchwright.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "results.db")
    yield opened
    opened.close()


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def commits(tmp_path: Path) -> list[str]:
    """Three commits on `main`, and one more on `topic`, which is checked out."""
    repo = tmp_path / "repo"
    repo.mkdir()
    _git(repo, "init", "-q", "-b", "main")
    for i in range(3):
        _git(repo, "commit", "-q", "--allow-empty", "-m", f"Change {i}")
    _git(repo, "checkout", "-q", "-b", "topic")
    _git(repo, "commit", "-q", "--allow-empty", "-m", "Mine")
    return _git(repo, "log", "--format=%H", "--reverse").split()


def test_a_branch_means_its_nearest_commit_that_was_measured(store: Store, tmp_path: Path, commits: list[str]) -> None:
    for i, revision in ((1, commits[0]), (2, commits[1]), (3, commits[3])):
        store.add_run(made.run_of(i, 0.01, revision=revision))
    run = store.run("run-0003")
    found = baseline.choose_sides(store, run, "main", repo=tmp_path / "repo")
    assert (found.before.id, found.against) == ("run-0002", "main (run-0002)")
    assert (
        baseline.choose_sides(store, run, "topic", repo=tmp_path / "repo").before.id == "run-0002"
    )  # never the run itself
    assert baseline.choose_sides(store, run, commits[0][:9], repo=tmp_path).before.id == "run-0001"
    with pytest.raises(OptionError, match="'elsewhere' is not a run, tag or commit of this store, nor of a repository"):
        baseline.choose_sides(store, run, "elsewhere", repo=tmp_path / "repo")
    first = store.run("run-0001")
    with pytest.raises(OptionError, match=r"no run of '\w+' other than run-0001 itself"):
        baseline.choose_sides(store, first, commits[0], repo=tmp_path / "repo")


def test_a_tag_that_the_run_has_too_means_the_one_before(store: Store, tmp_path: Path) -> None:
    for i in range(3):
        store.add_run(replace(made.run_of(i, 0.01), tags=("nightly",)))
    assert baseline.choose_sides(store, store.run("run-0002"), "nightly", repo=tmp_path).before.id == "run-0001"
    assert baseline.choose_sides(store, store.run("run-0002"), "last~2", repo=tmp_path).before.id == "run-0000"


def _judged(store: Store, run: str, *conditions: str) -> bool:
    sides = baseline.sides_from_history(store, store.run(run))
    return check(sides, [parse_condition(text) for text in conditions], smallest=0.01, rules=FindingRules()).ok


def test_a_history_knows_how_much_runs_differ(store: Store) -> None:
    values = made.levels((0.010, 20), noise=0.02)
    made.fill(store, values)
    store.add_run(made.run_of(20, 0.0104))  # two standard deviations: such runs come
    store.add_run(made.run_of(21, 0.013))
    assert _judged(store, "run-0020", "worse")
    assert not _judged(store, "run-0021", "worse>2%")
    assert baseline.sides_from_history(store, store.run("run-0020")).against == "the 20 runs before it"


def test_runs_of_different_working_copies_are_one_history(store: Store) -> None:
    for i, value in enumerate([*made.levels((0.010, 8), noise=0.02), 0.013]):
        place = replace(made.CASE.target, uri=f"/builds/{made.commit(i)}/bench.py::encode")
        store.add_run(made.run_of(i, value, case=replace(made.CASE, target=place)))
    sides = baseline.sides_from_history(store, store.run("run-0008"))
    assert [row.rounds for row in rows(sides.before)] == [8]
    assert not _judged(store, "run-0008", "worse")


def test_only_the_runs_since_the_last_change_count(store: Store) -> None:
    made.fill(store, made.levels((0.020, 10), (0.010, 10)))
    store.add_run(made.run_of(20, 0.0115))
    sides = baseline.sides_from_history(store, store.run("run-0020"))
    assert len(sides.before.results) == 10
    assert sides.against == "the 20 runs before it, of which the last 10 count"
    assert not _judged(store, "run-0020", "worse")


def test_a_history_needs_a_few_runs_that_measured_the_same(store: Store) -> None:
    made.fill(store, [0.01, 0.01])
    other = made.run_of(5, 0.01, case=replace(made.CASE, name="other"))
    store.add_run(other)
    store.add_run(made.run_of(6, 0.01))
    with pytest.raises(OptionError, match="2 earlier runs measured what run run-0006 did, and a history needs 3"):
        baseline.sides_from_history(store, store.run("run-0006"))


def test_a_case_that_the_run_before_had_is_missing(store: Store) -> None:
    for i in range(4):
        run = made.run_of(i, 0.01)
        second = made.run_of(i, 0.01, case=replace(made.CASE, name="second")).results
        store.add_run(replace(run, results=run.results + (second if i < 3 else ())))
    assert not _judged(store, "run-0003", "missing")


def test_a_case_that_failed_is_not_missing(store: Store) -> None:
    made.fill(store, [0.01] * 4)
    failed = made.run_of(4, 0.01)
    error = Failure(kind="exit", message="the worker died")
    bad = tuple(replace(r, status=Status.FAILED, metrics=(), error=error) for r in failed.results)
    store.add_run(replace(failed, results=bad))
    assert _judged(store, "run-0004", "missing")
    assert not _judged(store, "run-0004", "failed")
