"""Rows written through SQLAlchemy, to SQLite and PostgreSQL: see `write.RowWriter`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, select, tuple_, update

from benchwright.store.sql import engine, tables
from benchwright.store.sql.engine import insert_missing, parts
from benchwright.store.sql.write import Key, Row


class SqlRows:
    """Writes inside the transaction of a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._tables = tables.metadata.tables

    def add_missing(self, table: str, rows: Sequence[Row]) -> None:
        """Adds rows, all with the same columns; leaves those alone which are there already."""
        statement = insert_missing(self._connection.dialect, self._tables[table])
        for some in parts(rows):
            self._connection.execute(statement, list(some))

    def add_unless_there(self, table: str, row: Row) -> int | None:
        """Adds a row and returns its number; None where one of its unique name is there already."""
        target = self._tables[table]
        statement = insert_missing(self._connection.dialect, target).returning(target.c.id)
        number: int | None = self._connection.scalar(statement, row)
        return number

    def add_new(self, table: str, names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> Mapping[Any, int]:
        """Adds rows unless one of the same unique name is there; the numbers of those that were added."""
        return engine.insert_numbered(self._connection, self._tables[table], names, rows, only_new=True)

    def add_tuples(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Adds rows with all columns, in the table's order."""
        engine.insert_tuples(self._connection, self._tables[table], rows)

    def add_numbered(self, table: str, names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> Mapping[Any, int]:
        """Adds rows with these columns; the numbers that they were given, by their first column, which is unique."""
        return engine.insert_numbered(self._connection, self._tables[table], names, rows)

    def find(self, table: str, key: tuple[str, ...], values: Sequence[Key], *names: str) -> list[tuple[Any, ...]]:
        """Of the rows whose `key` is one of the values the columns of the key, and those of `names`."""
        target, found = self._tables[table], []
        for some in parts(values):
            if len(key) == 1:  # which takes no time to compile
                found += engine.find(self._connection, target, (*key, *names), [value for (value,) in some])
                continue
            wanted = tuple_(*(target.c[name] for name in key)).in_(some)
            query = select(*(target.c[name] for name in (*key, *names))).where(wanted)
            found += [tuple(row) for row in self._connection.execute(query)]
        return found

    def change(self, table: str, number: int, column: str, value: str) -> None:
        """Sets one column of the row of that number."""
        target = self._tables[table]
        self._connection.execute(update(target).where(target.c.id == number).values({column: value}))

    def remove(self, table: str, column: str, numbers: Sequence[int]) -> None:
        """Takes away the rows whose column holds one of the numbers."""
        target = self._tables[table]
        for some in parts(numbers):
            self._connection.execute(delete(target).where(target.c[column].in_(some)))
