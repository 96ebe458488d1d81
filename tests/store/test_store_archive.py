"""What a database tells beyond a store: lists, columns and values, the same on every database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from benchwright import schema
from benchwright.errors import StoreError
from benchwright.records import Environment, Result, Revision, Run, Status
from benchwright.store.archive import Archive, CommitFacts, SeriesFilter
from benchwright.store.sql import SqlStore, counts, series_columns

MakeResult = Callable[..., Result]
MakeRun = Callable[..., Run]

MINUTE = 60_000_000  # microseconds
OTHER = Environment(machine={"cpu": "Other 1"}, system={"os": "Linux", "architecture": "arm64"}, knobs={"load": 1.0})


@pytest.fixture
def filled(store: SqlStore, make_run: MakeRun, make_result: MakeResult) -> SqlStore:
    """Three runs of two rounds; one machine measures once; a case fails; a result has a revision of its own."""
    for number in range(3):
        results = [
            make_result(f"{number}-{round_}", value=number + round_ / 10, number=round_, minute=number * 10 + round_)
            for round_ in range(2)
        ]
        results.append(make_result(f"{number}-bad", case="Other.onnx", status=Status.KILLED, minute=number * 10 + 2))
        run = make_run(f"run-{number}", minute=number * 10, results=tuple(results), commit=f"c{number}")
        store.add_run(replace(run, tags=("nightly",) if number < 2 else ()))
    elsewhere = make_result("x", value=9.0, environment=OTHER, minute=5, revision=Revision(vcs="git", id="own"))
    store.add_run(make_run("run-x", minute=5, results=(elsewhere,), commit="c0"))
    return store


def _latency(store: SqlStore, machine: int = 0) -> str:
    keys = [one.series for one in store.series(SeriesFilter(metric="latency"))]
    return keys[machine].key


def test_it_is_an_archive(store: SqlStore) -> None:
    archive: Archive = store
    assert archive.newest() == 0


def test_series_are_listed_with_their_extent(filled: SqlStore) -> None:
    here, there = filled.series(SeriesFilter(metric="latency"))
    assert (here.count, there.count) == (6, 1)
    assert here.last_at - here.first_at == 21 * MINUTE
    assert here.series.points == () and here.series.unit == "s"
    assert there.first_at == there.last_at == here.first_at + 5 * MINUTE


def test_series_are_chosen(filled: SqlStore) -> None:
    cases: list[tuple[dict[str, Any], int]] = [
        ({}, 6),
        ({"metric": "lat*"}, 4),
        ({"case": "MODEL*"}, 0),
        ({"case": "model.onnx", "metric": "throughput"}, 2),
        ({"words": "BATCH_SIZE p50"}, 2),
        ({"words": "nothing"}, 0),
        ({"machine": schema.environment_key(OTHER)}, 3),
        ({"case": "*", "limit": 2}, 2),
        ({"limit": 2}, 2),
    ]
    assert [(chosen, len(filled.series(SeriesFilter(**chosen)))) for chosen, _ in cases] == cases


def test_pages_of_series_go_on_after_a_number(filled: SqlStore) -> None:
    everything = filled.series(SeriesFilter())
    first = filled.series(SeriesFilter(limit=4))
    rest = filled.series(SeriesFilter(limit=4, after=first[-1].number))
    assert first + rest == everything


def test_a_series_whose_points_are_gone_is_listed_only_by_its_key(
    store: SqlStore, make_run: MakeRun, make_result: MakeResult
) -> None:
    store.add_run(make_run("run-1", results=(make_result("a"),)))
    key = _latency(store)
    store.add("run-1", make_result("b", status=Status.FAILED), instead_of="a")
    assert store.series(SeriesFilter()) == []
    (named,) = store.series(SeriesFilter(keys=(key,)))
    assert (named.count, named.first_at, named.last_at) == (0, 0, 0)
    assert len(store.columns(key, "s").at) == 0
    assert store.tails([key, "unknown"]) == {key: []}


def test_columns_are_the_history(filled: SqlStore) -> None:
    key = _latency(filled)
    columns = filled.columns(key, "s")
    assert columns.point.tolist() == [0.0, 0.1, 1.0, 1.1, 2.0, 2.1]
    assert columns.low.tolist() == pytest.approx([value * 0.99 for value in columns.point])
    assert [columns.runs[i] for i in columns.run] == ["run-0", "run-0", "run-1", "run-1", "run-2", "run-2"]
    assert [columns.revisions[i] for i in columns.revision] == ["c0", "c0", "c1", "c1", "c2", "c2"]
    names = filled.result_ids(columns.result.tolist())
    assert [names[number] for number in columns.result.tolist()] == ["0-0", "0-1", "1-0", "1-1", "2-0", "2-1"]
    newest = filled.columns(key, "s", limit=2)
    assert (newest.point.tolist(), newest.runs, newest.revisions) == ([2.0, 2.1], ("run-2",), ("c2",))
    with pytest.raises(StoreError, match="no series"):
        filled.columns(key, "ms")


def test_a_missing_interval_is_no_number(store: SqlStore, make_run: MakeRun, make_result: MakeResult) -> None:
    whole = make_result("a")
    bare = replace(whole.metrics[0], estimate=replace(whole.metrics[0].estimate, low=None, high=None))
    failed = replace(make_result("b", value=7.0, minute=1), status=Status.FAILED)
    store.add_run(make_run("run-1", results=(replace(whole, metrics=(bare,)), failed)))
    columns = store.columns(_latency(store), "s")
    assert columns.point.tolist() == [1.0]  # what failed is not among them
    assert columns.low.tolist() != columns.low.tolist()  # NaN


def test_what_is_remembered_is_what_is_there(
    store: SqlStore, make_run: MakeRun, make_result: MakeResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts, machines and histories of a store that grows and shrinks, against a store that remembers nothing."""
    for module in (counts, series_columns):
        monkeypatch.setattr(module, "UNSETTLED", 2)
    monkeypatch.setattr(series_columns, "_LONG", 3)
    store.begin(make_run("run-1", commit="c"))
    draw = [5, 3, 9, 1, 7, 8, 2, 6, 4, 11, 10, 12]
    for number, minute in enumerate(draw):
        status = Status.OK if number % 5 else Status.FAILED
        store.add("run-1", replace(make_result(f"r{number}", value=float(minute), minute=minute), status=status))
        _agree(store)
    store.add("run-1", make_result("new", value=0.5, minute=20), instead_of="r2")
    _agree(store)
    other = SqlStore(_url(store))
    other.add("run-1", make_result("more", value=0.7, minute=0))
    other.close()
    _agree(store)


