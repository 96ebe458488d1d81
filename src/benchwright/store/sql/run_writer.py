"""Keeps a run in SQLite's file through the standard library alone.

SQLAlchemy takes a quarter of a second to import, several times as long as the smallest run takes to measure; and a run
that is only kept asks the store for nothing. What is written is decided in `write`, for both.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from benchwright.errors import StoreError
from benchwright.records import Result, Run
from benchwright.store.sql import sqlite_tables, write
from benchwright.store.sql.faults import explain_sqlite_errors
from benchwright.store.sql.presence import Presence
from benchwright.store.sql.write import Key, Row
from benchwright.store.sqlite_file import VERSION, VERSION_TABLE, database_file

T = TypeVar("T")
TIMEOUT = 60.0  # seconds to wait for another writer
_AT_ONCE = 500  # rows of a statement: SQLite takes 32,766 parameters


def open_writer(url: str, *, timeout: float = TIMEOUT) -> SqliteRunWriter | None:
    """A writer for the store at `url`, whose file is made when it is absent.

    None where it takes more than that: another version, another database, a file that cannot be written. Whoever opens
    the store itself then brings it up to date, or says what is wrong.
    """
    file = database_file(url)
    if is_read_only(file):
        return None
    connection = None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(file, timeout=timeout, isolation_level=None, check_same_thread=False)
        tune(connection, timeout)
        if _has_tables(connection) or _make_tables(connection):
            return SqliteRunWriter(file, connection)
    except (OSError, sqlite3.Error, UnicodeDecodeError):
        pass
    if connection is not None:
        connection.close()
    return None


class SqliteRunWriter:
    """Takes runs and their results, as `SqlStore` does, and nothing else. For one thread."""

    def __init__(self, file: Path, connection: sqlite3.Connection) -> None:
        self._file, self._place, self._connection = file, str(file), connection
        self._rows = SqliteRows(connection)
        self._known = write.KnownIds()
        self._presence = Presence(file)
        self._has_written = False

    def begin(self, run: Run) -> None:
        """Records the run without results."""
        with self._writing():
            if write.add_header(self._rows, run) is None:
                raise StoreError(f"{self._place}: run {run.id!r} is there already")

    def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
        """Keeps one result with its points and raw samples, in the place of another if one is named."""
        upload = write.upload_of(run_id, result, instead_of)
        with self._writing():
            write.add(self._rows, self._known, self._place, upload)

    def add_all(self, run_id: str, results: Sequence[Result]) -> None:
        """Keeps several results of a run in one transaction."""
        with self._writing():
            home = write.home_of(write.homes(self._rows, [run_id]), self._place, run_id)
            write.add_results(self._rows, self._known, home, results)

    def close(self) -> None:
        """Ends the connection; a `StoreLostError` when what was written is no longer in place."""
        try:
            if self._has_written:
                self._presence.confirm(is_last=True)
        finally:
            self._has_written = False  # told once
            self._connection.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction that is on the disk when it ends."""
        try:
            with explain_sqlite_errors(self._place, self._file), transaction(self._connection):
                yield
        except BaseException:
            self._known = write.KnownIds()  # ids learnt in a transaction that was rolled back name nothing
            raise
        self._has_written = True
        try:
            self._presence.confirm()
        except StoreError:
            self._has_written = False  # it is told here
            raise


