"""Reading rows back into records. Every function works inside the transaction of the connection it is given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Row, Select, and_, bindparam, exists, func, or_, select

from benchwright.errors import StoreError, UserError
from benchwright.records import CALIBRATION_TAG, CONTROL_TAG, Estimate, Result, Run, Samples, Status
from benchwright.schema.series_identity import series_params
from benchwright.store import Miss, Point, RunSummary, Series
from benchwright.store.sql import codec, tables
from benchwright.store.sql.case_names import is_named
from benchwright.store.sql.codec import SamplesRow, plain
from benchwright.store.sql.engine import among, parts

FAILED = (Status.FAILED.value, Status.TIMEOUT.value, Status.KILLED.value, Status.REFUSED.value)


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


def run_ids(connection: Connection, *, after: str = "", limit: int = 0) -> Iterator[str]:
    """Every run's id, in the order in which they were added: those after a run, and at most so many, if asked."""
    table = tables.runs
    query = select(table.c.run).order_by(table.c.id)
    if after:
        query = query.where(table.c.id > number_of(connection, after))
    return iter(connection.scalars(query.limit(limit) if limit else query).all())


def number_of(connection: Connection, run: str) -> int:
    """The row of the run that a page ended with."""
    number = connection.scalar(select(tables.runs.c.id).where(tables.runs.c.run == plain(run)))
    if number is None:
        raise StoreError(f"no run {run!r} in this store", remedy="begin with the newest runs again")
    return int(number)


def headers() -> Select[Any]:
    """Runs without their results, for `summarise` among others."""
    table = tables.runs
    return select(table.c.id, table.c.run, table.c.at, table.c.format, table.c.document)


def is_run() -> ColumnElement[bool]:
    """Whether a row of `runs` counts as a run: not when every result was refused before anything was measured.

    Nor what keeps a calibration of a machine, or its control benchmark. A run without results, which has just begun or
    was cut off, counts.
    """
    results = tables.results.alias()  # a name of its own: the query around it may look at results as well
    mine = results.c.run_id == tables.runs.c.id
    measured = or_(exists().where(mine, results.c.status != Status.REFUSED.value), ~exists().where(mine))
    tags = tables.run_tags.alias()
    aside = tags.c.tag.in_((CALIBRATION_TAG, CONTROL_TAG))
    return and_(measured, ~exists().where(tags.c.run_id == tables.runs.c.id, aside))


def summaries(
    connection: Connection, *, limit: int = 20, tag: str = "", tries: bool = False, before: str = ""
) -> list[RunSummary]:
    """The newest runs first; with `tries`, also what was refused before anything was measured."""
    query = headers() if tries else headers().where(is_run())
    if before:
        query = query.where(tables.runs.c.id < number_of(connection, before))
    if tag:
        query = query.join(tables.run_tags).where(tables.run_tags.c.tag == plain(tag))
    return summarise(connection, query, RunAmounts(), limit=limit)


def summarise(connection: Connection, query: Select[Any], amounts: RunAmounts, *, limit: int) -> list[RunSummary]:
    """The newest of the runs that a query of `headers` finds: those that were added last.

    Not those that began last: a machine whose clock was ahead once would stay the newest for as long.
    """
    headers = connection.execute(query.order_by(tables.runs.c.id.desc()).limit(limit)).all()
    found = amounts(connection, [header.id for header in headers])
    return [_summary(header, *found.get(header.id, ((), 0, 0))) for header in headers]


Amount = tuple[tuple[str, ...], int, int]  # cases, results, failed results
_REMEMBERED = 2000  # runs


class RunAmounts:
    """What the results of runs amount to, remembered for as long as a run has the same results."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[tuple[int, int], Amount]] = {}  # by row: results and the newest of them, and what

    def __call__(self, connection: Connection, numbers: Sequence[int]) -> dict[int, Amount]:
        """Cases, results and failed results of the runs in these rows that have any result."""
        table, now = tables.results, dict[int, tuple[int, int]]()
        for part in parts(numbers):
            query = select(table.c.run_id, func.count(), func.max(table.c.id)).group_by(table.c.run_id)
            these = query.where(among(connection, table.c.run_id, part))
            now |= {run: (count, last) for run, count, last in connection.execute(these)}
        known = {run: self._kept[run][1] for run in now if run in self._kept and self._kept[run][0] == now[run]}
        found = _count_results(connection, [run for run in now if run not in known])
        if len(self._kept) > _REMEMBERED:
            self._kept = {}
        self._kept |= {run: (now[run], amount) for run, amount in found.items()}
        return known | found


def _count_results(connection: Connection, numbers: Sequence[int]) -> dict[int, Amount]:
    cases: dict[int, dict[str, None]] = defaultdict(dict)
    counts: dict[int, int] = defaultdict(int)
    failed: dict[int, int] = defaultdict(int)
    for row in _count_statuses(connection, numbers):
        cases[row.run_id][row.case_name] = None
        counts[row.run_id] += row.number
        failed[row.run_id] += row.number if row.status in FAILED else 0
    return {run: (tuple(names), counts[run], failed[run]) for run, names in cases.items()}


def _count_statuses(connection: Connection, numbers: Sequence[int]) -> Iterator[Row[Any]]:
    """How often each case of the runs ended in each status, in the order of their first results."""
    table = tables.results
    for part in parts(numbers):
        yield from connection.execute(
            select(table.c.run_id, table.c.case_name, table.c.status, func.count().label("number"))
            .where(among(connection, table.c.run_id, part))
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
        is_race=record.race is not None,
    )


# ---- history ----

_SERIES = 1000  # that come together where only so many points are wanted


def history(
    connection: Connection,
    case: str,
    *,
    metrics: Sequence[str] = (),
    limit: int = 1000,
    skip: int = 0,
    most: int = 0,
) -> list[Series]:
    """The series of the cases that match, each with its newest points, oldest first; `most` of them all, if asked."""
    found: list[Series] = []
    held = 0
    for row in _matching_series(connection, case, metrics, skip, most):
        points = _points(connection, row.id, limit)
        held += len(points) + 1
        if most and found and held > most:
            break
        found.append(series_of(row, points))
    return found


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


def _matching_series(
    connection: Connection, case: str, metrics: Sequence[str], skip: int, most: int
) -> Sequence[Row[Any]]:
    table = tables.series
    query = select(table).where(is_named(connection, table.c.case_name, case))
    if metrics:
        query = query.where(table.c.metric.in_([plain(metric) for metric in metrics]))
    query = query.order_by(table.c.id).offset(skip)
    return connection.execute(query.limit(min(most, _SERIES)) if most else query).all()


def misses(connection: Connection, case: str, *, limit: int = 20) -> list[Miss]:
    """The newest results of the matching cases that are not ok, oldest first."""
    table = tables.results
    query = (
        _select_results(
            tables.runs.c.run, table.c.revision, table.c.round, table.c.case_name, table.c.started_at, table.c.status
        )
        .join(tables.runs, tables.runs.c.id == table.c.run_id)
        .where(
            is_named(connection, table.c.case_name, case),
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
        params=codec.text_of_params(series_params(result)),
        started_at=result.started_at,
        status=result.status,
        revision=row.revision,
        reason=result.error.message if result.error else "",
    )


_ESTIMATE = ("point", "low", "high", "confidence", "method")


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
            tables.branch_of_point(),
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
            estimate=Estimate(**dict(zip(_ESTIMATE, estimate, strict=True))),
            branch=branch,
        )
        for run, result, number, started_at, status, revision, branch, *estimate in reversed(rows)
    )
