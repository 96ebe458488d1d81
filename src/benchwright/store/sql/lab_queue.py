"""The lab's queue: who offers machines, and what waits for them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from benchwright import schema
from benchwright.errors import LeaseError, OptionError, StoreError
from benchwright.records import Case, Run, Status
from benchwright.records.lab import (
    ABSENT,
    PLAN,
    SECOND,
    JobState,
    LabHold,
    LabJob,
    LabMachine,
    LabState,
    LabSubmission,
    LabWork,
)
from benchwright.records.machines import Quarantine
from benchwright.store.sql import access, lab_rows, tables, write
from benchwright.store.sql import machines as machine_rows
from benchwright.store.sql.codec import plain
from benchwright.store.sql.engine import insert_missing
from benchwright.store.sql.lab_leases import FAILED, SPARED, LabLeases, end_job, machine_row
from benchwright.store.sql.rows import SqlRows
from benchwright.store.sql.write import upload_of
from benchwright.units.selectors import Selector

MOST_JOBS = 100_000  # that may wait at once

_jobs, _machines = tables.lab_jobs, tables.lab_machines
_LONGEST_TITLE = 500  # characters
_AT_ONCE = 500  # results that are made before they are written: a run may have very many
_OPEN = [JobState.QUEUED.value, JobState.LEASED.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job on its way into the queue."""

    work: LabWork
    parcel: str  # the digest of its list of files
    machine: str = ""  # that it is meant for; "" for any that fits


