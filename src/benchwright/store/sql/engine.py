"""Connections. Everything in which SQLite and PostgreSQL differ stands here, and nowhere else."""

from __future__ import annotations

import shutil
import sqlite3
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    URL,
    BigInteger,
    Connection,
    Dialect,
    Engine,
    Insert,
    Select,
    Table,
    bindparam,
    create_engine,
    event,
    func,
    make_url,
    select,
    text,
    true,
)
from sqlalchemy.exc import ArgumentError

from benchwright.errors import NotInstalledError, StoreError
from benchwright.store.sql.run_writer import is_read_only, tune
from benchwright.store.sqlite_file import database_file

T = TypeVar("T")

# A lock of our own in PostgreSQL, held while the tables are made or changed.
_SCHEMA_LOCK = 0x62656E6368
_PAGES = ("freelist_count", "page_count", "page_size")
_WORTH = 1 << 20  # bytes free: for less nothing is moved


def connect(url: str, *, timeout: float) -> Engine:
    """An engine for the URL; nothing is opened yet. `timeout` is how long to wait for another writer, in seconds."""
    if url.startswith("sqlite"):
        return _sqlite(database_file(url), timeout)
    return _postgresql(url, timeout)


def reading(engine: Engine) -> Engine:
    """The engine, for connections that only read.

    In PostgreSQL without transactions: each statement sees what is committed by then either way, and a transaction
    would cost two more round trips. In SQLite a transaction costs next to nothing and keeps the view the same.
    """
    return engine.execution_options(isolation_level="AUTOCOMMIT") if engine.dialect.name == "postgresql" else engine


def writing(connection: Connection) -> Connection:
    """The connection, about to begin a transaction that writes."""
    return connection.execution_options(benchwright_writes=True)


def insert_missing(dialect: Dialect, table: Table) -> Insert:
    """An INSERT that leaves rows alone which are there already."""
    if dialect.name == "sqlite":
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table).on_conflict_do_nothing()
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table).on_conflict_do_nothing()


def insert_tuples(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Adds rows given as tuples in the order of the table's columns; by name each would cost several times as much."""
    sql = _insert(connection.dialect, table, tuple(table.c.keys()))
    connection.exec_driver_sql(sql, list(rows) if connection.dialect.name == "sqlite" else _as_columns(rows))


def insert_numbered(
    connection: Connection, table: Table, names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]
) -> Mapping[Any, int]:
    """Adds rows with these columns; the numbers that they were given, by their first column, which is unique."""
    in_rows = connection.dialect.name == "sqlite"
    sql = _insert(connection.dialect, table, names, len(rows) if in_rows else 1)
    given = tuple(value for row in rows for value in row) if in_rows else _as_columns(rows)
    return {row[0]: row[1] for row in connection.exec_driver_sql(f"{sql} RETURNING {names[0]}, id", given)}


def find(connection: Connection, table: Table, names: tuple[str, ...], values: Sequence[str]) -> list[tuple[Any, ...]]:
    """Returns these columns of the rows whose first column holds one of the values."""
    sql = _select(connection.dialect, table, names, len(values))
    return [tuple(row) for row in connection.exec_driver_sql(sql, tuple(values))]


@lru_cache(maxsize=256)
def _insert(dialect: Dialect, table: Table, names: tuple[str, ...], count: int = 1) -> str:
    """SQLite takes one row after the other; for PostgreSQL one array for each column costs far less."""
    head = f"INSERT INTO {table.name} ({', '.join(map(dialect.identifier_preparer.quote, names))})"
    if dialect.name == "sqlite":
        return f"{head} VALUES {', '.join([f'({_marks(dialect, len(names))})'] * count)}"
    arrays = ", ".join(f"%s::{table.c[name].type.compile(dialect)}[]" for name in names)
    return f"{head} SELECT * FROM unnest({arrays})"  # noqa: S608 - names of our own tables


@lru_cache(maxsize=256)
def _select(dialect: Dialect, table: Table, names: tuple[str, ...], count: int) -> str:
    columns = [*map(dialect.identifier_preparer.quote, names)]
    where = f"{columns[0]} IN ({_marks(dialect, count)})"
    return f"SELECT {', '.join(columns)} FROM {table.name} WHERE {where}"  # noqa: S608 - names of our own tables


def _marks(dialect: Dialect, count: int) -> str:
    return ", ".join(["?" if dialect.paramstyle == "qmark" else "%s"] * count)


