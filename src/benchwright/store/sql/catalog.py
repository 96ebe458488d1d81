"""Series without their histories: which there are, and how they go. Inside the connection's transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Row, Select, bindparam, exists, func, select, union_all

from benchwright.records import Status
from benchwright.store.archive import ListedSeries, SeriesFilter
from benchwright.store.sql import read, tables
from benchwright.store.sql.codec import plain
from benchwright.store.sql.counts import EVERYTHING, Tally
from benchwright.store.sql.engine import for_each, parts


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


def list_series(connection: Connection, chosen: SeriesFilter, counts: Mapping[int, int]) -> list[ListedSeries]:
    """The series that were chosen, in the order of their numbers; those without points only where keys name them."""
    table, points = tables.series, tables.points
    first, last = (_instant(order(points.c.at)) for order in (Column.asc, Column.desc))
    query = _apply_filter(select(table, first.label("first"), last.label("last")), chosen)
    if not chosen.words and "*" not in chosen.case + chosen.metric:
        rows: Sequence[Row[Any]] = connection.execute(query.order_by(table.c.id).limit(chosen.limit)).all()
    else:
        numbers = _fitting_numbers(connection, chosen)
        rows = [row for part in parts(numbers) for row in connection.execute(query.where(table.c.id.in_(part))).all()]
        rows.sort(key=lambda row: row.id)
    return [_listed_series(row, counts.get(row.id, 0)) for row in rows]


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


def _fitting_numbers(connection: Connection, chosen: SeriesFilter) -> list[int]:
    """The numbers of the first `limit` series that fit patterns and words too, whatever the database."""
    table = tables.series
    columns = (table.c.id, table.c.case_name, table.c.params, table.c.metric)
    case, metric = pattern(chosen.case or "*"), pattern(chosen.metric or "*")
    words = plain(chosen.words).casefold().split()
    found: list[int] = []
    for row in connection.execute(_apply_filter(select(*columns), chosen).order_by(table.c.id)):
        text = f"{row.case_name} {row.params} {row.metric}".casefold() if words else ""
        if case.fullmatch(row.case_name) and metric.fullmatch(row.metric) and all(word in text for word in words):
            found.append(row.id)
            if len(found) >= chosen.limit:
                break
    return found


def pattern(name: str) -> re.Pattern[str]:
    """Returns the regular expression of a name in which only `*` is special."""
    return re.compile(".*".join(map(re.escape, plain(name).split("*"))), re.DOTALL)


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
    for number, value in for_each(connection, [*series], lambda each: _tail(each, points)):
        found[series[number]].append(value)
    return {key: values[::-1] for key, values in found.items()}


def _numbers(connection: Connection, keys: Sequence[str]) -> Iterator[tuple[str, int]]:
    table = tables.series
    for part in parts([plain(key) for key in keys]):
        query = select(table.c.key, func.max(table.c.id)).where(table.c.key.in_(part)).group_by(table.c.key)
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
    about = _select_around(points // 2)
    found = []
    for key, run in places:
        number, at = numbers.get(key), began.get(run)
        rows = () if number is None or at is None else connection.execute(about, {"series": number, "begin": at})
        found.append([row.point for row in sorted(rows, key=lambda row: (row.at, row.result_id))])
    return found


def _beginnings(connection: Connection, runs: Sequence[str]) -> Iterator[tuple[str, int]]:
    table = tables.runs
    for part in parts([plain(run) for run in runs]):
        yield from (
            (run, at) for run, at in connection.execute(select(table.c.run, table.c.at).where(table.c.run.in_(part)))
        )


def _select_around(most: int) -> Any:
    """The points of a `series` before an instant, `begin`, and from there on; `most` of each, in no order."""
    points, results = tables.points, tables.results
    series, begin = (bindparam(name, type_=BigInteger) for name in ("series", "begin"))
    query = (
        select(points.c.at, points.c.result_id, points.c.point)
        .join_from(points, results, results.c.id == points.c.result_id)
        .where(points.c.series_id == series, results.c.status == Status.OK.value)
        .limit(most)
    )
    before = query.where(points.c.at < begin).order_by(points.c.at.desc(), points.c.result_id.desc()).subquery()
    after = query.where(points.c.at >= begin).order_by(points.c.at, points.c.result_id).subquery()
    return union_all(select(before), select(after))


def metric_names(connection: Connection) -> list[str]:
    """Every metric that has a series, in alphabetical order."""
    return sorted(connection.scalars(select(tables.series.c.metric).distinct()))


def totals(connection: Connection, points: Mapping[int, int]) -> dict[str, int]:
    """How many runs, series, points and findings in each state there are."""
    findings = tables.findings
    query = select(findings.c.state, func.count()).group_by(findings.c.state)
    return {
        "runs": connection.scalar(select(func.count()).select_from(tables.runs)) or 0,
        "series": len(points),
        "points": sum(points.values()),
        **dict(connection.execute(query).all()),
    }
