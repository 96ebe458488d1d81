"""Lists of series: chosen, ordered and counted by what they can be narrowed by. Inside the connection's transaction."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Select, func, select

from benchwright.errors import OptionError, did_you_mean
from benchwright.records import Status
from benchwright.records.findings import State
from benchwright.store.archive import MOST_SORTED, SERIES_ORDERS, FacetCounts, SeriesFilter
from benchwright.store.choices import facet_of
from benchwright.store.sql import read, tables
from benchwright.store.sql.codec import plain
from benchwright.store.sql.counts import Sums
from benchwright.store.sql.engine import among, for_each, parts
from benchwright.store.sql.series_table import SeriesColumns, joined

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, numpy.dtype[Any]]
    Labels = Mapping[str, Mapping[str, Array]]  # of "branch" and "tag" each value, with the series that it has

_RUNS = 50  # of a branch or a tag that none of the newest runs has
_NEWEST = 100  # runs whose branches and tags are counted
_POINTS = 100_000  # that are looked at for it
_LASTS = 30.0  # seconds that this holds


@dataclass(frozen=True, slots=True)
class _RunSeries:
    """A run with the series that it measured."""

    branch: str
    tags: tuple[str, ...]
    series: Array  # numbers of rows


class RunsOfSeries:
    """What the newest runs measured: what branches and tags of series are counted from."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: tuple[float, list[_RunSeries]] | None = None
        self._made: tuple[list[_RunSeries], SeriesColumns, dict[str, dict[str, Array]]] | None = None

    def labels(self, connection: Connection, columns: SeriesColumns) -> Labels:
        """Of each branch and each tag which series the newest runs measured; at most half a minute old."""
        with self._lock:
            if self._kept is None or time.monotonic() - self._kept[0] > _LASTS:
                self._kept = (time.monotonic(), _newest_runs(connection))
            newest = self._kept[1]
            if self._made is None or self._made[0] is not newest or self._made[1] is not columns:
                self._made = (newest, columns, _labels(newest, columns))
            return self._made[2]

    def forget(self) -> None:
        """Drops what is remembered."""
        with self._lock:
            self._kept = self._made = None


def _labels(newest: Sequence[_RunSeries], columns: SeriesColumns) -> dict[str, dict[str, Array]]:
    import numpy

    by_label: dict[str, dict[str, list[Array]]] = {"branch": {}, "tag": {}}
    for run in newest:
        for name, labels in (("branch", (run.branch,) if run.branch else ()), ("tag", run.tags)):
            for label in labels:
                by_label[name].setdefault(label, []).append(run.series)
    return {
        name: {
            label: numpy.isin(columns.numbers, numpy.unique(numpy.concatenate(found)))
            for label, found in labels.items()
        }
        for name, labels in by_label.items()
    }


def _newest_runs(connection: Connection) -> list[_RunSeries]:
    runs = tables.runs
    query = select(runs.c.id, runs.c.branch).where(read.is_run()).order_by(runs.c.id.desc()).limit(_NEWEST)
    rows = connection.execute(query).all()
    tags = _tags(connection, [row.id for row in rows])
    found: list[_RunSeries] = []
    points = 0
    for number, branch in rows:
        series = _series_of_runs(connection, [number])
        found.append(_RunSeries(branch, tuple(tags.get(number, ())), series))
        points += len(series)
        if points > _POINTS:
            break
    return found


def _tags(connection: Connection, numbers: Sequence[int]) -> dict[int, list[str]]:
    table = tables.run_tags
    found: dict[int, list[str]] = {}
    for part in parts(numbers):
        for tag, run in connection.execute(
            select(table.c.tag, table.c.run_id).where(among(connection, table.c.run_id, part))
        ):
            found.setdefault(run, []).append(tag)
    return found


