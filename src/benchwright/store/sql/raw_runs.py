"""Runs from one database to another as the rows they are kept in: documents and samples are copied as bytes.

Reading them into records and writing those again would cost twenty times as much and change nothing. What is damaged is
left to whoever reads records, and says so.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Select, Table, func, select

from benchwright.errors import StoreError, UserError
from benchwright.records import Status
from benchwright.store.sql import cells, codec, tables, write
from benchwright.store.sql.cells import NUMBER, WHOLE
from benchwright.store.sql.codec import plain
from benchwright.store.sql.engine import among, parts
from benchwright.store.sql.row_writer import learn_environments, learn_methods, learn_series_rows
from benchwright.store.sql.rows import SqlRows

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRun:
    """A run in rows that name no number of their database: a result is meant by its place in `results`."""

    header: Row  # the columns of `_HEADER`
    tags: frozenset[str]
    results: Sequence[Row]  # the columns of `_RESULT`, then the hash of the environment
    documents: Sequence[Row]  # format, document
    environments: Mapping[str, bytes]  # by hash
    samples: frozenset[Row]  # place, position, document
    columns: frozenset[Row]  # place, position, name, predictor, data
    revisions: frozenset[Row] = field(compare=False)  # rows of `revisions`, which others may know more of
    revision_tags: frozenset[Row] = field(compare=False)
    points: Sequence[Row] = field(compare=False)  # run, result, series, at, point, low, high, confidence, method
    names: SeriesRows | None = field(compare=False)  # what the numbers of series and methods in `points` mean
    places: Mapping[int, int] = field(compare=False)  # of a result's number in `points`, its place in `results`
    point_count: int

    @property
    def name(self) -> str:
        """The run's id, as the tables hold it."""
        return str(self.header[_HEADER.index("run")])


_HEADER = tuple(one.name for one in tables.runs.c if one.name != "id")
_RESULT = tuple(one.name for one in tables.results.c if one.name not in ("id", "run_id", "environment_id"))
_STATUS, _REVISION = _RESULT.index("status"), _RESULT.index("revision")


class SeriesRows:
    """The rows of series and methods of one database, by their numbers; each is read once."""

    def __init__(self) -> None:
        self.series: dict[int, Row] = {}  # key, unit, case_name, params, metric, better, machine
        self.methods: dict[int, str] = {}

    def learn(self, connection: Connection, points: Sequence[Row]) -> None:
        """Reads the rows that these points name and that are not known yet."""
        used, methods = ({*map(itemgetter(place), points)} for place in (_SERIES, _METHOD))
        for row in self._missing(connection, tables.series, used - self.series.keys()):
            self.series[row[0]] = tuple(row[1:])
        for row in self._missing(connection, tables.methods, methods - self.methods.keys()):
            self.methods[row[0]] = row[1]
        if not (used <= self.series.keys() and methods <= self.methods.keys()):
            raise StoreError("the store holds points of series that it does not hold", remedy="restore a backup")

    def _missing(self, connection: Connection, table: Table, numbers: set[int]) -> Iterator[Any]:
        for part in parts(sorted(numbers)):
            yield from connection.execute(select(table).where(among(connection, table.c.id, part)))


def batches(connection: Connection, names: Sequence[str]) -> Iterator[list[str]]:
    """The names of these runs in pieces whose rows fit into memory; those that are not there are left out."""
    runs, results, columns = tables.runs, tables.results, tables.sample_columns
    batch: list[str] = []
    count = size = 0
    for part in parts([plain(name) for name in names]):
        counted = select(runs.c.run, func.count(results.c.id)).join_from(runs, results, isouter=True)
        sized = select(runs.c.run, func.sum(func.length(columns.c.data))).join_from(runs, results)
        sized = sized.join(columns, columns.c.result_id == results.c.id)
        many: dict[str, int]
        large: dict[str, int]
        many, large = (
            {name: int(found or 0) for name, found in connection.execute(query.where(here).group_by(runs.c.run))}
            for here in (runs.c.run.in_(part),)
            for query in (counted, sized)
        )
        for name in part:
            if name not in many:
                continue
            more, bytes_ = many[name], large.get(name, 0)
            if batch and (count + more > _RESULTS or size + bytes_ > _BYTES):
                yield batch
                batch, count, size = [], 0, 0
            batch.append(name)
            count, size = count + more, size + bytes_
    if batch:
        yield batch


_RESULTS = 1000  # of a batch, unless one run has more
_BYTES = 64 << 20  # of raw samples


