"""Connections. Everything in which SQLite and PostgreSQL differ stands here and in `value_lists`, and nowhere else."""

from __future__ import annotations

import shutil
import sqlite3
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    URL,
    Connection,
    Dialect,
    Engine,
    Insert,
    Table,
    create_engine,
    event,
    make_url,
    text,
)
from sqlalchemy.exc import ArgumentError, DBAPIError, InvalidatePoolError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from benchwright.errors import NotInstalledError, StoreError
from benchwright.store.sql import binary_rows
from benchwright.store.sql.run_writer import is_read_only, tune
from benchwright.store.sql.value_lists import among as among
from benchwright.store.sql.value_lists import for_each as for_each
from benchwright.store.sql.value_lists import parts as parts
from benchwright.store.sqlite_file import database_file
from benchwright.system.locks import hold_free_lock

T = TypeVar("T")

# A lock of our own in PostgreSQL, held while the tables are made or changed.
_SCHEMA_LOCK = 0x62656E6368
_JUDGING_LOCK = 0x6A75646765  # and another, held by whoever judges what arrives
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
    names = tuple(table.c.keys())
    if connection.dialect.name == "sqlite":
        _run(connection, _insert(connection.dialect, table, names), rows, many=True)
    elif len(rows) < _WORTH_COPYING:
        _run(connection, _insert(connection.dialect, table, names), _as_columns(rows))
    else:
        _copy(connection, table, names, rows)


def insert_numbered(
    connection: Connection,
    table: Table,
    names: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    *,
    only_new: bool = False,
) -> Mapping[Any, int]:
    """Adds rows with these columns; the numbers that they were given, by their first column, which is unique.

    With `only_new`, rows that are there already are left alone, and have none.
    """
    in_rows = connection.dialect.name == "sqlite"
    if not in_rows and len(rows) >= _WORTH_COPYING and not only_new:
        return _copy_numbered(connection, table, names, rows)
    found: dict[Any, int] = {}
    unless_there = " ON CONFLICT DO NOTHING" if only_new else ""
    for some in parts(rows):
        sql = _insert(connection.dialect, table, names, len(some) if in_rows else 1)
        given = tuple(value for row in some for value in row) if in_rows else _as_columns(some)
        found |= dict(_run(connection, f"{sql}{unless_there} RETURNING {names[0]}, id", given))
    return found


def _copy_numbered(
    connection: Connection, table: Table, names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]
) -> Mapping[Any, int]:
    """Takes numbers for all rows at once, since COPY does not tell those that it gives."""
    taken = text("SELECT nextval(pg_get_serial_sequence(:name, 'id')) FROM generate_series(1, :count)")
    numbers = connection.scalars(taken, {"name": table.name, "count": len(rows)}).all()
    _copy(connection, table, ("id", *names), [(number, *row) for number, row in zip(numbers, rows, strict=True)])
    return {row[0]: number for number, row in zip(numbers, rows, strict=True)}


