"""Reading rows back into records. Every function works inside the transaction of the connection it is given."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Row, Select, and_, bindparam, exists, func, or_, select

from benchwright.errors import StoreError, UserError
from benchwright.records import CALIBRATION_TAG, Estimate, Result, Run, Samples, Status
from benchwright.store import Miss, Point, RunSummary, Series
from benchwright.store.sql import codec, tables
from benchwright.store.sql.codec import SamplesRow, plain
from benchwright.store.sql.engine import parts

_FAILED = (Status.FAILED.value, Status.TIMEOUT.value, Status.KILLED.value, Status.REFUSED.value)


def run(connection: Connection, run_id: str, *, samples: bool = True) -> Run:
    """A run with its results in the order they were added; without raw samples when they are not wanted."""
    table = tables.runs
    header = connection.execute(
        select(table.c.id, table.c.format, table.c.document).where(table.c.run == plain(run_id))
    ).one_or_none()
    if header is None:
        raise StoreError(f"no run {run_id!r} in this store", remedy="benchwright list shows the runs there are")
    record = codec.read_run(header.document, header.format, where=f"run {run_id}")
    return replace(record, results=tuple(_results(connection, header.id, samples=samples)))


def _results(connection: Connection, run_id: int, *, samples: bool) -> Iterator[Result]:
    table = tables.results
    for row in connection.execute(_select_results().where(table.c.run_id == run_id).order_by(table.c.id)):
        result = _result(row)
        yield replace(result, samples=samples_of(connection, row.id, f"result {row.result}")) if samples else result


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptResult:
    """A result with the number of its row and the id of its run."""

    run: str
    run_number: int  # of rows
    number: int
    result: Result  # without samples


def find_result(connection: Connection, result_id: str) -> KeptResult | None:
    """The result of that id, without samples; None when there is none such."""
    table, runs = tables.results, tables.runs
    query = _select_results(runs.c.run, table.c.run_id).join(runs, runs.c.id == table.c.run_id)
    row = connection.execute(query.where(table.c.result == plain(result_id))).one_or_none()
    return None if row is None else KeptResult(run=row.run, run_number=row.run_id, number=row.id, result=_result(row))


def _select_results(*others: Column[Any]) -> Select[Any]:
    """Selects the columns that `_result` needs, and others."""
    table = tables.results
    return (
        select(
            table.c.id,
            table.c.result,
            tables.documents.c.format,
            tables.documents.c.document,
            tables.environments.c.document.label("environment"),
            *others,
        )
        .join_from(table, tables.documents, tables.documents.c.result_id == table.c.id)
        .join(tables.environments, tables.environments.c.id == table.c.environment_id)
    )


def _result(row: Any) -> Result:
    return codec.read_result(row.document, row.format, row.environment, where=f"result {row.result}")


def samples(connection: Connection, result_id: str) -> tuple[Samples, ...]:
    """The raw samples of one result."""
    number = connection.scalar(select(tables.results.c.id).where(tables.results.c.result == plain(result_id)))
    if number is None:
        raise StoreError(f"no result {result_id!r} in this store")
    return samples_of(connection, number, f"result {result_id}")


Head = tuple[int, int, int, int]  # copy, calls, loops, elapsed


def heads(samples: Sequence[Samples]) -> list[Head]:
    """Returns the part of samples that stays when raw calls age out."""
    return [(one.copy, one.calls, one.loops, one.elapsed) for one in samples]


def kept_heads(connection: Connection, number: int) -> list[Head]:
    """The heads of the samples of the result in row `number`; its raw samples are not read."""
    table = tables.samples
    query = select(table.c.document).where(table.c.result_id == number).order_by(table.c.position)
    rows = [SamplesRow(document=document, columns={}) for document in connection.scalars(query)]
    return heads([codec.read_samples(row, where=f"result in row {number}") for row in rows])


def samples_of(connection: Connection, number: int, where: str) -> tuple[Samples, ...]:
    """The raw samples of the result in row `number`."""
    heads, cells = tables.samples, tables.sample_columns
    columns: dict[int, dict[str, tuple[str, bytes]]] = defaultdict(dict)
    for row in connection.execute(
        select(cells.c.position, cells.c.name, cells.c.predictor, cells.c.data).where(cells.c.result_id == number)
    ):
        columns[row.position][row.name] = (row.predictor, row.data)
    return tuple(
        codec.read_samples(SamplesRow(document=row.document, columns=columns[row.position]), where=where)
        for row in connection.execute(
            select(heads.c.position, heads.c.document).where(heads.c.result_id == number).order_by(heads.c.position)
        )
    )


# ---- lists ----


def run_ids(connection: Connection) -> Iterator[str]:
    """Every run's id, in the order in which they were added."""
    return iter(connection.scalars(select(tables.runs.c.run).order_by(tables.runs.c.id)).all())


