"""What pages ask of the tables: the part of `archive.Archive` that no other store has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchwright.records import Environment, Result, Run, Status
from benchwright.store import RunSummary
from benchwright.store.archive import (
    Annotation,
    Columns,
    ListedSeries,
    Machine,
    Progress,
    ResultOutcome,
    SeriesFilter,
    Valued,
)
from benchwright.store.sql import browse, catalog, counts, notes, values
from benchwright.store.sql.database import TIMEOUT, Database
from benchwright.store.sql.machines import Machines, statuses
from benchwright.store.sql.names import RowNames
from benchwright.store.sql.series_columns import Histories

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
            return catalog.listed(connection, chosen, self._points(connection))

    def columns(self, key: str, unit: str, *, limit: int = 100_000) -> Columns:
        """The newest points of a series that are ok."""
        with self._reading() as connection:
            return self._histories.read(connection, key, unit, limit=limit)

    def tails(self, keys: Sequence[str], *, points: int = 30) -> Mapping[str, Sequence[float]]:
        """The newest points of each of these series, oldest first."""
        with self._reading() as connection:
            return catalog.tails(connection, keys, points=points)

    def around(self, places: Sequence[tuple[str, str]], *, points: int = 30) -> list[list[float]]:
        """Of each (series, run) the points on both sides of the run's beginning, oldest first."""
        with self._reading() as connection:
            return catalog.around(connection, places, points=points)

    def result_ids(self, numbers: Sequence[int]) -> Mapping[int, str]:
        """The ids that people see, by the numbers of rows."""
        with self._reading() as connection:
            return browse.result_ids(connection, numbers)

    def values_of_runs(self, runs: Sequence[str], *, metrics: Sequence[str] = ()) -> list[Valued]:
        """Every value of these runs that is ok, in the order they were kept."""
        with self._reading() as connection:
            return values.of_runs(connection, self._names, runs, metrics=metrics)

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
            sought = browse.Sought(tag=tag, case=case, revision=revision, environments=rows)
            return browse.runs_page(connection, sought, before=before, limit=limit)

    def header(self, run_id: str) -> Run:
        """A run without its results."""
        with self._reading() as connection:
            return browse.header(connection, run_id)

    def result(self, result_id: str) -> tuple[str, Result]:
        """One result without its samples, and its run's id."""
        with self._reading() as connection:
            return browse.result(connection, result_id)

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

    def environment_of(self, result_id: str) -> Environment:
        """The environment of one result, knobs included."""
        with self._reading() as connection:
            return browse.environment_of(connection, result_id)

    def metric_names(self) -> list[str]:
        """Every metric that has a series, in alphabetical order."""
        with self._reading() as connection:
            return catalog.metric_names(connection)

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

    def newest(self) -> int:
        """The number of the newest result: it grows with every one that is kept."""
        with self._reading() as connection:
            return counts.newest(connection)

    def annotations(self, series: str | None) -> list[Annotation]:
        """What was written beside a series, or beside all; every annotation for None."""
        with self._reading() as connection:
            return notes.beside(connection, series)

    def annotate(self, annotation: Annotation) -> Annotation:
        """Keeps it, under a number of its own."""
        with self._writing() as connection:
            return notes.annotate(connection, annotation)

    def drop_annotation(self, number: int) -> bool:
        """Takes it away; False when there was none."""
        with self._writing() as connection:
            return notes.drop_annotation(connection, number)

    def tell_progress(self, progress: Progress) -> None:
        """Replaces the last word of that run; "ended" removes it."""
        with self._writing() as connection:
            notes.tell_progress(connection, progress)

    def progress(self, *, since: int = 0) -> list[Progress]:
        """What runs do that spoke since an instant, the newest first."""
        with self._reading() as connection:
            return notes.progress(connection, since=since)

    def _forget(self) -> None:
        """Rows were taken away."""
        self._points.forget()
        self._machines.results.forget()
        self._histories.forget()
