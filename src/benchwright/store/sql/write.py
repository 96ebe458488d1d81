"""Adding rows. Every function works inside the transaction of the writer it is given. Standard library only.

Two things can write rows: a connection of SQLAlchemy's (`rows.SqlRows`), to SQLite and PostgreSQL, and one of the
standard library's (`run_writer.SqliteRows`), which is there in a tenth of the time. What they write is decided here.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, repeat
from typing import Any, cast

from benchwright import schema
from benchwright.errors import StoreError, StoreLostError
from benchwright.records import Result, Run, Status
from benchwright.records.races import CELL
from benchwright.schema.quick_results import MetricColumns, QuickResult, columns_of
from benchwright.schema.series_identity import is_raced, series_case, series_params
from benchwright.store.sql import codec
from benchwright.store.sql.codec import EnvironmentRow, SamplesRow, plain
from benchwright.store.sql.row_writer import Key as Key
from benchwright.store.sql.row_writer import KnownIds as KnownIds
from benchwright.store.sql.row_writer import ListName, learn_environments, learn_methods, learn_revisions, numbers_of
from benchwright.store.sql.row_writer import Row as Row
from benchwright.store.sql.row_writer import RowWriter as RowWriter

_RESULTS_AT_ONCE = 500  # bounds the memory of large runs


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedResult:
    """A result with all that can be made of it before a transaction begins: others may write in the meantime."""

    result: Result  # its metrics may stand in `metrics` alone
    metrics: MetricColumns
    at: int
    case: str  # series_identity.series_case
    environment: EnvironmentRow
    document: bytes
    samples: Sequence[SamplesRow]


AnyResult = Result | QuickResult | PreparedResult
RunOfParts = tuple[Run, Sequence[QuickResult | PreparedResult]]  # a run, and results of it that are given beside it


@dataclass(frozen=True, slots=True, kw_only=True)
class OwningRun:
    """The run that a result belongs to."""

    number: int  # of the row
    revision: str


def add_header(rows: RowWriter, run: Run) -> int | None:
    """The row of a run without its results; None when a run of that id is there already."""
    return add_headers(rows, [run])[0]


def add_headers(rows: RowWriter, runs: Sequence[Run]) -> list[int | None]:
    """The row of each run without its results; None of one whose id is taken, of two with the same id of the second."""
    wanted: dict[str, Run] = {}
    for run in runs:
        wanted.setdefault(plain(run.id), run)
    made = rows.add_new("runs", _HEADER, [_header_row(run) for run in wanted.values()])
    found = [made.get(plain(run.id)) if wanted[plain(run.id)] is run else None for run in runs]
    new = [(number, run) for number, run in zip(found, runs, strict=True) if number is not None]
    learn_revisions(rows, [run.revision for _, run in new if run.revision])
    if tags := [(tag, number) for number, run in new for tag in dict.fromkeys(plain(tag) for tag in run.tags)]:
        rows.add_tuples("run_tags", tags)
    return found


def _header_row(run: Run) -> tuple[Any, ...]:
    return (
        plain(run.id),
        codec.microseconds(run.started_at, where=f"run {run.id}: started_at"),
        plain(run.revision.id) if run.revision else "",
        schema.FORMAT,
        codec.run_document(run),
        plain(run.revision.branch) if run.revision else "",
    )


_HEADER = ("run", "at", "revision", "format", "document", "branch")


def add_run(rows: RowWriter, known: KnownIds, run: Run, quick: Sequence[QuickResult | PreparedResult]) -> bool:
    """A whole run, of which results may be given beside it; False when a run of that id is there already."""
    return add_runs(rows, known, [(run, quick)])[0]


def add_runs(
    rows: RowWriter, known: KnownIds, runs: Sequence[tuple[Run, Sequence[QuickResult | PreparedResult]]]
) -> list[bool]:
    """Whole runs, all at once: rows of many runs cost a database hardly more than those of one."""
    numbers = add_headers(rows, [run for run, _ in runs])
    results = (
        (OwningRun(number=number, revision=plain(run.revision.id) if run.revision else ""), result)
        for number, (run, quick) in zip(numbers, runs, strict=True)
        if number is not None
        for result in (*run.results, *quick)
    )
    while chunk := list(islice(results, _RESULTS_AT_ONCE)):
        prepared = prepare([result for _, result in chunk])
        add_prepared(rows, known, [(home, one) for (home, _), one in zip(chunk, prepared, strict=True)])
    return [number is not None for number in numbers]


def prepare(results: Sequence[AnyResult]) -> list[PreparedResult]:
    """Returns the rows of these results. A result that cannot be kept is an error here."""
    if all(isinstance(one, PreparedResult) for one in results):
        return cast(list[PreparedResult], [*results])
    return [one if isinstance(one, PreparedResult) else _prepare_one(one) for one in results]


def _prepare_one(given: Result | QuickResult) -> PreparedResult:
    head = given.head if isinstance(given, QuickResult) else given
    encoded, key = codec.encoded_case(head.case)
    columns, metrics = _metrics_of(given)
    return PreparedResult(
        result=head,
        metrics=columns,
        at=_instant(head, columns),
        case=series_case(key, head),
        environment=codec.environment_row(head.environment),
        document=codec.result_document(head, encoded, metrics),
        samples=codec.samples_rows(head.samples),
    )


def prepare_to_send(results: Sequence[AnyResult]) -> list[PreparedResult]:
    """The same for another process to write: of the result what rows are named by, and the same words only once."""
    same: dict[Any, Any] = {}
    return [
        replace(one, result=_name_result(one.result), metrics=_share_words(one.metrics, same))
        for one in prepare(results)
    ]


def _name_result(result: Result) -> Result:
    return Result(
        id=result.id,
        case=result.case,
        round=result.round,
        status=result.status,
        environment=result.environment,
        started_at=result.started_at,
        duration=0.0,
        revision=result.revision,
        details={CELL: result.details[CELL]} if is_raced(result) else {},
    )


def _share_words(metrics: MetricColumns, same: dict[Any, Any]) -> MetricColumns:
    """The same columns; those that another result has alike are that one's."""
    alike = ("names", "units", "better", "confidences", "methods")
    return replace(
        metrics, **{name: same.setdefault(column, column) for name in alike for column in [getattr(metrics, name)]}
    )


