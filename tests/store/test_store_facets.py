"""Lists of series and runs: in other orders, and what they can be narrowed by, the same on every database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchwright import schema
from benchwright.errors import OptionError
from benchwright.records import Case, Environment, Revision, Status, Target
from benchwright.store import archive
from benchwright.store.archive import FacetCounts, RunChoice, SeriesFilter
from benchwright.store.choices import facet_of
from benchwright.store.sql import SqlStore, series_lists

Make = Callable[..., Any]
DESK = Environment(machine={"cpu": "desk"}, system={"os": "Linux"})
LAB = Environment(machine={"cpu": "lab"}, system={"os": "Linux"})
KEYS = {name: schema.environment_key(one) for name, one in (("desk", DESK), ("lab", LAB))}


def _case(name: str, **params: Any) -> Case:
    return Case(name=name, target=Target(runtime="python", uri=name), params=params)


@pytest.fixture(scope="module")
def filled(
    fresh_url: Callable[[Path], str],
    tmp_path_factory: pytest.TempPathFactory,
    make_run: Make,
    make_result: Make,
) -> Iterator[SqlStore]:
    """Four runs: two branches, two machines, three cases of three metrics each."""
    with closing(SqlStore(fresh_url(tmp_path_factory.mktemp("facets")))) as store:
        told = [
            ("main", ("nightly",), DESK, [_case("encode", batch=1), _case("encode", batch=16)]),
            ("topic", (), DESK, [_case("encode", batch=1)]),
            ("main", ("nightly", "release"), LAB, [_case("encode", batch=1), _case("decode", batch=2, fast=True)]),
            ("", ("nightly",), DESK, [_case("encode", batch=1)]),
        ]
        for i, (branch, tags, environment, cases) in enumerate(told):
            results = tuple(
                replace(make_result(f"r{i}-{j}", value=10.0 - i, minute=i), case=case, environment=environment)
                for j, case in enumerate(cases)
            )
            if i == 1:
                results = (*results, replace(results[0], id="bad", status=Status.FAILED, metrics=(), samples=()))
            run = make_run(f"run-{i}", results=results, minute=i, tags=tags)
            store.add_run(replace(run, revision=Revision(vcs="git", id=f"c{9 - i}", branch=branch)))
        yield store


def _facet(counts: FacetCounts, name: str) -> dict[str, int]:
    found = {one.name: dict(one.values) for one in counts.facets}
    return found.get(name, {})


def test_every_value_says_how_much_it_would_leave(filled: SqlStore) -> None:
    counts = filled.series_facets(SeriesFilter())
    assert counts.total == 12  # four cases with their params and machine, three metrics
    assert _facet(counts, "machine") == {KEYS["desk"]: 6, KEYS["lab"]: 6}
    assert set(_facet(counts, "metric").values()) == {4}
    assert _facet(counts, "param.batch") == {"1": 6, "2": 3, "16": 3}
    assert _facet(counts, "param.fast") == {"true": 3}
    assert _facet(counts, "branch") == {"main": 12, "topic": 3}
    assert _facet(counts, "tag") == {"nightly": 12, "release": 6}


@pytest.mark.parametrize("newest", [100, 1])
def test_a_branch_or_tag_leaves_as_many_as_it_says(
    filled: SqlStore, newest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many runs are looked at, of all or of those that have the label."""
    monkeypatch.setattr(series_lists, "_RUNS", 1)
    monkeypatch.setattr(series_lists, "_NEWEST", newest)
    monkeypatch.setattr(filled, "_runs_of_series", series_lists.RunsOfSeries())
    for name, value in (("branch", "main"), ("branch", "topic"), ("tag", "nightly"), ("tag", "release")):
        chosen = SeriesFilter(branches=(value,)) if name == "branch" else SeriesFilter(tags=(value,))
        counts = filled.series_facets(chosen)
        assert _facet(counts, name)[value] == counts.total == len(filled.series(chosen)) > 0


def test_what_is_chosen_narrows_the_others_and_not_its_own(filled: SqlStore) -> None:
    chosen = SeriesFilter(params=("batch=1",), metrics=("latency",))
    counts = filled.series_facets(chosen)
    assert counts.total == len(filled.series(chosen)) == 2
    assert _facet(counts, "param.batch") == {"1": 2, "2": 1, "16": 1}
    assert _facet(counts, "machine") == {KEYS["desk"]: 1, KEYS["lab"]: 1}
    assert set(_facet(counts, "metric").values()) == {2}
    several = SeriesFilter(params=("batch=1", "batch=16"), machines=(KEYS["desk"],), metrics=("latency",))
    assert len(filled.series(several)) == 2
    both = SeriesFilter(params=("batch=2", "fast=true"), metrics=("latency",))
    assert [one.series.case for one in filled.series(both)] == ["decode"]
    assert filled.series(replace(both, params=("batch=1", "fast=true"))) == []


def test_a_choice_that_nothing_has_is_shown_with_none(filled: SqlStore) -> None:
    counts = filled.series_facets(SeriesFilter(machines=("gone",), params=("batch=417",)))
    assert counts.total == 0
    assert _facet(counts, "machine")["gone"] == 0
    assert _facet(counts, "param.batch") == {"417": 0}