def _as_columns(rows: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(map(_array, zip(*rows, strict=True)))


def _array(values: Sequence[Any]) -> Any:
    """An array as PostgreSQL writes it, when it is one of numbers: the driver takes several times as long for that."""
    if any(type(value) not in _NUMBERS for value in values):
        return list(values)
    return f"{{{','.join(['NULL' if value is None else repr(value) for value in values])}}}"


_NUMBERS = frozenset({int, float, type(None)})


def for_each(
    connection: Connection, values: Sequence[int], query: Callable[[Any], Select[tuple[Any]]]
) -> Iterator[tuple[int, Any]]:
    """(value, what the query for that value finds), for each value and each row of the query's only column.

    PostgreSQL answers in one go. SQLite, which has no LATERAL, is asked once for each: no network lies between.
    """
    if not values:
        return
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import array

        given = select(func.unnest(array(values, type_=BigInteger)).label("value")).subquery()
        found = query(given.c.value).correlate(given).lateral()
        yield from ((row[0], row[1]) for row in connection.execute(select(given, found).join(found, true())))
        return
    compiled = query(bindparam("each", type_=BigInteger)).compile(dialect=connection.dialect)
    sql, names = str(compiled), compiled.positiontup or []
    for value in values:
        arguments = {**compiled.params, "each": value}
        rows = connection.exec_driver_sql(sql, tuple(arguments[name] for name in names))
        yield from ((value, row[0]) for row in rows)


def parts(values: Sequence[T], size: int = 500) -> Iterator[Sequence[T]]:
    """The values in pieces, each short enough for the parameters of one statement (SQLite takes 32,766)."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


def lock_schema(connection: Connection) -> None:
    """Holds off others that would make or change the tables until this transaction ends."""
    if connection.dialect.name == "postgresql":  # in SQLite a writing transaction is alone by itself
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _SCHEMA_LOCK})


def lock_findings(connection: Connection) -> None:
    """Holds off others that would write findings until this transaction ends: what is read now stays true."""
    if connection.dialect.name == "postgresql":  # in SQLite a writing transaction is alone by itself
        connection.execute(text("LOCK TABLE findings IN SHARE ROW EXCLUSIVE MODE"))


def size(connection: Connection) -> int:
    """How many bytes the database takes."""
    if connection.dialect.name == "postgresql":
        return int(connection.scalar(text("SELECT pg_database_size(current_database())")) or 0)
    pages, page = (int(connection.exec_driver_sql(f"PRAGMA {p}").scalar() or 0) for p in ("page_count", "page_size"))
    return pages * page


def give_back(engine: Engine) -> int:
    """Gives freed space back to the file system where much is free, and says how many bytes.

    Little is left to be used again; so is all of PostgreSQL's, whose autovacuum sees to it. A file that somebody else
    writes just now stays as it is: there is another day.
    """
    if engine.dialect.name != "sqlite" or not engine.url.database:
        return 0
    folder = Path(engine.url.database).parent
    with closing(engine.raw_connection()) as raw:
        cursor = raw.cursor()
        free, pages, page = (cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in _PAGES)
        if free * page < _WORTH or free * 4 < pages or shutil.disk_usage(folder).free < 2 * pages * page:
            return 0
        try:
            cursor.execute("VACUUM")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
        left = cursor.execute("PRAGMA page_count").fetchone()[0]
        return int(pages - left) * int(page)


# ---- SQLite ----


def _sqlite(path: Path, timeout: float) -> Engine:
    if is_read_only(path):
        # The lock file that WAL wants could not be made. While another process writes, it is there and can be read;
        # otherwise nothing changes the file, and no lock is needed.
        uri, query = "file:" + urllib.parse.quote(str(path)), {"uri": "true", "mode": "ro"}
        url = URL.create("sqlite", database=uri, query=query if _has_log(path) else {**query, "immutable": "1"})
    else:
        url = URL.create("sqlite", database=str(path))
    engine = create_engine(url, connect_args={"timeout": timeout, "isolation_level": None})
    event.listen(engine, "connect", lambda connection, _: tune(connection, timeout))
    event.listen(engine, "begin", _begin)
    return engine


def _has_log(path: Path) -> bool:
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def _begin(connection: Connection) -> None:
    # A transaction that reads first and writes later would fail at once when another writer came between; one that
    # takes the write lock at its start waits for it.
    writes = connection.get_execution_options().get("benchwright_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


# ---- PostgreSQL ----


def _postgresql(url: str, timeout: float) -> Engine:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise StoreError(
            f"cannot read the store's URL: {error}", remedy="write postgresql://user@host/database"
        ) from None
    if "+" not in parsed.drivername:
        parsed = parsed.set(drivername=f"{parsed.drivername}+psycopg")
    milliseconds = max(1, round(timeout * 1000))
    try:
        engine = create_engine(parsed, pool_pre_ping=True)
    except ModuleNotFoundError:
        raise NotInstalledError("psycopg, which PostgreSQL needs,", "'benchwright[postgres]'") from None

    @event.listens_for(engine, "connect")
    def _settings(connection: Any, _: Any) -> None:
        connection.execute(f"SET lock_timeout = {milliseconds}")
        connection.commit()

    return engine
