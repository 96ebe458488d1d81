"""What the store promises: every write whole, every reference found, every history in order."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchwright import schema
from benchwright.errors import DecodeError, StoreError
from benchwright.records import Better, Result, Revision, Run, Status
from benchwright.store import open_store
from benchwright.store.sql import SqlStore

MakeResult = Callable[..., Result]
MakeRun = Callable[..., Run]


def test_results_added_one_by_one_make_the_run(store: SqlStore, make_run: MakeRun, make_result: MakeResult) -> None:
    results = tuple(make_result(f"r{i}", number=i, samples=50) for i in range(3))
    run = make_run("run-1", tags=("nightly",), commit="abc123")
    store.begin(run)
    assert store.run("run-1") == run
    for result in results:
        store.add("run-1", result)
    assert store.run("run-1") == replace(run, results=results)


def test_a_run_is_added_once(store: SqlStore, make_run: MakeRun, make_result: MakeResult) -> None:
    run = make_run("run-1", results=(make_result("r1"),))
    assert store.add_run(run)
    assert not store.add_run(replace(run, results=(*run.results, make_result("r2"))))
    assert store.run("run-1") == run
    with pytest.raises(StoreError, match="'run-1' is there already"):
        store.begin(run)


def test_a_run_that_cannot_be_added_whole_leaves_nothing(
    store: SqlStore, make_run: MakeRun, make_result: MakeResult
) -> None:
    bad = replace(make_result("r2", batch=64), started_at="yesterday")
    with pytest.raises(DecodeError, match=r"result r2: started_at: 'yesterday'"):
        store.add_run(make_run("run-1", results=(make_result("r1"), bad)))
    assert list(store.run_ids()) == []
    assert store.history("*") == []
    # What was learnt in the transaction that failed must not be believed in the next.
    run = make_run("run-1", results=(make_result("r1"), make_result("r2", batch=64)))
    assert store.add_run(run)
    assert store.run("run-1") == run


def test_what_is_wrong_with_a_result_is_said(store: SqlStore, make_run: MakeRun, make_result: MakeResult) -> None:
    result = make_result("r1")
    with pytest.raises(StoreError, match="no run 'nowhere'"):
        store.add("nowhere", result)
    store.add_run(make_run("run-1", results=(result,)))
    with pytest.raises(StoreError, match="in the store already"):
        store.add("run-1", result)
    with pytest.raises(StoreError, match="two metrics have the same name"):
        store.add("run-1", replace(make_result("r2"), metrics=result.metrics[:1] * 2))
    with pytest.raises(StoreError, match="no run 'other'"):
        store.run("other")
    with pytest.raises(StoreError, match="no result 'other'"):
        store.samples("other")
    assert store.run("run-1").results == (result,)


def test_a_large_run_keeps_its_order(store: SqlStore, make_run: MakeRun, make_result: MakeResult) -> None:
    results = tuple(make_result(f"r{i}", batch=i % 7, minute=i % 600) for i in range(450))
    run = make_run("run-1", results=results)
    store.add_run(run)
    assert store.run("run-1") == run


def test_a_summary_tells_how_many_results_there_were_to_be(
    store: SqlStore, make_run: MakeRun, make_result: MakeResult
) -> None:
    store.begin(replace(make_run("cut"), planned=3))
    store.add("cut", make_result("r1"))
    (summary,) = store.runs()
    assert (summary.results, summary.planned) == (1, 3)
    assert store.run("cut").planned == 3


def test_summaries_are_newest_first(store: SqlStore, make_run: MakeRun, make_result: MakeResult) -> None:
    results = (
        make_result("a", case="z.onnx"),
        make_result("b", case="a.onnx", status=Status.TIMEOUT),
        make_result("c", case="a.onnx", status=Status.SKIPPED),
    )
    store.add_run(make_run("early", minute=1, commit="c0ffee"))
    store.add_run(make_run("late", minute=9, results=results, tags=("x",)))
    late, early = store.runs()
    assert (late.id, late.cases, late.results, late.failed, late.tags) == ("late", ("z.onnx", "a.onnx"), 3, 1, ("x",))
    assert (early.id, early.cases, early.results) == ("early", (), 0)
    assert early.revision == Revision(vcs="git", id="c0ffee")
    assert [summary.id for summary in store.runs(limit=1)] == ["late"]
    assert [summary.id for summary in store.runs(tag="x")] == ["late"]
    assert list(store.run_ids()) == ["early", "late"]


# ---- references ----


@pytest.fixture
def four_runs(store: SqlStore, make_run: MakeRun) -> SqlStore:
    store.add_run(make_run("20260301-aaaa", minute=1, commit="abc1111", tags=("base",)))
    store.add_run(make_run("20260301-aabb", minute=2, commit="abc2222", tags=("base", "odd%name")))
    store.add_run(make_run("20260302-cccc", minute=3, commit="def3333"))
    store.add_run(make_run("20260303-dddd", minute=4, commit="def3333"))
    return store


@pytest.mark.parametrize(
    ("reference", "run"),
    [
        ("last", "20260303-dddd"),
        ("last~0", "20260303-dddd"),
        ("last~3", "20260301-aaaa"),
        ("20260302-cccc", "20260302-cccc"),
        ("20260302", "20260302-cccc"),
        ("base", "20260301-aabb"),
        ("odd%name", "20260301-aabb"),
        ("abc1111", "20260301-aaaa"),
        ("abc1", "20260301-aaaa"),
        ("def", "20260303-dddd"),
    ],
)
def test_a_reference_is_found(four_runs: SqlStore, reference: str, run: str) -> None:
    assert four_runs.find(reference) == run


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("abc", "'abc' may be any of 2 runs\n  write more of one of: abc2222, abc1111"),
        ("20260301", "'20260301' may be any of 2 runs\n  write more of one of: 20260301-aabb, 20260301-aaaa"),
        ("last~4", "no run 4 before the last: the store holds 4"),
        ("bas", "no run, tag or commit 'bas' in this store\n  did you mean 'base'?"),
        ("ABC1111", "no run, tag or commit 'ABC1111'"),
        ("%", "no run, tag or commit '%'"),
        ("", "no run, tag or commit ''"),
    ],
)
def test_a_reference_that_names_none_or_several(four_runs: SqlStore, reference: str, says: str) -> None:
    with pytest.raises(StoreError) as caught:
        four_runs.find(reference)
    assert says in str(caught.value)


def test_in_an_empty_store_nothing_is_found(store: SqlStore) -> None:
    for reference in ("last", "abc"):
        with pytest.raises(StoreError, match="holds no runs"):
            store.find(reference)


# ---- history ----


def test_history_is_in_order_of_time_whatever_the_order_of_adding(
    store: SqlStore, make_run: MakeRun, make_result: MakeResult
) -> None:
    for minute in (5, 1, 9, 3):
        result = make_result(f"r{minute}", value=float(minute), minute=minute)
        store.add_run(make_run(f"run-{minute}", minute=minute, results=(result,), commit=f"c{minute}"))
    (series,) = store.history("model.onnx", metrics=["latency"])
    assert [point.estimate.point for point in series.points] == [1.0, 3.0, 5.0, 9.0]
    assert [point.revision for point in series.points] == ["c1", "c3", "c5", "c9"]
    (series,) = store.history("model.onnx", metrics=["latency"], limit=2)
    assert [point.run for point in series.points] == ["run-5", "run-9"]


def test_series_follow_the_schema(store: SqlStore, make_run: MakeRun, make_result: MakeResult) -> None:
    results = (make_result("a"), make_result("b", batch=8), make_result("c", case="other.onnx"))
    store.add_run(make_run("run-1", results=results))
    found = {series.key: series for series in store.history("*")}
    expected = {
        schema.series_key(result.case, result.environment, metric.name): (result, metric)
        for result in results
        for metric in result.metrics
    }
    assert found.keys() == expected.keys()
    for key, (result, metric) in expected.items():
        series = found[key]
        assert (series.case, series.metric, series.unit) == (result.case.name, metric.name, metric.unit)
        assert series.params == f'{{"runtime":"onnxruntime","batch_size":{result.case.params["batch_size"]}}}'
        assert series.machine == schema.environment_key(result.environment)
        assert [point.estimate for point in series.points] == [metric.estimate]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("model.onnx", {"model.onnx"}),
        ("MODEL.onnx", set()),
        ("m*", {"model.onnx", "m_del.onnx"}),
        ("M*", set()),
        ("m_del*", {"m_del.onnx"}),
        ("*.onnx", {"model.onnx", "m_del.onnx", "100%.onnx"}),
        ("100%*", {"100%.onnx"}),
        ("*", {"model.onnx", "m_del.onnx", "100%.onnx", "a\\b"}),
        ("a\\*", {"a\\b"}),
    ],
)
def test_only_the_star_is_special(
    store: SqlStore, make_run: MakeRun, make_result: MakeResult, pattern: str, names: set[str]
) -> None:
    cases = ("model.onnx", "m_del.onnx", "100%.onnx", "a\\b")
    store.add_run(make_run("run-1", results=tuple(make_result(case, case=case) for case in cases)))
    assert {series.case for series in store.history(pattern)} == names
    assert store.case_names() == sorted(cases)


def test_a_results_own_revision_comes_before_the_runs(
    store: SqlStore, make_run: MakeRun, make_result: MakeResult
) -> None:
    own = make_result("b", minute=1, revision=Revision(vcs="git", id="own"))
    store.add_run(make_run("run-1", commit="runs", results=(make_result("a"), own)))
    (series,) = store.history("model.onnx", metrics=["latency"])
    assert [point.revision for point in series.points] == ["runs", "own"]


def test_another_unit_is_another_series_and_the_last_direction_counts(
    store: SqlStore, make_run: MakeRun, make_result: MakeResult
) -> None:
    first = make_result("a")
    latency = first.metrics[0]
    turned = replace(make_result("b", minute=1), metrics=(replace(latency, better=Better.HIGHER),))
    other = replace(make_result("c", minute=2), metrics=(replace(latency, unit="ms"),))
    for number, result in enumerate((first, turned, other)):
        store.add_run(make_run(f"run-{number}", results=(result,)))
    seconds, milliseconds = store.history("model.onnx", metrics=["latency"])
    assert (seconds.unit, len(seconds.points), seconds.better) == ("s", 2, "higher")
    assert (milliseconds.unit, len(milliseconds.points), milliseconds.better) == ("ms", 1, "lower")


def test_what_failed_is_a_miss_and_not_a_point(store: SqlStore, make_run: MakeRun, make_result: MakeResult) -> None:
    results = (make_result("a"), make_result("b", status=Status.KILLED, batch=8, minute=3))
    store.add_run(make_run("run-1", results=results, commit="abc"))
    assert {series.params for series in store.history("model.onnx")} == {'{"runtime":"onnxruntime","batch_size":1}'}
    (miss,) = store.misses("mod*")
    assert (miss.result, miss.status, miss.reason, miss.revision) == ("b", Status.KILLED, "the worker died", "abc")
    assert miss.params == '{"runtime":"onnxruntime","batch_size":8}'
    assert store.misses("other") == []


def test_one_machine_is_kept_once(tmp_path: Path, make_run: MakeRun, make_result: MakeResult) -> None:
    store = SqlStore(f"sqlite:///{tmp_path / 'r.db'}")
    first = make_result("a")
    later = replace(first.environment, knobs={"load": 3.5}, collected_at="2026-03-02T00:00:00+00:00")
    run = make_run("run-1", results=(first, make_result("b", environment=later)))
    store.add_run(run)
    assert store.run("run-1") == run
    store.close()
    with closing(sqlite3.connect(tmp_path / "r.db")) as connection:
        assert connection.execute("SELECT count(*) FROM environments").fetchone() == (1,)


# ---- opening ----


def test_threads_share_a_store(store: SqlStore, make_run: MakeRun, make_result: MakeResult) -> None:
    store.begin(make_run("run-1"))
    names = [f"{thread}-{i}" for thread in range(4) for i in range(10)]

    def add(thread: int) -> None:
        for i in range(10):
            store.add("run-1", make_result(f"{thread}-{i}", batch=i))

    threads = [threading.Thread(target=add, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(result.id for result in store.run("run-1").results) == sorted(names)


@pytest.mark.parametrize("name", ["plain.db", "50% of it?x=1#y.db", "with space/é.db"])
def test_any_path_will_do(tmp_path: Path, make_run: MakeRun, name: str) -> None:
    path = tmp_path / name
    store = open_store(path)
    store.add_run(make_run("run-1"))
    store.close()
    assert path.is_file()
    again = open_store(f"sqlite:///{path}", create=False)
    assert again.find("last") == "run-1"
    again.close()


def test_reading_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such store"):
        open_store(tmp_path / "typo" / "results.db", create=False)
    assert list(tmp_path.iterdir()) == []


def test_opening_a_store_imports_no_alembic(tmp_path: Path) -> None:
    """Alembic would add a third of a second to every verb."""
    program = (
        "import sys; from benchwright.store import open_store\n"
        f"for _ in range(2): open_store({str(tmp_path / 'r.db')!r}).close()\n"
        "sys.exit('alembic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_commit_is_on_the_disk_when_it_returns(tmp_path: Path) -> None:
    store = SqlStore(f"sqlite:///{tmp_path / 'r.db'}")
    with store._reading() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    store.close()
    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 60_000}


def test_a_result_takes_the_place_of_another(store: SqlStore, make_run: MakeRun, make_result: MakeResult) -> None:
    """Also one with points and samples: a target that failed may have been watched until then."""
    store.add_run(make_run("other", results=(make_result("other-0", value=7.0, samples=5),)))
    store.begin(make_run("run", minute=1))
    measured = replace(make_result("run-0", samples=9), status=Status.FAILED)
    for result in (measured, make_result("run-1", number=1)):
        store.add("run", result)
    store.add("run", make_result("run-2", value=3.0, samples=4), instead_of="run-0")
    assert [result.id for result in store.run("run").results] == ["run-1", "run-2"]
    (series,) = store.history("model.onnx", metrics=["latency_p50"])
    assert [(point.result, point.estimate.point) for point in series.points] == [
        ("other-0", 7.0),
        ("run-1", 1.0),
        ("run-2", 3.0),
    ]
    assert [copy.calls for copy in store.samples("run-2")] == [4]
    with pytest.raises(StoreError, match="no result 'run-0'"):
        store.samples("run-0")
    (summary,) = [s for s in store.runs() if s.id == "run"]
    assert (summary.results, summary.failed) == (2, 0)


@pytest.mark.parametrize("instead_of", ["run-0", "other-0"])
def test_only_a_result_of_the_same_run_can_be_replaced(
    instead_of: str, store: SqlStore, make_run: MakeRun, make_result: MakeResult
) -> None:
    store.add_run(make_run("other", results=(make_result("other-0"),)))
    store.begin(make_run("run"))
    with pytest.raises(StoreError, match=f"run 'run' has no result '{instead_of}' any more"):
        store.add("run", make_result("run-1"), instead_of=instead_of)
    assert store.run("run").results == ()
    assert len(store.run("other").results) == 1


@pytest.mark.parametrize(
    ("case", "fitting"),
    [
        ("*", ["A.onnx", "a.onnx", "a[1]?", "b_c%"]),
        ("a*", ["a.onnx", "a[1]?"]),
        ("a[1]?*", ["a[1]?"]),
        ("*_c%", ["b_c%"]),
        ("*.onnx", ["A.onnx", "a.onnx"]),
        ("a[1]*", ["a[1]?"]),
        ("?*", []),
        ("*x*", ["A.onnx", "a.onnx"]),
    ],
)
def test_the_database_compares_names_with_wildcards(
    store: SqlStore, make_run: Any, make_result: Any, case: str, fitting: list[str]
) -> None:
    for number, name in enumerate(["A.onnx", "a.onnx", "a[1]?", "b_c%"]):
        store.add_run(make_run(f"run-{number}", results=(make_result(f"r{number}", case=name),)))
    assert sorted({series.case for series in store.history(case)}) == fitting
    assert sorted({name for run in store.runs_page(case=case) for name in run.cases}) == fitting


def test_lists_go_on_after_what_was_read(store: SqlStore, make_run: Any, make_result: Any) -> None:
    for number in range(5):
        store.add_run(make_run(f"run-{number}", results=(make_result(f"r{number}", case=f"case-{number}"),)))
    assert [*store.run_ids(after="run-1", limit=2)] == ["run-2", "run-3"]
    assert [run.id for run in store.runs(before="run-2")] == ["run-1", "run-0"]
    whole = store.history("*")
    assert store.history("*", skip=2, most=5) == whole[2:4] and store.history("*", most=1) == whole[:1]
    with pytest.raises(StoreError, match="no run"):
        store.run_ids(after="gone")
