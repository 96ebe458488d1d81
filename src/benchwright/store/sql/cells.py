"""Types of columns that hold what they say: SQLite itself keeps anything in any column.

A store may come from elsewhere, and a disk may change what it holds. Text that is none is shown as well as it can be,
so that one wrong cell costs one name and not the list around it. A number that is none has no such likeness and is an
error. PostgreSQL keeps to its types by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import BigInteger, Dialect, Double, Integer, LargeBinary, SmallInteger, TypeDecorator
from sqlalchemy import Text as _PlainText

from benchwright.errors import StoreError

Reader = Callable[[Any], Any]
Kinds = frozenset[Any]  # types
TEXT: Kinds = frozenset({str})
WHOLE: Kinds = frozenset({int})
NUMBER: Kinds = frozenset({int, float, type(None)})


class _Cell(TypeDecorator[Any]):
    """A type whose values are looked at when SQLite has read them."""

    impl: Any = _PlainText
    cache_ok = True
    _read: Reader

    def result_processor(self, dialect: Dialect, coltype: Any) -> Reader | None:
        """Returns the function that checks each value; in other databases than SQLite SQLAlchemy's own."""
        return type(self)._read if dialect.name == "sqlite" else super().result_processor(dialect, coltype)


def check_rows(rows: Sequence[tuple[Any, ...]], kinds: Sequence[Kinds]) -> Sequence[tuple[Any, ...]]:
    """Rows of a bare cursor, which is quicker by far; a `StoreError` unless each column holds what it should."""
    for column, kind in zip(zip(*rows, strict=True), kinds, strict=False):
        if not {*map(type, column)} <= kind:
            _refuse(next(value for value in column if type(value) not in kind), "something else")
    return rows


def _text(value: Any) -> Any:
    if type(value) is str or value is None:
        return value
    return value.decode("utf-8", "replace") if type(value) is bytes else str(value)


def _bytes(value: Any) -> Any:
    """Returns the bytes of a cell. Text is no packed document; the function that unpacks it raises the error."""
    return value if type(value) is bytes or value is None else str(value).encode("utf-8", "replace")


def _whole_number(value: Any) -> Any:
    return value if type(value) is int or value is None else _refuse(value, "a whole number")


def _number(value: Any) -> Any:
    return value if type(value) is float or type(value) is int or value is None else _refuse(value, "a number")


def _refuse(value: Any, wanted: str) -> Any:
    raise StoreError(
        f"the store holds {str(value)[:40]!r} where {wanted} belongs",
        remedy="something else wrote to it, or the disk is damaged: restore a backup",
    )


class Text(_Cell):
    """Text, also where the cell holds something else."""

    cache_ok = True
    _read = staticmethod(_text)


class Blob(_Cell):
    """Bytes, also where the cell holds something else."""

    impl, cache_ok = LargeBinary, True
    _read = staticmethod(_bytes)


class Whole(_Cell):
    """A whole number of 64 bits."""

    impl, cache_ok = BigInteger, True
    _read = staticmethod(_whole_number)


class Small(_Cell):
    """A whole number of 16 bits."""

    impl, cache_ok = SmallInteger, True
    _read = staticmethod(_whole_number)


class Position(_Cell):
    """A whole number of 32 bits."""

    impl, cache_ok = Integer, True
    _read = staticmethod(_whole_number)


class Number(_Cell):
    """A floating-point number."""

    impl, cache_ok = Double, True
    _read = staticmethod(_number)
