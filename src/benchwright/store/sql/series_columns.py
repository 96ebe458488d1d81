"""The points of a series as arrays, straight from the database's rows.

Long histories are remembered as `counting` does it: what is older than some result is read once, the rest each time.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Select, bindparam, select

from benchwright.errors import StoreError
from benchwright.records import Status
from benchwright.store.archive import Columns
from benchwright.store.sql import cells, tables
from benchwright.store.sql.cells import NUMBER, TEXT, WHOLE
from benchwright.store.sql.codec import plain
from benchwright.store.sql.counts import UNSETTLED, is_settled, newest

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, numpy.dtype[Any]]

_LONG = 5_000  # points; fewer are read in a few milliseconds
_MOST = 1_000_000  # points remembered in all: 80 MB


@dataclass(frozen=True, slots=True)
class _Points:
    """Points in order of time. `arrays["run"]`, `arrays["revision"]` and `arrays["branch"]` index the names."""

    arrays: dict[str, Array]
    runs: tuple[str, ...]
    revisions: tuple[str, ...]
    branches: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.arrays["at"])

    def at(self, places: Array | slice) -> _Points:
        """The points at some places of the arrays; the names stay."""
        return replace(self, arrays={name: values[places] for name, values in self.arrays.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class _SettledPoints:
    """The settled points of a series."""

    points: _Points
    upto: int  # a result's number
    most: int  # points that were asked for: there may be older ones beyond them
    since: float  # time.monotonic


class Histories:
    """Reads the columns of series, and remembers long ones."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, _SettledPoints] = OrderedDict()  # by series, the last used last
        self._numbers: dict[tuple[str, str], int] = {}  # by key and unit: rows of series stay for ever
        self._lock = threading.Lock()

    def read(self, connection: Connection, key: str, unit: str, *, limit: int) -> Columns:
        """The newest points of a series that are ok."""
        name = (plain(key), plain(unit))
        series = self._numbers.get(name)
        if series is None:
            table = tables.series
            series = connection.scalar(select(table.c.id).where(table.c.key == name[0], table.c.unit == name[1]))
            if series is None:
                raise StoreError(
                    f"no series {key!r} in {unit!r} in this store", remedy="benchwright history shows them"
                )
            self._numbers[name] = series
        return _columns(self._points(connection, series, limit).at(slice(-limit, None)))

    def forget(self) -> None:
        """Drops the points in memory: the next call reads all of them again."""
        with self._lock:
            self._kept.clear()

    def _points(self, connection: Connection, series: int, most: int) -> _Points:
        last = newest(connection)
        with self._lock:
            kept = self._kept.get(series)
            if kept:
                self._kept.move_to_end(series)
        if kept is None or most > kept.most or not is_settled(kept.upto, last, kept.since):
            points = _read(connection, _newest(), {"series": series, "most": most})
            self._remember(series, points, most=most, upto=last - UNSETTLED, since=time.monotonic())
            return points
        fresh = _read(connection, _recent(), {"series": series, "above": kept.upto}, kept.points)
        points = _join_points(kept.points, fresh)
        if len(fresh) > UNSETTLED:
            self._remember(series, points, most=kept.most, upto=last - UNSETTLED, since=kept.since)
        return points

    def _remember(self, series: int, points: _Points, *, most: int, upto: int, since: float) -> None:
        old = points.at(points.arrays["result"] <= upto).at(slice(-most, None))
        if len(old) < _LONG:
            return
        for values in old.arrays.values():
            values.setflags(write=False)  # many will be given the same arrays
        with self._lock:
            self._kept[series] = _SettledPoints(points=old, upto=upto, most=most, since=since)
            while sum(len(one.points) for one in self._kept.values()) > _MOST:
                self._kept.popitem(last=False)


