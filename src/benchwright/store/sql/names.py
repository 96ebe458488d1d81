"""What series and methods are called, kept at hand: joined to every value, the same few names would come a thousand
times."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Select, select

from benchwright.store.sql import tables

SeriesName = tuple[str, str, str, str, str, str, str]  # key, case, params, metric, unit, better, machine

_AT_ONCE = 500
_LASTS = 5.0  # seconds: whether more or less is better may be stated anew, the rest never changes


class RowNames:
    """Names by the numbers of rows. Those rows are never deleted, so each is read once, series now and then again."""

    def __init__(self) -> None:
        self._series: dict[int, SeriesName] = {}
        self._methods: dict[int, str] = {}
        self._since = time.monotonic()
        self._lock = threading.Lock()

    def series(self, connection: Connection, numbers: Iterable[int]) -> Mapping[int, SeriesName]:
        """The names of these series, and of others."""
        table = tables.series
        columns = (table.c.key, table.c.case_name, table.c.params, table.c.metric)
        query = select(table.c.id, *columns, table.c.unit, table.c.better, table.c.machine)
        with self._lock:
            if time.monotonic() - self._since > _LASTS:
                self._series, self._since = {}, time.monotonic()
            known = self._series
        for row in _missing(connection, query, table.c.id, set(numbers) - known.keys()):
            known[row[0]] = tuple(row[1:])
        return known

    def methods(self, connection: Connection, numbers: Iterable[int]) -> Mapping[int, str]:
        """The names of these methods, and of others."""
        table = tables.methods
        query = select(table.c.id, table.c.method)
        for number, method in _missing(connection, query, table.c.id, set(numbers) - self._methods.keys()):
            self._methods[number] = method
        return self._methods


def _missing(connection: Connection, query: Select[Any], column: Any, numbers: Iterable[int]) -> Iterable[Any]:
    wanted = sorted(numbers)
    for start in range(0, len(wanted), _AT_ONCE):
        yield from connection.execute(query.where(column.in_(wanted[start : start + _AT_ONCE])))
