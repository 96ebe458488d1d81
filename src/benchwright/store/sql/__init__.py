"""Runs in an SQL database: a file of SQLite's by default, PostgreSQL by another URL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Unpack

from sqlalchemy.exc import IntegrityError, OperationalError

from benchwright.errors import StoreError
from benchwright.records import Result, Run, Samples
from benchwright.records.findings import Finding, FindingChanges, Mute, Remark, State, Threshold
from benchwright.store import Miss, RunSummary, Series, references
from benchwright.store.archive import AuditEntry, Token
from benchwright.store.sql import audit, browse, facts, findings, read, retention, tokens, upsert, write
from benchwright.store.sql import engine as engines
from benchwright.store.sql import rules as ruling
from benchwright.store.sql.codec import plain
from benchwright.store.sql.database import TIMEOUT
from benchwright.store.sql.facts import StoreInfo
from benchwright.store.sql.faults import explained
from benchwright.store.sql.group_commit import CommitJob, Together
from benchwright.store.sql.indexed import PageDatabase
from benchwright.store.sql.retention import Pruned, RetentionRules
from benchwright.store.sql.upsert import Upload


class SqlStore(PageDatabase):
    """An `Archive` at `sqlite:///path` or `postgresql://...`. Opening it makes what is missing: folder, file, tables;
    with `create` false, a missing file is an error.

    What a method wrote is on the disk when it returns. Several processes may write at once. One object serves several
    threads, but not a forked child.
    """

    def __init__(self, url: str, *, create: bool = True, timeout: float = TIMEOUT) -> None:
        self._known = write.KnownIds()
        self._together = Together(self._put_all)
        super().__init__(url, create=create, timeout=timeout)

    def begin(self, run: Run) -> None:
        """Records the run without results."""
        with self._writing() as connection:
            if write.add_header(connection, run) is None:
                raise StoreError(f"{self._place}: run {run.id!r} is there already")

    def put_run(self, run: Run) -> bool:
        """Begins a run, unless the same was begun: then False. Another one under its id is a `StoreError`."""
        with self._writing() as connection:
            if write.add_header(connection, run) is not None:
                return True
            if browse.header(connection, run.id) == replace(run, results=()):
                return False
        raise StoreError(f"{self._place}: another run has the id {run.id!r}", remedy="give it an id of its own")

    def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
        """Keeps one result with its points and raw samples, in the place of another if one is named."""
        upload = _upload(run_id, result, instead_of)
        with self._writing() as connection:
            upsert.add(connection, self._known, self._place, upload)
        if instead_of:
            self._forget()

    def add_all(self, run_id: str, results: Sequence[Result]) -> None:
        """Keeps several results of a run in one transaction."""
        with self._writing() as connection:
            write.add_results(connection, self._known, upsert.home(connection, self._place, run_id), results)

    def put(self, run_id: str, result: Result, *, instead_of: str = "") -> bool:
        """Adds a result, unless the same is there: then False. Another one under its id is a `StoreError`.

        Samples are the same when as many calls were made: those that are there may have aged out. What several threads
        put at the same time shares a transaction; each returns when its own is on the disk.
        """
        upload = _upload(run_id, result, instead_of)
        added = self._together(upload.name, upload)
        if instead_of:
            self._forget()
        return added

    def put_results(self, run_id: str, results: Sequence[Result]) -> int:
        """Adds those results that the run lacks, all or none, and returns how many they were.

        Another result under an id that is taken is a `StoreError`, as with `put`.
        """
        uploads = [_upload(run_id, result, "") for result in results]
        with self._writing() as connection:
            outcomes = upsert.put_all(connection, self._known, self._place, uploads)
            if refused := [outcome for outcome in outcomes if isinstance(outcome, Exception)]:
                raise refused[0]
        return sum(outcome is True for outcome in outcomes)

    def add_run(self, run: Run) -> bool:
        """Keeps a whole run in one transaction; False if a run of that id was there already (nothing changes)."""
        with self._writing() as connection:
            number = write.add_header(connection, run)
            if number is None:
                return False
            home = write.Home(number=number, revision=plain(run.revision.id) if run.revision else "")
            write.add_results(connection, self._known, home, run.results)
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

    def runs(self, *, limit: int = 20, tag: str = "", tries: bool = False) -> list[RunSummary]:
        """The newest runs first; with `tries`, also what was refused before anything was measured."""
        with self._reading() as connection:
            return read.summaries(connection, limit=limit, tag=tag, tries=tries)

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

    def update_finding(
        self, reference: str, remark: Remark | None = None, **changes: Unpack[FindingChanges]
    ) -> Finding:
        """Changes fields of a finding and adds a line to its story."""
        with self._writing() as connection:
            return findings.update(connection, reference, remark, changes)

    def mutes(self) -> list[Mute]:
        """What is muted, in order of the alphabet."""
        with self._reading() as connection:
            return ruling.mutes(connection)

    def mute(self, mute: Mute) -> None:
        """Reports no change any more in what it names."""
        with self._writing() as connection:
            ruling.mute(connection, mute)

    def unmute(self, what: str) -> bool:
        """Reports changes there again; False when it was not muted."""
        with self._writing() as connection:
            return ruling.unmute(connection, what)

    def thresholds(self) -> list[Threshold]:
        """Every threshold, in order of the alphabet."""
        with self._reading() as connection:
            return ruling.thresholds(connection)

    def set_threshold(self, threshold: Threshold) -> None:
        """Sets a threshold, in the place of one for the same cases and metric."""
        with self._writing() as connection:
            ruling.set_threshold(connection, threshold)

    def drop_threshold(self, case: str, metric: str = "") -> bool:
        """Takes a threshold away; False when there was none."""
        with self._writing() as connection:
            return ruling.drop_threshold(connection, case, metric)

    def token_add(self, name: str, scope: str, *, expires_at: str = "") -> str:
        """Makes a token with one of `archive.SCOPES`; it is shown this once, and only its hash is kept."""
        with self._writing() as connection:
            return tokens.add(connection, name, scope, expires_at=expires_at)

    def token_find(self, token: str) -> Token | None:
        """What a token may do; None when it is unknown, revoked or expired. Its use is put on record."""
        with self._reading() as connection:
            found = tokens.find(connection, token)
        if found and not tokens.used_now(found):
            with suppress(StoreError), self._writing() as connection:  # a store that cannot be written can be read
                tokens.use(connection, found.name)
        return found

    def tokens(self) -> list[Token]:
        """Every token, by name."""
        with self._reading() as connection:
            return tokens.by_name(connection)

    def token_drop(self, name: str) -> bool:
        """Revokes a token; False when there was none."""
        with self._writing() as connection:
            return tokens.drop(connection, name)

    def audit_add(self, *, who: str, address: str, action: str, what: str) -> None:
        """Adds a line to the audit log, which keeps the newest `audit.MOST`."""
        with self._writing() as connection:
            audit.add(connection, who=who, address=address, action=action, what=what)

    def audit(self, *, limit: int = 100, before: int = 0) -> list[AuditEntry]:
        """The newest lines first; those before the line of a number, when one is given."""
        with self._reading() as connection:
            return audit.newest(connection, limit=limit, before=before)

    def prune(self, rules: RetentionRules, *, dry_run: bool = False) -> Pruned:
        """Lets go what the rules say is too old, and gives space back where that is worth it; see `Rules`."""
        with self._reading() as connection:
            plan = retention.plan(connection, rules)
        smaller = 0
        if not dry_run:
            retention.carry_out(self._writing, plan)
            self._forget()
            with explained(self._place, self._file):
                smaller = engines.give_back(self._engine)
        return Pruned(
            runs=tuple(name for _, name in plan.runs),
            results=plan.results,
            aged=len(plan.aged),
            sample_bytes=plan.sample_bytes,
            given_back=smaller,
        )

    def size(self) -> int:
        """Bytes that the whole database takes."""
        with self._reading() as connection:
            return engines.size(connection)

    def info(self) -> StoreInfo:
        """What kind of store this is, and how much it holds."""
        with self._reading() as connection:
            return facts.info(connection, self._place)

    def _rolled_back(self) -> None:
        self._known = write.KnownIds()  # ids learnt in a transaction that was rolled back name nothing

    def _put_all(self, jobs: Sequence[CommitJob[Upload]]) -> None:
        """One transaction for all. Where one of them spoils it, each has its own."""
        try:
            outcomes = self._put([job.work for job in jobs])
        except (StoreError, ValueError, OverflowError) as error:
            if isinstance(error.__cause__, OperationalError):  # a lock, a disk, a connection: it is nobody's fault
                raise
            outcomes = [self._put_alone(job.work) for job in jobs]
        for job, outcome in zip(jobs, outcomes, strict=True):
            if isinstance(outcome, bool):
                job.done = outcome
            else:
                job.error = outcome

    def _put_alone(self, upload: Upload, tries: int = 2) -> upsert.Outcome:
        try:
            return self._put([upload])[0]
        except (StoreError, ValueError, OverflowError) as error:
            if tries > 1 and isinstance(error.__cause__, IntegrityError):  # somebody else put it there in this moment
                return self._put_alone(upload, tries - 1)
            return error

    def _put(self, uploads: Sequence[Upload]) -> list[upsert.Outcome]:
        with self._writing() as connection:
            return upsert.put_all(connection, self._known, self._place, uploads)


def _upload(run_id: str, result: Result, instead_of: str) -> Upload:
    [prepared] = write.prepare([result])  # outside the transaction, so that others can write meanwhile
    return Upload(run_id=run_id, prepared=prepared, instead_of=instead_of)
