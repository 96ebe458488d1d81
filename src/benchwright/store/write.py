"""Adding rows. Every function works inside the transaction of the connection it is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Table, insert, select, tuple_, update

from benchwright import schema
from benchwright.errors import StoreError
from benchwright.records import Environment, Estimate, Metric, Result, Run
from benchwright.store import codec, tables
from benchwright.store.codec import EnvironmentRow, plain
from benchwright.store.engine import insert_missing

Row = dict[str, Any]

_RESULTS_AT_ONCE = 200  # bounds the memory of a large run
_KEYS_AT_ONCE = 500  # SQLite takes 32,766 parameters in a statement


class Known:
    """Ids that this process has seen. Rows that carry them are never deleted, so they need not be asked for again.

    Ids learnt in a transaction that is rolled back are wrong; whoever rolls back starts with a new `Known`.
    """

    def __init__(self) -> None:
        self.environments: dict[tuple[Any, ...], int] = {}  # by (hash,)
        self.methods: dict[tuple[Any, ...], int] = {}  # by (method,)
        self.series: dict[tuple[Any, ...], int] = {}  # by (key, unit)
        self.better: dict[int, str] = {}  # by series id
        self.keys: dict[tuple[str, str, str], str] = {}  # (case key, environment key, metric) -> series key


def add_header(connection: Connection, run: Run) -> int | None:
    """The row of a run without its results; None when a run of that id is there already."""
    row = {
        "run": plain(run.id),
        "at": codec.microseconds(run.started_at, where=f"run {run.id}: started_at"),
        "revision": plain(run.revision.id) if run.revision else "",
        "format": schema.FORMAT,
        "document": codec.run_document(run),
    }
    if connection.execute(insert_missing(connection.dialect, tables.runs), row).rowcount == 0:
        return None
    found = connection.scalar(select(tables.runs.c.id).where(tables.runs.c.run == row["run"]))
    if tags := dict.fromkeys(plain(tag) for tag in run.tags):
        connection.execute(insert(tables.run_tags), [{"run_id": found, "tag": tag} for tag in tags])
    return found


def add_results(connection: Connection, known: Known, run_id: int, revision: str, results: Sequence[Result]) -> None:
    """Results of the run in row `run_id`, with their points and samples; `revision` is the run's own."""
    remaining = iter(results)
    while chunk := list(islice(remaining, _RESULTS_AT_ONCE)):
        environments = _environments(connection, known, chunk)
        rows = [_result_row(result, run_id, environments[id(result.environment)][0], revision) for result in chunk]
        returned = insert(tables.results).returning(tables.results.c.id, sort_by_parameter_order=True)
        ids = connection.execute(returned, rows).scalars().all()
        connection.execute(
            insert(tables.documents),
            [
                {"result_id": number, "format": schema.FORMAT, "document": codec.result_document(result)}
                for number, result in zip(ids, chunk, strict=True)
            ],
        )
        _add_points(connection, known, list(zip(ids, chunk, strict=True)), environments)
        for number, result in zip(ids, chunk, strict=True):
            _add_samples(connection, number, result)


def _result_row(result: Result, run_id: int, environment_id: int, revision: str) -> Row:
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


def _environments(
    connection: Connection, known: Known, results: Sequence[Result]
) -> dict[int, tuple[int, EnvironmentRow]]:
    """The row id and the row of each environment, by the identity of the record: most results share one."""
    records: dict[int, Environment] = {id(result.environment): result.environment for result in results}
    rows = {identity: codec.environment_row(record) for identity, record in records.items()}
    wanted: dict[tuple[Any, ...], Row] = {
        (row.hash,): {"hash": row.hash, "document": row.document} for row in rows.values()
    }
    _learn(connection, tables.environments, ("hash",), wanted, known.environments)
    return {identity: (known.environments[(row.hash,)], row) for identity, row in rows.items()}


# ---- points ----