def _series_of_runs(connection: Connection, numbers: Sequence[int]) -> Array:
    """The numbers of the series that these runs measured."""
    import numpy

    points, results = tables.points, tables.results
    query = (
        select(points.c.series_id)
        .distinct()
        .join_from(results, points, points.c.result_id == results.c.id)
        .where(results.c.status == Status.OK.value)
    )
    found = [
        row
        for part in parts(numbers)
        for row in connection.scalars(query.where(among(connection, results.c.run_id, part)))
    ]
    return numpy.unique(numpy.array(found, dtype=numpy.int64))


def needs_table(chosen: SeriesFilter) -> bool:
    """Whether a filter says more than the database and the index of names can find by themselves."""
    several = (chosen.metrics, chosen.machines, chosen.params, chosen.branches, chosen.tags)
    return not chosen.keys and not chosen.numbers and bool(chosen.sort or any(several))


def fitting(
    connection: Connection, columns: SeriesColumns, chosen: SeriesFilter, counts: Sums[int, int], labels: Labels
) -> tuple[Array, dict[str, Array]]:
    """Which series have points, and which of them each part of the filter lets pass.

    Branches and tags let pass what their labels count, so that a list holds just as much as its facets say.
    """
    import numpy

    alive = columns.alive(counts)
    conditions = columns.conditions(chosen)
    for name, values in (("branch", chosen.branches), ("tag", chosen.tags)):
        if values:
            known = with_chosen(connection, columns, labels, name, values)
            conditions[name] = numpy.logical_or.reduce([known[value] for value in values])
    return alive, conditions


def with_chosen(
    connection: Connection, columns: SeriesColumns, labels: Labels, name: str, values: Sequence[str]
) -> dict[str, Array]:
    """The labels of that name, and those of chosen values that none of the newest runs has: of its own newest runs."""
    import numpy

    known = dict(labels.get(name, {}))
    for value in values:
        if value not in known:
            runs = _runs_with(connection, name, value)
            known[value] = numpy.isin(columns.numbers, _series_of_runs(connection, runs))
    return known


def _runs_with(connection: Connection, name: str, value: str) -> list[int]:
    """The newest runs that are on the branch, or have the tag."""
    runs, run_tags = tables.runs, tables.run_tags
    query = select(runs.c.id).where(read.is_run()).order_by(runs.c.id.desc()).limit(_RUNS)
    tagged = select(run_tags.c.run_id).where(run_tags.c.tag == plain(value))
    fits = runs.c.branch == plain(value) if name == "branch" else runs.c.id.in_(tagged)
    return list(connection.scalars(query.where(fits)))


def chosen_numbers(
    connection: Connection, columns: SeriesColumns, chosen: SeriesFilter, counts: Sums[int, int], labels: Labels
) -> list[int]:
    """The numbers of the series on the page after `after`, in the order that was asked for."""
    import numpy

    alive, conditions = fitting(connection, columns, chosen, counts, labels)
    places = numpy.flatnonzero(joined(alive, conditions))
    numbers = columns.numbers[places]
    if not chosen.sort:
        ordered = numpy.sort(numbers)
        page: list[int] = ordered[ordered > chosen.after][: chosen.limit].tolist()
        return page
    sought = _Sought(connection, columns, places, counts, chosen.machine_order)
    values = _order(chosen.sort.removeprefix("-"))(sought)
    values = -values if chosen.sort.startswith("-") else values  # what has no value (NaN) comes last either way
    ordered = numbers[numpy.lexsort((columns.names_at("params")[places], columns.names_at("case")[places], values))]
    start = 0
    if chosen.after:
        found = numpy.flatnonzero(ordered == chosen.after)
        start = int(found[0]) + 1 if len(found) else 0
    rest: list[int] = ordered[start : start + chosen.limit].tolist()
    return rest


@dataclass(frozen=True, slots=True)
class _Sought:
    """The series that are to be ordered: places in the columns."""

    connection: Connection
    columns: SeriesColumns
    places: Array
    counts: Sums[int, int]
    machines: Sequence[str]

    @property
    def numbers(self) -> list[int]:
        """Of their rows."""
        found: list[int] = self.columns.numbers[self.places].tolist()
        return found


