"""A store is a file from elsewhere too: SQLite keeps anything in any column, and whoever sends a store may have put it.

What is wrong is a cell, a row, a table, a byte, or something inside of a document that is packed in a cell.
"""

from __future__ import annotations

import functools
import random
import sqlite3
import tempfile
import zlib
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from readers import calls, mutations, seeds

CELLS: tuple[Any, ...] = (
    *(None, -1, 0, 1, 2**62, -(2**63), 0.5, 1e308, float("inf"), "", "x", "9" * 400, "\ud800", b"", b"\x00\xff"),
    *("{}", "[]", "[" * 3000 + "]" * 3000, '{"a": NaN}', zlib.compress(b"{}"), zlib.compress(b"[" * 5000)),
    *("2026-01-01", "9999999-01-01T00:00:00", "ok", "failed", "unknown"),
)


@functools.cache
def store() -> list[bytes]:
    """A store with a few runs and a finding, as one file without a log."""
    from benchwright.records.findings import Mute, Threshold
    from benchwright.store.sql import SqlStore

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.db"
        with closing(SqlStore(f"sqlite:///{file}")) as kept:
            for number in range(3):
                run = seeds.run()
                results = tuple(replace(result, id=f"{number}-{result.id}") for result in run.results)
                kept.add_run(replace(run, id=f"20260102T03040500{number}-abc", results=results))
            kept.keep_finding(seeds.finding())
            kept.mute(Mute(what="other", who="me", at="2026-01-02T03:04:05+00:00"))
            kept.set_threshold(Threshold(case="other", metric="", smallest=0.1))
        with closing(sqlite3.connect(file)) as database:
            database.execute("PRAGMA journal_mode = DELETE")
        return [file.read_bytes()]


def by_cell(body: bytes, draw: random.Random) -> bytes:
    """A store in which some cells hold something else, rows are gone, or tables."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(body)
        database.execute("PRAGMA foreign_keys = OFF")
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for _ in range(draw.choice((1, 1, 1, 3))):
            with suppress(sqlite3.Error, OverflowError, UnicodeEncodeError):  # what no database takes
                _change(database, draw.choice(tables), draw)
        database.commit()
        return database.serialize()


def _change(database: sqlite3.Connection, table: str, draw: random.Random) -> None:
    way = draw.randrange(40)
    if way == 0:
        database.execute(f"DROP TABLE {table}")
        return
    rows = [number for (number,) in database.execute(f"SELECT rowid FROM {table}")]
    if not rows:
        return
    row = draw.choice(rows)
    if way < 4:
        database.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
        return
    column = draw.choice([found[1] for found in database.execute(f"PRAGMA table_info({table})")])
    (before,) = database.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", (row,)).fetchone()
    database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (_other(before, draw), row))


def _other(before: Any, draw: random.Random) -> Any:
    if isinstance(before, bytes) and draw.random() < 0.6:
        try:
            return zlib.compress(_wrong(zlib.decompress(before), draw))
        except zlib.error:
            return mutations.by_byte(before, draw)
    if isinstance(before, str) and before.startswith("{") and draw.random() < 0.6:
        return _wrong(before.encode(), draw).decode("utf-8", "replace")
    return draw.choice(CELLS)


def _wrong(text: bytes, draw: random.Random) -> bytes:
    ways = (mutations.by_structure, mutations.by_token, mutations.by_byte)
    way = draw.choice(ways if text[:1] == b"{" else ways[2:])
    return bytes(way(text, draw))


def look(path: Path, draw: random.Random) -> None:
    """Every verb that reads a store, and every page of the dashboard."""
    for end in ("-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    out = str(path.with_name("out"))
    ways: tuple[tuple[str, ...], ...] = (
        ("list",),
        ("list", "--all"),
        ("show", "last"),
        ("show", "last~1", "--raw-samples", "--format", "csv"),
        ("show", "last", "--format", "harness"),
        ("export", "--all", f"{out}.jsonl", "--force"),
        ("history", "*"),
        ("findings",),
        ("findings", "judge"),
        ("findings", "rules"),
        ("compare", "last~1", "last"),
        ("check", "last", "--against", "last~1"),
        ("report", "-o", f"{out}.html", "--force"),
        ("operators", "last"),
        ("scaling", "last"),
        ("store", "info"),
        ("store", "prune", "--runs", "1d", "--dry-run"),
        ("token", "list"),
    )
    if draw.random() < 0.7:
        calls.call_verb(*draw.choice(ways), "--store", str(path))
    else:
        _open_page(path, draw)


def _open_page(path: Path, draw: random.Random) -> None:
    from benchwright.pages.compare import compare
    from benchwright.pages.findings import finding_view, findings_page
    from benchwright.pages.machines import machines
    from benchwright.pages.matrix import matrix
    from benchwright.pages.overview import overview
    from benchwright.pages.results import result_view
    from benchwright.pages.runs import run_view, runs_page
    from benchwright.pages.series import series_view
    from benchwright.store.sql import SqlStore

    with closing(SqlStore(f"sqlite:///{path}")) as kept:
        pages = (
            lambda: overview(kept),
            lambda: runs_page(kept),
            lambda: matrix(kept),
            lambda: findings_page(kept),
            lambda: machines(kept),
            lambda: run_view(kept, "last"),
            lambda: result_view(kept, "2-r1"),
            lambda: compare(kept, "run:last~1", "run:last"),
            lambda: series_view(kept, draw.choice([each.key for each in kept.history("*")] or ["none"])),
            lambda: finding_view(kept, seeds.finding().id),
        )
        draw.choice(pages)()
