"""Values with what names them, without reading a document. Inside the connection's transaction."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sqlalchemy import Column, Connection, Select, func, select

from benchwright.errors import OptionError
from benchwright.records import Estimate, Status
from benchwright.schema.parsing import json_mapping
from benchwright.store.archive import Valued
from benchwright.store.sql import cells, tables
from benchwright.store.sql.cells import NUMBER, TEXT, WHOLE
from benchwright.store.sql.codec import plain, text_of_params
from benchwright.store.sql.engine import among, parts
from benchwright.store.sql.series_index import pattern

_RUNS = 50  # of a tag or a revision: the newest of them have every series that is still measured
_AT_ONCE = 5000  # rows that are read by their numbers
_LASTS = 5.0  # seconds: whether more or less is better may be stated anew, the rest never changes

SeriesName = tuple[str, str, str, str, str, str, str]  # key, case, params, metric, unit, better, machine


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueFilter:
    """Which values are meant; what is empty does not choose."""

    metrics: tuple[str, ...] = ()
    case: str = ""  # may hold `*`
    machine: str = ""
    revision: str = ""
    tag: str = ""
    runtime: str = ""  # a param
    most: int = 0  # series, unless a revision or a tag chooses; 0: as many as there are


def read_runs(connection: Connection, names: RowNames, runs: Sequence[str], *, metrics: Sequence[str]) -> list[Valued]:
    """Every value of these runs that is ok, in the order they were kept."""
    ids = [*dict.fromkeys(plain(run) for run in runs)]
    return _read_values(connection, names, tables.runs.c.run, ids, ValueFilter(metrics=tuple(metrics)))


def newest(connection: Connection, names: RowNames, wanted: ValueFilter) -> list[Valued]:
    """Of each series that is wanted the values of the newest run that has any."""
    if wanted.revision or wanted.tag:
        numbers = _runs(connection, wanted)
    else:
        numbers = sorted(set(_last_runs(connection, wanted).values()))
    values = _read_values(connection, names, tables.runs.c.id, numbers, wanted)
    ends: dict[tuple[str, str], tuple[int, str]] = {}
    for value in values:
        name = (value.series, value.unit)
        ends[name] = max(ends.get(name, (-(2**63), "")), (value.at, value.run))
    return [value for value in values if ends[value.series, value.unit][1] == value.run]


def _last_runs(connection: Connection, wanted: ValueFilter) -> dict[int, int]:
    """The run of the newest point of each series that is wanted, by the numbers of rows."""
    series, points, results = tables.series, tables.points, tables.results
    run = (
        select(results.c.run_id)
        .join_from(points, results, results.c.id == points.c.result_id)
        .where(points.c.series_id == series.c.id, results.c.status == Status.OK.value)
        .order_by(points.c.at.desc(), points.c.result_id.desc())
        .limit(1)
        .correlate(series)
        .scalar_subquery()
    )
    if wanted.most and _count_series(connection, wanted) > wanted.most:
        raise OptionError(
            f"more than {wanted.most:,} series are meant, too many for one answer",
            remedy="choose runs, revisions or branches",
        )
    query = _where_series(select(series.c.id, series.c.case_name, run), wanted)
    case = pattern(wanted.case or "*")
    rows = connection.execute(query).all()
    return {number: last for number, name, last in rows if last is not None and case.fullmatch(name)}


def _count_series(connection: Connection, wanted: ValueFilter) -> int:
    """How many series are wanted; beyond the most that may be, they are not counted."""
    few = _where_series(select(tables.series.c.id), wanted).limit(wanted.most + 1).subquery()
    return connection.scalar(select(func.count()).select_from(few)) or 0


def _runs(connection: Connection, wanted: ValueFilter) -> list[int]:
    """The newest runs that have the tag and a result of the revision."""
    runs = tables.runs
    query = select(runs.c.id).order_by(runs.c.id.desc()).limit(_RUNS)
    if wanted.tag:
        query = query.join(tables.run_tags).where(tables.run_tags.c.tag == plain(wanted.tag))
    if wanted.revision:
        results = tables.results
        query = query.where(runs.c.id.in_(select(results.c.run_id).where(results.c.revision == plain(wanted.revision))))
    return list(connection.scalars(query))


def _where_series(query: Select[Any], wanted: ValueFilter) -> Select[Any]:
    series = tables.series
    if wanted.metrics:
        query = query.where(series.c.metric.in_([plain(metric) for metric in wanted.metrics]))
    if wanted.machine:
        query = query.where(series.c.machine == plain(wanted.machine))
    if wanted.runtime:
        param = text_of_params({"runtime": wanted.runtime})[1:-1]
        query = query.where(series.c.params.contains(param, autoescape=True))
    if wanted.case and "*" not in wanted.case:
        query = query.where(series.c.case_name == plain(wanted.case))
    return query


def _read_values(
    connection: Connection, names: RowNames, column: Column[Any], runs: Sequence[Any], wanted: ValueFilter
) -> list[Valued]:
    """The values of the runs that the column names."""
    query = _query()
    if wanted.metrics or wanted.machine or wanted.case or wanted.runtime:
        query = _where_series(query.join(tables.series, tables.series.c.id == tables.points.c.series_id), wanted)
    if wanted.revision:
        query = query.where(tables.results.c.revision == plain(wanted.revision))
    rows: list[Any] = []
    for part in parts(runs):
        cursor = connection.execute(query.where(among(connection, column, part))).cursor
        assert cursor is not None
        # By the numbers of result and series, quicker than the database sorts whole rows.
        rows += sorted(cells.check_rows(cursor.fetchall(), _KINDS), key=itemgetter(0, 1))
    found = _name_values(connection, names, rows, wanted.case if "*" in wanted.case else "")
    if not wanted.runtime:
        return found
    # The text may stand within another param as well.
    fits = {text: json_mapping(text).get("runtime") == wanted.runtime for text in {value.params for value in found}}
    return [value for value in found if fits[value.params]]


def _query() -> Select[Any]:
    points, results, runs = tables.points, tables.results, tables.runs
    return (
        select(
            results.c.id,
            points.c.series_id,
            runs.c.run,
            results.c.result,
            results.c.round,
            points.c.at,
            results.c.revision,
            points.c.point,
            points.c.low,
            points.c.high,
            points.c.confidence,
            points.c.method_id,
        )
        .join_from(runs, results, results.c.run_id == runs.c.id)
        .join(points, points.c.result_id == results.c.id)
        .where(results.c.status == Status.OK.value)
    )


_KINDS = (*[WHOLE] * 2, *[TEXT] * 2, *[WHOLE] * 2, TEXT, *[NUMBER] * 4, WHOLE)  # of the columns of `_query`


def _name_values(connection: Connection, names: RowNames, rows: Sequence[Any], case: str) -> list[Valued]:
    """Makes the values from the columns of `_query`, of the cases that fit."""
    series = names.series(connection, [row[1] for row in rows])
    methods = names.methods(connection, [row[11] for row in rows])
    rows = [row for row in rows if row[1] in series]  # a damaged store has points of series that are gone
    if case:
        fits = pattern(case)
        rows = [row for row in rows if fits.fullmatch(series[row[1]][1])]
    make = Valued._make
    return [
        make(
            (
                *series[row[1]],
                *row[2:7],
                Estimate(point=row[7], low=row[8], high=row[9], confidence=row[10], method=methods.get(row[11], "")),
            )
        )
        for row in rows
    ]


class RowNames:
    """What series and methods are called, by the numbers of their rows, kept at hand.

    Joined to every value, the same few names would come a thousand times. Those rows are never deleted, so each is read
    once, series now and then again.
    """

    def __init__(self) -> None:
        self._series: dict[int, SeriesName] = {}
        self._methods: dict[int, str] = {}
        self._since = time.monotonic()
        self._lock = threading.Lock()

    def series(self, connection: Connection, numbers: Iterable[int]) -> Mapping[int, SeriesName]:
        """Returns the names of series by their numbers, at least of these."""
        table = tables.series
        columns = (table.c.key, table.c.case_name, table.c.params, table.c.metric)
        query = select(table.c.id, *columns, table.c.unit, table.c.better, table.c.machine)
        with self._lock:
            if time.monotonic() - self._since > _LASTS:
                self._series, self._since = {}, time.monotonic()
            known = self._series
        for row in _read_rows(connection, query, table.c.id, set(numbers) - known.keys()):
            known[row[0]] = tuple(row[1:])
        return known

    def methods(self, connection: Connection, numbers: Iterable[int]) -> Mapping[int, str]:
        """Returns the names of methods by their numbers, at least of these."""
        table = tables.methods
        query = select(table.c.id, table.c.method)
        for number, method in _read_rows(connection, query, table.c.id, set(numbers) - self._methods.keys()):
            self._methods[number] = method
        return self._methods


def _read_rows(connection: Connection, query: Select[Any], column: Any, numbers: Iterable[int]) -> Iterable[Any]:
    for part in parts(sorted(numbers), _AT_ONCE):
        yield from connection.execute(query.where(among(connection, column, part)))
