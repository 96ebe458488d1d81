"""What pages ask of the tables: the part of `archive.Archive` that no other store has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchwright.records import Environment, Status
from benchwright.store import RunSummary
from benchwright.store.archive import (
    Columns,
    ListedSeries,
    Machine,
    ResultOutcome,
    SeriesFilter,
    Valued,
)
from benchwright.store.sql import browse, catalog, counts, notes, values
from benchwright.store.sql.database import Database, reads, writes
from benchwright.store.sql.machines import Machines, statuses
from benchwright.store.sql.run_writer import TIMEOUT
from benchwright.store.sql.series_columns import Histories
from benchwright.store.sql.values import RowNames

_SUBJECTS = 100_000  # remembered at most


class PageDatabase(Database):
    """A database that answers for pages; each method is told of in `archive.Archive`.

    What is old is remembered: how many points there are, the machines, long histories.
    """

    def __init__(self, url: str, *, create: bool = True, timeout: float = TIMEOUT) -> None:
        self._points = catalog.points_tally()
        self._machines = Machines()
        self._histories = Histories()
        self._names = RowNames()
        self._subjects: dict[str, str] = {}
        super().__init__(url, create=create, timeout=timeout)

    def series(self, chosen: SeriesFilter) -> list[ListedSeries]:
        """The series that were chosen, in the order of their numbers."""
        with self._reading() as connection:
            return catalog.list_series(connection, chosen, self._points(connection))

    def columns(self, key: str, unit: str, *, limit: int = 100_000) -> Columns:
        """The newest points of a series that are ok."""
        with self._reading() as connection:
            return self._histories.read(connection, key, unit, limit=limit)

    def values_of_runs(self, runs: Sequence[str], *, metrics: Sequence[str] = ()) -> list[Valued]:
        """Every value of these runs that is ok, in the order they were kept."""
        with self._reading() as connection:
            return values.read_runs(connection, self._names, runs, metrics=metrics)

    def newest_values(
        self, *, metrics: Sequence[str] = (), case: str = "", machine: str = "", revision: str = "", tag: str = ""
    ) -> list[Valued]:
        """Of each series the values of the newest run that has any."""
        wanted = values.ValueFilter(metrics=tuple(metrics), case=case, machine=machine, revision=revision, tag=tag)
        with self._reading() as connection:
            return values.newest(connection, self._names, wanted)

    def runs_page(
        self, *, before: str = "", limit: int = 50, tag: str = "", case: str = "", revision: str = "", machine: str = ""
    ) -> list[RunSummary]:
        """The newest runs older than the run `before`."""
        with self._reading() as connection:
            rows = None
            if machine:
                rows = tuple(row for row, key in self._machines.keys(connection).items() if key == machine)
            sought = browse.RunFilter(tag=tag, case=case, revision=revision, environments=rows)
            return browse.runs_page(connection, sought, before=before, limit=limit)

    def outcomes(self, runs: Sequence[str]) -> list[ResultOutcome]:
        """How every result of these runs ended, in the order they were kept."""
        with self._reading() as connection:
            return browse.outcomes(connection, runs, self._machines.keys(connection))

    def statuses(self, *, since: int = 0) -> list[tuple[str, str, str, Status, int, int]]:
        """(case, machine, newest run, status, count, newest at) of results of runs that began since an instant."""
        with self._reading() as connection:
            return statuses(connection, self._machines.keys(connection), since=since)

    def machines(self) -> list[Machine]:
        """Every machine, the one that measured last first."""
        with self._reading() as connection:
            return self._machines.all(connection)

    def environments(self) -> Mapping[str, Environment]:
        """The newest environment of every machine without its knobs, by `schema.environment_key`."""
        return {machine.key: machine.environment for machine in self.machines()}

    def subjects(self, revisions: Sequence[str]) -> Mapping[str, str]:
        """The subjects of the revisions that runs tell of."""
        known = self._subjects  # a commit's subject never changes
        missing = [revision for revision in revisions if revision not in known]
        if missing:
            if len(known) > _SUBJECTS:
                known.clear()
            with self._reading() as connection:
                found = browse.subjects(connection, missing)
            known.update(found)
        return {revision: known[revision] for revision in revisions if revision in known}

    def totals(self) -> Mapping[str, int]:
        """How many runs, results, series, points and machines there are; findings by state."""
        with self._reading() as connection:
            machines = self._machines.all(connection)
            return {
                **catalog.totals(connection, self._points(connection)),
                "results": sum(machine.results for machine in machines),
                "machines": len(machines),
            }

    tails = reads(catalog.tails)
    around = reads(catalog.around)
    result_ids = reads(browse.result_ids)
    header = reads(browse.header)
    result = reads(browse.result)
    environment_of = reads(browse.environment_of)
    metric_names = reads(catalog.metric_names)
    newest = reads(counts.newest)
    annotations = reads(notes.list_annotations)
    annotate = writes(notes.annotate)
    drop_annotation = writes(notes.drop_annotation)
    tell_progress = writes(notes.tell_progress)
    progress = reads(notes.progress)

    def _forget(self) -> None:
        """Drops what is remembered of old rows, after some were deleted."""
        self._points.forget()
        self._machines.results.forget()
        self._histories.forget()
