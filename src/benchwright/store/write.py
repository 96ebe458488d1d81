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
from benchwright.store import codec, tables
from benchwright.store.codec import plain
from benchwright.store.engine import insert_missing, insert_tuples

Row = dict[str, Any]
Key = tuple[str, ...]

_RESULTS_AT_ONCE = 200  # bounds the memory of a large run
_KEYS_AT_ONCE = 500  # SQLite takes 32,766 parameters in a statement


class Known:
    """Ids that this process has seen. Rows that carry them are never deleted, so they need not be asked for again.

    Ids learnt in a transaction that is rolled back are wrong; whoever rolls back starts with a new `Known`.
    """

    def __init__(self) -> None:
        self.environments: dict[str, int] = {}  # by hash
        self.methods: dict[str, int] = {}
        self.series: dict[Key, int] = {}  # by case key, environment key, metric and unit
        self.better: dict[Key, str] = {}  # the same, -> direction


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """A result that has its row, with what its points need."""

    number: int  # of the row
    result: Result
    at: int
    case: str  # schema.case_key
    machine: str  # schema.environment_key


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


def add_results(connection: Connection, known: Known, run_id: int, revision: str, results: Sequence[Result]) -> None:
    """Results of the run in row `run_id`, with their points and samples; `revision` is the run's own."""
    remaining = iter(results)
    while chunk := list(islice(remaining, _RESULTS_AT_ONCE)):
        environments = _environments(connection, known, chunk)
        rows = [_result_row(result, run_id, revision, environments[id(result.environment)][0]) for result in chunk]
        returned = insert(tables.results).returning(tables.results.c.id, sort_by_parameter_order=True)
        numbers = connection.execute(returned, rows).scalars().all()
        documents = map(codec.result_document, chunk)
        insert_tuples(
            connection,
            tables.documents,
            [(number, schema.FORMAT, document) for number, document in zip(numbers, documents, strict=True)],
        )
        measured = [
            _Measured(
                number=number,
                result=result,
                at=row["at"],
                case=schema.case_key(result.case),
                machine=environments[id(result.environment)][1],
            )
            for number, result, row in zip(numbers, chunk, rows, strict=True)
        ]
        _add_points(connection, known, measured)
        _add_samples(connection, measured)


def remove_results(connection: Connection, numbers: Sequence[int]) -> None:
    """Takes away the results in these rows with their points and samples; series stay, whoever else is in them."""
    for start in range(0, len(numbers), _KEYS_AT_ONCE):
        part = numbers[start : start + _KEYS_AT_ONCE]
        for table in (tables.points, tables.sample_columns, tables.samples, tables.documents):
            connection.execute(delete(table).where(table.c.result_id.in_(part)))
        connection.execute(delete(tables.results).where(tables.results.c.id.in_(part)))


def _result_row(result: Result, run_id: int, revision: str, environment_id: int) -> Row:
    if len({metric.name for metric in result.metrics}) < len(result.metrics):
        raise StoreError(f"result {result.id}: two metrics have the same name")
    return {
        "result": plain(result.id),
        "run_id": run_id,
        "environment_id": environment_id,
        "case_name": plain(result.case.name),
        "at": codec.microseconds(result.started_at, where=f"result {result.id}: started_at"),
        "round": result.round,
        "status": result.status.value,
        "started_at": plain(result.started_at),
        "revision": plain(result.revision.id) if result.revision else revision,
    }


def _environments(connection: Connection, known: Known, results: Sequence[Result]) -> dict[int, tuple[int, str]]:
    """The row's id and the key of each environment, by the identity of the record: most results share one."""
    records: dict[int, Environment] = {id(result.environment): result.environment for result in results}
    rows = {identity: codec.environment_row(record) for identity, record in records.items()}
    wanted: dict[Key, Row] = {
        (row.hash,): {"hash": row.hash, "document": row.document}
        for row in rows.values()
        if row.hash not in known.environments
    }
    found = _rows_of(connection, tables.environments, ("hash",), wanted)
    known.environments |= {hash_: row.id for (hash_,), row in found.items()}
    return {identity: (known.environments[row.hash], row.key) for identity, row in rows.items()}


# ---- points ----


def _add_points(connection: Connection, known: Known, sources: Sequence[_Measured]) -> None:
    _learn_series(connection, known, sources)
    _learn_methods(connection, known, sources)
    points = []
    for source in sources:
        number, at, case, machine = source.number, source.at, source.case, source.machine
        for metric in source.result.metrics:
            estimate = metric.estimate
            points.append(
                (
                    known.series[case, machine, metric.name, metric.unit],
                    at,
                    number,
                    float(estimate.point),
                    estimate.low,
                    estimate.high,
                    float(estimate.confidence),
                    known.methods[estimate.method],
                )
            )
    if points:
        insert_tuples(connection, tables.points, points)


def _learn_series(connection: Connection, known: Known, sources: Sequence[_Measured]) -> None:
    """Makes `known` hold the series of every metric, with the direction that was stated last."""
    wanted: dict[Key, Row] = {}
    keys: dict[Key, Key] = {}  # how `known` names a series -> how the table does
    directions: dict[Key, str] = {}
    for source in sources:
        for metric in source.result.metrics:
            name: Key = (source.case, source.machine, metric.name, metric.unit)
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


def _series_row(source: _Measured, metric: Metric) -> Row:
    result = source.result
    return {
        # schema.series_key, from parts that are known already: it would hash case and machine anew for each metric.
        "key": schema.fingerprint([source.case, source.machine, metric.name]),
        "unit": plain(metric.unit),
        "case_name": plain(result.case.name),
        "params": codec.params_text(result.case),
        "metric": plain(metric.name),
        "better": metric.better.value if metric.better else "",
        "machine": source.machine,
    }


def _learn_methods(connection: Connection, known: Known, sources: Sequence[_Measured]) -> None:
    methods = {metric.estimate.method for source in sources for metric in source.result.metrics}
    missing = {method: (plain(method),) for method in methods if method not in known.methods}
    wanted: dict[Key, Row] = {key: {"method": key[0]} for key in missing.values()}
    found = _rows_of(connection, tables.methods, ("method",), wanted)
    known.methods |= {method: found[key].id for method, key in missing.items()}


# ---- samples ----


def _add_samples(connection: Connection, sources: Sequence[_Measured]) -> None:
    for source in sources:  # one at a time: samples are what is large
        copies = codec.samples_rows(source.result.samples)
        heads = [(source.number, position, copy.document) for position, copy in enumerate(copies)]
        columns = [
            (source.number, position, plain(name), predictor, data)
            for position, copy in enumerate(copies)
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
    ordered = sorted(wanted)
    for start in range(0, len(ordered), _KEYS_AT_ONCE):
        chunk = ordered[start : start + _KEYS_AT_ONCE]
        connection.execute(insert_missing(connection.dialect, table), [wanted[k] for k in chunk])
        for row in connection.execute(select(table).where(tuple_(*columns).in_(chunk))):
            found[tuple(getattr(row, name) for name in key)] = row
    return found