def test_branches_and_tags_choose_what_their_runs_measured(filled: SqlStore) -> None:
    def cases(**chosen: Any) -> list[tuple[str, str]]:
        found = filled.series(SeriesFilter(metrics=("latency",), **chosen))
        return [(one.series.case, one.series.params) for one in found]

    assert cases(branches=("topic",)) == [("encode", '{"batch":1}')]
    assert len(cases(branches=("main",))) == len(cases(branches=("main", "topic"))) == 4
    assert len(cases(tags=("release",))) == 2
    assert cases(branches=("topic",), tags=("release",)) == []


@pytest.mark.parametrize(
    ("sort", "found"),
    [
        ("case", ["decode 2", "encode 1", "encode 1", "encode 16"]),
        ("-case", ["encode 1", "encode 1", "encode 16", "decode 2"]),
        ("count", ["decode 2", "encode 1", "encode 16", "encode 1"]),
        ("-count", ["encode 1", "decode 2", "encode 1", "encode 16"]),
        ("last", ["encode 1", "decode 2", "encode 1", "encode 16"]),
        ("-at", ["encode 1", "decode 2", "encode 1", "encode 16"]),
        ("machine", ["decode 2", "encode 1", "encode 1", "encode 16"]),
        ("-machine", ["encode 1", "encode 16", "decode 2", "encode 1"]),
    ],
)
def test_series_are_ordered_and_a_page_goes_on_in_the_order(filled: SqlStore, sort: str, found: list[str]) -> None:
    order = (KEYS["lab"], KEYS["desk"])
    chosen = SeriesFilter(metrics=("latency",), sort=sort, machine_order=order, limit=3)
    first = filled.series(chosen)
    second = filled.series(replace(chosen, after=first[-1].number))
    listed = [
        f"{one.series.case} {one.series.params.split(':')[1].strip('}').split(',')[0]}" for one in [*first, *second]
    ]
    assert listed == found


def test_an_order_that_there_is_not_is_refused(filled: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match=r"not ordered by 'cas'\n  did you mean 'case'"):
        filled.series(SeriesFilter(sort="cas"))
    with pytest.raises(OptionError, match="not ordered by 'size'"):
        filled.runs_page(also=RunChoice(sort="-size"))
    monkeypatch.setattr(series_lists, "MOST_SORTED", 11)
    with pytest.raises(OptionError, match="12 series are too many"):
        filled.series(SeriesFilter(sort="last"))
    assert archive.MOST_SORTED == 5000


# ---- runs ----


def test_runs_can_be_narrowed_by_branch_tag_and_machine(filled: SqlStore) -> None:
    def ids(**also: Any) -> list[str]:
        return [run.id for run in filled.runs_page(also=RunChoice(**also))]

    assert ids() == ["run-3", "run-2", "run-1", "run-0"]
    assert ids(branches=("main",)) == ["run-2", "run-0"]
    assert ids(branches=("main", "topic")) == ["run-2", "run-1", "run-0"]
    assert ids(tags=("release", "gone")) == ["run-2"]
    assert ids(machines=(KEYS["desk"],), tags=("nightly",)) == ["run-3", "run-0"]
    assert ids(machines=("gone",)) == []
    counts = filled.run_facets(also=RunChoice(branches=("main",)))
    assert counts.total == 2
    assert _facet(counts, "branch") == {"main": 2, "topic": 1}
    assert _facet(counts, "tag") == {"nightly": 2, "release": 1}
    assert _facet(counts, "machine") == {KEYS["desk"]: 1, KEYS["lab"]: 1}
    assert filled.run_facets(case="decode").total == 1


@pytest.mark.parametrize(
    ("sort", "found"),
    [
        ("run", ["run-0", "run-1", "run-2", "run-3"]),
        ("-results", ["run-2", "run-1", "run-0", "run-3"]),
        ("results", ["run-3", "run-2", "run-1", "run-0"]),
        ("-failed", ["run-1", "run-3", "run-2", "run-0"]),
        ("revision", ["run-3", "run-2", "run-1", "run-0"]),
    ],
)
def test_runs_are_ordered_and_a_page_goes_on_in_the_order(filled: SqlStore, sort: str, found: list[str]) -> None:
    also = RunChoice(sort=sort)
    first = [run.id for run in filled.runs_page(limit=3, also=also)]
    second = [run.id for run in filled.runs_page(limit=3, before=first[-1], also=also)]
    assert [*first, *second] == found


# Last: where a database is given, a new store takes the place of the one that all others look at.
def test_a_new_series_is_counted_at_once(store: SqlStore, make_run: Make, make_result: Make) -> None:
    assert store.series_facets(SeriesFilter()) == FacetCounts(total=0, facets=())
    store.add_run(make_run("run-1", results=(make_result("r1"),)))
    assert store.series_facets(SeriesFilter()).total == 3
    store.add_run(make_run("run-2", results=(replace(make_result("r2"), case=_case("new")),)))
    assert store.series_facets(SeriesFilter()).total == 6


def test_a_value_of_thousands_of_digits_is_ordered_as_text() -> None:
    assert facet_of("param.n", [("1" * 5000, 1), ("2", 1)], ()).values == (("1" * 5000, 1), ("2", 1))


def test_many_wildcards_take_no_longer_than_one(filled: SqlStore) -> None:
    """Anybody who may read may ask for it: the time must not grow with every `*`."""
    assert filled.series(SeriesFilter(case="*" * 300 + "#", limit=1)) == []
    assert filled.series(SeriesFilter(case="*e*" * 100 + "#", limit=1)) == []
    assert filled.series(SeriesFilter(case="*" * 300, limit=1))