def _metrics_of(result: Result | QuickResult) -> tuple[MetricColumns, Sequence[Any] | None]:
    """The metrics as columns, and encoded where they came so."""
    if isinstance(result, QuickResult):
        return result.columns, result.metrics
    return columns_of(result.metrics), None


def add_results(rows: RowWriter, known: KnownIds, home: OwningRun, results: Sequence[Result | QuickResult]) -> None:
    """Results of a run, with their points and samples."""
    remaining = iter(results)
    while chunk := list(islice(remaining, _RESULTS_AT_ONCE)):
        add_prepared(rows, known, [(home, prepared) for prepared in prepare(chunk)])


def add_prepared(rows: RowWriter, known: KnownIds, given: Sequence[tuple[OwningRun, PreparedResult]]) -> None:
    """Results with their points and samples, each in its run."""
    learn_environments(rows, known, {one.environment.hash: one.environment.document for _, one in given})
    found = [_result_row(one, home, known.environments[one.environment.hash]) for home, one in given]
    numbers = rows.add_numbered("results", _RESULT, found)
    measured = [(numbers[row[0]], one) for row, (_, one) in zip(found, given, strict=True)]
    rows.add_tuples("documents", [(number, schema.FORMAT, one.document) for number, one in measured])
    own = {one.result.revision for _, one in given if one.result.revision} - known.revisions
    learn_revisions(rows, sorted(own, key=lambda revision: revision.id))
    known.revisions |= own
    _add_points(rows, known, measured)
    _add_samples(rows, measured)
    add_arrivals(rows, [number for number, one in measured if one.result.status is Status.OK])


def add_arrivals(rows: RowWriter, numbers: Sequence[int]) -> None:
    """Puts results that are ok, in these rows, on the list of what is to be judged."""
    now = time.time_ns() // 1000
    if numbers:
        rows.add_tuples("arrivals", [(number, now) for number in numbers])


