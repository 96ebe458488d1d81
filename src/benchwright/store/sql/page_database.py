"""What pages ask of the tables: the part of `archive.Archive` that no other store has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from sqlalchemy import Connection

from benchwright.records import Environment, Status
from benchwright.store import RunSummary
from benchwright.store.archive import (
    EVERY_RUN,
    Columns,
    CommitFacts,
    FacetCounts,
    ListedSeries,
    Machine,
    ResultOutcome,
    RunChoice,
    SeriesFilter,
    Valued,
)
from benchwright.store.sql import browse, catalog, counts, notes, read, run_lists, series_lists, values
from benchwright.store.sql import machines as machine_rows
from benchwright.store.sql import views as view_rows
from benchwright.store.sql.database import Database, reads, writes
from benchwright.store.sql.machines import Machines, statuses
from benchwright.store.sql.run_writer import TIMEOUT
from benchwright.store.sql.series_columns import Histories
from benchwright.store.sql.series_index import SeriesIndex
from benchwright.store.sql.series_table import SeriesTable
from benchwright.store.sql.values import RowNames

_COMMITS = 100_000  # remembered at most


class RemovalCounter(Protocol):
    """How often rows were deleted by whoever shares it."""

    @property
    def value(self) -> int:
        """How often until now."""
        ...

    def add(self) -> None:
        """Adds one."""
        ...


class PageDatabase(Database):
    """A database that answers for pages; each method is told of in `archive.Archive`.

    What is old is remembered: how many points there are, the machines, long histories.
    """

    def __init__(self, url: str, *, create: bool = True, timeout: float = TIMEOUT) -> None:
        self._points = catalog.points_tally()
        self._all_points = counts.WholeSum()
        self._machines = Machines()
        self._histories = Histories()
        self._names = RowNames()
        self._index = SeriesIndex()
        self._amounts = read.RunAmounts()
        self._commits: dict[str, CommitFacts] = {}
        self._table = SeriesTable(self._index)
        self._runs_of_series = series_lists.RunsOfSeries()
        self._lists_of_runs = run_lists.KnownRuns(self._amounts)
        self._commit_dates: dict[str, int] = {}
        self._removals: RemovalCounter | None = None
        self._removals_seen = 0
        super().__init__(url, create=create, timeout=timeout)

    def series(self, chosen: SeriesFilter) -> list[ListedSeries]:
        """The series that were chosen, in the order of their numbers or in the one that was asked for."""
        with self._reading() as connection:
            counts = self._points(connection)
            if not series_lists.needs_table(chosen):
                return catalog.list_series(connection, chosen, counts, self._index)
            columns = self._table.at(connection)
            labeled = chosen.branches or chosen.tags
            labels = self._runs_of_series.labels(connection, columns) if labeled else {}
            numbers = series_lists.chosen_numbers(connection, columns, chosen, counts, labels)
            if not numbers:
                return []
            these = SeriesFilter(numbers=tuple(numbers), limit=len(numbers))
            found = {one.number: one for one in catalog.list_series(connection, these, counts, self._index)}
            return [found[number] for number in numbers if number in found]

    def series_facets(self, chosen: SeriesFilter) -> FacetCounts:
        """How many series were chosen, and how many each value of a facet would leave."""
        with self._reading() as connection:
            columns = self._table.at(connection)
            labels = self._runs_of_series.labels(connection, columns)
            return series_lists.facets(connection, columns, chosen, self._points(connection), labels)

    def columns(self, key: str, unit: str, *, limit: int = 100_000) -> Columns:
        """The newest points of a series that are ok."""
        with self._reading() as connection:
            return self._histories.read(connection, key, unit, limit=limit)

    def values_of_runs(self, runs: Sequence[str], *, metrics: Sequence[str] = ()) -> list[Valued]:
        """Every value of these runs that is ok, in the order they were kept."""
        with self._reading() as connection:
            return values.read_runs(connection, self._names, runs, metrics=metrics)

    def newest_values(
        self,
        *,
        metrics: Sequence[str] = (),
        case: str = "",
        machine: str = "",
        revision: str = "",
        tag: str = "",
        runtime: str = "",
        most: int = 0,
    ) -> list[Valued]:
        """Of each series the values of the newest run that has any."""
        wanted = values.ValueFilter(
            metrics=tuple(metrics),
            case=case,
            machine=machine,
            revision=revision,
            tag=tag,
            runtime=runtime,
            most=most,
        )
        with self._reading() as connection:
            return values.newest(connection, self._names, wanted)

    def runs_page(
        self,
        *,
        before: str = "",
        limit: int = 50,
        tag: str = "",
        case: str = "",
        revision: str = "",
        machine: str = "",
        also: RunChoice = EVERY_RUN,
    ) -> list[RunSummary]:
        """The runs that come after the run `before`: the newest first, or in the order that `also` says."""
        with self._reading() as connection:
            keys = self._machines.keys(connection)
            sought = browse.filter_of(keys, also, tag=tag, case=case, revision=revision, machine=machine)
            if also.sort:
                return run_lists.sorted_page(
                    connection, sought, self._lists_of_runs, also.sort, before=before, limit=limit
                )
            return browse.runs_page(connection, sought, self._amounts, before=before, limit=limit)

    def run_facets(
        self, *, tag: str = "", case: str = "", revision: str = "", machine: str = "", also: RunChoice = EVERY_RUN
    ) -> FacetCounts:
        """What the newest of these runs can be narrowed by."""
        with self._reading() as connection:
            keys = self._machines.keys(connection)
            sought = browse.filter_of(keys, also, tag=tag, case=case, revision=revision, machine=machine)
            return run_lists.facets(connection, sought, keys, self._lists_of_runs.environments)

    def held_results(self, runs: Sequence[str]) -> Mapping[str, int]:
        """How many results of each of these runs were measured in quarantine."""
        with self._reading() as connection:
            return machine_rows.held_results(connection, runs, self._machines.keys(connection))

    def outcomes(self, runs: Sequence[str]) -> list[ResultOutcome]:
        """How every result of these runs ended, in the order they were kept."""
        with self._reading() as connection:
            return browse.outcomes(connection, runs, self._machines.keys(connection))

    def statuses(
        self, *, since: int = 0, cases: Sequence[str] = (), only_bad: bool = False
    ) -> list[tuple[str, str, str, Status, int, int]]:
        """(case, machine, newest run, status, count, newest at) of results of runs that began since an instant."""
        with self._reading() as connection:
            keys = self._machines.keys(connection)
            return statuses(connection, keys, since=since, cases=cases, only_bad=only_bad)

    def machines(self) -> list[Machine]:
        """Every machine, the one that measured last first."""
        with self._reading() as connection:
            return self._machines.all(connection)

    def environments(self) -> Mapping[str, Environment]:
        """The newest environment of every machine without its knobs, by `schema.environment_key`."""
        return {machine.key: machine.environment for machine in self.machines()}

    def subjects(self, revisions: Sequence[str]) -> Mapping[str, str]:
        """The subjects of the revisions that runs tell of."""
        return {revision: facts.subject for revision, facts in self.commits(revisions).items() if facts.subject}

    def commits(self, revisions: Sequence[str]) -> Mapping[str, CommitFacts]:
        """The subjects and repositories of the revisions that runs tell of."""
        known = self._commits  # a commit's subject never changes
        missing = [revision for revision in revisions if revision not in known]
        if missing:
            if len(known) > _COMMITS:
                known.clear()
                missing = list(revisions)
            with self._reading() as connection:
                found = browse.commits(connection, missing)
            known.update(found)
        return {revision: known[revision] for revision in revisions if revision in known}

    def totals(self) -> Mapping[str, int]:
        """How many runs, results, series, points and machines there are; findings by state."""
        with self._reading() as connection:
            machines = self._machines.all(connection)
            return {
                **catalog.totals(connection, self._points(connection), self._all_points),
                "results": sum(machine.results for machine in machines),
                "machines": len(machines),
            }

    def commit_dates(self, revisions: Sequence[str]) -> Mapping[str, int]:
        """When these commits were made, in microseconds since 1970; those of which it is known."""
        known = self._commit_dates  # a commit's date never changes
        missing = [revision for revision in revisions if revision and revision not in known]
        if missing:
            if len(known) > _COMMITS:
                known.clear()
                missing = [revision for revision in revisions if revision]
            with self._reading() as connection:
                known.update(browse.commit_dates(connection, missing))
        return {revision: known[revision] for revision in revisions if revision in known}

    def case_names(self) -> list[str]:
        """Every name a case was measured under, in order of the alphabet."""
        with self._reading() as connection:
            return self._index.case_names(connection)

    def metric_names(self) -> list[str]:
        """Every metric that has a series, in order of the alphabet."""
        with self._reading() as connection:
            return self._index.metric_names(connection)

    def series_by_case(self) -> Mapping[tuple[str, str], Sequence[tuple[str, int]]]:
        """(case, machine) -> (metric, number) of its series; the very same mapping while no series is new."""
        with self._reading() as connection:
            return self._index.by_case(connection)

    def last_measured(self) -> Mapping[str, Mapping[str, int]]:
        """Of each machine's cases the instant of the newest result."""
        with self._reading() as connection:
            return self._machines.last_measured(connection)

    count_findings = reads(catalog.count_findings)
    tails = reads(catalog.tails)
    around = reads(catalog.around)
    result_ids = reads(browse.result_ids)
    run_sizes = reads(browse.run_sizes)
    header = reads(browse.header)
    run_extent = reads(browse.run_extent)
    result = reads(browse.result)
    environment_of = reads(browse.environment_of)
    metric_directions = reads(catalog.metric_directions)
    newest = reads(counts.newest)
    commit_tags = reads(browse.commit_tags)
    views = reads(view_rows.list_views)
    keep_view = writes(view_rows.keep)
    change_view = writes(view_rows.change)
    drop_view = writes(view_rows.drop)
    annotations = reads(notes.list_annotations)
    annotate = writes(notes.annotate)
    drop_annotation = writes(notes.drop_annotation)
    tell_progress = writes(notes.tell_progress)
    progress = reads(notes.progress)
    quarantines = reads(machine_rows.quarantines)
    quarantine = writes(machine_rows.quarantine)
    release = writes(machine_rows.release)

    def share_removals(self, counter: RemovalCounter) -> None:
        """Tells other objects for this database, which have the same counter, when rows are deleted, and hears them."""
        self._removals, self._removals_seen = counter, counter.value

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        if self._removals is not None and self._removals.value != self._removals_seen:
            self._removals_seen = self._removals.value
            self._forget_rows()
        with super()._reading() as connection:
            yield connection

    def _forget(self) -> None:
        """Drops what is remembered of old rows, after some were deleted."""
        self._forget_rows()
        if self._removals is not None:
            self._removals.add()

    def _forget_rows(self) -> None:
        self._points.forget()
        self._machines.results.forget()
        self._histories.forget()
        self._runs_of_series.forget()
        self._lists_of_runs.forget()
