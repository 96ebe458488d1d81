"""Runs and results for pages: a list at a time, or one. Inside the connection's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, and_, exists, or_, select

from benchwright.errors import StoreError, UserError
from benchwright.records import Environment, Failure, Result, Run
from benchwright.store import RunSummary
from benchwright.store.archive import ResultOutcome
from benchwright.store.sql import codec, read, tables
from benchwright.store.sql.catalog import pattern
from benchwright.store.sql.codec import plain
from benchwright.store.sql.engine import parts


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs are meant; what is empty does not choose. The rest must hold for one and the same result."""

    tag: str = ""
    revision: str = ""
    case: str = ""  # may hold `*`
    environments: tuple[int, ...] | None = None  # rows: the machine's


def runs_page(connection: Connection, sought: RunFilter, *, before: str, limit: int) -> list[RunSummary]:
    """The newest runs that were added before the run `before`."""
    runs = tables.runs
    query = read.headers().where(read.is_run())
    if sought.tag:
        query = query.join(tables.run_tags).where(tables.run_tags.c.tag == plain(sought.tag))
    if sought.revision:
        results, revision = tables.results, plain(sought.revision)
        own = select(results.c.run_id).where(results.c.revision == revision)
        query = query.where(or_(runs.c.revision == revision, runs.c.id.in_(own)))
    if sought.case or sought.environments is not None:
        query = _where_result_fits(connection, query, sought)
    if before:
        number = connection.scalar(select(runs.c.id).where(runs.c.run == plain(before)))
        if number is None:
            raise StoreError(f"no run {before!r} in this store", remedy="begin with the newest runs again")
        query = query.where(runs.c.id < number)
    return read.summarise(connection, query, limit=limit)


def _where_result_fits(connection: Connection, query: Select[Any], sought: RunFilter) -> Select[Any]:
    results = tables.results
    conditions = [results.c.run_id == tables.runs.c.id]
    if sought.environments is not None:
        conditions.append(results.c.environment_id.in_(sought.environments))
    if sought.case:
        names = [plain(sought.case)]
        if "*" in sought.case:
            fits = pattern(sought.case)
            names = [
                name for name in connection.scalars(select(results.c.case_name).distinct()) if fits.fullmatch(name)
            ]
        conditions.append(results.c.case_name.in_(names))
    return query.where(exists().where(and_(*conditions)))


def header(connection: Connection, run_id: str) -> Run:
    """A run without its results."""
    table = tables.runs
    row = connection.execute(read.headers().where(table.c.run == plain(run_id))).one_or_none()
    if row is None:
        raise StoreError(f"no run {run_id!r} in this store", remedy="benchwright list shows the runs there are")
    return codec.read_run(row.document, row.format, where=f"run {run_id}")


def result(connection: Connection, result_id: str) -> tuple[str, Result]:
    """One result without its samples, and its run's id."""
    found = read.find_result(connection, result_id)
    if found is None:
        raise StoreError(f"no result {result_id!r} in this store")
    return found.run, found.result


def environment_of(connection: Connection, result_id: str) -> Environment:
    """The environment of one result, knobs included."""
    return result(connection, result_id)[1].environment


def result_ids(connection: Connection, numbers: Sequence[int]) -> dict[int, str]:
    """The ids that people see, by the numbers of rows."""
    table = tables.results
    query = select(table.c.id, table.c.result)
    pieces = (connection.execute(query.where(table.c.id.in_(part))) for part in parts(numbers))
    return {number: name for rows in pieces for number, name in rows}


def outcomes(connection: Connection, runs: Sequence[str], machines: Mapping[int, str]) -> list[ResultOutcome]:
    """How every result of these runs ended, in the order they were kept."""
    table = tables.results
    query = (
        select(
            table.c.environment_id,
            tables.runs.c.run,
            table.c.result,
            table.c.case_name,
            table.c.round,
            table.c.status,
            tables.documents.c.document,
        )
        .join_from(tables.runs, table, table.c.run_id == tables.runs.c.id)
        .join(tables.documents, tables.documents.c.result_id == table.c.id)
        .where(tables.runs.c.run.in_([plain(run) for run in dict.fromkeys(runs)]))
        .order_by(table.c.id)
    )
    return [_outcome(machines.get(environment, ""), *told) for environment, *told in connection.execute(query)]


def _outcome(
    machine: str, run: str, result: str, case: str, number: int, status: str, document: bytes
) -> ResultOutcome:
    ended = codec.read_status(status)
    try:
        about = codec.glance(document, status, where=f"result {result}")
    except UserError as error:  # it costs this result, not the page
        failure = Failure(kind="damaged", message=error.message, remedy=error.remedy)
        return ResultOutcome(run, result, case, "{}", machine, number, ended, failure, "", "")
    return ResultOutcome(
        run, result, case, about.params, machine, number, ended, about.failure, about.version, about.verdict
    )


def subjects(connection: Connection, revisions: Iterable[str]) -> dict[str, str]:
    """Returns the subjects of the revisions that runs record, by revision."""
    table = tables.runs
    found: dict[str, str] = {}
    for part in parts([plain(revision) for revision in dict.fromkeys(revisions) if revision]):
        query = select(table.c.run, table.c.revision, table.c.document).where(table.c.revision.in_(part))
        for row in connection.execute(query):
            with suppress(UserError):  # a damaged run tells nothing
                if subject := codec.subject(row.document, where=f"run {row.run}"):
                    found[row.revision] = subject
    return found
