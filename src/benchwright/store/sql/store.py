"""The store in an SQL database: every method of an `Archive`, each in a transaction of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError, OperationalError

from benchwright.errors import StoreError
from benchwright.records import Result, Run
from benchwright.schema.quick_results import QuickResult
from benchwright.store.archive import PersonSession, Token
from benchwright.store.sql import access, arrivals, browse, counts, raw_runs, read, references, retention, upsert, write
from benchwright.store.sql import causes as cause_rows
from benchwright.store.sql import claims as claim_rows
from benchwright.store.sql import engine as engines
from benchwright.store.sql import findings as finding_rows
from benchwright.store.sql import notify_targets as target_rows
from benchwright.store.sql import sessions as session_rows
from benchwright.store.sql.counts import StoreInfo
from benchwright.store.sql.database import explain_errors, reads, writes
from benchwright.store.sql.group_commit import CommitJob, GroupCommit
from benchwright.store.sql.lab_queue import LabQueue
from benchwright.store.sql.page_database import PageDatabase
from benchwright.store.sql.raw_runs import RawRun
from benchwright.store.sql.retention import PruneSummary, RetentionRules
from benchwright.store.sql.rows import SqlRows
from benchwright.store.sql.run_writer import TIMEOUT
from benchwright.store.sql.write import PreparedResult, RunOfParts, Upload, upload_of


class SqlStore(PageDatabase):
    """An `Archive` at `sqlite:///path` or `postgresql://...`. Opening it makes what is missing: folder, file, tables;
    with `create` false, a missing file is an error.

    What a method wrote is on the disk when it returns. Several processes may write at once. One object serves several
    threads, but not a forked child.
    """

    def __init__(self, url: str, *, create: bool = True, timeout: float = TIMEOUT) -> None:
        self._known = write.KnownIds()
        self._series_rows = raw_runs.SeriesRows()
        self._together = GroupCommit(self._put_all)
        super().__init__(url, create=create, timeout=timeout)
        self.lab = LabQueue(self._reading, self._writing, self._put_within)

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

    def put(self, run_id: str, result: Result | QuickResult, *, instead_of: str = "") -> bool:
        """Adds a result, unless the same is there: then False. Another one under its id is a `StoreError`.

        Samples are the same when as many calls were made: those that are there may have aged out. What several threads
        put at the same time shares a transaction; each returns when its own is on the disk.
        """
        upload = upload_of(run_id, result, instead_of)
        added = self._together(upload.name, upload)
        if instead_of:
            self._forget()
        return added

    def put_uploads(self, uploads: Sequence[Upload]) -> list[upsert.Outcome]:
        """Adds results in one transaction: of each whether it is new, or why it is refused. Their ids differ."""
        jobs = [CommitJob(name=upload.name, work=upload) for upload in uploads]
        self._put_all(jobs)
        return [job.error if isinstance(job.error, Exception) else bool(job.done) for job in jobs]

    def put_results(self, run_id: str, results: Sequence[Result | QuickResult]) -> int:
        """Adds those results that the run lacks, all or none, and returns how many they were.

        Another result under an id that is taken is a `StoreError`, as with `put`.
        """
        uploads = [upload_of(run_id, result, "") for result in results]
        with self._writing() as connection:
            return self._put_within(connection, uploads)

    def add_run(self, run: Run) -> bool:
        """Keeps a whole run in one transaction; False if a run of that id was there already (nothing changes)."""
        return self.add_run_parts(run, ())

    def add_run_parts(self, run: Run, results: Sequence[QuickResult | PreparedResult]) -> bool:
        """Keeps a whole run, as `add_run` does, of which results may be given beside it as they were read."""
        with self._writing() as connection:
            return write.add_run(SqlRows(connection), self._known, run, results)

    def add_runs(self, runs: Sequence[RunOfParts]) -> list[bool]:
        """Keeps whole runs in one transaction; of each whether it is new. Those before one that fails stay."""
        try:
            with self._writing() as connection:
                return write.add_runs(SqlRows(connection), self._known, runs)
        except (StoreError, ValueError, OverflowError) as error:
            if len(runs) == 1 or isinstance(error.__cause__, OperationalError):
                raise
        return [self.add_run_parts(run, quick) for run, quick in runs]

    def raw_runs(self, run_ids: Sequence[str], *, points: bool = True) -> dict[str, RawRun]:
        """The runs of these ids that are there and whole, as rows that another database can take; by id."""
        with self._reading() as connection:
            return raw_runs.read(connection, run_ids, self._series_rows if points else None)

    def raw_batches(self, run_ids: Sequence[str]) -> list[list[str]]:
        """The ids of runs in pieces that `raw_runs` can hold in memory."""
        with self._reading() as connection:
            return list(raw_runs.batches(connection, run_ids))

    def add_raw_runs(self, runs: Sequence[RawRun]) -> list[str]:
        """Keeps runs of another database in one transaction; the ids of those that were not there already."""
        with self._writing() as connection:
            return raw_runs.add(connection, self._known, runs)

    find = reads(references.find)
    run = reads(read.run)
    samples = reads(read.samples)
    runs = reads(read.summaries)
    run_ids = reads(read.run_ids)
    history = reads(read.history)
    misses = reads(read.misses)

    findings = reads(finding_rows.newest)
    finding = reads(finding_rows.find)
    keep_finding = writes(finding_rows.keep)
    update_finding = writes(finding_rows.update)
    causes = reads(cause_rows.newest)
    triage_findings = writes(finding_rows.triage)
    split_findings = writes(finding_rows.split)
    join_findings = writes(finding_rows.join)
    finding_heads = reads(cause_rows.heads)
    causes_joined = reads(cause_rows.joined)
    run_labels = reads(cause_rows.run_labels)
    findings_of = reads(cause_rows.documents)
    fill_causes = reads(cause_rows.fill)
    find_cause = reads(cause_rows.find)
    count_causes = reads(cause_rows.count)
    claim = writes(claim_rows.claim)
    give_back = writes(claim_rows.give_back)
    mutes = reads(finding_rows.mutes)
    mute = writes(finding_rows.mute)
    unmute = writes(finding_rows.unmute)
    thresholds = reads(finding_rows.thresholds)
    set_threshold = writes(finding_rows.set_threshold)
    drop_threshold = writes(finding_rows.drop_threshold)

    arrived = reads(arrivals.arrived)
    settle_arrivals = writes(arrivals.settle)
    mark_judged = writes(arrivals.mark_judged)
    list_again = writes(arrivals.list_again)
    judging = reads(arrivals.state)
    note_judge_failure = writes(arrivals.note_failure)
    begin_look = writes(arrivals.begin_look)
    end_look = writes(arrivals.end_look)
    note_untold = writes(arrivals.note_untold)
    untold = reads(arrivals.untold)
    drop_untold = writes(arrivals.drop_untold)

    def hold_judging(self) -> AbstractContextManager[Callable[[], bool] | None]:
        """Holds off other processes that would judge what arrives here; None where another one does it already."""
        return engines.hold_judging(self._engine, self._file)

    tokens = reads(access.tokens)
    token_add = writes(access.add_token)
    token_drop = writes(access.drop_token)
    audit = reads(access.lines)
    audit_add = writes(access.add_line)

    sessions = reads(session_rows.sessions)
    session_add = writes(session_rows.add_session)
    session_drop = writes(session_rows.drop_session)
    session_end = writes(session_rows.end_session)

    notify_targets = reads(target_rows.notify_targets)
    put_notify_target = writes(target_rows.put_notify_target)
    drop_notify_target = writes(target_rows.drop_notify_target)

    size = reads(engines.size)

    def token_find(self, token: str) -> Token | None:
        """What a token may do; None when it is unknown, revoked or expired. Its use is put on record."""
        return self.tokens_find([token]).get(token)

    def tokens_find(self, tokens: Sequence[str]) -> dict[str, Token]:
        """What each of these tokens may do; those that are unknown, revoked or expired are left out."""
        if not tokens:
            return {}
        with self._reading() as connection:
            known = access.find_tokens(connection, tokens)
        unrecorded = [token.name for token in known.values() if not access.is_use_recorded(token)]
        if unrecorded:
            with suppress(StoreError), self._writing() as connection:  # a store that cannot be written can be read
                for name in unrecorded:
                    access.record_use(connection, name)
        return known

    def session_find(self, held: str, *, idle: float) -> PersonSession | None:
        """Whose session a browser holds; None when it is unknown or over. Its use is put on record."""
        with self._reading() as connection:
            known = session_rows.find_session(connection, held, idle=idle)
        if known and not session_rows.is_visit_recorded(known):
            with suppress(StoreError), self._writing() as connection:  # a store that cannot be written can be read
                session_rows.record_visit(connection, held)
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

    def _put_within(self, connection: Connection, uploads: Sequence[Upload]) -> int:
        """Adds those results that are lacking, all or none, in a transaction that is under way; how many they were."""
        outcomes = upsert.put_all(connection, self._known, self._place, uploads)
        if refused := [outcome for outcome in outcomes if isinstance(outcome, Exception)]:
            raise refused[0]
        return sum(outcome is True for outcome in outcomes)

    def _put(self, uploads: Sequence[Upload]) -> list[upsert.Outcome]:
        with self._writing() as connection:
            return upsert.put_all(connection, self._known, self._place, uploads)
