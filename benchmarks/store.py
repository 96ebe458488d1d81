"""The store: points added per second, the history of one series out of a million points, bytes per point.

    python benchmarks/store.py [--quick]

A point is one metric of one result. The yardstick is sqlite3 by hand: the same numbers in one table, nothing else kept.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter

from benchwright.records import Better, Case, Environment, Estimate, Metric, Result, Run, Status, Target
from benchwright.store import Store, open_store
from harness import Claim, Settings, at_least, at_most, interleaved, ratios, report, settings, spread

METRICS = 20  # per result, as a run with monitors has
CASES = 50
NUMBER = count()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is missed."""
    asked = settings(__doc__, arguments, rounds=9, quick_rounds=2)
    with tempfile.TemporaryDirectory(prefix="benchwright-") as folder:
        claims = [*_adding(Path(folder), asked), *_reading(Path(folder), asked)]
    return report(claims, judged=not asked.quick)


# ---- adding ----


def _adding(folder: Path, asked: Settings) -> Iterator[Claim]:
    results = asked.count(500, 50)
    contenders = {
        "by hand": partial(_by_hand, folder, results),
        "a run at once": partial(_at_once, folder, results),
        "result by result": partial(_one_by_one, folder, results // 5),
    }
    rates = interleaved(contenders, asked.rounds)
    for name in ("a run at once", "result by result"):
        yield Claim(
            what=f"points added per second, {name}",
            figure=spread(rates[name]),
            unit="/s",
            bar=at_least(100_000) if name == "a run at once" else None,
        )
        yield Claim(what=f"the same against sqlite3 by hand, {name}", figure=ratios(rates[name], rates["by hand"]))


def _at_once(folder: Path, results: int) -> float:
    """One run in one transaction: documents, series and points."""
    run = _run(results)
    with closing(open_store(folder / f"{next(NUMBER)}.db")) as store:
        return _rate(lambda: store.add_run(run), results)


def _one_by_one(folder: Path, results: int) -> float:
    """A transaction for each result, on the disk before the next begins."""
    run, given = _run(0), _run(results).results

    def add() -> None:
        for result in given:
            store.add(run.id, result)

    with closing(open_store(folder / f"{next(NUMBER)}.db")) as store:
        store.begin(run)
        return _rate(add, results)


def _by_hand(folder: Path, results: int) -> float:
    """Tuples with executemany into one table, on the disk when it returns."""
    rows = [
        (series, at, at, point, point * 0.99, point * 1.01, 0.95, 1)
        for at in range(results)
        for series in range(METRICS)
        for point in (random.random(),)
    ]
    with closing(sqlite3.connect(folder / f"{next(NUMBER)}.db")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(
            "CREATE TABLE points (series, at, result, point, low, high, confidence, method, "
            "PRIMARY KEY (series, at, result)) WITHOUT ROWID"
        )

        def add() -> None:
            connection.executemany("INSERT INTO points VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            connection.commit()

        return _rate(add, results)


def _rate(add: Callable[[], object], results: int) -> float:
    began = perf_counter()
    add()
    return results * METRICS / (perf_counter() - began)


# ---- reading ----


def _reading(folder: Path, asked: Settings) -> Iterator[Claim]:
    path = folder / "large.db"
    points = asked.count(1_000_000, 20_000)
    with closing(open_store(path)) as store:
        for _ in range(points // METRICS // CASES):
            store.add_run(_run(CASES))
    with closing(open_store(path)) as store, closing(sqlite3.connect(path)) as connection:
        _history(store)  # the first look compiles the query
        contenders = {"ours": partial(_history, store), "by hand": partial(_history_by_hand, connection)}
        times = interleaved(contenders, asked.count(101, 11))
        thin = connection.execute("SELECT sum(pgsize) FROM dbstat WHERE name = 'points'").fetchone()[0]
    yield Claim(
        what=f"history of one series of {points // METRICS // CASES:,} points out of {points:,}",
        figure=spread([seconds * 1000 for seconds in times["ours"]]),
        unit="ms",
        bar=at_most(10.0),
    )
    yield Claim(what="the same against sqlite3 by hand", figure=ratios(times["ours"], times["by hand"]))
    for what, size in (("whole records", path.stat().st_size), ("the table of points alone", thin)):
        yield Claim(what=f"file per point, {what}", figure=spread([size / points]), unit="B")


def _history(store: Store) -> float:
    began = perf_counter()
    (series,) = store.history("model-7.onnx", metrics=["metric-3"], limit=1000)
    took = perf_counter() - began
    assert len(series.points) > 1
    return took


def _history_by_hand(connection: sqlite3.Connection) -> float:
    began = perf_counter()
    (number,) = connection.execute(
        "SELECT id FROM series WHERE case_name = 'model-7.onnx' AND metric = 'metric-3'"
    ).fetchone()
    query = "SELECT * FROM points WHERE series_id = ? ORDER BY at DESC LIMIT 1000"
    assert len(connection.execute(query, (number,)).fetchall()) > 1
    return perf_counter() - began


# ---- records ----


def _run(results: int) -> Run:
    number = next(NUMBER)
    environment = Environment(
        machine={"cpu": "Example 9000", "cores": 8},
        system={"os": "Linux", "architecture": "x86_64"},
        packages={f"package-{i}": "1.2.3" for i in range(100)},
        knobs={"governor": "performance"},
    )
    started_at = f"2026-01-{1 + number // 1440 % 28:02}T{number // 60 % 24:02}:{number % 60:02}:00+00:00"
    return Run(
        id=f"run-{number}",
        started_at=started_at,
        harness="1",
        results=tuple(_result(f"{number}-{i}", i % CASES, environment, started_at) for i in range(results)),
    )


def _result(name: str, case: int, environment: Environment, started_at: str) -> Result:
    return Result(
        id=name,
        case=Case(
            name=f"model-{case}.onnx",
            target=Target(runtime="onnxruntime", uri=f"models/model-{case}.onnx"),
            params={"runtime": "onnxruntime", "batch_size": 1},
        ),
        round=0,
        status=Status.OK,
        environment=environment,
        started_at=started_at,
        duration=1.5,
        metrics=tuple(_metric(f"metric-{i}") for i in range(METRICS)),
        instrument={"clock_cost_ns": 41, "cost_per_call_ns": 52.5, "verdict": "trustworthy"},
    )


def _metric(name: str) -> Metric:
    point = random.random()
    return Metric(
        name=name,
        unit="s",
        better=Better.LOWER,
        estimate=Estimate(point=point, low=point * 0.99, high=point * 1.01, method="order statistics"),
        count=10_000,
    )


if __name__ == "__main__":
    sys.exit(main())