def case_names(connection: Connection) -> list[str]:
    """Every name a case was measured under, in order of the alphabet."""
    names = tables.series.c.case_name
    return sorted(connection.scalars(select(names).distinct()))


def headers() -> Select[Any]:
    """Runs without their results, for `summarise` among others."""
    table = tables.runs
    return select(table.c.id, table.c.run, table.c.at, table.c.format, table.c.document)


def is_run() -> ColumnElement[bool]:
    """Whether a row of `runs` counts as a run: not when every result was refused before anything was measured.

    Nor what keeps a calibration of a machine. A run without results, which has just begun or was cut off, counts.
    """
    results = tables.results.alias()  # a name of its own: the query around it may look at results as well
    mine = results.c.run_id == tables.runs.c.id
    measured = or_(exists().where(mine, results.c.status != Status.REFUSED.value), ~exists().where(mine))
    tags = tables.run_tags.alias()
    return and_(measured, ~exists().where(tags.c.run_id == tables.runs.c.id, tags.c.tag == CALIBRATION_TAG))


def summaries(connection: Connection, *, limit: int = 20, tag: str = "", tries: bool = False) -> list[RunSummary]:
    """The newest runs first; with `tries`, also what was refused before anything was measured."""
    query = headers() if tries else headers().where(is_run())
    if tag:
        query = query.join(tables.run_tags).where(tables.run_tags.c.tag == plain(tag))
    return summarise(connection, query, limit=limit)


def summarise(connection: Connection, query: Select[Any], *, limit: int) -> list[RunSummary]:
    """The newest of the runs that a query of `headers` finds: those that were added last.

    Not those that began last: a machine whose clock was ahead once would stay the newest for as long.
    """
    headers = connection.execute(query.order_by(tables.runs.c.id.desc()).limit(limit)).all()
    cases: dict[int, dict[str, None]] = defaultdict(dict)
    counts: dict[int, int] = defaultdict(int)
    failed: dict[int, int] = defaultdict(int)
    for row in _count_statuses(connection, [header.id for header in headers]):
        cases[row.run_id][row.case_name] = None
        counts[row.run_id] += row.number
        failed[row.run_id] += row.number if row.status in _FAILED else 0
    return [_summary(header, tuple(cases[header.id]), counts[header.id], failed[header.id]) for header in headers]


def _count_statuses(connection: Connection, numbers: Sequence[int]) -> Iterator[Row[Any]]:
    """How often each case of the runs ended in each status, in the order of their first results."""
    table = tables.results
    for part in parts(numbers):
        yield from connection.execute(
            select(table.c.run_id, table.c.case_name, table.c.status, func.count().label("number"))
            .where(table.c.run_id.in_(part))
            .group_by(table.c.run_id, table.c.case_name, table.c.status)
            .order_by(func.min(table.c.id))
        )


def _summary(header: Any, cases: tuple[str, ...], results: int, failed: int) -> RunSummary:
    try:
        record = codec.read_run(header.document, header.format, where=f"run {header.run}")
    except UserError as error:  # it costs this run, not the others
        return RunSummary(
            id=header.run,
            started_at=codec.instant(header.at),
            cases=cases,
            results=results,
            failed=failed,
            revision=None,
            tags=(),
            damaged=error.message,
        )
    return RunSummary(
        id=record.id,
        started_at=record.started_at,
        cases=cases,
        results=results,
        failed=failed,
        revision=record.revision,
        tags=record.tags,
        planned=record.planned,
    )


# ---- history ----


