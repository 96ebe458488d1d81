"""Adding rows. Every function works inside the transaction of the connection it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, select, tuple_, update

from benchwright import schema
from benchwright.errors import StoreError
from benchwright.records import Environment, Metric, Result, Run
from benchwright.store.sql import codec, tables
from benchwright.store.sql.codec import EnvironmentRow, SamplesRow, plain
from benchwright.store.sql.engine import insert_missing, insert_numbered, insert_tuples, parts

Row = dict[str, Any]
Key = tuple[str, ...]

_RESULTS_AT_ONCE = 200  # bounds the memory of a large run


class KnownIds:
    """Ids that this process has seen. Rows that carry them are never deleted, so they need not be asked for again.

    Ids learnt in a transaction that is rolled back are wrong; whoever rolls back starts with a new `Known`.
    """

    def __init__(self) -> None:
        self.environments: dict[str, int] = {}  # by hash
        self.methods: dict[str, int] = {}
        self.series: dict[Key, int] = {}  # by case key, environment key, metric and unit
        self.better: dict[Key, str] = {}  # the same, -> direction


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedResult:
    """A result with all that can be made of it before a transaction begins: others may write in the meantime."""

    result: Result
    at: int
    case: str  # schema.case_key
    environment: EnvironmentRow
    document: bytes
    samples: Sequence[SamplesRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """The run that a result belongs to."""

    number: int  # of the row
    revision: str


def add_header(connection: Connection, run: Run) -> int | None:
    """The row of a run without its results; None when a run of that id is there already."""
    row = {
        "run": plain(run.id),
        "at": codec.microseconds(run.started_at, where=f"run {run.id}: started_at"),
        "revision": plain(run.revision.id) if run.revision else "",
        "format": schema.FORMAT,
        "document": codec.run_document(run),
    }
    added = insert_missing(connection.dialect, tables.runs).returning(tables.runs.c.id)
    number: int | None = connection.scalar(added, row)
    if number is None:
        return None
    if tags := dict.fromkeys(plain(tag) for tag in run.tags):
        connection.execute(insert(tables.run_tags), [{"run_id": number, "tag": tag} for tag in tags])
    return number


def prepare(results: Sequence[Result]) -> list[PreparedResult]:
    """What the tables will hold of these results. What cannot be kept is an error here."""
    records: dict[int, Environment] = {id(result.environment): result.environment for result in results}
    environments = {identity: codec.environment_row(record) for identity, record in records.items()}  # most share one
    cases = {id(result.case): result.case for result in results}
    keys = {identity: schema.case_key(case) for identity, case in cases.items()}  # rounds of a case share it
    return [
        PreparedResult(
            result=result,
            at=_instant(result),
            case=keys[id(result.case)],
            environment=environments[id(result.environment)],
            document=codec.result_document(result),
            samples=codec.samples_rows(result.samples),
        )
        for result in results
    ]


def add_results(connection: Connection, known: KnownIds, home: Home, results: Sequence[Result]) -> None:
    """Results of a run, with their points and samples."""
    remaining = iter(results)
    while chunk := list(islice(remaining, _RESULTS_AT_ONCE)):
        add_prepared(connection, known, [(home, prepared) for prepared in prepare(chunk)])


def add_prepared(connection: Connection, known: KnownIds, given: Sequence[tuple[Home, PreparedResult]]) -> None:
    """Results with their points and samples, each in its run."""
    _learn_environments(connection, known, [one for _, one in given])
    rows = [_result_row(one, home, known.environments[one.environment.hash]) for home, one in given]
    numbers = insert_numbered(connection, tables.results, _RESULT, rows)
    measured = [(numbers[row[0]], one) for row, (_, one) in zip(rows, given, strict=True)]
    insert_tuples(connection, tables.documents, [(number, schema.FORMAT, one.document) for number, one in measured])
    _add_points(connection, known, measured)
    _add_samples(connection, measured)


def remove_results(connection: Connection, numbers: Sequence[int]) -> None:
    """Takes away the results in these rows with their points and samples; series stay, whoever else is in them."""
    for part in parts(numbers):
        for table in (tables.points, tables.sample_columns, tables.samples, tables.documents):
            connection.execute(delete(table).where(table.c.result_id.in_(part)))
        connection.execute(delete(tables.results).where(tables.results.c.id.in_(part)))


def _instant(result: Result) -> int:
    if len({metric.name for metric in result.metrics}) < len(result.metrics):
        raise StoreError(f"result {result.id}: two metrics have the same name")
    return codec.microseconds(result.started_at, where=f"result {result.id}: started_at")


def _result_row(one: PreparedResult, home: Home, environment_id: int) -> tuple[Any, ...]:
    """In the order of `_RESULT`."""
    result = one.result
    return (
        plain(result.id),
        home.number,
        environment_id,
        plain(result.case.name),
        one.at,
        result.round,
        result.status.value,
        plain(result.started_at),
        plain(result.revision.id) if result.revision else home.revision,
    )


_RESULT = ("result", "run_id", "environment_id", "case_name", "at", "round", "status", "started_at", "revision")


def _learn_environments(connection: Connection, known: KnownIds, sources: Sequence[PreparedResult]) -> None:
    wanted: dict[Key, Row] = {
        (row.hash,): {"hash": row.hash, "document": row.document}
        for row in (one.environment for one in sources)
        if row.hash not in known.environments
    }
    found = _rows_of(connection, tables.environments, ("hash",), wanted)
    known.environments |= {hash_: row.id for (hash_,), row in found.items()}


# ---- points ----


def _add_points(connection: Connection, known: KnownIds, sources: Sequence[tuple[int, PreparedResult]]) -> None:
    _learn_series(connection, known, [one for _, one in sources])
    _learn_methods(connection, known, [one.result for _, one in sources])
    points = []
    for number, one in sources:
        at, case, machine = one.at, one.case, one.environment.key
        for metric in one.result.metrics:
            estimate = metric.estimate
            points.append(
                (
                    known.series[case, machine, metric.name, metric.unit],
                    at,
                    number,
                    float(estimate.point),
                    _number(estimate.low),
                    _number(estimate.high),
                    float(estimate.confidence),
                    known.methods[estimate.method],
                )
            )
    if points:
        insert_tuples(connection, tables.points, points)


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _learn_series(connection: Connection, known: KnownIds, sources: Sequence[PreparedResult]) -> None:
    """Makes `known` hold the series of every metric, with the direction that was stated last."""
    wanted: dict[Key, Row] = {}
    keys: dict[Key, Key] = {}  # how `known` names a series -> how the table does
    directions: dict[Key, str] = {}
    for source in sources:
        for metric in source.result.metrics:
            name: Key = (source.case, source.environment.key, metric.name, metric.unit)
            directions[name] = metric.better or ""
            if name not in known.series and name not in keys:
                row = _series_row(source, metric)
                keys[name] = (row["key"], row["unit"])
                wanted[keys[name]] = row
    found = _rows_of(connection, tables.series, ("key", "unit"), wanted)
    for name, key in keys.items():
        known.series[name] = found[key].id
        known.better[name] = found[key].better
    for name, better in directions.items():
        if known.better[name] != better:
            table = tables.series
            connection.execute(update(table).where(table.c.id == known.series[name]).values(better=str(better)))
            known.better[name] = better


def _series_row(source: PreparedResult, metric: Metric) -> Row:
    result = source.result
    return {
        # schema.series_key, from parts that are known already: it would hash case and machine anew for each metric.
        "key": schema.fingerprint([source.case, source.environment.key, metric.name]),
        "unit": plain(metric.unit),
        "case_name": plain(result.case.name),
        "params": codec.params_text(result.case),
        "metric": plain(metric.name),
        "better": metric.better.value if metric.better else "",
        "machine": source.environment.key,
    }


def _learn_methods(connection: Connection, known: KnownIds, results: Sequence[Result]) -> None:
    methods = {metric.estimate.method for result in results for metric in result.metrics}
    missing = {method: (plain(method),) for method in methods if method not in known.methods}
    wanted: dict[Key, Row] = {key: {"method": key[0]} for key in missing.values()}
    found = _rows_of(connection, tables.methods, ("method",), wanted)
    known.methods |= {method: found[key].id for method, key in missing.items()}


# ---- samples ----


def _add_samples(connection: Connection, sources: Sequence[tuple[int, PreparedResult]]) -> None:
    copies = [(number, position, copy) for number, one in sources for position, copy in enumerate(one.samples)]
    heads = [(number, position, copy.document) for number, position, copy in copies]
    columns = [
        (number, position, plain(name), predictor, data)
        for number, position, copy in copies
        for name, (predictor, data) in copy.columns.items()
    ]
    for table, rows in ((tables.samples, heads), (tables.sample_columns, columns)):
        if rows:
            insert_tuples(connection, table, rows)


# ---- rows that are there once ----


def _rows_of(connection: Connection, table: Table, key: Sequence[str], wanted: Mapping[Key, Row]) -> dict[Key, Any]:
    """The row of every key, made first where it is not there yet.

    They go in sorted, so that two writers who want the same ones wait for each other instead of deadlocking.
    """
    found: dict[Key, Any] = {}
    columns = [table.c[name] for name in key]
    for chunk in parts(sorted(wanted)):
        connection.execute(insert_missing(connection.dialect, table), [wanted[k] for k in chunk])
        for row in connection.execute(select(table).where(tuple_(*columns).in_(chunk))):
            found[tuple(getattr(row, name) for name in key)] = row
    return found