def _agree(store: SqlStore) -> None:
    fresh = SqlStore(_url(store))
    try:
        assert store.series(SeriesFilter()) == fresh.series(SeriesFilter())
        assert store.machines() == fresh.machines()
        for one in fresh.series(SeriesFilter(metric="latency")):
            ours, theirs = (each.columns(one.series.key, "s") for each in (store, fresh))
            assert ours.point.tolist() == theirs.point.tolist()
            assert ours.result.tolist() == theirs.result.tolist()
            assert [ours.runs[i] for i in ours.run] == [theirs.runs[i] for i in theirs.run]
    finally:
        fresh.close()


def _url(store: SqlStore) -> str:
    return store._engine.url.render_as_string(hide_password=False)


def test_tails_are_the_newest_values(filled: SqlStore) -> None:
    here, there = _latency(filled), _latency(filled, 1)
    assert filled.tails([there, here], points=3) == {there: [9.0], here: [1.1, 2.0, 2.1]}


def test_what_lies_around_a_run_is_as_much_before_it_as_after(filled: SqlStore) -> None:
    key = _latency(filled)
    places = [(key, "run-1"), (key, "run-0"), (key, "gone"), ("unknown", "run-1")]
    assert filled.around(places, points=2) == [[0.1, 1.0], [0.0], [], []]
    assert filled.around(places[:1], points=30) == [[0.0, 0.1, 1.0, 1.1, 2.0, 2.1]]
    assert filled.around([]) == []


def test_values_of_runs_name_everything(filled: SqlStore) -> None:
    values = filled.values_of_runs(["run-1", "run-x"], metrics=["latency"])
    assert [(one.run, one.result, one.round, one.estimate.point) for one in values] == [
        ("run-1", "1-0", 0, 1.0),
        ("run-1", "1-1", 1, 1.1),
        ("run-x", "x", 0, 9.0),
    ]
    assert values[0].estimate.method == "order statistics" and values[0].better == "lower"
    assert (values[0].revision, values[-1].revision) == ("c1", "own")
    assert values[-1].machine == schema.environment_key(OTHER)
    assert len(filled.values_of_runs(["run-1"])) == 6
    assert filled.values_of_runs(["unknown"]) == filled.values_of_runs([]) == []


def test_newest_values_are_those_of_the_newest_run(filled: SqlStore) -> None:
    cases: list[tuple[dict[str, Any], list[float]]] = [
        ({}, [2.0, 2.1, 9.0]),
        ({"case": "model*"}, [2.0, 2.1, 9.0]),
        ({"case": "nothing"}, []),
        ({"machine": schema.environment_key(OTHER)}, [9.0]),
        ({"revision": "c1"}, [1.0, 1.1]),
        ({"revision": "own"}, [9.0]),
        ({"tag": "nightly"}, [1.0, 1.1]),
        ({"tag": "nightly", "revision": "c0"}, [0.0, 0.1]),
    ]
    for chosen, points in cases:
        found = filled.newest_values(metrics=["latency"], **chosen)
        assert [one.estimate.point for one in found] == points, chosen