def _read(
    connection: Connection, query: Select[Any], parameters: dict[str, int], known: _Points | None = None
) -> _Points:
    """The points that the query finds. Names that are known keep their places."""
    import numpy

    cursor = connection.execute(query, parameters).cursor
    assert cursor is not None
    rows = cells.check_rows(cursor.fetchall(), _KINDS)
    at, result, run, revision, branch, *numbers = zip(*rows, strict=True) if rows else [()] * len(_KINDS)
    runs, revisions = _places(known.runs if known else ()), _places(known.revisions if known else ())
    branches = _places(known.branches if known else ())
    columns: dict[str, Iterable[int]] = {
        "at": at,
        "result": result,
        "run": _index_names(run, runs),
        "revision": _index_names(revision, revisions),
        "branch": _index_names(branch, branches),
    }
    arrays: dict[str, Array] = {name: numpy.array(values, dtype=numpy.int64) for name, values in columns.items()}
    for name, values in zip(("point", "low", "high", "confidence"), numbers, strict=True):
        arrays[name] = numpy.array(values, dtype=numpy.float64)  # None becomes NaN
    return _sort_points(_Points(arrays, tuple(runs), tuple(revisions), tuple(branches)))


_KINDS = (*[WHOLE] * 2, *[TEXT] * 3, *[NUMBER] * 4)  # of the columns of `_points_where`


def _places(names: Sequence[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}


def _index_names(names: Sequence[str], places: dict[str, int]) -> list[int]:
    """The places of names; new ones come after those that are known."""
    for name in dict.fromkeys(names):
        places.setdefault(name, len(places))
    return [places[name] for name in names]


def _join_points(kept: _Points, fresh: _Points) -> _Points:
    import numpy

    if not len(fresh):
        return kept
    arrays = {name: numpy.concatenate([values, fresh.arrays[name]]) for name, values in kept.arrays.items()}
    return _sort_points(replace(fresh, arrays=arrays))


def _sort_points(points: _Points) -> _Points:
    import numpy

    at = points.arrays["at"]
    if bool((at[1:] > at[:-1]).all()):
        return points
    return points.at(numpy.lexsort((points.arrays["result"], at)))


@cache
def _newest() -> Select[Any]:
    points = tables.points
    return (
        _points_where(points.c.series_id == bindparam("series"))
        .order_by(points.c.at.desc(), points.c.result_id.desc())
        .limit(bindparam("most"))
    )


@cache
def _recent() -> Select[Any]:
    # By results: `+ 0` hides the series from the planner, which would walk through its whole history to find few.
    points = tables.points
    return _points_where(points.c.series_id + 0 == bindparam("series")).where(points.c.result_id > bindparam("above"))


def _points_where(condition: ColumnElement[bool]) -> Select[Any]:
    points, results, runs = tables.points, tables.results, tables.runs
    return (
        select(
            points.c.at,
            points.c.result_id,
            runs.c.run,
            results.c.revision,
            tables.branch_of_point(),
            points.c.point,
            points.c.low,
            points.c.high,
            points.c.confidence,
        )
        .join_from(points, results, results.c.id == points.c.result_id)
        .join(runs, runs.c.id == results.c.run_id)
        .where(condition, results.c.status == Status.OK.value)
    )


def _columns(points: _Points) -> Columns:
    """Makes the columns of the points, with the names that occur in them."""
    arrays = points.arrays
    run, runs = _used_names(arrays["run"], points.runs)
    revision, revisions = _used_names(arrays["revision"], points.revisions)
    branch, branches = _used_names(arrays["branch"], points.branches)
    return Columns(
        at=arrays["at"],
        point=arrays["point"],
        low=arrays["low"],
        high=arrays["high"],
        run=run,
        revision=revision,
        result=arrays["result"],
        runs=runs,
        revisions=revisions,
        confidence=arrays["confidence"],
        branch=branch,
        branches=branches,
    )


def _used_names(places: Array, names: tuple[str, ...]) -> tuple[Array, tuple[str, ...]]:
    import numpy

    if not len(places):
        return places, ()
    seen = numpy.zeros(len(names), dtype=numpy.int64)
    seen[places] = 1
    if seen.all():
        return places, names
    return (numpy.cumsum(seen) - 1)[places], tuple(names[place] for place in numpy.flatnonzero(seen).tolist())