def remove_results(rows: RowWriter, numbers: Sequence[int]) -> None:
    """Takes away the results in these rows with their points and samples; series stay, whoever else is in them."""
    for table in ("arrivals", "points", "sample_columns", "samples", "documents"):
        rows.remove(table, "result_id", numbers)
    rows.remove("results", "id", numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A result on its way into a run, perhaps in the place of another."""

    run_id: str
    prepared: PreparedResult
    source: Result | QuickResult
    instead_of: str = ""

    def whole(self) -> Result:
        """The result as a record, for who compares it with one that is there."""
        return self.source.whole() if isinstance(self.source, QuickResult) else self.source

    @property
    def name(self) -> str:
        """The result's id, as the tables hold it."""
        return plain(self.prepared.result.id)


def upload_of(run_id: str, result: Result | QuickResult, instead_of: str) -> Upload:
    """Prepares an upload outside of the transaction, so that others can write meanwhile."""
    [prepared] = prepare([result])
    return Upload(run_id=run_id, prepared=prepared, source=result, instead_of=instead_of)


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


def _instant(result: Result, metrics: MetricColumns) -> int:
    if len({*metrics.names}) < len(metrics.names):
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


# ---- points ----


def _add_points(rows: RowWriter, known: KnownIds, sources: Sequence[tuple[int, PreparedResult]]) -> None:
    series = _learn_series(rows, known, [one for _, one in sources])
    learn_methods(rows, known, {method for _, one in sources for method in one.metrics.methods})
    methods, points = known.methods, list[tuple[Any, ...]]()
    for number, one in sources:
        told = one.metrics
        points += zip(
            series[_list_name(one)],
            repeat(one.at),
            repeat(number),
            told.points,
            told.lows,
            told.highs,
            told.confidences,
            [methods[method] for method in told.methods],
            strict=False,  # what repeats has no end
        )
    if points:
        points.sort()  # neighbours in the table are added one after the other
        rows.add_tuples("points", points)


def _list_name(source: PreparedResult) -> ListName:
    """What the series of a result depend on: thousands of results have the same."""
    told = source.metrics
    return source.case, source.environment.key, told.names, told.units, told.better


def _learn_series(
    rows: RowWriter, known: KnownIds, sources: Sequence[PreparedResult]
) -> Mapping[ListName, tuple[int, ...]]:
    """The series of every metric of these results; they have the direction that was stated last."""
    wanted = {_list_name(source): source for source in sources}
    found = {name: numbers for name in wanted if (numbers := known.lists.get(name)) is not None}
    if len(found) == len(wanted):
        return found
    _learn_missing_series(rows, known, sources)
    if len(known.lists) > _MOST_LISTS:
        known.lists.clear()
    for name, source in wanted.items():
        told = zip(source.metrics.names, source.metrics.units, strict=True)
        keys = [(source.case, source.environment.key, metric, unit) for metric, unit in told]
        found[name] = tuple([known.series[key] for key in keys])
        # Another result of these may have stated another direction since: then this one has to state its own again.
        if all(known.better.get(key) == better for key, better in zip(keys, source.metrics.better, strict=True)):
            known.lists[name] = found[name]
    return found


def _learn_missing_series(rows: RowWriter, known: KnownIds, sources: Sequence[PreparedResult]) -> None:
    wanted: dict[Key, Row] = {}
    keys: dict[Key, Key] = {}  # how `known` names a series -> how the table does
    directions: dict[Key, str] = {}
    for source in sources:
        told = source.metrics
        for metric, unit, better in zip(told.names, told.units, told.better, strict=True):
            name: Key = (source.case, source.environment.key, metric, unit)
            directions[name] = better
            if name not in known.series and name not in keys:
                row = _series_row(source, metric, unit, better)
                keys[name] = (row["key"], row["unit"])
                wanted[keys[name]] = row
    found = numbers_of(rows, "series", ("key", "unit"), wanted, "better")
    for name, key in keys.items():
        known.series[name], known.better[name] = found[key]
    for name, better in directions.items():
        if known.better.get(name) != better:
            rows.change("series", known.series[name], "better", better)
            known.better[name] = better
            known.lists.clear()  # those of another direction would not say so any more


def _series_row(source: PreparedResult, metric: str, unit: str, better: str) -> Row:
    return {
        # `series_key_of`, from parts that are known already: it would hash case and machine anew for each metric.
        "key": schema.fingerprint([source.case, source.environment.key, metric]),
        "unit": plain(unit),
        "case_name": plain(source.result.case.name),
        "params": codec.text_of_params(series_params(source.result)),
        "metric": plain(metric),
        "better": better,
        "machine": source.environment.key,
    }


_MOST_LISTS = 10_000


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