def read(connection: Connection, names: Sequence[str], known: SeriesRows | None) -> dict[str, RawRun]:
    """The runs of these ids that are there and whole, by the name that the tables have for them.

    Without `known` only the number of points is read, not the points.
    """
    runs = tables.runs
    headers = connection.execute(select(runs).where(runs.c.run.in_([plain(name) for name in names]))).all()
    numbers = [header[0] for header in headers]
    results: dict[int, list[Row]] = {number: [] for number in numbers}
    places: dict[int, tuple[int, int]] = {}  # of a result: its run, and its place there
    places_of: dict[int, dict[int, int]] = {number: {} for number in numbers}
    for row in connection.execute(_select_results(numbers)):
        places[row[0]] = (row[1], len(results[row[1]]))
        places_of[row[1]][row[0]] = len(results[row[1]])
        results[row[1]].append(tuple(row[2:]))
    points: dict[int, list[Row]] = {number: [] for number in numbers}
    if known is not None:
        cursor = connection.execute(_select_points(numbers)).cursor
        assert cursor is not None
        found = cells.check_rows(cursor.fetchall(), _POINT)  # cell by cell would take three times as long
        known.learn(connection, found)
        for run, several in groupby(found, itemgetter(0)):  # all of a run lie together; if not, no harm is done
            points[run] += several
        counts = {number: len(several) for number, several in points.items()}
    else:
        counts = dict(connection.execute(_count_points(numbers)).all())
    tags = connection.execute(select(tables.run_tags).where(tables.run_tags.c.run_id.in_(numbers))).all()
    samples, columns = (
        _rows_of(connection, table, numbers, places) for table in (tables.samples, tables.sample_columns)
    )
    revisions, revision_tags = (
        _rows_of_revisions(connection, table, headers, results) for table in (tables.revisions, tables.revision_tags)
    )
    made = [
        RawRun(
            header=tuple(header._mapping[name] for name in _HEADER),
            tags=frozenset(tag for tag, run in tags if run == header[0]),
            results=[row[:-3] for row in results[header[0]]],
            documents=[row[-3:-1] for row in results[header[0]]],
            environments={row[-4]: row[-1] for row in results[header[0]]},
            revisions=revisions[header[0]],
            revision_tags=revision_tags[header[0]],
            samples=frozenset(samples.get(header[0], ())),
            columns=frozenset(columns.get(header[0], ())),
            points=points[header[0]],
            names=known,
            places=places_of[header[0]],
            point_count=counts.get(header[0], 0),
        )
        for header in headers
    ]
    # What is compared with a run that is whole need not be looked at once more.
    return {run.name: run for run in made if known is None or _is_whole(run)}


def _select_results(runs: Sequence[int]) -> Select[Any]:
    table, documents, environments = tables.results, tables.documents, tables.environments
    return (
        select(
            table.c.id,
            table.c.run_id,
            *(table.c[name] for name in _RESULT),
            environments.c.hash,
            documents.c.format,
            documents.c.document,
            environments.c.document,
        )
        # A result that lost its document is read, too: else its run would look whole without it.
        .join_from(table, documents, documents.c.result_id == table.c.id, isouter=True)
        .join(environments, environments.c.id == table.c.environment_id, isouter=True)
        .where(table.c.run_id.in_(runs))
        .order_by(table.c.id)
    )


def _select_points(runs: Sequence[int]) -> Select[Any]:
    results, points = tables.results, tables.points
    names = ("series_id", "at", "point", "low", "high", "confidence", "method_id")
    return (
        select(results.c.run_id, results.c.id, *(points.c[name] for name in names))
        .join_from(results, points, points.c.result_id == results.c.id)
        .where(results.c.run_id.in_(runs))
    )


_POINT = (*[WHOLE] * 4, *[NUMBER] * 4, WHOLE)  # of the columns of `_select_points`
_SERIES, _METHOD = 2, 8  # places among them


def _count_points(runs: Sequence[int]) -> Select[Any]:
    results, points = tables.results, tables.points
    joined = select(results.c.run_id, func.count()).join_from(results, points, points.c.result_id == results.c.id)
    return joined.where(results.c.run_id.in_(runs)).group_by(results.c.run_id)


def _rows_of(
    connection: Connection, table: Table, runs: Sequence[int], places: Mapping[int, tuple[int, int]]
) -> dict[int, list[Row]]:
    """The rows of a table that belong to the results of runs, by run."""
    results, found = tables.results, dict[int, list[Row]]()
    query = select(table).join_from(results, table, table.c.result_id == results.c.id)
    for row in connection.execute(query.where(results.c.run_id.in_(runs))):
        run, place = places[row[0]]
        found.setdefault(run, []).append((place, *row[1:]))
    return found


