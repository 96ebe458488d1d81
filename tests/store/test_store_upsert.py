"""Uploads may come twice and at once: what is there already is recognised, and nothing is lost or doubled."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from benchwright.errors import StoreError
from benchwright.records import Result, Run
from benchwright.store.archive import SeriesFilter
from benchwright.store.sql import SqlStore

MakeResult = Callable[..., Result]
MakeRun = Callable[..., Run]


def test_the_same_again_changes_nothing(store: SqlStore, make_run: MakeRun, make_result: MakeResult) -> None:
    run, result = make_run("run-1", tags=("x",), commit="abc"), make_result("a", samples=20)
    assert (store.put_run(run), store.put_run(run)) == (True, False)
    assert (store.put("run-1", result), store.put("run-1", result)) == (True, False)
    assert not store.put_run(replace(run, results=(result,)))  # it is the header that counts
    assert store.run("run-1") == replace(run, results=(result,))


def test_something_else_under_the_same_id_is_refused(
    store: SqlStore, make_run: MakeRun, make_result: MakeResult
) -> None:
    run, result = make_run("run-1"), make_result("a", samples=20)
    store.put_run(run)
    store.put_run(make_run("run-2"))
    store.put("run-1", result)
    with pytest.raises(StoreError, match="another run has the id 'run-1'"):
        store.put_run(replace(run, reason="another"))
    for other, where in (
        (make_result("a", value=2.0, samples=20), "run-1"),
        (make_result("a", samples=21), "run-1"),
        (result, "run-2"),
    ):
        with pytest.raises(StoreError, match="another result has the id 'a'"):
            store.put(where, other)
    with pytest.raises(StoreError, match="no run 'nowhere'"):
        store.put("nowhere", make_result("b"))
    assert store.run("run-1").results == (result,)


def test_a_result_is_put_in_the_place_of_another_once(
    store: SqlStore, make_run: MakeRun, make_result: MakeResult
) -> None:
    store.put_run(make_run("run-1"))
    store.put("run-1", make_result("a"))
    new = make_result("b", value=2.0)
    assert store.put("run-1", new, instead_of="a")
    assert not store.put("run-1", new, instead_of="a")  # the answer was lost, so it comes again
    assert store.run("run-1").results == (new,)
    mended = make_result("b", value=3.0)
    assert store.put("run-1", mended, instead_of="b")
    assert not store.put("run-1", mended, instead_of="b")
    assert store.run("run-1").results == (mended,)
    assert [one.count for one in store.series(SeriesFilter(metric="latency"))] == [1]
    with pytest.raises(StoreError, match="no result 'gone' any more"):
        store.put("run-1", make_result("c"), instead_of="gone")


# Forks after the imports, which is what a process costs; each child opens the store for itself.
_WRITERS = """
import os, sys, traceback
from benchwright.records import *
from benchwright.store import open_store

url, writers, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
environment = Environment(machine={"cpu": "x"}, system={})

def result(name, i):
    metrics = tuple(
        Metric(name=f"m{j}", unit="s", better=Better.LOWER, estimate=Estimate(point=float(i), low=None, high=None))
        for j in range(5)
    )
    case = Case(name=f"case-{i % 3}", target=Target(runtime="fake", uri=""))
    return Result(id=name, case=case, round=i, status=Status.OK, environment=environment,
        started_at="2026-01-01T00:00:00Z", duration=0.1, metrics=metrics)

def write(writer):
    store = open_store(url)
    store.put_run(Run(id="shared", started_at="2026-01-01T00:00:00Z", harness="1"))
    won = 0
    for i in range(count):
        assert store.put("shared", result(f"{writer}-{i}", i))
        won += store.put("shared", result(f"all-{i}", i))
    store.close()
    return won

children = []
for writer in range(writers):
    reading, writing = os.pipe()
    if not os.fork():
        try:
            os.write(writing, str(write(writer)).encode())
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    os.close(writing)
    children.append(reading)
print(sum(int(os.read(child, 9) or -1000) for child in children))
sys.exit(any(os.wait()[1] for _ in children))
"""


def test_eight_writers_at_once_lose_and_double_nothing(url: str) -> None:
    """Each adds results of its own, and all of them try to add the same ones too."""
    ended = subprocess.run(
        [sys.executable, "-c", _WRITERS, url, "8", "4"], capture_output=True, text=True, timeout=100, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["4"]  # of the shared ones each was added by one writer
    store = SqlStore(url)
    expected = {f"{writer}-{i}" for writer in [*range(8), "all"] for i in range(4)}
    found = [result.id for result in store.run("shared").results]
    assert len(found) == len(expected) and set(found) == expected
    assert sum(one.count for one in store.series(SeriesFilter(metric="m0"))) == 36
    assert len(store.series(SeriesFilter())) == 15
    store.close()