class LabQueue(LabLeases):
    """The queue in a database, with its leases. Instants are given by the caller."""

    # ---- machines ----

    def register(
        self,
        machines: Sequence[LabMachine],
        *,
        who: str,
        now: int,
        holding: Iterable[str] = (),
        unharmed: Iterable[str] = (),
    ) -> list[LabJob]:
        """Offers machines. What they had before and know nothing of, having been started anew, goes back to the queue.

        `holding` are the fences that their agent still works under. `unharmed` are machines that were well when their
        agent was killed, so that what they had is not to blame for it. A name that another token has registered is
        refused while that machine is heard of.
        """
        held, well = {*holding}, {*map(plain, unharmed)}
        with self._writing() as connection:
            for machine in machines:
                self._offer(connection, machine, who, now)
            names = [plain(machine.name) for machine in machines]
            query = select(_jobs).where(_jobs.c.leased_to.in_(names), _jobs.c.state == JobState.LEASED.value)
            lost = [row for row in connection.execute(query.with_for_update()) if row.fence not in held]
            for row in lost:
                kind = SPARED if row.leased_to in well else FAILED
                self._take_back(connection, row, f"the agent of {row.leased_to} was started anew", now, kind)
        return [lab_rows.job_of(row) for row in lost]

    def leave(self, names: Sequence[str], *, who: str) -> int:
        """Offers machines no longer: their agent ends; how many were offered before."""
        chosen = (_machines.c.name.in_([plain(name) for name in names]), _machines.c.who == plain(who))
        with self._writing() as connection:
            offered = update(_machines).where(*chosen, _machines.c.is_offered == 1)
            return connection.execute(offered.values(is_offered=0)).rowcount

    def forget(self, name: str) -> bool:
        """Removes a machine and its holds; False when there was none, or when it has a job."""
        with self._writing() as connection:
            busy = select(_jobs.c.id).where(_jobs.c.leased_to == plain(name), _jobs.c.state == JobState.LEASED.value)
            if connection.execute(busy.limit(1)).first() is not None:
                return False
            connection.execute(tables.lab_holds.delete().where(tables.lab_holds.c.machine == plain(name)))
            return connection.execute(_machines.delete().where(_machines.c.name == plain(name))).rowcount > 0

    def machines(self) -> list[LabMachine]:
        """Every machine, by name."""
        with self._reading() as connection:
            return lab_rows.machines(connection)

    def machine(self, name: str) -> LabMachine:
        """The machine of that name."""
        with self._reading() as connection:
            return lab_rows.machine_of(machine_row(connection, name))

    def hold(self, hold: LabHold) -> None:
        """Drains or reserves a machine, in the place of an earlier hold of the kind."""
        with self._writing() as connection:
            machine_row(connection, hold.machine)
            lab_rows.set_hold(connection, hold)

    def unhold(self, machine: str, kind: str) -> bool:
        """Ends a hold; False when there was none."""
        with self._writing() as connection:
            return lab_rows.drop_hold(connection, machine, kind)

    # ---- what waits ----

    def submit(
        self, run: Run, submission: LabSubmission, jobs: Sequence[NewJob], parcels: Mapping[str, str], *, now: int
    ) -> list[int]:
        """Begins a run and puts its jobs into the queue, all or none; their numbers. The same again changes nothing."""
        if not jobs:
            raise OptionError("a submission has at least one job", remedy="name something to measure")
        with self._writing() as connection:
            if write.add_header(SqlRows(connection), run) is None:
                return self._repeated(connection, run.id, submission)
            return self._put_into_queue(connection, submission, jobs, parcels, now)

    def submit_plan(self, submission: LabSubmission, job: NewJob, parcels: Mapping[str, str], *, now: int) -> list[int]:
        """Puts a job into the queue that plans, and begins no run; its number. The same again changes nothing."""
        known = select(tables.lab_submissions.c.run).where(tables.lab_submissions.c.run == plain(submission.run))
        with self._writing() as connection:
            if connection.execute(known).first() is not None:
                return self._repeated(connection, submission.run, submission)
            return self._put_into_queue(connection, submission, [job], parcels, now)

    def answer_of(self, run: str) -> str:
        """What the job that plans has found, as JSON; "" while it has not."""
        with self._reading() as connection:
            return connection.scalar(select(_jobs.c.answer).where(_jobs.c.run == plain(run))) or ""

    def _put_into_queue(
        self,
        connection: Connection,
        submission: LabSubmission,
        jobs: Sequence[NewJob],
        parcels: Mapping[str, str],
        now: int,
    ) -> list[int]:
        """Adds a submission with its jobs, all or none; their numbers."""
        selector = Selector.parse(submission.selector).text
        keys = [schema.case_key(job.work.case) for job in jobs]
        waiting = select(_jobs.c.id).where(_jobs.c.state == JobState.QUEUED.value).limit(MOST_JOBS + 1)
        if len(connection.execute(waiting).all()) + len(jobs) > MOST_JOBS:
            raise OptionError(f"more than {MOST_JOBS:,} jobs would wait", remedy="submit fewer, or wait")
        head = {"run": plain(submission.run), "who": plain(submission.who), "at": now, "selector": selector}
        head |= {"spread": submission.where, "priority": submission.priority}
        connection.execute(insert(tables.lab_submissions), head)
        documents = [{"digest": name, "document": document, "at": now} for name, document in parcels.items()]
        if documents:
            connection.execute(insert_missing(connection.dialect, tables.lab_parcels), documents)
        # Whichever machine is free may plan: no history hangs on it.
        past = {} if submission.run.startswith(PLAN) else lab_rows.past_of(connection, keys)
        rows = [
            _new_row(job, key, submission, selector, past.get(key, ("", 0.0)), now)
            for job, key in zip(jobs, keys, strict=True)
        ]
        connection.execute(insert(_jobs), rows)
        added = select(_jobs.c.id).where(_jobs.c.run == plain(submission.run)).order_by(_jobs.c.id)
        return list(connection.scalars(added))

    def submission(self, run: str) -> LabSubmission:
        """What was submitted as that run."""
        with self._reading() as connection:
            return _submission(connection, run)

    def jobs(self, run: str) -> list[LabJob]:
        """The jobs of a run, in the order they were submitted."""
        query = select(*lab_rows.JOB_COLUMNS).where(_jobs.c.run == plain(run)).order_by(_jobs.c.id)
        with self._reading() as connection:
            return [lab_rows.job_of(row) for row in connection.execute(query)]

    def submissions(self, *, limit: int = 100) -> list[LabSubmission]:
        """What was submitted, the newest first."""
        table = tables.lab_submissions
        with self._reading() as connection:
            rows = connection.execute(select(table).order_by(table.c.at.desc(), table.c.run.desc()).limit(limit))
            return [lab_rows.submission_of(row) for row in rows]

    def state(self, *, now: int, limit: int = MOST_JOBS) -> LabState:
        """Machines, what holds them, and what is open; of what waits at most the first `limit`."""
        with self._reading() as connection:
            jobs = select(*lab_rows.JOB_COLUMNS).order_by(_jobs.c.rank, _jobs.c.id)
            leased = connection.execute(jobs.where(_jobs.c.state == JobState.LEASED.value)).all()
            rows = connection.execute(jobs.where(_jobs.c.state == JobState.QUEUED.value).limit(limit)).all()
            queued = select(func.count()).select_from(_jobs).where(_jobs.c.state == JobState.QUEUED.value)
            return LabState(
                waiting=connection.scalar(queued) or 0,
                jobs=tuple(lab_rows.job_of(row) for row in (*leased, *rows)),
                machines=tuple(lab_rows.machines(connection)),
                holds=tuple(lab_rows.holds(connection, at=now)),
                quarantines=_lasting(machine_rows.quarantines(connection), now),
            )

    def parcel(self, digest: str) -> str:
        """The list of files of that digest, as JSON."""
        with self._reading() as connection:
            found = lab_rows.parcels(connection, [digest])
        if digest not in found:
            raise StoreError(f"no list of files {digest[:12]!r}", remedy="its jobs may have ended")
        return found[digest]

    def open_parcels(self) -> dict[str, str]:
        """The lists of files that open jobs need, by digest."""
        with self._reading() as connection:
            is_open = _jobs.c.state.in_(_OPEN)
            return lab_rows.parcels(
                connection, list(connection.scalars(select(_jobs.c.parcel).where(is_open).distinct()))
            )

    def prune(self, *, before: int) -> None:
        """Removes jobs that ended before an instant, and lists of files that no open job needs."""
        is_open = _jobs.c.state.in_(_OPEN)
        with self._writing() as connection:
            connection.execute(_jobs.delete().where(_jobs.c.ended_at > 0, _jobs.c.ended_at < before))
            needed = select(_jobs.c.parcel).where(is_open)
            table = tables.lab_parcels
            connection.execute(table.delete().where(table.c.digest.not_in(needed), table.c.at < before))

    def is_open(self, run: str) -> bool:
        """Whether something is still to come of a run."""
        query = select(_jobs.c.id).where(_jobs.c.run == plain(run), _jobs.c.state.in_(_OPEN)).limit(1)
        with self._reading() as connection:
            return connection.execute(query).first() is not None

    def begin_control(self, machine: LabMachine, *, now: int) -> bool:
        """Notes that a machine's control benchmark is put into the queue; False where another server just did."""
        chosen = (_machines.c.name == plain(machine.name), _machines.c.control_at == machine.control_at)
        with self._writing() as connection:
            return connection.execute(update(_machines).where(*chosen).values(control_at=now)).rowcount == 1

    def cancel(self, run: str, *, who: str, now: int, reason: str = "") -> int:
        """Ends the open jobs of a run, also those that are being measured; how many there were."""
        said = f"cancelled by {who or 'somebody'}{': ' if reason else ''}{reason}"[: lab_rows.LONGEST_REASON]
        with self._writing() as connection:
            _submission(connection, run)
            is_open = _jobs.c.state.in_(_OPEN)
            query = select(_jobs).where(_jobs.c.run == plain(run), is_open).order_by(_jobs.c.id)
            rows = connection.execute(query.with_for_update()).all()
            for row in rows:
                end_job(connection, row, JobState.CANCELLED, now, [*lab_rows.reasons_of(row), said])
            records = (
                record
                for row in rows
                for record in lab_rows.unmeasured_results(
                    row, status=Status.SKIPPED, kind="cancelled", message=said, remedy="submit it again"
                )
            )
            while some := [upload_of(plain(run), record, "") for record in islice(records, _AT_ONCE)]:
                self._put(connection, some)
        return len(rows)

    def set_priority(self, run: str, priority: int) -> int:
        """Changes the priority of what still waits of a run; how many jobs that were."""
        with self._writing() as connection:
            _submission(connection, run)
            table = tables.lab_submissions
            connection.execute(update(table).where(table.c.run == plain(run)).values(priority=priority))
            chosen = (_jobs.c.run == plain(run), _jobs.c.state == JobState.QUEUED.value)
            return connection.execute(update(_jobs).where(*chosen).values(rank=-priority)).rowcount

    # ---- inside of a transaction ----

    def _offer(self, connection: Connection, machine: LabMachine, who: str, now: int) -> None:
        row = lab_rows.machine_row(machine, who=who, now=now)
        known = connection.execute(select(_machines).where(_machines.c.name == row["name"]).with_for_update()).first()
        if known is None:
            connection.execute(insert(_machines), row)
            return
        if known.who != row["who"]:
            # A name stands for a history of results: nobody else takes it over while its owner could come back.
            if known.is_offered and now - known.seen_at < ABSENT * SECOND:
                said, remedy = "another agent offers a machine {!r} just now", "give this one another --agent-name"
                raise LeaseError(said.format(machine.name), remedy=remedy)
            if access.is_token(connection, known.who):
                raise LeaseError(
                    f"the machine {machine.name!r} was offered with the token {known.who!r}",
                    remedy="use that one, or revoke it; `benchwright lab forget` gives the name up",
                )
        connection.execute(update(_machines).where(_machines.c.name == row["name"]).values(**row))

    def _repeated(self, connection: Connection, run: str, submission: LabSubmission) -> list[int]:
        """The jobs of a run that was submitted before, by the same person: an answer that got lost is asked again."""
        row = connection.execute(
            select(tables.lab_submissions).where(tables.lab_submissions.c.run == plain(run))
        ).first()
        if row is None or row.who != plain(submission.who):
            raise OptionError(f"run {run!r} is there already", remedy="give the run an id of its own")
        return list(connection.scalars(select(_jobs.c.id).where(_jobs.c.run == plain(run)).order_by(_jobs.c.id)))