def _rows_of_revisions(
    connection: Connection, table: Table, headers: Sequence[Any], results: Mapping[int, Sequence[Row]]
) -> dict[int, frozenset[Row]]:
    """The rows of a table about the commits that runs and their results name, by run."""
    named = {one.id: {one.revision, *(row[_REVISION] for row in results[one.id])} for one in headers}
    found: dict[str, list[Row]] = {}
    for part in parts(sorted(set().union(*named.values()) - {""})):
        for row in connection.execute(select(table).where(among(connection, table.c.revision, part))):
            found.setdefault(row.revision, []).append(tuple(row))
    return {run: frozenset(row for name in names for row in found.get(name, ())) for run, names in named.items()}


def _is_whole(run: RawRun) -> bool:
    """Whether its record can be read, and what is compressed: its checksum says so."""
    packed = [document for _, document in run.documents]
    packed += [*run.environments.values(), *(row[-1] for row in run.samples), *(row[-1] for row in run.columns)]
    try:
        header = dict(zip(_HEADER, run.header, strict=True))
        codec.read_run(header["document"], header["format"], where=f"run {run.name}")
        for one in packed:
            zlib.decompress(one)
    except (UserError, zlib.error, TypeError):
        return False
    return True


def add(connection: Connection, known: write.KnownIds, runs: Sequence[RawRun]) -> list[str]:
    """Adds those runs whose ids are not taken; their names."""
    rows = SqlRows(connection)
    added: list[tuple[int, RawRun]] = []
    for run in runs:
        number = rows.add_unless_there("runs", dict(zip(_HEADER, run.header, strict=True)))
        if number is not None:
            added.append((number, run))
    if tags := [(tag, number) for number, run in added for tag in sorted(run.tags)]:
        rows.add_tuples("run_tags", tags)
    for table, several in (
        (tables.revisions, {row for _, run in added for row in run.revisions}),
        (tables.revision_tags, {row for _, run in added for row in run.revision_tags}),
    ):
        if several:
            rows.add_missing(table.name, [dict(zip(table.c.keys(), row, strict=True)) for row in sorted(several)])
    _add_results(rows, known, added)
    return [run.name for _, run in added]


def _add_results(rows: SqlRows, known: write.KnownIds, added: Sequence[tuple[int, RawRun]]) -> None:
    runs = [run for _, run in added]
    learn_environments(rows, known, {name: one for run in runs for name, one in run.environments.items()})
    series, methods = _learn_names(rows, known, runs)
    given = [(*row[:-1], number, known.environments[row[-1]]) for number, run in added for row in run.results]
    numbers = rows.add_numbered("results", (*_RESULT, "run_id", "environment_id"), given) if given else {}
    filled: dict[str, list[Row]] = {"documents": [], "points": [], "samples": [], "sample_columns": []}
    for run in runs:
        here = [numbers[row[0]] for row in run.results]
        filled["documents"] += [(here[i], *document) for i, document in enumerate(run.documents)]
        result_of = {result: here[place] for result, place in run.places.items()}
        series_of, method_of = series[id(run.names)], methods[id(run.names)]
        filled["points"] += [
            (series_of[one], at, result_of[result], point, low, high, confidence, method_of[method])
            for _, result, one, at, point, low, high, confidence, method in run.points
        ]
        filled["samples"] += [(here[place], *rest) for place, *rest in run.samples]
        filled["sample_columns"] += [(here[place], *rest) for place, *rest in run.columns]
    filled["points"].sort()  # neighbours in the table are added one after the other
    for table, found in filled.items():
        if found:
            rows.add_tuples(table, found)
    write.add_arrivals(
        rows, [numbers[row[0]] for run in runs for row in run.results if row[_STATUS] == Status.OK.value]
    )


Numbers = dict[int, dict[int, int]]  # by the names that they come from: numbers there -> numbers here


def _learn_names(rows: SqlRows, known: write.KnownIds, runs: Sequence[RawRun]) -> tuple[Numbers, Numbers]:
    """The numbers that series and methods of these runs have in the database they are added to."""
    series: Numbers = {}
    methods: Numbers = {}
    for run in runs:
        names = run.names or SeriesRows()
        used, ways = ({*map(itemgetter(place), run.points)} for place in (_SERIES, _METHOD))
        mine, told = series.setdefault(id(run.names), {}), methods.setdefault(id(run.names), {})
        if missing := used - mine.keys():
            learn_series_rows(rows, known, (names.series[number] for number in sorted(missing)))
            mine |= {number: known.series_rows[names.series[number][:2]] for number in missing}
        if others := ways - told.keys():
            learn_methods(rows, known, {names.methods[number] for number in others})
            told |= {number: known.methods[names.methods[number]] for number in others}
    return series, methods
