"""What the axis of a series is made of: rounds folded to one point, branches, the order of commits, releases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

import series_of_runs as made
from benchwright.analysis.timeline import combine_rounds
from benchwright.errors import OptionError
from benchwright.pages.axes import main_line
from benchwright.pages.series import series_view
from benchwright.pages.views import clean_address, home_address, views_page
from benchwright.records import Revision, Run
from benchwright.store.archive import RELEASE, Annotation, NamedView, SeriesFilter
from benchwright.store.sql import SqlStore
from benchwright.units import limits

Keep = Callable[[Sequence[Run]], SqlStore]


def _on(run: Run, *, branch: str = "main", committed_at: str = "", tags: tuple[str, ...] = ()) -> Run:
    assert run.revision is not None
    return replace(run, revision=replace(run.revision, branch=branch, committed_at=committed_at, tags=tags))


def _key(archive: SqlStore, metric: str = "latency_p50") -> str:
    return archive.series(SeriesFilter(metric=metric))[0].series.key


def test_rounds_are_one_point_with_the_interval_that_every_other_page_tells(kept: Keep) -> None:
    archive = kept([made.run_of(i, value) for i, value in enumerate([1.0, 1.2, 1.1])])
    key = _key(archive)
    each, together = series_view(archive, key), series_view(archive, key, fold=True)
    assert (len(each.at), list(each.rounds)) == (6, [1] * 6)
    assert list(together.rounds) == [2, 2, 2]
    assert list(together.at) == list(each.at)[::2] and list(together.result) == list(each.result)[::2]
    assert together.line == each.line  # a list shows the same of it
    series = archive.history(made.CASE.name, metrics=["latency_p50"])[0]
    for place, run in enumerate(together.runs[number] for number in together.run):
        told = combine_rounds(
            [point for point in series.points if point.run == run], limits(series.metric, series.unit)
        )
        assert (together.point[place], together.low[place], together.high[place]) == (told.point, told.low, told.high)


def test_what_a_run_measured_of_two_commits_stays_apart(kept: Keep) -> None:
    run = made.run_of(0, 1.0)
    first, second = run.results
    other = replace(second, revision=Revision(vcs="git", id="other"))
    archive = kept([replace(run, results=(first, other))])
    view = series_view(archive, _key(archive), fold=True)
    assert list(view.rounds) == [1, 1] and len(view.revisions) == 2


def test_folding_nothing_is_nothing(kept: Keep) -> None:
    archive = kept([made.run_of(0, 1.0)])
    key = _key(archive)
    view = series_view(archive, key, fold=True)
    assert [len(view.at), len(view.point)] == [1, 1]


def test_values_without_intervals_fold_too(kept: Keep) -> None:
    run = made.run_of(0, 1.0)
    bare = tuple(
        replace(one, metrics=tuple(replace(m, estimate=replace(m.estimate, low=None, high=None)) for m in one.metrics))
        for one in run.results
    )
    archive = kept([replace(run, results=bare)])
    view = series_view(archive, _key(archive), fold=True)
    assert list(view.rounds) == [2] and np.isfinite(np.asarray(view.low, dtype=float)).all()


def test_branches_stand_apart_with_the_main_line_named(kept: Keep) -> None:
    names = ["topic", "topic", "topic", "main", ""]
    archive = kept([_on(made.run_of(i, 1.0), branch=name) for i, name in enumerate(names)])
    view = series_view(archive, _key(archive), fold=True)
    assert [view.branches[place] for place in view.branch] == names
    assert view.main == "main"


@pytest.mark.parametrize(
    ("branches", "found"),
    [
        ([], ""),
        (["", ""], ""),
        (["topic", "", ""], "topic"),
        (["b", "a", "b"], "b"),
        (["develop", "x", "x", "x"], "develop"),
        (["trunk", "master"], "master"),
    ],
)
def test_the_main_line_is_called_as_usual_or_has_the_most_points(branches: list[str], found: str) -> None:
    names = list(dict.fromkeys(branches))
    assert main_line(names, np.array([names.index(one) for one in branches], dtype=np.int64)) == found


def test_commits_have_their_dates_or_stand_where_they_were_first_measured(kept: Keep) -> None:
    late = _on(made.run_of(0, 1.0), committed_at="2026-03-05T00:00:00+00:00")
    archive = kept([late, made.run_of(1, 1.0), made.run_of(2, 1.0, revision=made.commit(1))])
    view = series_view(archive, _key(archive))
    assert dict(zip(view.revisions, view.committed, strict=True)) == {
        made.commit(0): 1_772_668_800_000,
        made.commit(1): view.at[2],
    }


def test_releases_are_tags_of_commits_and_notes_that_say_so(kept: Keep) -> None:
    archive = kept([_on(made.run_of(0, 1.0), tags=("v2", "v1.9")), made.run_of(1, 1.0)])
    key = _key(archive)
    note = Annotation(id=0, series="", at=1_700_000_000_000_000, text="shipped", who="ada", made_at="", kind=RELEASE)
    archive.annotate(note)
    archive.annotate(replace(note, text="only a note", kind=""))
    archive.annotate(replace(note, series="another", text="elsewhere"))
    view = series_view(archive, key)
    assert [(one.name, one.revision) for one in view.releases] == [
        ("shipped", ""),
        ("v1.9", made.commit(0)),
        ("v2", made.commit(0)),
    ]
    assert {note.text: note.release for note in view.notes} == {"shipped": True, "only a note": False}


# ---- views ----


def test_views_are_listed_and_one_is_home(kept: Keep) -> None:
    archive = kept([])
    assert home_address(archive) == ""
    view = NamedView(id=0, name="Ours", address="runs?tag=nightly", who="Ada", made_at="2026-03-01T00:00:00+00:00")
    archive.keep_view(replace(view, is_home=True))
    (line,) = views_page(archive).views
    assert (line.name, line.who, line.made_at, line.is_home) == ("Ours", "Ada", 1_772_323_200_000, True)
    assert home_address(archive) == "runs?tag=nightly"


@pytest.mark.parametrize(
    "given",
    ["series/k?x=commit", "#/series/k?x=commit", "https://bench.example/#/series/k?x=commit", "/series/k?x=commit"],
)
def test_an_address_is_what_follows_the_sign(given: str) -> None:
    assert clean_address(given) == "series/k?x=commit"


@pytest.mark.parametrize("wrong", ["", "#", "#/", "javascript:alert(1)", "//elsewhere", "Series"])
def test_an_address_of_no_page_is_refused(wrong: str) -> None:
    with pytest.raises(OptionError, match="not the address of a page"):
        clean_address(wrong)