def _add_points(
    connection: Connection,
    known: Known,
    numbered: Sequence[tuple[int, Result]],
    environments: Mapping[int, tuple[int, EnvironmentRow]],
) -> None:
    series: dict[tuple[Any, ...], Row] = {}
    methods: dict[tuple[Any, ...], Row] = {}
    points: list[tuple[tuple[str, str], tuple[str], Row]] = []
    for number, result in numbered:
        machine = environments[id(result.environment)][1].key
        place = {"result_id": number, "at": codec.microseconds(result.started_at, where=f"result {result.id}")}
        for metric, key in _series_keys(known, result, machine):
            where, how = (key, plain(metric.unit)), (plain(metric.estimate.method),)
            if where not in series:
                series[where] = _series_row(where, result, metric, machine)
            methods[how] = {"method": how[0]}
            points.append((where, how, place | _numbers(metric.estimate)))
    _learn(connection, tables.methods, ("method",), methods, known.methods)
    _learn(connection, tables.series, ("key", "unit"), series, known.series)
    _note_directions(connection, known, series)
    if points:
        connection.execute(
            insert(tables.points),
            [row | {"series_id": known.series[where], "method_id": known.methods[how]} for where, how, row in points],
        )


def _numbers(estimate: Estimate) -> Row:
    return {
        "point": float(estimate.point),
        "low": None if estimate.low is None else float(estimate.low),
        "high": None if estimate.high is None else float(estimate.high),
        "confidence": float(estimate.confidence),
    }


def _series_keys(known: Known, result: Result, machine: str) -> Iterator[tuple[Metric, str]]:
    """Each metric with the key of its series."""
    if len({metric.name for metric in result.metrics}) < len(result.metrics):
        raise StoreError(f"result {result.id}: two metrics have the same name")
    case = schema.case_key(result.case) if result.metrics else ""
    for metric in result.metrics:
        parts = (case, machine, metric.name)
        if (key := known.keys.get(parts)) is None:
            key = known.keys[parts] = schema.series_key(result.case, result.environment, metric.name)
        yield metric, key


def _series_row(where: tuple[str, str], result: Result, metric: Metric, machine: str) -> Row:
    return {
        "key": where[0],
        "unit": where[1],
        "case_name": plain(result.case.name),
        "params": codec.params_text(result.case),
        "metric": plain(metric.name),
        "better": metric.better.value if metric.better else "",
        "machine": machine,
    }


def _note_directions(connection: Connection, known: Known, wanted: Mapping[tuple[Any, ...], Row]) -> None:
    """The direction that counts is the one stated last."""
    table = tables.series
    numbers = {known.series[key]: row["better"] for key, row in wanted.items()}
    unknown = [number for number in numbers if number not in known.better]
    for start in range(0, len(unknown), _KEYS_AT_ONCE):
        chunk = unknown[start : start + _KEYS_AT_ONCE]
        for number, better in connection.execute(select(table.c.id, table.c.better).where(table.c.id.in_(chunk))):
            known.better[number] = better
    for number, better in numbers.items():
        if known.better[number] != better:
            connection.execute(update(table).where(table.c.id == number).values(better=better))
            known.better[number] = better


# ---- samples ----


def _add_samples(connection: Connection, number: int, result: Result) -> None:
    copies = codec.samples_rows(result.samples)
    if not copies:
        return
    places = [{"result_id": number, "position": position} for position in range(len(copies))]
    connection.execute(
        insert(tables.samples),
        [{**place, "document": copy.document} for place, copy in zip(places, copies, strict=True)],
    )
    columns = [
        {**place, "name": plain(name), "predictor": predictor, "data": data}
        for place, copy in zip(places, copies, strict=True)
        for name, (predictor, data) in copy.columns.items()
    ]
    if columns:
        connection.execute(insert(tables.sample_columns), columns)


# ---- rows that are there once ----


def _learn(
    connection: Connection,
    table: Table,
    key: Sequence[str],
    wanted: Mapping[tuple[Any, ...], Row],
    known: dict[tuple[Any, ...], int],
) -> None:
    """Adds to `known` the id of every wanted row, making those that are not there yet.

    The rows go in sorted, so that two writers who want the same ones wait for each other instead of deadlocking.
    """
    missing = sorted(k for k in wanted if k not in known)
    if not missing:
        return
    columns = [table.c[name] for name in key]
    for start in range(0, len(missing), _KEYS_AT_ONCE):
        chunk = missing[start : start + _KEYS_AT_ONCE]
        connection.execute(insert_missing(connection.dialect, table), [wanted[k] for k in chunk])
        for number, *values in connection.execute(select(table.c.id, *columns).where(tuple_(*columns).in_(chunk))):
            known[tuple(values)] = number
