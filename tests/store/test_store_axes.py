"""What axes are made of: branches of runs, dates and tags of commits; and the views that people keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from benchwright.errors import OptionError, StoreError
from benchwright.records import Revision
from benchwright.store.archive import RELEASE, Annotation, NamedView, SeriesFilter
from benchwright.store.sql import SqlStore
from benchwright.store.sql.run_writer import open_writer

Make = Callable[..., Any]
VIEW = NamedView(id=0, name="Nightly p50", address="series?metric=latency_p50&x=commit", who="Ada", made_at="")


def _revision(name: str, **told: Any) -> Revision:
    return Revision(vcs="git", id=name, **told)


def test_points_know_the_branch_of_their_run(store: SqlStore, make_run: Make, make_result: Make) -> None:
    for i, branch in enumerate(["main", "topic", "main", ""]):
        run = make_run(f"run-{i}", results=(make_result(f"r{i}", minute=i),), minute=i)
        store.add_run(replace(run, revision=_revision(f"c{i}", branch=branch)))
    other = replace(make_result("r4", minute=4), revision=_revision("elsewhere"))
    store.add_run(replace(make_run("run-4", results=(other,), minute=4), revision=_revision("c4", branch="topic")))
    key = store.series(SeriesFilter(metric="latency"))[0].series.key
    columns = store.columns(key, "s")
    named = [columns.branches[place] for place in columns.branch.tolist()]
    assert named == ["main", "topic", "main", "", ""]  # what a trial measured of another commit is on no branch
    assert set(columns.confidence.tolist()) == {0.95}
    last = store.columns(key, "s", limit=1)
    assert (last.branches, last.branch.tolist()) == (("",), [0])


def test_dates_and_tags_of_commits_are_kept_as_they_become_known(
    store: SqlStore, make_run: Make, make_result: Make
) -> None:
    dated = _revision("c1", committed_at="2026-03-01T12:00:00+01:00")
    store.add_run(replace(make_run("run-1"), revision=_revision("c1", committed_at="no date")))
    assert store.commit_dates(["c1", ""]) == {}
    store.add_run(replace(make_run("run-2"), revision=dated))
    store.add_run(replace(make_run("run-3"), revision=replace(dated, tags=("v1.0", "latest"))))
    result = replace(
        make_result("r1"), revision=_revision("c2", committed_at="2026-03-02T00:00:00+00:00", tags=("v2",))
    )
    store.add_run(make_run("run-4", results=(result,)))
    assert store.commit_dates(["c1", "c2", "c3"]) == {"c1": 1_772_362_800_000_000, "c2": 1_772_409_600_000_000}
    assert store.commit_tags() == {"c1": ["latest", "v1.0"], "c2": ["v2"]}


def test_the_small_writer_keeps_the_same(url: str, make_run: Make, make_result: Make) -> None:
    if not url.startswith("sqlite"):
        pytest.skip("it writes files of SQLite's")
    writer = open_writer(url)
    assert writer is not None
    told = _revision("c1", branch="topic", committed_at="2026-03-01T12:00:00+00:00", tags=("v1",))
    writer.begin(replace(make_run("run-1"), revision=told))
    writer.add("run-1", replace(make_result("r1"), revision=told))
    writer.close()
    store = SqlStore(url)
    columns = store.columns(store.series(SeriesFilter(metric="latency"))[0].series.key, "s")
    assert columns.branches == ("topic",)
    assert store.commit_tags() == {"c1": ["v1"]} and store.commit_dates(["c1"])
    store.close()


def test_a_note_may_be_a_release(store: SqlStore) -> None:
    note = Annotation(id=0, series="", at=1, text="2.0", who="ada", made_at="", kind=RELEASE)
    kept = store.annotate(note)
    assert store.annotations(None) == [kept] and kept.kind == RELEASE


# ---- views ----


def test_views_are_kept_renamed_and_removed(store: SqlStore) -> None:
    kept = store.keep_view(VIEW)
    other = store.keep_view(replace(VIEW, name="a list", address="runs"))
    assert kept.id and kept.made_at
    assert store.views() == [other, kept]  # by name, whatever the case of letters
    renamed = store.change_view(kept.id, name=" Weekly ", address="findings")
    assert (renamed.name, renamed.address, renamed.who) == ("Weekly", "findings", "Ada")
    assert store.drop_view(other.id) and not store.drop_view(other.id)
    assert store.views() == [renamed]
    with pytest.raises(StoreError, match="no view 417"):
        store.change_view(417, name="x")


def test_one_view_at_most_is_the_home_page(store: SqlStore) -> None:
    first = store.keep_view(replace(VIEW, is_home=True))
    second = store.keep_view(replace(VIEW, name="other"))
    store.change_view(second.id, is_home=True)
    assert {view.name: view.is_home for view in store.views()} == {"Nightly p50": False, "other": True}
    store.keep_view(replace(VIEW, name="third", is_home=True))
    assert [view.name for view in store.views() if view.is_home] == ["third"]
    store.change_view(first.id, name="again")
    assert [view.name for view in store.views() if view.is_home] == ["third"]


@pytest.mark.parametrize(
    "wrong", [{"name": ""}, {"name": "x" * 101}, {"name": "two\nlines"}, {"address": " "}, {"address": "x" * 4001}]
)
def test_a_view_that_cannot_be_kept_says_why(store: SqlStore, wrong: dict[str, str]) -> None:
    with pytest.raises(OptionError, match=r"a view's (name|address) has 1 to"):
        store.keep_view(replace(VIEW, **wrong))  # type: ignore[arg-type]
    kept = store.keep_view(VIEW)
    with pytest.raises(OptionError, match="another view is called 'Nightly p50'"):
        store.keep_view(replace(VIEW, name=" Nightly p50 "))
    assert store.change_view(kept.id, name=VIEW.name) == kept  # its own name is free