def test_runs_come_in_pages(filled: SqlStore) -> None:
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({}, ["run-x", "run-2", "run-1", "run-0"]),
        ({"limit": 1}, ["run-x"]),
        ({"before": "run-1"}, ["run-0"]),
        ({"tag": "nightly"}, ["run-1", "run-0"]),
        ({"case": "Other.onnx", "before": "run-2"}, ["run-1", "run-0"]),
        ({"case": "m*"}, ["run-x", "run-2", "run-1", "run-0"]),
        ({"revision": "c0"}, ["run-x", "run-0"]),
        ({"revision": "own"}, ["run-x"]),
        ({"machine": schema.environment_key(OTHER)}, ["run-x"]),
        ({"machine": "unknown"}, []),
    ]
    assert [(sought, [one.id for one in filled.runs_page(**sought)]) for sought, _ in cases] == cases


def test_a_page_of_runs_counts_like_a_list_of_them(filled: SqlStore) -> None:
    assert filled.runs_page() == filled.runs()
    with pytest.raises(StoreError, match="no run 'nowhere'"):
        filled.runs_page(before="nowhere")


def test_one_result_and_its_environment(filled: SqlStore) -> None:
    run, result = filled.result("x")
    assert (run, result.id, result.samples) == ("run-x", "x", ())
    assert filled.environment_of("x") == OTHER
    assert filled.header("run-x") == replace(filled.run("run-x"), results=())
    for look in (filled.result, filled.environment_of, filled.header):
        with pytest.raises(StoreError, match=r"no .* 'nowhere'"):
            look("nowhere")


def test_what_fails_is_told(filled: SqlStore) -> None:
    here = schema.environment_key(filled.environment_of("0-0"))
    told = {(case, machine, status): (run, count) for case, machine, run, status, count, _ in filled.statuses()}
    assert told == {
        ("model.onnx", here, Status.OK): ("run-2", 6),
        ("model.onnx", schema.environment_key(OTHER), Status.OK): ("run-x", 1),
        ("Other.onnx", here, Status.KILLED): ("run-2", 3),
    }
    newest = filled.series(SeriesFilter())[0].last_at
    assert {(case, count) for case, _, _, _, count, _ in filled.statuses(since=newest - 5 * MINUTE)} == {
        ("model.onnx", 2),
        ("Other.onnx", 1),
    }
    outcomes = filled.outcomes(["run-2"])
    assert [one.status for one in outcomes] == [Status.OK, Status.OK, Status.KILLED]
    bad = outcomes[-1]
    assert bad.failure is not None and bad.failure.message == "the worker died"
    assert (bad.case, bad.machine, bad.params) == ("Other.onnx", here, '{"runtime":"onnxruntime","batch_size":1}')


def test_machines_are_told_apart(filled: SqlStore) -> None:
    here, there = filled.machines()
    assert (here.results, here.failed, here.cases) == (9, 3, 2)
    assert (there.results, there.failed, there.cases) == (1, 0, 1)
    assert there.environment == replace(OTHER, knobs={})
    assert here.last_at - here.first_at == 22 * MINUTE
    assert filled.environments() == {one.key: one.environment for one in (here, there)}
    totals = filled.totals()
    assert (totals["runs"], totals["results"], totals["series"], totals["points"]) == (4, 10, 6, 21)
    assert totals["machines"] == 2
    assert filled.metric_names() == ["latency", "latency_p50", "throughput"]
    directions = {"latency": "lower", "latency_p50": "lower", "throughput": "higher"}
    assert filled.metric_directions() == directions
    runs = [run.id for run in filled.runs_page()]
    sizes = filled.run_sizes([*runs, "nowhere"])
    assert sorted(sizes) == sorted(runs) and sum(count for count, _ in sizes.values()) == 10
    assert max(newest for _, newest in sizes.values()) == filled.newest()


def test_subjects_come_from_runs(store: SqlStore, make_run: MakeRun) -> None:
    told = Revision(vcs="git", id="abc", subject="Make it faster")
    store.add_run(replace(make_run("run-1"), revision=told))
    assert store.subjects(["abc", "unknown", ""]) == {"abc": "Make it faster"}


def test_repositories_come_from_runs_and_hold_no_login(store: SqlStore, make_run: MakeRun) -> None:
    told = Revision(vcs="git", id="abc", subject="Make it faster", repository="https://github.com/owner/name.git")
    store.add_run(replace(make_run("one"), revision=Revision(vcs="git", id="abc")))
    store.add_run(replace(make_run("two"), revision=told))
    known = "https://github.com/owner/name"
    assert store.commits(["abc", "unknown"]) == {"abc": CommitFacts("Make it faster", known)}
    assert store.run("two").revision == replace(told, repository=known)
    bad = Revision(vcs="git", id="def", subject="x", repository="https://me:s3cret@github.com/owner/name")
    store.add_run(replace(make_run("three"), revision=bad))
    assert store.commits(["def"]) == {"def": CommitFacts("x", "")}


def test_newest_grows_with_every_result(store: SqlStore, make_run: MakeRun, make_result: MakeResult) -> None:
    store.begin(make_run("run-1"))
    store.add("run-1", make_result("a"))
    first = store.newest()
    store.add("run-1", make_result("b"), instead_of="a")
    assert store.newest() > first
