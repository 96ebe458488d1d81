"""Runs in an SQL database: a file of SQLite's by default, PostgreSQL by another URL."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from benchwright.errors import StoreError
from benchwright.findings import Finding, Mute, Remark, State, Threshold
from benchwright.records import Result, Run, Samples
from benchwright.store import Miss, RunSummary, Series, findings, read, references, rules, tables, write
from benchwright.store import engine as engines
from benchwright.store.codec import plain
from benchwright.store.faults import explained
from benchwright.store.glance import database_file
from benchwright.store.upgrade import prepare

TIMEOUT = 60.0  # seconds to wait for another writer


class SqlStore:
    """A `Store` at `sqlite:///path` or `postgresql://...`. Opening it makes what is missing: folder, file, tables;
    with `create` false, a missing file is an error.

    What a method wrote is on the disk when it returns. Several processes may write at once. One object serves several
    threads, but not a forked child.
    """

    def __init__(self, url: str, *, create: bool = True, timeout: float = TIMEOUT) -> None:
        self._file = database_file(url) if url.startswith("sqlite") else None
        self._engine = engines.connect(url, timeout=timeout)
        self._place = str(self._file or self._engine.url.render_as_string(hide_password=True))
        self._known = write.Known()
        self._one_writer = threading.Lock()
        if self._file and not self._file.exists():
            self._make_folder(self._file, create)
        try:
            with explained(self._place, self._file):
                prepare(self._engine, self._place)
        except BaseException:
            self.close()
            raise

    def begin(self, run: Run) -> None:
        """Records the run without results."""
        with self._writing() as connection:
            if write.add_header(connection, run) is None:
                raise StoreError(f"{self._place}: run {run.id!r} is there already")

    def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
        """Keeps one result with its points and raw samples, in the place of another if one is named."""
        with self._writing() as connection:
            table = tables.runs
            query = select(table.c.id, table.c.revision).where(table.c.run == plain(run_id))
            header = connection.execute(query).one_or_none()
            if header is None:
                raise StoreError(f"{self._place}: no run {run_id!r} to add a result to", remedy="call begin(run) first")
            if instead_of:
                self._remove(connection, header.id, run_id, instead_of)
            write.add_results(connection, self._known, header.id, header.revision, [result])

    def add_run(self, run: Run) -> bool:
        """Keeps a whole run in one transaction; False if a run of that id was there already (nothing changes)."""
        with self._writing() as connection:
            number = write.add_header(connection, run)
            if number is None:
                return False
            revision = plain(run.revision.id) if run.revision else ""
            write.add_results(connection, self._known, number, revision, run.results)
            return True

    def find(self, reference: str) -> str:
        """The id of the run that `reference` names; see `Store.find`."""
        with self._reading() as connection:
            return references.find(connection, reference)

    def run(self, run_id: str, *, samples: bool = True) -> Run:
        """A run with its results; without raw samples when they are not wanted."""
        with self._reading() as connection:
            return read.run(connection, run_id, samples=samples)

    def samples(self, result_id: str) -> tuple[Samples, ...]:
        """The raw samples of one result."""
        with self._reading() as connection:
            return read.samples(connection, result_id)

    def runs(self, *, limit: int = 20, tag: str = "") -> list[RunSummary]:
        """The newest runs first."""
        with self._reading() as connection:
            return read.summaries(connection, limit=limit, tag=tag)

    def run_ids(self) -> Iterator[str]:
        """Every run's id, oldest first."""
        with self._reading() as connection:
            found = read.run_ids(connection)
        return iter(found)

    def history(self, case: str, *, metrics: Sequence[str] = (), limit: int = 1000) -> list[Series]:
        """The series of cases whose name matches (`*` is a wildcard), each with its newest `limit` points."""
        with self._reading() as connection:
            return read.history(connection, case, metrics=metrics, limit=limit)

    def misses(self, case: str, *, limit: int = 20) -> list[Miss]:
        """The newest results of cases whose name matches that are not ok, oldest first."""
        with self._reading() as connection:
            return read.misses(connection, case, limit=limit)

    def case_names(self) -> list[str]:
        """Every name that has a history, in alphabetical order."""
        with self._reading() as connection:
            return read.case_names(connection)

    def findings(self, *, states: Sequence[State] = (), series: Sequence[str] = (), limit: int = 1000) -> list[Finding]:
        """The newest findings first, of these states and series where any are named."""
        with self._reading() as connection:
            return findings.newest(connection, states=states, series=series, limit=limit)

    def finding(self, reference: str) -> Finding:
        """The finding of that id, or of the only id that begins so."""
        with self._reading() as connection:
            return findings.find(connection, reference)

    def keep_finding(self, finding: Finding) -> Finding:
        """Keeps a finding, unless the same change is there: then that one is returned."""
        with self._writing() as connection:
            return findings.keep(connection, finding)

    def update_finding(self, reference: str, remark: Remark | None = None, **changes: Any) -> Finding:
        """Changes fields of a finding and adds a line to its story."""
        with self._writing() as connection:
            return findings.update(connection, reference, remark, changes)

    def mutes(self) -> list[Mute]:
        """What is muted, in order of the alphabet."""
        with self._reading() as connection:
            return rules.mutes(connection)

    def mute(self, mute: Mute) -> None:
        """Reports no change any more in what it names."""
        with self._writing() as connection:
            rules.mute(connection, mute)

    def unmute(self, what: str) -> bool:
        """Reports changes there again; False when it was not muted."""
        with self._writing() as connection:
            return rules.unmute(connection, what)

    def thresholds(self) -> list[Threshold]:
        """Every threshold, in order of the alphabet."""
        with self._reading() as connection:
            return rules.thresholds(connection)

    def set_threshold(self, threshold: Threshold) -> None:
        """Sets a threshold, in the place of one for the same cases and metric."""
        with self._writing() as connection:
            rules.set_threshold(connection, threshold)

    def drop_threshold(self, case: str, metric: str = "") -> bool:
        """Takes a threshold away; False when there was none."""
        with self._writing() as connection:
            return rules.drop_threshold(connection, case, metric)

    def close(self) -> None:
        """Ends the connection."""
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with explained(self._place, self._file), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._one_writer:
            try:
                with (
                    explained(self._place, self._file),
                    self._engine.connect() as connection,
                    engines.writing(connection).begin(),
                ):
                    yield connection
            except BaseException:
                self._known = write.Known()  # ids learnt in a transaction that was rolled back name nothing
                raise

    def _remove(self, connection: Connection, run: int, run_id: str, result_id: str) -> None:
        found = read.result(connection, run, result_id)
        if found is None:
            raise StoreError(
                f"{self._place}: run {run_id!r} has no result {result_id!r} any more",
                remedy="is somebody else resuming the same run?",
            )
        write.remove_result(connection, *found)

    def _make_folder(self, file: Path, create: bool) -> None:
        if not create:
            raise StoreError(f"{file}: no such store", remedy="benchwright run makes one; --store names another")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"{file.parent}: cannot make the folder: {error.strerror}", remedy="choose another place with --store"
            ) from None