Order = Callable[[_Sought], "Array"]


def _order(name: str) -> Order:
    if name not in _ORDERS:
        raise OptionError(f"series are not ordered by {name!r}", remedy=did_you_mean(name, SERIES_ORDERS))
    return _ORDERS[name]


def _by_name(column: str) -> Order:
    return lambda sought: sought.columns.names_at(column)[sought.places].astype(float)


def _by_machine(sought: _Sought) -> Array:
    import numpy

    ranks = {key: rank for rank, key in enumerate(sought.machines)}
    keys = sought.columns.distinct("machine")
    table = numpy.array([ranks.get(key, len(ranks)) for key in keys], dtype=float)
    return table[sought.columns.codes("machine")[sought.places]]


def _by_count(sought: _Sought) -> Array:
    import numpy

    return numpy.array([sought.counts.get(number, 0) for number in sought.numbers], dtype=float)


def _by_findings(sought: _Sought) -> Array:
    import numpy

    table, series = tables.findings, tables.series
    query = select(table.c.series, func.count()).where(table.c.state == State.OPEN.value).group_by(table.c.series)
    opened: dict[str, int] = dict(sought.connection.execute(query).all())
    named = select(series.c.id, series.c.key)
    pieces = (sought.connection.execute(named.where(series.c.key.in_(part))) for part in parts([*opened]))
    counts = {number: opened[key] for rows in pieces for number, key in rows}
    return numpy.array([counts.get(number, 0) for number in sought.numbers], dtype=float)


def _by_newest(column: str) -> Order:
    """By a column of the newest point of each series."""

    def order(sought: _Sought) -> Array:
        import numpy

        if len(sought.places) > MOST_SORTED:
            raise OptionError(
                f"{len(sought.places):,} series are too many to be ordered by their newest points",
                remedy=f"narrow them to {MOST_SORTED:,} at most, or order them by something else",
            )
        numbers = sought.numbers
        each = [(number,) for number in numbers]
        rows = for_each(sought.connection, each, lambda series: _newest_point(series, column))
        found = {number: value for (number,), (value,) in rows}
        return numpy.array([found.get(number, numpy.nan) for number in numbers], dtype=float)

    return order


def _newest_point(series: Any, column: str) -> Select[Any]:
    points, results = tables.points, tables.results
    return (
        select(points.c[column])
        .join_from(points, results, results.c.id == points.c.result_id)
        .where(points.c.series_id == series, results.c.status == Status.OK.value)
        .order_by(points.c.at.desc(), points.c.result_id.desc())
        .limit(1)
    )


_ORDERS: dict[str, Order] = {
    "case": _by_name("case"),
    "metric": _by_name("metric"),
    "machine": _by_machine,
    "count": _by_count,
    "findings": _by_findings,
    "at": _by_newest("at"),
    "last": _by_newest("point"),
}


def facets(
    connection: Connection,
    columns: SeriesColumns,
    chosen: SeriesFilter,
    counts: Sums[int, int],
    labels: Labels,
) -> FacetCounts:
    """How many series were chosen, and what else they can be narrowed by. `labels` are those of `RunsOfSeries`."""
    alive, conditions = fitting(connection, columns, chosen, counts, labels)
    found = columns.facets(alive, conditions, chosen)
    for name, given in (("branch", chosen.branches), ("tag", chosen.tags)):
        mask = joined(alive, conditions, besides=name)
        known = with_chosen(connection, columns, labels, name, given)
        counted = [(label, int((measured & mask).sum())) for label, measured in known.items()]
        found.append(facet_of(name, counted, given))
    total = int(joined(alive, conditions).sum())
    return FacetCounts(total=total, facets=tuple(one for one in found if one.values))