class SqliteRows:
    """Writes rows inside the connection's transaction: see `write.RowWriter`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add_missing(self, table: str, rows: Sequence[Row]) -> None:
        """Adds rows, all with the same columns; leaves those alone which are there already."""
        for some in _parts(rows):
            statement = f"{_insertion(table, some[0])} ON CONFLICT DO NOTHING"
            self._connection.executemany(statement, [tuple(row.values()) for row in some])

    def add_unless_there(self, table: str, row: Row) -> int | None:
        """Adds a row and returns its number; None where one of its unique name is there already."""
        statement = f"{_insertion(table, row)} ON CONFLICT DO NOTHING RETURNING id"
        found = self._connection.execute(statement, tuple(row.values())).fetchall()
        return int(found[0][0]) if found else None

    def add_new(self, table: str, names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> Mapping[Any, int]:
        """Adds rows unless one of the same unique name is there; the numbers of those that were added."""
        statement = f"{_insertion(table, names)} ON CONFLICT DO NOTHING RETURNING {names[0]}, id"
        return dict(found for row in rows for found in self._connection.execute(statement, row).fetchall())

    def add_tuples(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Adds rows with all columns, in the table's order."""
        self._connection.executemany(_insertion(table, sqlite_tables.columns_of(table)), rows)

    def add_numbered(self, table: str, names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> Mapping[Any, int]:
        """Adds rows with these columns; the numbers that they were given, by their first column, which is unique."""
        statement = f"{_insertion(table, names)} RETURNING {names[0]}, id"
        return dict(self._connection.execute(statement, row).fetchall()[0] for row in rows)

    def find(self, table: str, key: tuple[str, ...], values: Sequence[Key], *names: str) -> list[tuple[Any, ...]]:
        """Of the rows whose `key` is one of the values the columns of the key, and those of `names`."""
        found = []
        for some in _parts(values):
            wanted = ", ".join([_marks(len(key))] * len(some))
            statement = f"SELECT {_list((*key, *names))} FROM {table} WHERE ({_list(key)}) IN (VALUES {wanted})"  # noqa: S608 - our own
            found += self._connection.execute(statement, [part for value in some for part in value]).fetchall()
        return found

    def change(self, table: str, number: int, column: str, value: str) -> None:
        """Sets one column of the row of that number."""
        self._connection.execute(f'UPDATE {table} SET "{column}" = ? WHERE id = ?', (value, number))  # noqa: S608 - our own

    def remove(self, table: str, column: str, numbers: Sequence[int]) -> None:
        """Takes away the rows whose column holds one of the numbers."""
        self._connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(number,) for number in numbers])  # noqa: S608 - our own


def _insertion(table: str, names: Iterable[str]) -> str:
    columns = [*names]
    return f"INSERT INTO {table} ({_list(columns)}) VALUES {_marks(len(columns))}"  # noqa: S608 - names of our own tables


def _list(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _marks(count: int) -> str:
    return f"({', '.join('?' * count)})"


def _parts(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]


# ---- the file ----


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Begins a transaction that writes: it waits for the lock at once, where one that reads first would fail later."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # the disk that was full, the file that is gone: SQLite has rolled back already
            connection.execute("ROLLBACK")
        raise


def _has_tables(connection: sqlite3.Connection) -> bool:
    """Whether the tables are there, and of this version."""
    if (VERSION_TABLE,) not in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        return False
    return connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchall() == [(VERSION,)]  # noqa: S608 - our own


def _make_tables(connection: sqlite3.Connection) -> bool:
    """Makes them in a file that holds nothing; False where another process was faster with something else."""
    with transaction(connection):
        if connection.execute("SELECT name FROM sqlite_master").fetchall():
            return _has_tables(connection)
        for statement in sqlite_tables.statements():
            connection.execute(statement)
    return True


def tune(connection: sqlite3.Connection, timeout: float) -> None:
    """Sets what every connection to SQLite needs.

    WAL: readers and one writer do not wait for each other, and a killed writer leaves nothing to repair. FULL: a commit
    is on the disk, not just with the system, when it returns; that costs a millisecond or so per result.
    """
    deadline = time.monotonic() + timeout
    while _journal(connection) != "wal":
        try:
            if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
                break  # a file system without shared memory: the rollback journal is as safe, if slower
        except sqlite3.OperationalError as error:
            # While another process makes this very switch, SQLite says busy without waiting.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA cache_size = -32768")  # KiB, taken as needed: the last page of each series stays at hand


def _journal(connection: sqlite3.Connection) -> str:
    return str(connection.execute("PRAGMA journal_mode").fetchone()[0])


def is_read_only(path: Path) -> bool:
    """Whether the store is there and this process cannot write to it: because of the disk, the file or its folder."""
    if not path.is_file():
        return False
    is_writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK)
    if not hasattr(os, "statvfs"):  # Windows: what may not be written says so when it is
        return not is_writable
    return not is_writable or bool(os.statvfs(path).f_flag & os.ST_RDONLY)