def _copy(connection: Connection, table: Table, names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
    """Adds rows by COPY, past SQLAlchemy but in its transaction; errors are those that it would raise."""
    import psycopg

    driver: Any = connection.connection.driver_connection
    columns = ", ".join(map(connection.dialect.identifier_preparer.quote, names))
    statement = f"COPY {table.name} ({columns}) FROM STDIN (FORMAT BINARY)"
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            types = [_TYPES[table.c[name].type.compile(connection.dialect)] for name in names]
            if binary_rows.can_write(types):
                for part in binary_rows.write(rows, types):
                    copy.write(part)
            else:
                copy.set_types(types)
                for row in rows:
                    copy.write_row(row)
    except psycopg.Error as error:
        raise DBAPIError.instance(statement, None, error, psycopg.Error, dialect=connection.dialect) from error


_WORTH_COPYING = 200  # rows: COPY takes a round trip more
_TYPES = {
    "BIGINT": "int8",
    "BIGSERIAL": "int8",
    "INTEGER": "int4",
    "SMALLINT": "int2",
    "DOUBLE PRECISION": "float8",
    "TEXT": "text",
    "BYTEA": "bytea",
}


def find(connection: Connection, table: Table, names: tuple[str, ...], values: Sequence[str]) -> list[tuple[Any, ...]]:
    """Returns these columns of the rows whose first column holds one of the values."""
    if connection.dialect.name == "sqlite":
        return _run(connection, _select(connection.dialect, table, names, len(values)), tuple(values))
    return _run(connection, _select(connection.dialect, table, names), (list(values),))


def _run(connection: Connection, sql: str, given: Sequence[Any], *, many: bool = False) -> list[tuple[Any, ...]]:
    """Runs a statement past SQLAlchemy, which takes longer than the database, but in its transaction, as it would."""
    driver: Any = connection.connection.driver_connection
    kind: Any = connection.dialect.loaded_dbapi.Error
    cursor = driver.cursor()
    try:
        (cursor.executemany if many else cursor.execute)(sql, given)
        return cursor.fetchall() if cursor.description else []
    except kind as error:
        raise DBAPIError.instance(sql, None, error, kind, dialect=connection.dialect) from error
    finally:
        cursor.close()


@lru_cache(maxsize=256)
def _insert(dialect: Dialect, table: Table, names: tuple[str, ...], count: int = 1) -> str:
    """SQLite takes one row after the other; for PostgreSQL one array for each column costs far less."""
    head = f"INSERT INTO {table.name} ({', '.join(map(dialect.identifier_preparer.quote, names))})"
    if dialect.name == "sqlite":
        return f"{head} VALUES {', '.join([f'({_marks(dialect, len(names))})'] * count)}"
    arrays = ", ".join(f"%s::{table.c[name].type.compile(dialect)}[]" for name in names)
    return f"{head} SELECT * FROM unnest({arrays})"  # noqa: S608 - names of our own tables


@lru_cache(maxsize=256)
def _select(dialect: Dialect, table: Table, names: tuple[str, ...], count: int = 0) -> str:
    """One array is read in no time; a statement for each number of values would be read and planned anew."""
    columns = [*map(dialect.identifier_preparer.quote, names)]
    where = f"{columns[0]} IN ({_marks(dialect, count)})" if count else f"{columns[0]} = ANY(%s)"
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


def lock_schema(connection: Connection) -> None:
    """Holds off others that would make or change the tables until this transaction ends."""
    if connection.dialect.name == "postgresql":  # in SQLite a writing transaction is alone by itself
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _SCHEMA_LOCK})


def lock_findings(connection: Connection) -> None:
    """Holds off others that would write findings until this transaction ends: what is read now stays true."""
    if connection.dialect.name == "postgresql":  # in SQLite a writing transaction is alone by itself
        connection.execute(text("LOCK TABLE findings IN SHARE ROW EXCLUSIVE MODE"))


@contextmanager
def hold_judging(engine: Engine, file: Path | None) -> Iterator[Callable[[], bool] | None]:
    """Holds the lock of whoever judges what arrives; None where another process does. It ends with this process.

    What is given says whether it is still held: PostgreSQL forgets it with the connection.
    """
    if file is not None:
        with hold_free_lock(file.with_name(f"{file.name}.judging")) as is_held:
            yield (lambda: True) if is_held else None
        return
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.detach()  # it is closed in the end and never lent to others, who would have the lock then
        if not connection.scalar(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": _JUDGING_LOCK}):
            yield None
            return
        yield lambda: _answers(connection)


def _answers(connection: Connection) -> bool:
    try:
        connection.scalar(text("SELECT 1"))
    except SQLAlchemyError:
        return False
    return True


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
        engine = create_engine(parsed)
    except ModuleNotFoundError:
        raise NotInstalledError("psycopg, which PostgreSQL needs,", "'benchwright[postgres]'") from None

    @event.listens_for(engine, "connect")
    def _settings(connection: Any, _: Any) -> None:
        connection.execute(f"SET lock_timeout = {milliseconds}")
        connection.commit()

    @event.listens_for(engine, "checkin")
    def _note_use(_: Any, record: ConnectionPoolEntry) -> None:
        record.info[_USED] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def _confirm(connection: Any, record: ConnectionPoolEntry, _: Any) -> None:
        """Asks a connection that nobody used for a while whether it is still there: each time would double the cost."""
        if time.monotonic() - record.info.get(_USED, time.monotonic()) > _TRUSTED and not _is_there(engine, connection):
            raise InvalidatePoolError

    return engine


_USED = "benchwright used"
_TRUSTED = 1.0  # seconds after its last use that a connection is taken to be there; if not, who asks is told so


def _is_there(engine: Engine, connection: Any) -> bool:
    try:
        return bool(engine.dialect.do_ping(connection))
    except engine.dialect.loaded_dbapi.Error:
        return False
