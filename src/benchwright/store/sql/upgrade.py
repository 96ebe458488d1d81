"""Makes the tables in a new database, and brings those of an older version up to date.

Alembic costs a third of a second to import, so it is asked only when there is a step to take. A new database is made in
one go from `tables.py`; a test holds the two ways equal.
"""

from __future__ import annotations

import glob
from pathlib import Path

from sqlalchemy import (
    Column,
    Connection,
    Dialect,
    Engine,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    inspect,
    select,
)
from sqlalchemy.engine.mock import MockConnection

from benchwright.errors import StoreError
from benchwright.store.sql import engine as engines
from benchwright.store.sql import tables

MIGRATIONS = Path(__file__).parent / "migrations"

# As Alembic makes it.
_version = Table(
    tables.VERSION_TABLE,
    MetaData(),
    Column("version_num", String(32), key="version"),
    PrimaryKeyConstraint("version", name=f"{tables.VERSION_TABLE}_pkc"),
)


def prepare(engine: Engine, place: str) -> None:
    """Leaves the tables at the present version, or raises a `StoreError` and changes nothing."""
    with engine.connect() as connection:
        if _check(connection, place) == tables.VERSION:
            return
    with engine.connect() as connection, engines.writing(connection).begin():
        engines.lock_schema(connection)
        version = _check(connection, place)  # another process may have been faster
        if not version:
            _create(connection)
        elif version != tables.VERSION:
            upgrade(connection)


def upgrade(connection: Connection, *, to: str = "head") -> None:
    """Takes every migration that is missing, inside the connection's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, to)


def _check(connection: Connection, place: str) -> str:
    """The version found; "" for an empty database. Anything we should not touch is an error."""
    names = inspect(connection).get_table_names()  # once: between two looks another process may make them
    if tables.VERSION_TABLE not in names:
        if names:
            raise StoreError(
                f"{place}: a database of something else (it has a table {names[0]!r}), not a Benchwright store",
                remedy="nothing was changed; give another file or an empty database with --store",
            )
        return ""
    version = str(connection.scalar(select(_version.c.version)) or "")
    if version > tables.VERSION:
        raise StoreError(
            f"{place}: made by a newer Benchwright (schema {version}; this version knows up to {tables.VERSION})",
            remedy="pip install --upgrade benchwright",
        )
    if version != tables.VERSION and not any((MIGRATIONS / "versions").glob(f"{glob.escape(version)}_*.py")):
        raise StoreError(
            f"{place}: the schema {version!r} of this store is unknown (this version has {tables.VERSION})",
            remedy="nothing was changed; restore the store from a backup, or give another one with --store",
        )
    return version


def _create(connection: Connection) -> None:
    """Makes all tables; that none is there has been checked."""
    for statement in _statements(connection.dialect):
        connection.exec_driver_sql(statement)
    connection.execute(_version.insert(), {"version": tables.VERSION})


_written: dict[str, list[str]] = {}  # of a dialect, once: to write them takes three times as long as to execute them


def _statements(dialect: Dialect) -> list[str]:
    """What makes the tables and their indexes in this dialect of SQL."""
    if dialect.name not in _written:
        found: list[str] = []
        listening = MockConnection(dialect, lambda made, *_, **__: found.append(str(made.compile(dialect=dialect))))
        for metadata in (tables.metadata, _version.metadata):
            metadata.create_all(listening, checkfirst=False)
        _written[dialect.name] = found
    return _written[dialect.name]
