"""Values with what names them, without reading a document. Inside the connection's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, bindparam, select

from benchwright.records import Estimate, Status
from benchwright.store import tables
from benchwright.store.archive import Valued
from benchwright.store.catalog import pattern
from benchwright.store.codec import plain

_RUNS = 50  # of a tag or a revision: the newest of them have every series that is still measured
_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which values are meant; what is empty does not choose."""

    metrics: tuple[str, ...] = ()
    case: str = ""  # may hold `*`
    machine: str = ""
    revision: str = ""
    tag: str = ""


def of_runs(connection: Connection, runs: Sequence[str], *, metrics: Sequence[str]) -> list[Valued]:
    """Every value of these runs that is ok, in the order they were kept."""
    names = dict.fromkeys(plain(run) for run in runs)
    numbers = connection.scalars(select(tables.runs.c.id).where(tables.runs.c.run.in_(names))).all()
    return _valued(connection, numbers, Wanted(metrics=tuple(metrics)))


def newest(connection: Connection, wanted: Wanted) -> list[Valued]:
    """Of each series that is wanted the values of the newest run that has any."""
    if wanted.revision or wanted.tag:
        values = _valued(connection, _runs(connection, wanted), wanted)
    else:
        last = _last_runs(connection, wanted)
        values = _valued(connection, sorted(set(last.values())), wanted)
    ends: dict[tuple[str, str], tuple[int, str]] = {}
    for value in values:
        name = (value.series, value.unit)
        ends[name] = max(ends.get(name, (-(2**63), "")), (value.at, value.run))
    return [value for value in values if ends[value.series, value.unit][1] == value.run]


def _last_runs(connection: Connection, wanted: Wanted) -> dict[int, int]:
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
    query = _of_series(select(series.c.id, series.c.case_name, run), wanted)
    case = pattern(wanted.case or "*")
    rows = connection.execute(query).all()
    return {number: last for number, name, last in rows if last is not None and case.fullmatch(name)}


def _runs(connection: Connection, wanted: Wanted) -> list[int]:
    """The newest runs that have the tag and a result of the revision."""
    runs = tables.runs
    query = select(runs.c.id).order_by(runs.c.at.desc(), runs.c.id.desc()).limit(_RUNS)
    if wanted.tag:
        query = query.join(tables.run_tags).where(tables.run_tags.c.tag == plain(wanted.tag))
    if wanted.revision:
        results = tables.results
        query = query.where(runs.c.id.in_(select(results.c.run_id).where(results.c.revision == plain(wanted.revision))))
    return list(connection.scalars(query))


def _of_series(query: Select[Any], wanted: Wanted) -> Select[Any]:
    series = tables.series
    if wanted.metrics:
        query = query.where(series.c.metric.in_([plain(metric) for metric in wanted.metrics]))
    if wanted.machine:
        query = query.where(series.c.machine == plain(wanted.machine))
    if wanted.case and "*" not in wanted.case:
        query = query.where(series.c.case_name == plain(wanted.case))
    return query


def _valued(connection: Connection, runs: Sequence[int], wanted: Wanted) -> list[Valued]:
    """The values of the runs in these rows."""
    query = _of_series(_query(), wanted)
    if wanted.revision:
        query = query.where(tables.results.c.revision == plain(wanted.revision))
    case = pattern(wanted.case) if "*" in wanted.case else None
    found: list[Valued] = []
    for start in range(0, len(runs), _AT_ONCE):
        rows = list(connection.execute(query, {"runs": runs[start : start + _AT_ONCE]}).cursor.fetchall())
        rows.sort()  # by the numbers of result and series, quicker than the database sorts whole rows
        found += [_value(row) for row in rows if not case or case.fullmatch(row[3])]
    return found


def _query() -> Select[Any]:
    series, points, results, runs = tables.series, tables.points, tables.results, tables.runs
    return (
        select(
            results.c.id,
            series.c.id,
            series.c.key,
            series.c.case_name,
            series.c.params,
            series.c.metric,
            series.c.unit,
            series.c.better,
            series.c.machine,
            runs.c.run,
            results.c.result,
            results.c.round,
            points.c.at,
            results.c.revision,
            points.c.point,
            points.c.low,
            points.c.high,
            points.c.confidence,
            tables.methods.c.method,
        )
        .join_from(runs, results, results.c.run_id == runs.c.id)
        .join(points, points.c.result_id == results.c.id)
        .join(series, series.c.id == points.c.series_id)
        .join(tables.methods, tables.methods.c.id == points.c.method_id)
        .where(runs.c.id.in_(bindparam("runs", expanding=True)), results.c.status == Status.OK.value)
    )


def _value(row: Any) -> Valued:
    """From the columns of `_query`, which stand in the order of the fields."""
    estimate = Estimate(point=row[14], low=row[15], high=row[16], confidence=row[17], method=row[18])
    return Valued._make((*row[2:14], estimate))
