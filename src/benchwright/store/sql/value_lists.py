"""Lists of values in questions: one of many, and the same question for each.

PostgreSQL is given an array. As many parameters as there are values would make another statement for each number of
them, which SQLAlchemy, the driver and the database would each read anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from sqlalchemy import BigInteger, ColumnElement, Connection, Select, any_, bindparam, func, literal, select, true

T = TypeVar("T")


def among(connection: Connection, column: ColumnElement[T], values: Sequence[T]) -> ColumnElement[bool]:
    """The condition that a column holds one of these values."""
    if connection.dialect.name != "postgresql":
        return column.in_(values)
    from sqlalchemy.dialects.postgresql import ARRAY

    return column == any_(literal(list(values), ARRAY(column.type)))


def for_each(
    connection: Connection, values: Sequence[tuple[int, ...]], query: Callable[..., Select[Any]]
) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
    """(values, row) for each of the tuples of values and each row that the query for them finds.

    PostgreSQL answers in one go. SQLite, which has no LATERAL, is asked once for each: no network lies between.
    """
    if not values:
        return
    names = [f"given_{i}" for i in range(len(values[0]))]
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import ARRAY

        columns = zip(names, zip(*values, strict=True), strict=True)
        unnested = [func.unnest(literal(list(column), ARRAY(BigInteger))).label(name) for name, column in columns]
        given = select(*unnested).subquery()
        found = query(*(given.c[name] for name in names)).correlate(given).lateral()
        cursor = connection.execute(select(given, found).join(found, true())).cursor
        assert cursor is not None
        for row in cursor.fetchall():  # all are numbers: as the driver has them
            yield row[: len(names)], row[len(names) :]
        return
    compiled = query(*(bindparam(name, type_=BigInteger) for name in names)).compile(dialect=connection.dialect)
    sql, places = str(compiled), compiled.positiontup or []
    for value in values:
        arguments = {**compiled.params, **dict(zip(names, value, strict=True))}
        for row in connection.exec_driver_sql(sql, tuple(arguments[name] for name in places)):
            yield value, tuple(row)


def parts(values: Sequence[T], size: int = 500) -> Iterator[Sequence[T]]:
    """The values in pieces, each short enough for the parameters of one statement (SQLite takes 32,766)."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