def history(connection: Connection, case: str, *, metrics: Sequence[str] = (), limit: int = 1000) -> list[Series]:
    """The series of the cases that match, each with its newest points, oldest first."""
    return [series_of(row, _points(connection, row.id, limit)) for row in _matching_series(connection, case, metrics)]


def series_of(row: Any, points: tuple[Point, ...] = ()) -> Series:
    """A row of the table of series as the record."""
    return Series(
        key=row.key,
        case=row.case_name,
        params=row.params,
        metric=row.metric,
        unit=row.unit,
        better=row.better,
        machine=row.machine,
        points=points,
    )


def _matching_series(connection: Connection, case: str, metrics: Sequence[str]) -> Sequence[Row[Any]]:
    table = tables.series
    query = select(table).where(table.c.case_name.in_(matching_names(connection, table.c.case_name, case)))
    if metrics:
        query = query.where(table.c.metric.in_([plain(metric) for metric in metrics]))
    return connection.execute(query.order_by(table.c.id)).all()


def matching_names(connection: Connection, column: Column[str], case: str) -> list[str]:
    """The names in `column` that `case` matches, in which `*` stands for anything."""
    name = plain(case)
    if "*" not in name:
        return [name]
    pattern = re.sub(r"([%_\\])", r"\\\1", name).replace("*", "%")
    found = connection.scalars(select(column).where(column.like(pattern, escape="\\")).distinct())
    # LIKE ignores case in one database and not in the other; here it counts.
    exact = re.compile(".*".join(map(re.escape, name.split("*"))), re.DOTALL)
    return [text for text in found if exact.fullmatch(text)]


def misses(connection: Connection, case: str, *, limit: int = 20) -> list[Miss]:
    """The newest results of the matching cases that are not ok, oldest first."""
    table = tables.results
    query = (
        _select_results(
            tables.runs.c.run, table.c.revision, table.c.round, table.c.case_name, table.c.started_at, table.c.status
        )
        .join(tables.runs, tables.runs.c.id == table.c.run_id)
        .where(
            table.c.case_name.in_(matching_names(connection, table.c.case_name, case)),
            table.c.status != Status.OK.value,
        )
        .where(is_run())
        .order_by(table.c.at.desc(), table.c.id.desc())
        .limit(limit)
    )
    return [_miss(row) for row in reversed(connection.execute(query).all())]


def _miss(row: Any) -> Miss:
    try:
        result = _result(row)
    except UserError as error:
        return Miss(
            run=row.run,
            result=row.result,
            round=row.round,
            case=row.case_name,
            params="{}",
            started_at=row.started_at,
            status=codec.read_status(row.status),
            revision=row.revision,
            reason=error.message,
        )
    return Miss(
        run=row.run,
        result=result.id,
        round=result.round,
        case=result.case.name,
        params=codec.params_text(result.case),
        started_at=result.started_at,
        status=result.status,
        revision=row.revision,
        reason=result.error.message if result.error else "",
    )


def _select_newest_points() -> Select[Any]:
    points, results = tables.points, tables.results
    return (
        select(
            tables.runs.c.run,
            results.c.result,
            results.c.round,
            results.c.started_at,
            results.c.status,
            results.c.revision,
            points.c.point,
            points.c.low,
            points.c.high,
            points.c.confidence,
            tables.methods.c.method,
        )
        .join_from(points, results, points.c.result_id == results.c.id)
        .join(tables.runs, results.c.run_id == tables.runs.c.id)
        .join(tables.methods, points.c.method_id == tables.methods.c.id)
        .where(points.c.series_id == bindparam("series"))
        .order_by(points.c.at.desc(), points.c.result_id.desc())
        .limit(bindparam("most"))
    )


def _points(connection: Connection, series: int, limit: int) -> tuple[Point, ...]:
    rows = connection.execute(_select_newest_points(), {"series": series, "most": limit}).all()
    return tuple(
        Point(
            run=run,
            result=result,
            round=number,
            started_at=started_at,
            status=codec.read_status(status),
            revision=revision,
            estimate=Estimate(point=point, low=low, high=high, confidence=confidence, method=method),
        )
        for run, result, number, started_at, status, revision, point, low, high, confidence, method in reversed(rows)
    )