def _new_row(
    job: NewJob, key: str, submission: LabSubmission, selector: str, past: tuple[str, float], now: int
) -> dict[str, Any]:
    return {
        "run": plain(submission.run),
        "who": plain(submission.who),
        "title": plain(_title(job.work.case)),
        "rounds": job.work.rounds,
        "case_key": key,
        "selector": selector,
        "machine": plain(job.machine),
        "prefers": "" if job.machine else past[0],
        "avoid": "",
        "rank": -submission.priority,
        "state": JobState.QUEUED.value,
        "attempt": 0,
        "fence": "",
        "leased_to": "",
        "since": 0,
        "until": 0,
        "phase": "",
        "reasons": "[]",
        "queued_at": now,
        "ended_at": 0,
        "expected": past[1],
        "seconds": 0.0,
        "parcel": job.parcel,
        "document": json.dumps(schema.encode(job.work)),
    }


def _title(case: Case) -> str:
    """The case and its params, but for one worker and one copy, which most have."""
    params = {name: value for name, value in case.params.items() if name not in ("workers", "copies") or value != 1}
    told = " ".join(f"{name}={value}" for name, value in params.items())
    return f"{case.name} {told}".strip()[:_LONGEST_TITLE]


def _submission(connection: Connection, run: str) -> LabSubmission:
    table = tables.lab_submissions
    row = connection.execute(select(table).where(table.c.run == plain(run))).first()
    if row is None:
        raise StoreError(f"run {run!r} was not submitted to this lab", remedy="benchwright lab lists what was")
    return lab_rows.submission_of(row)


def _lasting(quarantines: Iterable[Quarantine], now: int) -> tuple[Quarantine, ...]:
    return tuple(one for one in quarantines if one.covers(one.machine, now))
