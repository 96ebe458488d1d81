"""The store in an SQL database: every method of an `Archive`, each in a transaction of its own."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from sqlalchemy.exc import IntegrityError, OperationalError

from benchwright.errors import StoreError
from benchwright.records import Result, Run
from benchwright.store.archive import Token
from benchwright.store.sql import access, browse, counts, read, references, retention, upsert, write
from benchwright.store.sql import engine as engines
from benchwright.store.sql import findings as finding_rows
from benchwright.store.sql.codec import plain
from benchwright.store.sql.counts import StoreInfo
from benchwright.store.sql.database import explain_errors, reads, writes
from benchwright.store.sql.group_commit import CommitJob, GroupCommit
from benchwright.store.sql.page_database import PageDatabase
from benchwright.store.sql.retention import PruneSummary, RetentionRules
from benchwright.store.sql.rows import SqlRows
from benchwright.store.sql.run_writer import TIMEOUT
from benchwright.store.sql.write import Upload, upload_of


class SqlStore(PageDatabase):
    """An `Archive` at `sqlite:///path` or `postgresql://...`. Opening it makes what is missing: folder, file, tables;
    with `create` false, a missing file is an error.

    What a method wrote is on the disk when it returns. Several processes may write at once. One object serves several
    threads, but not a forked child.
    """

    def __init__(self, url: str, *, create: bool = True, timeout: float = TIMEOUT) -> None:
        self._known = write.KnownIds()
        self._together = GroupCommit(self._put_all)
        super().__init__(url, create=create, timeout=timeout)

    def begin(self, run: Run) -> None:
        """Records the run without results."""
        with self._writing() as connection:
            if write.add_header(SqlRows(connection), run) is None:
                raise StoreError(f"{self._place}: run {run.id!r} is there already")

    def put_run(self, run: Run) -> bool:
        """Begins a run, unless the same was begun: then False. Another one under its id is a `StoreError`."""
        with self._writing() as connection:
            if write.add_header(SqlRows(connection), run) is not None:
                return True
            if browse.header(connection, run.id) == replace(run, results=()):
                return False
        raise StoreError(f"{self._place}: another run has the id {run.id!r}", remedy="give the run an id of its own")

    def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
        """Keeps one result with its points and raw samples, in the place of another if one is named."""
        upload = upload_of(run_id, result, instead_of)
        with self._writing() as connection:
            write.add(SqlRows(connection), self._known, self._place, upload)
        if instead_of:
            self._forget()

    def add_all(self, run_id: str, results: Sequence[Result]) -> None:
        """Keeps several results of a run in one transaction."""
        with self._writing() as connection:
            rows = SqlRows(connection)
            home = write.home_of(write.homes(rows, [run_id]), self._place, run_id)
            write.add_results(rows, self._known, home, results)

    def put(self, run_id: str, result: Result, *, instead_of: str = "") -> bool:
        """Adds a result, unless the same is there: then False. Another one under its id is a `StoreError`.

        Samples are the same when as many calls were made: those that are there may have aged out. What several threads
        put at the same time shares a transaction; each returns when its own is on the disk.
        """
        upload = upload_of(run_id, result, instead_of)
        added = self._together(upload.name, upload)
        if instead_of:
            self._forget()
        return added

    def put_results(self, run_id: str, results: Sequence[Result]) -> int:
        """Adds those results that the run lacks, all or none, and returns how many they were.

        Another result under an id that is taken is a `StoreError`, as with `put`.
        """
        uploads = [upload_of(run_id, result, "") for result in results]
        with self._writing() as connection:
            outcomes = upsert.put_all(connection, self._known, self._place, uploads)
            if refused := [outcome for outcome in outcomes if isinstance(outcome, Exception)]:
                raise refused[0]
        return sum(outcome is True for outcome in outcomes)

    def add_run(self, run: Run) -> bool:
        """Keeps a whole run in one transaction; False if a run of that id was there already (nothing changes)."""
        with self._writing() as connection:
            number = write.add_header(SqlRows(connection), run)
            if number is None:
                return False
            home = write.OwningRun(number=number, revision=plain(run.revision.id) if run.revision else "")
            write.add_results(SqlRows(connection), self._known, home, run.results)
            return True

    find = reads(references.find)
    run = reads(read.run)
    samples = reads(read.samples)
    runs = reads(read.summaries)
    run_ids = reads(read.run_ids)
    history = reads(read.history)
    misses = reads(read.misses)
    case_names = reads(read.case_names)

    findings = reads(finding_rows.newest)
    finding = reads(finding_rows.find)
    keep_finding = writes(finding_rows.keep)
    update_finding = writes(finding_rows.update)
    mutes = reads(finding_rows.mutes)
    mute = writes(finding_rows.mute)
    unmute = writes(finding_rows.unmute)
    thresholds = reads(finding_rows.thresholds)
    set_threshold = writes(finding_rows.set_threshold)
    drop_threshold = writes(finding_rows.drop_threshold)

    tokens = reads(access.tokens)
    token_add = writes(access.add_token)
    token_drop = writes(access.drop_token)
    audit = reads(access.lines)
    audit_add = writes(access.add_line)

    size = reads(engines.size)

    def token_find(self, token: str) -> Token | None:
        """What a token may do; None when it is unknown, revoked or expired. Its use is put on record."""
        with self._reading() as connection:
            known = access.find_token(connection, token)
        if known and not access.is_use_recorded(known):
            with suppress(StoreError), self._writing() as connection:  # a store that cannot be written can be read
                access.record_use(connection, known.name)
        return known

    def prune(self, rules: RetentionRules, *, dry_run: bool = False) -> PruneSummary:
        """Lets go what the rules say is too old, and gives space back where that is worth it; see `Rules`."""
        with self._reading() as connection:
            plan = retention.plan(connection, rules)
        smaller = 0
        if not dry_run:
            retention.carry_out(self._writing, plan)
            self._forget()
            with explain_errors(self._place, self._file):
                smaller = engines.give_back(self._engine)
        return PruneSummary(
            runs=tuple(name for _, name in plan.runs),
            results=plan.results,
            aged=len(plan.aged),
            sample_bytes=plan.sample_bytes,
            given_back=smaller,
        )

    def info(self) -> StoreInfo:
        """What kind of store this is, and how much it holds."""
        with self._reading() as connection:
            return counts.info(connection, self._place)

    def _after_rollback(self) -> None:
        self._known = write.KnownIds()  # ids learnt in a transaction that was rolled back name nothing

    def _put_all(self, jobs: Sequence[CommitJob[Upload]]) -> None:
        """Writes all uploads in one transaction; where one of them fails, each in a transaction of its own."""
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
