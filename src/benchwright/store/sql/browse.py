"""Runs and results for pages: a list at a time, or one. Inside the connection's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, and_, exists, func, or_, select

from benchwright.errors import StoreError, UserError
from benchwright.records import Environment, Failure, Result, Run
from benchwright.store import RunSummary
from benchwright.store.archive import CommitFacts, ResultOutcome, RunChoice
from benchwright.store.sql import codec, read, tables
from benchwright.store.sql.case_names import is_named
from benchwright.store.sql.codec import plain
from benchwright.store.sql.engine import among, parts

_MANY = 5_000  # commits
_TAGS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs are meant; what is empty does not choose. The rest must hold for one and the same result."""

    tag: str = ""
    revision: str = ""
    case: str = ""  # may hold `*`
    environments: tuple[int, ...] | None = None  # rows: the machine's
    branches: Sequence[str] = ()  # one of them, and so on
    tags: Sequence[str] = ()
    keys: Sequence[str] = ()  # of machines
    machines: tuple[int, ...] = ()  # rows of environments: of those machines


def filter_of(
    keys: Mapping[int, str], also: RunChoice, *, tag: str, case: str, revision: str, machine: str
) -> RunFilter:
    """Which runs are meant; `keys` are the machines of rows of environments."""
    return RunFilter(
        tag=tag,
        case=case,
        revision=revision,
        environments=tuple(row for row, key in keys.items() if key == machine) if machine else None,
        branches=also.branches,
        tags=also.tags,
        keys=also.machines,
        machines=tuple(row for row, key in keys.items() if key in also.machines),
    )


def runs_page(
    connection: Connection, sought: RunFilter, amounts: read.RunAmounts, *, before: str, limit: int
) -> list[RunSummary]:
    """The newest runs that were added before the run `before`."""
    query = where_fits(connection, read.headers(), sought)
    if before:
        query = query.where(tables.runs.c.id < read.number_of(connection, before))
    return read.summarise(connection, query, amounts, limit=limit)


def where_fits(connection: Connection, query: Select[Any], sought: RunFilter) -> Select[Any]:
    """A query of runs, narrowed to those that are meant."""
    runs, results = tables.runs, tables.results
    query = query.where(read.is_run())
    if sought.tag:
        query = query.join(tables.run_tags).where(tables.run_tags.c.tag == plain(sought.tag))
    if sought.tags:
        tagged = tables.run_tags.alias()
        mine = select(tagged.c.run_id).where(tagged.c.tag.in_([plain(tag) for tag in sought.tags]))
        query = query.where(runs.c.id.in_(mine))
    if sought.branches:
        query = query.where(runs.c.branch.in_([plain(branch) for branch in sought.branches]))
    if sought.revision:
        revision = plain(sought.revision)
        own = select(results.c.run_id).where(results.c.revision == revision)
        query = query.where(or_(runs.c.revision == revision, runs.c.id.in_(own)))
    if sought.keys:
        query = query.where(
            exists().where(results.c.run_id == runs.c.id, results.c.environment_id.in_(sought.machines))
        )
    if sought.case or sought.environments is not None:
        query = _where_result_fits(connection, query, sought)
    return query


def run_extent(connection: Connection, run_id: str) -> tuple[int, int]:
    """How many results a run has, and the number of the newest."""
    runs, results = tables.runs, tables.results
    query = select(func.count(), func.max(results.c.id)).join_from(runs, results, results.c.run_id == runs.c.id)
    count, last = connection.execute(query.where(runs.c.run == plain(run_id))).one()
    return count, last or 0


def _where_result_fits(connection: Connection, query: Select[Any], sought: RunFilter) -> Select[Any]:
    results = tables.results
    conditions = [results.c.run_id == tables.runs.c.id]
    if sought.environments is not None:
        conditions.append(results.c.environment_id.in_(sought.environments))
    if sought.case:
        conditions.append(is_named(connection, results.c.case_name, sought.case))
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
    pieces = (connection.execute(query.where(among(connection, table.c.id, part))) for part in parts(numbers))
    return {number: name for rows in pieces for number, name in rows}


def run_sizes(connection: Connection, runs: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Of each run how many results it has, and the number of the newest: what changes when the run does."""
    results, table = tables.results, tables.runs
    query = (
        select(table.c.run, func.count(), func.max(results.c.id))
        .join_from(table, results, results.c.run_id == table.c.id)
        .where(among(connection, table.c.run, [plain(run) for run in dict.fromkeys(runs)]))
        .group_by(table.c.run)
    )
    return {run: (count, newest) for run, count, newest in connection.execute(query)}


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
        .where(among(connection, tables.runs.c.run, [plain(run) for run in dict.fromkeys(runs)]))
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
    facts = about.params, machine, number, ended, about.failure, about.version, about.verdict, about.price
    return ResultOutcome(run, result, case, *facts)


def commits(connection: Connection, revisions: Iterable[str]) -> dict[str, CommitFacts]:
    """Returns what runs record of the revisions, by revision; those of which nothing is known are left out."""
    table = tables.runs
    found: dict[str, CommitFacts] = {}
    for part in parts([plain(revision) for revision in dict.fromkeys(revisions) if revision]):
        query = select(table.c.run, table.c.revision, table.c.document).where(among(connection, table.c.revision, part))
        for row in connection.execute(query):
            with suppress(UserError):  # a damaged run tells nothing
                if any(facts := codec.commit_facts(row.document, where=f"run {row.run}")):
                    known = found.get(row.revision, facts)
                    found[row.revision] = CommitFacts(*(new or old for new, old in zip(facts, known, strict=True)))
    return found


def commit_dates(connection: Connection, revisions: Iterable[str]) -> dict[str, int]:
    """When these commits were made, in microseconds since 1970; those of which it is known."""
    table = tables.revisions
    query = select(table.c.revision, table.c.committed_at)
    wanted = {plain(revision): revision for revision in revisions}
    if len(wanted) > _MANY:  # one walk through all is quicker than so many questions
        return {wanted[name]: at for name, at in connection.execute(query) if name in wanted}
    pieces = (connection.execute(query.where(among(connection, table.c.revision, part))) for part in parts([*wanted]))
    return {wanted[name]: at for rows in pieces for name, at in rows}


def commit_tags(connection: Connection) -> dict[str, list[str]]:
    """The tags that the repository has of commits that were measured, by commit, each in alphabetical order."""
    table = tables.revision_tags
    found: dict[str, list[str]] = {}
    for revision, tag in connection.execute(select(table.c.revision, table.c.tag).order_by(table.c.tag).limit(_TAGS)):
        found.setdefault(revision, []).append(tag)
    return found
