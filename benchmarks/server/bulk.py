"""Many points at once: runs added, imported and copied, against the same rows written by hand.

    python benchmarks/server/bulk.py [--results 5000] [--rounds 5] [--database sqlite|postgresql]

A result has 27 metrics, and a run 100 results. By hand is the points alone: `executemany` into SQLite, COPY into
PostgreSQL, into tables of the same shape with the same indexes, on the disk when it returns. Ours keeps documents,
environments, series and what is to be judged besides. Contenders take turns.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from typing import Any

import uploads

from benchwright.records import Run
from benchwright.store import copies, open_store
from benchwright.store.files.transfer import add_all, export_runs, import_runs
from benchwright.store.sql import SqlStore

METRICS = 27
RUN = 100  # results
LEAST = 100_000  # points a second
NUMBER = count()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is missed."""
    from harness import report

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--results", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--database", choices=uploads.DATABASES, action="append")
    given = parser.parse_args(arguments)
    claims: list[Any] = []
    table: dict[str, dict[str, str]] = {}
    for database in given.database or uploads.DATABASES:
        with tempfile.TemporaryDirectory(prefix="benchwright-bulk-") as folder, ExitStack() as stack:
            Path(folder).chmod(0o755)  # as root, PostgreSQL runs under another user
            server = stack.enter_context(uploads.postgresql(Path(folder))) if database == "postgresql" else ""
            made = measure(database, server, Path(folder), given.results, given.rounds)
            claims += made
            for claim in made:
                if claim.unit == "/s":
                    table.setdefault(claim.what.partition("second, ")[2], {})[database] = f"{claim.figure.point:,.0f}"
    missed = int(report(claims, judged=given.results >= 2000))
    databases = given.database or uploads.DATABASES
    print(f"\n| points a second, bar {LEAST:,} | {' | '.join(databases)} |")
    print(f"| --- | {' | '.join('---' for _ in databases)} |")
    for name, cells in table.items():
        print(f"| {name} | {' | '.join(cells.get(database, '') for database in databases)} |")
    return missed


def measure(database: str, server: str, folder: Path, results: int, rounds: int) -> list[Any]:
    """All contenders on one database, which is a new one each time."""
    from harness import Claim, at_least, interleaved, ratios, spread

    runs = _make_runs(results)
    file, lines = folder / "source.db", str(folder / "runs.jsonl")
    with closing(open_store(str(file))) as source:
        for run in runs:
            source.add_run(run)
        export_runs(source, [run.id for run in runs], lines)

    def target() -> str:
        name = f"made_{next(NUMBER)}"
        if not server:
            return f"sqlite:///{folder / name}.db"
        import psycopg

        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return server.replace("/postgres?", f"/{name}?")

    def rate(add: Callable[[SqlStore], object]) -> Callable[[], float]:
        def timed() -> float:
            with closing(SqlStore(target())) as store:
                began = time.perf_counter()
                add(store)
                return results * METRICS / (time.perf_counter() - began)

        return timed

    def copy(store: SqlStore) -> None:
        with closing(SqlStore(f"sqlite:///{file}")) as source:
            assert copies.copy(source, store).differing == ()

    contenders = {
        "by hand": lambda: _by_hand(target(), results),
        "runs added, as importers do": rate(lambda store: add_all(store, runs)),
        "store copy, compared afterwards": rate(copy),
        "import of JSON Lines": rate(lambda store: import_runs(store, lines)),
    }
    rates = interleaved(contenders, rounds)
    claims = []
    for name, found in rates.items():
        bar = at_least(LEAST) if name != "by hand" else None
        claims.append(Claim(what=f"{database}: points a second, {name}", figure=spread(found), unit="/s", bar=bar))
        if name != "by hand":
            claims.append(Claim(what=f"{database}: the same against by hand", figure=ratios(found, rates["by hand"])))
    return claims


def _make_runs(results: int) -> list[Run]:
    draw = random.Random(7)
    made = [uploads.result(f"r{i}", i, draw, metrics=METRICS, calls=0) for i in range(results)]
    return [
        Run(
            id=f"run-{start}",
            started_at=f"2026-03-01T{start // RUN // 60 % 24:02}:{start // RUN % 60:02}:00+00:00",
            harness="1",
            results=tuple(made[start : start + RUN]),
        )
        for start in range(0, results, RUN)
    ]


_COLUMNS = "series, at, result, point, low, high, confidence, method"


def _by_hand(url: str, results: int) -> float:
    draw = random.Random(8)
    rows: list[tuple[Any, ...]] = [
        (series, at, at, point, point * 0.99, point * 1.01, 0.95, 1)
        for at in range(results)
        for series in range(METRICS)
        for point in (draw.random(),)
    ]
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            file.execute("PRAGMA journal_mode = WAL")
            file.execute("PRAGMA synchronous = FULL")
            file.execute(f"CREATE TABLE hand ({_COLUMNS}, PRIMARY KEY (series, at, result)) WITHOUT ROWID")
            file.execute("CREATE INDEX ix_hand ON hand (result)")
            began = time.perf_counter()
            file.executemany("INSERT INTO hand VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            file.commit()
            return results * METRICS / (time.perf_counter() - began)
    import psycopg

    with psycopg.connect(url) as connection:
        typed = (
            "series int8, at int8, result int8, point float8, low float8, high float8, confidence float8, method int8"
        )
        connection.execute(f"CREATE TABLE hand ({typed}, PRIMARY KEY (series, at, result))")
        connection.execute("CREATE INDEX ix_hand ON hand (result)")
        connection.commit()
        began = time.perf_counter()
        with connection.cursor().copy(f"COPY hand ({_COLUMNS}) FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["int8"] * 3 + ["float8"] * 4 + ["int8"])
            for row in rows:
                copy.write_row(row)
        connection.commit()
        return results * METRICS / (time.perf_counter() - began)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))  # where `harness` lies
    sys.exit(main())
