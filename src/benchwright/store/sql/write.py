"""Adding rows. Every function works inside the transaction of the writer it is given. Standard library only.

Two things can write rows: a connection of SQLAlchemy's (`rows.SqlRows`), to SQLite and PostgreSQL, and one of the
standard library's (`run_writer.SqliteRows`), which is there in a tenth of the time. What they write is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from benchwright import schema
from benchwright.errors import StoreError, StoreLostError
from benchwright.records import Environment, Metric, Result, Run
from benchwright.store.sql import codec
from benchwright.store.sql.codec import EnvironmentRow, SamplesRow, plain

Row = dict[str, Any]
Key = tuple[str, ...]

_RESULTS_AT_ONCE = 200  # bounds the memory of a large run


class RowWriter(Protocol):
    """Writes rows of tables that are given by name. Lists may be of any length."""

    def add_missing(self, table: str, rows: Sequence[Row]) -> None:
        """Adds rows, all with the same columns; leaves those alone which are there already."""
        ...

    def add_unless_there(self, table: str, row: Row) -> int | None:
        """Adds a row and returns its number; None where one of its unique name is there already."""
        ...

    def add_tuples(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Adds rows with all columns, in the table's order."""
        ...

    def add_numbered(self, table: str, names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> Mapping[Any, int]:
        """Adds rows with these columns; the numbers that they were given, by their first column, which is unique."""
        ...

    def find(self, table: str, key: tuple[str, ...], values: Sequence[Key], *names: str) -> list[tuple[Any, ...]]:
        """Of the rows whose `key` is one of the values the columns of the key, and those of `names`."""
        ...

    def change(self, table: str, number: int, column: str, value: str) -> None:
        """Sets one column of the row of that number."""
        ...

    def remove(self, table: str, column: str, numbers: Sequence[int]) -> None:
        """Takes away the rows whose column holds one of the numbers."""
        ...


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
class OwningRun:
    """The run that a result belongs to."""

    number: int  # of the row
    revision: str


def add_header(rows: RowWriter, run: Run) -> int | None:
    """The row of a run without its results; None when a run of that id is there already."""
    row: Row = {
        "run": plain(run.id),
        "at": codec.microseconds(run.started_at, where=f"run {run.id}: started_at"),
        "revision": plain(run.revision.id) if run.revision else "",
        "format": schema.FORMAT,
        "document": codec.run_document(run),
    }
    number = rows.add_unless_there("runs", row)
    if number is None:
        return None
    if tags := dict.fromkeys(plain(tag) for tag in run.tags):
        rows.add_tuples("run_tags", [(tag, number) for tag in tags])
    return number


def prepare(results: Sequence[Result]) -> list[PreparedResult]:
    """Returns the rows of these results. A result that cannot be kept is an error here."""
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


def add_results(rows: RowWriter, known: KnownIds, home: OwningRun, results: Sequence[Result]) -> None:
    """Results of a run, with their points and samples."""
    remaining = iter(results)
    while chunk := list(islice(remaining, _RESULTS_AT_ONCE)):
        add_prepared(rows, known, [(home, prepared) for prepared in prepare(chunk)])


def add_prepared(rows: RowWriter, known: KnownIds, given: Sequence[tuple[OwningRun, PreparedResult]]) -> None:
    """Results with their points and samples, each in its run."""
    _learn_environments(rows, known, [one for _, one in given])
    found = [_result_row(one, home, known.environments[one.environment.hash]) for home, one in given]
    numbers = rows.add_numbered("results", _RESULT, found)
    measured = [(numbers[row[0]], one) for row, (_, one) in zip(found, given, strict=True)]
    rows.add_tuples("documents", [(number, schema.FORMAT, one.document) for number, one in measured])
    _add_points(rows, known, measured)
    _add_samples(rows, measured)


def remove_results(rows: RowWriter, numbers: Sequence[int]) -> None:
    """Takes away the results in these rows with their points and samples; series stay, whoever else is in them."""
    for table in ("points", "sample_columns", "samples", "documents"):
        rows.remove(table, "result_id", numbers)
    rows.remove("results", "id", numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A result on its way into a run, perhaps in the place of another."""

    run_id: str
    prepared: PreparedResult
    instead_of: str = ""

    @property
    def name(self) -> str:
        """The result's id, as the tables hold it."""
        return plain(self.prepared.result.id)


def upload_of(run_id: str, result: Result, instead_of: str) -> Upload:
    """Prepares an upload outside of the transaction, so that others can write meanwhile."""
    [prepared] = prepare([result])
    return Upload(run_id=run_id, prepared=prepared, instead_of=instead_of)


def add(rows: RowWriter, known: KnownIds, place: str, upload: Upload) -> None:
    """Adds a result, in the place of another if one is named."""
    run, result_id = home_of(homes(rows, [upload.run_id]), place, upload.run_id), upload.prepared.result.id
    gone = [_number_of_former(rows, run, place, upload)] if upload.instead_of else []
    if upload.instead_of == result_id:
        remove_results(rows, gone)
    add_prepared(rows, known, [(run, upload.prepared)])
    # The old one goes last, so that SQLite does not give its number to the new one: `newest` grows.
    remove_results(rows, gone if upload.instead_of != result_id else [])


def homes(rows: RowWriter, run_ids: Iterable[str]) -> dict[str, OwningRun]:
    """The runs of these ids that are there, by the name that the tables have for them."""
    names = [*dict.fromkeys(plain(run_id) for run_id in run_ids)]
    found = rows.find("runs", ("run",), [(name,) for name in names], "id", "revision")
    return {run: OwningRun(number=number, revision=revision) for run, number, revision in found}


def home_of(known: Mapping[str, OwningRun], place: str, run_id: str) -> OwningRun:
    """The run of that id, which results are to be added to."""
    home = known.get(plain(run_id))
    if home is None:
        raise StoreLostError(f"{place}: no run {run_id!r} to add a result to", remedy="call begin(run) first")
    return home


def _number_of_former(rows: RowWriter, home: OwningRun, place: str, upload: Upload) -> int:
    found = rows.find("results", ("result",), [(plain(upload.instead_of),)], "id", "run_id")
    number = next((number for _, number, run in found if run == home.number), None)
    if number is None:
        raise StoreError(
            f"{place}: run {upload.run_id!r} has no result {upload.instead_of!r} any more",
            remedy="is somebody else resuming the same run?",
        )
    return int(number)


def _instant(result: Result) -> int:
    if len({metric.name for metric in result.metrics}) < len(result.metrics):
        raise StoreError(f"result {result.id}: two metrics have the same name")
    return codec.microseconds(result.started_at, where=f"result {result.id}: started_at")


def _result_row(one: PreparedResult, home: OwningRun, environment_id: int) -> tuple[Any, ...]:
    """Returns a row of results, with its columns in the order of `_RESULT`."""
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


def _learn_environments(rows: RowWriter, known: KnownIds, sources: Sequence[PreparedResult]) -> None:
    wanted: dict[Key, Row] = {
        (row.hash,): {"hash": row.hash, "document": row.document}
        for row in (one.environment for one in sources)
        if row.hash not in known.environments
    }
    found = _numbers_of(rows, "environments", ("hash",), wanted)
    known.environments |= {key: number for (key,), (number,) in found.items()}


# ---- points ----


def _add_points(rows: RowWriter, known: KnownIds, sources: Sequence[tuple[int, PreparedResult]]) -> None:
    _learn_series(rows, known, [one for _, one in sources])
    _learn_methods(rows, known, [one.result for _, one in sources])
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
        rows.add_tuples("points", points)


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _learn_series(rows: RowWriter, known: KnownIds, sources: Sequence[PreparedResult]) -> None:
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
    found = _numbers_of(rows, "series", ("key", "unit"), wanted, "better")
    for name, key in keys.items():
        known.series[name], known.better[name] = found[key]
    for name, better in directions.items():
        if known.better[name] != better:
            rows.change("series", known.series[name], "better", str(better))
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


def _learn_methods(rows: RowWriter, known: KnownIds, results: Sequence[Result]) -> None:
    methods = {metric.estimate.method for result in results for metric in result.metrics}
    missing = {method: (plain(method),) for method in methods if method not in known.methods}
    wanted: dict[Key, Row] = {key: {"method": key[0]} for key in missing.values()}
    found = _numbers_of(rows, "methods", ("method",), wanted)
    known.methods |= {method: found[key][0] for method, key in missing.items()}


# ---- samples ----


def _add_samples(rows: RowWriter, sources: Sequence[tuple[int, PreparedResult]]) -> None:
    copies = [(number, position, copy) for number, one in sources for position, copy in enumerate(one.samples)]
    heads = [(number, position, copy.document) for number, position, copy in copies]
    columns = [
        (number, position, plain(name), predictor, data)
        for number, position, copy in copies
        for name, (predictor, data) in copy.columns.items()
    ]
    for table, found in (("samples", heads), ("sample_columns", columns)):
        if found:
            rows.add_tuples(table, found)


# ---- rows that are there once ----


def _numbers_of(
    rows: RowWriter, table: str, key: tuple[str, ...], wanted: Mapping[Key, Row], *names: str
) -> dict[Key, tuple[Any, ...]]:
    """The number of the row of every key, and these columns of it; a row that is not there yet is made first.

    They go in sorted, so that two writers who want the same ones wait for each other instead of deadlocking.
    """
    ordered = sorted(wanted)
    if not ordered:
        return {}
    rows.add_missing(table, [wanted[each] for each in ordered])
    return {row[: len(key)]: row[len(key) :] for row in rows.find(table, key, ordered, "id", *names)}
