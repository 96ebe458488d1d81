"""Series without their histories: which there are, and how they go. Inside the connection's transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, cast

from sqlalchemy import Column, Connection, Row, Select, exists, func, select

from benchwright.records import Status
from benchwright.store.archive import ListedSeries, SeriesFilter
from benchwright.store.sql import read, tables
from benchwright.store.sql.codec import plain
from benchwright.store.sql.counts import EVERYTHING, Sums, Tally, WholeSum
from benchwright.store.sql.engine import among, for_each, parts
from benchwright.store.sql.series_index import SeriesIndex


def points_tally() -> Tally[int, int]:
    """How many points each series has, by its number."""
    return Tally(_points, lambda a, b: a + b)


def _points(connection: Connection, above: int, upto: int) -> dict[int, int]:
    table = tables.points
    # Few are found by their results: `+ 0` hides from SQLite that all points lie in the order of series.
    series = table.c.series_id + 0 if above else table.c.series_id
    query = select(series, func.count()).group_by(series)
    query = query.where(table.c.result_id > above) if above else query
    query = query.where(table.c.result_id <= upto) if upto < EVERYTHING else query
    return {row[0]: row[1] for row in connection.execute(query)}


def list_series(
    connection: Connection, chosen: SeriesFilter, counts: Mapping[int, int], index: SeriesIndex
) -> list[ListedSeries]:
    """The series that were chosen, in the order of their numbers; those without points only where keys name them."""
    table, points = tables.series, tables.points
    first, last = (_instant(order(points.c.at)) for order in (Column.asc, Column.desc))
    query = _apply_filter(select(table, first.label("first"), last.label("last")), chosen)
    if not chosen.words and not chosen.numbers and "*" not in chosen.case + chosen.metric:
        rows: Sequence[Row[Any]] = connection.execute(query.order_by(table.c.id).limit(chosen.limit)).all()
    else:
        rows = _read_rows(connection, query, chosen.numbers or index.find(connection, chosen), chosen.limit)
    return [_listed_series(row, counts.get(row.id, 0)) for row in rows]


def _read_rows(connection: Connection, query: Select[Any], numbers: Sequence[int], limit: int) -> list[Row[Any]]:
    """The first rows of these numbers that the query finds."""
    table, rows = tables.series, list[Row[Any]]()
    for part in parts(sorted(numbers)):
        if len(rows) >= limit:
            break
        rows += connection.execute(
            query.where(among(connection, table.c.id, part)).order_by(table.c.id).limit(limit - len(rows))
        )
    return rows


def _instant(order: Any) -> Any:
    points = tables.points
    inner = select(points.c.at).where(points.c.series_id == tables.series.c.id).order_by(order).limit(1)
    return inner.correlate(tables.series).scalar_subquery()


def _apply_filter(query: Select[Any], chosen: SeriesFilter) -> Select[Any]:
    """Adds the conditions of a filter that the database can check by itself."""
    table, points = tables.series, tables.points
    query = query.where(table.c.id > chosen.after)
    for column, name in ((table.c.case_name, chosen.case), (table.c.metric, chosen.metric)):
        if name and "*" not in name:
            query = query.where(column == plain(name))
    if chosen.machine:
        query = query.where(table.c.machine == plain(chosen.machine))
    if chosen.keys:
        return query.where(table.c.key.in_([plain(key) for key in chosen.keys]))
    return query.where(exists().where(points.c.series_id == table.c.id))


def _listed_series(row: Any, count: int) -> ListedSeries:
    return ListedSeries(
        number=row.id,
        series=read.series_of(row),
        # A point that came between counting and looking shows in its instant first.
        count=max(count, 1) if row.last is not None else 0,
        first_at=row.first or 0,
        last_at=row.last or 0,
    )


def tails(connection: Connection, keys: Sequence[str], *, points: int = 30) -> dict[str, list[float]]:
    """The newest points of each of these series that are ok, oldest first. Of a key with two units, the later unit."""
    names = dict(_numbers(connection, keys))
    found: dict[str, list[float]] = {key: [] for key in dict.fromkeys(keys) if key in names}
    series = {number: key for key, number in names.items()}
    for (number,), (value,) in for_each(connection, [(number,) for number in series], lambda each: _tail(each, points)):
        found[series[number]].append(value)
    return {key: values[::-1] for key, values in found.items()}


def _numbers(connection: Connection, keys: Sequence[str]) -> Iterator[tuple[str, int]]:
    table = tables.series
    for part in parts([plain(key) for key in keys]):
        query = (
            select(table.c.key, func.max(table.c.id)).where(among(connection, table.c.key, part)).group_by(table.c.key)
        )
        yield from ((key, number) for key, number in connection.execute(query))


def _tail(series: Any, most: int) -> Select[Any]:
    points, results = tables.points, tables.results
    return (
        select(points.c.point)
        .join_from(points, results, results.c.id == points.c.result_id)
        .where(points.c.series_id == series, results.c.status == Status.OK.value)
        .order_by(points.c.at.desc(), points.c.result_id.desc())
        .limit(most)
    )


def around(connection: Connection, places: Sequence[tuple[str, str]], *, points: int = 30) -> list[list[float]]:
    """Of each (series, run) the points that are ok on both sides of the run's beginning, as many of each, oldest first.

    Nothing for a series or a run that is not kept. Of a key with two units, the later unit.
    """
    numbers = dict(_numbers(connection, list(dict.fromkeys(key for key, _ in places))))
    began = dict(_beginnings(connection, list(dict.fromkeys(run for _, run in places))))
    pairs = [(numbers.get(key), began.get(run)) for key, run in places]
    known = [(number, at) for number, at in dict.fromkeys(pairs) if number is not None and at is not None]
    found: dict[tuple[int, ...], list[tuple[Any, ...]]] = {pair: [] for pair in known}
    for later in (False, True):
        for pair, row in for_each(connection, known, partial(_select_side, most=points // 2, later=later)):
            found[pair].append(row)
    return [[row[2] for row in sorted(found.get(cast(tuple[int, ...], pair), ()))] for pair in pairs]


def _beginnings(connection: Connection, runs: Sequence[str]) -> Iterator[tuple[str, int]]:
    table = tables.runs
    for part in parts([plain(run) for run in runs]):
        yield from (
            (run, at)
            for run, at in connection.execute(
                select(table.c.run, table.c.at).where(among(connection, table.c.run, part))
            )
        )


def _select_side(series: Any, begin: Any, *, most: int, later: bool) -> Select[Any]:
    """The points of a series that are nearest to an instant: before it, or from there on."""
    points, results = tables.points, tables.results
    order = (points.c.at, points.c.result_id)
    return (
        select(points.c.at, points.c.result_id, points.c.point)
        .join_from(points, results, results.c.id == points.c.result_id)
        .where(points.c.series_id == series, results.c.status == Status.OK.value)
        .where(points.c.at >= begin if later else points.c.at < begin)
        .order_by(*(order if later else (column.desc() for column in order)))
        .limit(most)
    )


def metric_directions(connection: Connection) -> dict[str, str]:
    """Which direction of every metric is better, as most of the series that say one do."""
    table = tables.series
    query = select(table.c.metric, table.c.better, func.count()).group_by(table.c.metric, table.c.better)
    rows = sorted(connection.execute(query), key=lambda row: (bool(row[1]), row[2]))  # of two, the last stays
    found = {metric: better for metric, better, _ in rows}
    return dict(sorted(found.items()))


def totals(connection: Connection, points: Sums[int, int], add_up: WholeSum) -> dict[str, int]:
    """How many runs, series, points and findings in each state there are."""
    return {
        "runs": connection.scalar(_count_runs()) or 0,
        "series": len(points),
        "points": add_up(points),
        **count_findings(connection),
    }


def count_findings(connection: Connection) -> dict[str, int]:
    """How many findings are in each state."""
    return {row[0]: row[1] for row in connection.execute(_count_findings())}


@cache
def _count_runs() -> Select[Any]:
    return select(func.count()).select_from(tables.runs)


@cache
def _count_findings() -> Select[Any]:
    findings = tables.findings
    return select(findings.c.state, func.count()).group_by(findings.c.state)
