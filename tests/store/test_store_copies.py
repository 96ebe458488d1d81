"""All of a store in another one: from a file to any database and back, begun again, and into one in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import OptionError
from benchwright.records import Estimate, Result, Run, Verdict
from benchwright.records.findings import Finding, Mute, Threshold
from benchwright.records.machines import Quarantine
from benchwright.store import copies
from benchwright.store.archive import Annotation, NamedView
from benchwright.store.sql import SqlStore

MakeResult = Callable[..., Result]
MakeRun = Callable[..., Run]

ONE = Estimate(point=1.0, low=None, high=None)
QUARANTINE = Quarantine(machine="key", since=7, until=9, reason="moved", who="ann", made_at="2026-01-01T00:00:00+00:00")
NOTE = Annotation(id=0, series="key", at=7, text="new driver", who="ann", made_at="2026-01-01T00:00:00+00:00")


def _finding(name: str, run: str) -> Finding:
    told: dict[str, Any] = {"before": ONE, "after": ONE, "effect": ONE, "method": "m", "verdict": Verdict.WORSE}
    return Finding(id=name, series="s", found_at="2026-01-01T00:00:00Z", run=run, runs=(run,), **told)


@pytest.fixture
def source(tmp_path: Path, make_run: MakeRun, make_result: MakeResult) -> Iterator[SqlStore]:
    """A file with all there is to copy, and a token, which is not."""
    opened = SqlStore(f"sqlite:///{tmp_path / 'source.db'}")
    for number in range(3):
        results = tuple(make_result(f"{number}-{i}", number=i, samples=30, minute=number) for i in range(2))
        opened.add_run(make_run(f"run-{number}", minute=number, results=results, tags=("t",), commit="abc"))
    opened.keep_finding(_finding("f", "run-1"))
    opened.mute(Mute(what="key", who="ann", reason="known"))
    opened.set_threshold(Threshold(case="model*", smallest=0.1))
    opened.quarantine(QUARANTINE)
    opened.annotate(NOTE)
    opened.keep_view(NamedView(id=0, name="ours", address="runs", who="ann", made_at="", is_home=True))
    opened.token_add("ci", "write")
    yield opened
    opened.close()


def _content(store: SqlStore) -> Any:
    runs = [store.run(name) for name in store.run_ids()]
    notes = [replace(note, id=0) for note in store.annotations(None)]
    views = [replace(view, id=0) for view in store.views()]
    return runs, store.findings(), store.mutes(), store.thresholds(), store.quarantines(), notes, views


def test_everything_arrives_and_comes_back(source: SqlStore, store: SqlStore, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    done = copies.copy(source, store, lambda *now: seen.append(now))
    assert (done.runs, done.added, done.completed, done.results, done.differing) == (3, 3, 0, 6, ())
    assert (done.findings, done.mutes, done.thresholds, done.quarantines, done.notes, done.views) == (1, 1, 1, 1, 1, 1)
    assert seen == [(0, 3), (3, 3)]  # rows are copied many runs at a time
    assert _content(store) == _content(source) and store.tokens() == []
    back = SqlStore(f"sqlite:///{tmp_path / 'back.db'}")
    copies.copy(store, back)
    assert _content(back) == _content(source)
    back.close()


def test_copying_again_adds_what_is_missing(
    source: SqlStore, store: SqlStore, make_run: MakeRun, make_result: MakeResult
) -> None:
    first = source.run("run-0")
    store.add_run(replace(first, results=first.results[:1]))  # as it was when the copy was cut off
    store.add_run(make_run("theirs", results=(make_result("their-0"),)))
    done = copies.copy(source, store)
    assert (done.added, done.completed, done.differing) == (2, 1, ())
    again = copies.copy(source, store)
    assert (again.runs, again.added, again.completed, again.findings, again.notes) == (3, 0, 0, 0, 0)
    assert again.differing == ()
    assert sorted(store.run_ids()) == ["run-0", "run-1", "run-2", "theirs"]
    assert store.run("run-0") == first


def test_what_differs_is_told_and_left(source: SqlStore, store: SqlStore, make_run: MakeRun) -> None:
    theirs = replace(make_run("run-1"), reason="another")
    store.add_run(theirs)
    store.keep_finding(_finding("same-change", "run-1"))
    done = copies.copy(source, store)
    assert done.differing == (
        "the other store holds another run run-1",
        "finding f describes the same change as finding same-change of the other store",
    )
    assert store.run("run-1").reason == "another"
    assert [finding.id for finding in store.findings()] == ["same-change"]


def test_a_store_is_not_copied_into_itself(tmp_path: Path) -> None:
    copies.refuse_same("a.db", "sqlite:///b.db")
    for source, target in (
        (f"{tmp_path}/a.db", f"sqlite:///{tmp_path}/a.db"),
        ("postgresql://x/y", "postgresql://x/y"),
    ):
        with pytest.raises(OptionError, match="FROM and TO name the same store"):
            copies.refuse_same(source, target)
