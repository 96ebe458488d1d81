"""`kill -9` loses at most the case in flight; writers at once lose nothing."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from benchwright.store.sql import SqlStore

# Adds results for ever (or `count` of them) to a run of its own, and says each id once `add` has returned.
_WRITER = """
import sys
from array import array
from benchwright.records import *
from benchwright.store import open_store

path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = open_store(path)
store.begin(Run(id=name, started_at="2026-01-01T00:00:00Z", harness="1"))
environment = Environment(machine={"cpu": "x"}, system={})
latency = array("q", range(20_000, 25_000))
i = 0
while i != count:
    metrics = tuple(
        Metric(name=f"m{j}", unit="s", better=Better.LOWER, estimate=Estimate(point=i + j, low=None, high=None))
        for j in range(20)
    )
    # Each writer also brings series of its own now and then, so that the shared rows are fought over.
    case = Case(name=f"case-{i % 7}-{i // 50}", target=Target(runtime="fake", uri=""))
    samples = (Samples(copy=0, calls=5000, loops=1, elapsed=1, columns={"latency": latency}),)
    store.add(name, Result(id=f"{name}-{i}", case=case, round=i, status=Status.OK, environment=environment,
        started_at="2026-01-01T00:00:00Z", duration=0.1, metrics=metrics, samples=samples))
    print(f"{name}-{i}", flush=True)
    i += 1
"""


def _writer(path: Path, name: str, count: int = -1) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path), name, str(count)], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.timeout(300)  # beside other tests
@pytest.mark.parametrize("kills", [7, pytest.param(20, marks=pytest.mark.soak)])
def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path: Path, kills: int) -> None:
    path = tmp_path / "r.db"
    draw = random.Random(20)
    for attempt in range(kills):
        writer = _writer(path, f"run-{attempt}")
        assert writer.stdout is not None
        # The first ones may die while the file is being made; later ones after a first result, in full flight.
        said = [writer.stdout.readline().strip()] if attempt >= 5 else []
        time.sleep(draw.uniform(0.0, 0.9 if attempt < 5 else 0.1))
        writer.send_signal(signal.SIGKILL)
        said += [line.strip() for line in writer.stdout if line.endswith("\n")]
        writer.wait()
        writer.stdout.close()
        _check(path, f"run-{attempt}", [name for name in said if name])
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def _check(path: Path, run: str, acknowledged: list[str]) -> None:
    store = SqlStore(f"sqlite:///{path}")
    try:
        found = store.run(run) if run in list(store.run_ids()) else None
        kept = [result.id for result in found.results] if found else []
        assert kept[: len(acknowledged)] == acknowledged
        assert len(kept) <= len(acknowledged) + 1  # the one whose acknowledgement was cut off
        for result in found.results if found else ():
            assert len(result.metrics) == 20 and len(result.samples[0].columns["latency"]) == 5000
    finally:
        store.close()


@pytest.mark.soak
def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "r.db"  # not there yet: both make it
    writers = [_writer(path, name, 150) for name in ("a", "b")]
    for writer in writers:
        writer.communicate(timeout=100)
        assert writer.returncode == 0
    store = SqlStore(f"sqlite:///{path}")
    for name in ("a", "b"):
        assert [result.id for result in store.run(name).results] == [f"{name}-{i}" for i in range(150)]
    assert sum(len(series.points) for series in store.history("*", metrics=["m0"])) == 300
    assert len({series.key for series in store.history("*")}) == len(store.history("*"))
    store.close()


@pytest.mark.soak
def test_many_may_make_the_same_store_at_once(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "r.db"
    writers = [_writer(path, f"w{i}", 2) for i in range(6)]
    for writer in writers:
        writer.communicate(timeout=100)
        assert writer.returncode == 0
    store = SqlStore(f"sqlite:///{path}")
    assert sorted(store.run_ids()) == [f"w{i}" for i in range(6)]
    store.close()
