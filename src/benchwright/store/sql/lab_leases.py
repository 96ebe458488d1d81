"""Leases of the lab: who has which job, until when, and what becomes of it.

A claim is a lease: it ends at an instant unless its agent says before then that it still works. Its fence, a word that
no other lease has, comes with every message about it; what an agent says under a fence that is over is refused, so of
several agents that believe they have the same job one alone can deliver it. Results and the end of the lease are one
transaction. PostgreSQL hands out jobs to several agents at once; SQLite has one writer.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, or_, select, update

from benchwright.errors import LeaseError, OptionError, StoreError
from benchwright.records import CONTROL, Result, Status
from benchwright.records.lab import (
    ABSENT,
    CONTROLLER,
    PLAN,
    RESERVATION,
    SECOND,
    JobState,
    LabJob,
    LabLease,
    LabMachine,
)
from benchwright.records.machines import Quarantines
from benchwright.store.sql import lab_rows, tables
from benchwright.store.sql import machines as machine_rows
from benchwright.store.sql.codec import plain
from benchwright.store.sql.write import Upload, upload_of
from benchwright.units.selectors import Selector

LEASE = 60.0  # seconds without a word after which a lease ends
MOST_ATTEMPTS = 5
MOST_LOSSES = 30  # with agents that were killed for reasons of their own, as far as one can know that
REST = 30.0  # seconds before a machine that could not measure a job is given it again; more each time
STICKY = 60.0  # seconds that a case waits for the machine that measured it last
RETURNED, REFUSED, FAILED = "returned", "refused", "failed"  # how an agent gives a job back
SPARED = "spared"  # how it comes back from an agent that was killed while its machine was well

_jobs, _machines = tables.lab_jobs, tables.lab_machines
Connect = Callable[[], AbstractContextManager[Connection]]
Put = Callable[[Connection, Sequence[Upload]], int]


class LabLeases:
    """The leases in a database. `put` keeps results inside of a transaction. Instants are given by the caller."""

    def __init__(self, reading: Connect, writing: Connect, put: Put) -> None:
        self._reading, self._writing, self._put = reading, writing, put

    def has_work(self, name: str, *, now: int) -> bool:
        """Whether there is something for a machine, as far as can be seen without taking it."""
        with self._reading() as connection:
            row = machine_row(connection, name)
            if not row.is_offered:
                return False
            if _leased(connection, row.name) is not None:
                return True
            conditions = self._conditions(connection, lab_rows.machine_of(row), now)
            if conditions is None:
                return False
            return connection.execute(select(_jobs.c.id).where(*conditions).limit(1)).first() is not None

    def claim(self, name: str, *, who: str, now: int, lease: float = LEASE, trouble: str = "") -> LabLease | None:
        """Gives a machine a job, or the one that it has already and did not hear of; None where nothing is for it.

        Higher priorities come first, then what waits longer. A case waits a little for the machine that measured it
        last, while that one can be expected to take it.
        """
        with self._writing() as connection:
            found = machine_row(connection, name, lock=True)
            _check_owner(found, who)
            seen = {"seen_at": now, "trouble": plain(trouble)[: lab_rows.LONGEST_REASON], "is_offered": 1}
            connection.execute(update(_machines).where(_machines.c.name == found.name).values(**seen))
            until = now + int(lease * SECOND)
            if (row := _leased(connection, found.name)) is not None:
                connection.execute(update(_jobs).where(_jobs.c.id == row.id).values(until=until))
                return _lease(row, until=until)
            if trouble:
                return None
            row = self._next(connection, lab_rows.machine_of(found), now)
            if row is None:
                return None
            fence = f"{row.id}.{row.attempt + 1}.{secrets.token_hex(8)}"
            changes = {"state": JobState.LEASED.value, "attempt": row.attempt + 1, "fence": fence, "since": now}
            changes |= {"leased_to": found.name, "until": until, "phase": ""}
            connection.execute(update(_jobs).where(_jobs.c.id == row.id).values(**changes))
            return _lease(row, **changes)

    def beat(self, fence: str, *, who: str, now: int, lease: float = LEASE, phase: str = "") -> LabJob:
        """Says that a lease's machine still works; the job with its new end. A `LeaseError` when it is over."""
        with self._writing() as connection:
            row = self._held(connection, fence, who)
            until = now + int(lease * SECOND)
            changes: dict[str, Any] = {"until": until, "phase": plain(phase)[:200]}
            connection.execute(update(_jobs).where(_jobs.c.id == row.id).values(**changes))
            connection.execute(update(_machines).where(_machines.c.name == row.leased_to).values(seen_at=now))
            return replace(lab_rows.job_of(row), **changes)

    def deliver(self, fence: str, results: Sequence[Result], *, who: str, now: int) -> tuple[LabJob, bool]:
        """Keeps all results of a job and ends its lease; the job, and whether that was not done before.

        A `LeaseError` when the lease is over.
        """
        if not results:
            raise OptionError("a job is delivered with its results", remedy="give it back instead")
        uploads: list[Upload] | None = None
        with self._reading() as connection:  # what takes long is done while others may write
            job = connection.execute(select(_jobs).where(_jobs.c.fence == plain(fence))).first()
            if job is not None:
                lab_rows.check_results(job, machine_row(connection, job.leased_to), results)
        if job is not None and job.run.startswith(PLAN):
            raise OptionError("this job plans, and has no results", remedy="answer with the cases that it found")
        if job is not None:
            case = lab_rows.work_of(job.document, job=job.id).case
            # The run knows what was measured; an agent has no say in that.
            own = [replace(result, case=case, revision=None) for result in results]
            uploads = [upload_of(job.run, result, "") for result in own]
        with self._writing() as connection:
            row = self._held(connection, fence, who, also=JobState.DONE)
            if row.state == JobState.DONE.value:
                return lab_rows.job_of(row), False
            assert uploads is not None
            self._put(connection, uploads)
            end_job(connection, row, JobState.DONE, now, lab_rows.reasons_of(row))
        return replace(lab_rows.job_of(row), state=JobState.DONE), True

    def answer(self, fence: str, document: str, *, who: str, now: int) -> LabJob:
        """Keeps what a job that plans has found, as JSON, and ends its lease; a `LeaseError` when that is over."""
        with self._writing() as connection:
            row = self._held(connection, fence, who, also=JobState.DONE)
            if not row.run.startswith(PLAN):
                raise OptionError("this job measures", remedy="deliver its results")
            if row.state != JobState.DONE.value:
                connection.execute(update(_jobs).where(_jobs.c.id == row.id).values(answer=document))
                end_job(connection, row, JobState.DONE, now, lab_rows.reasons_of(row))
        return replace(lab_rows.job_of(row), state=JobState.DONE)

    def delivered(self, fence: str, *, who: str) -> LabJob:
        """The job that was delivered under a fence; a `LeaseError` where none was."""
        with self._reading() as connection:
            row = connection.execute(select(_jobs).where(_jobs.c.fence == plain(fence))).first()
            if row is None or not fence or row.state != JobState.DONE.value:
                raise LeaseError("no job was delivered under this fence", remedy="deliver its results first")
            _check_owner(machine_row(connection, row.leased_to), who)
            return lab_rows.job_of(row)

    def may_fetch(self, digest: str, *, who: str) -> bool:
        """Whether a job that an agent has just now needs the file, or the list of files, of that digest."""
        parcels = tables.lab_parcels
        needs = or_(parcels.c.digest == digest, parcels.c.document.contains(digest, autoescape=True))
        query = select(_jobs.c.id).join(_machines, _machines.c.name == _jobs.c.leased_to)
        query = query.join(parcels, parcels.c.digest == _jobs.c.parcel)
        query = query.where(_jobs.c.state == JobState.LEASED.value, _machines.c.who == plain(who), needs).limit(1)
        with self._reading() as connection:
            return connection.execute(query).first() is not None

    def give_back(self, fence: str, *, who: str, now: int, kind: str, reason: str) -> LabJob:
        """Ends a lease without results. What an agent refuses is for others; what failed counts as an attempt."""
        with self._writing() as connection:
            row = self._held(connection, fence, who)
            state = self._take_back(connection, row, f"{row.leased_to}: {reason}", now, kind)
            if state is JobState.QUEUED and kind == FAILED:
                # Not at once to the same machine: all attempts would be over before anybody could mend it.
                rest = now + int(REST * row.attempt * SECOND)
                connection.execute(update(_jobs).where(_jobs.c.id == row.id).values(until=rest))
            return replace(lab_rows.job_of(row), state=state)

    def sweep(self, *, now: int) -> list[LabJob]:
        """Ends leases of which nothing was heard in time; the jobs that were lost so."""
        late = (_jobs.c.state == JobState.LEASED.value, _jobs.c.until < now)
        with self._reading() as connection:
            if connection.execute(select(_jobs.c.id).where(*late).limit(1)).first() is None:
                return []
        with self._writing() as connection:
            rows = connection.execute(select(_jobs).where(*late).with_for_update(skip_locked=True)).all()
            for row in rows:
                self._take_back(connection, row, f"nothing more was heard of {row.leased_to}", now)
        return [lab_rows.job_of(row) for row in rows]

    def renew_all(self, *, now: int, lease: float = LEASE) -> None:
        """Gives every lease its whole time from now on: nobody could be heard while the server was away."""
        leased, until = _jobs.c.state == JobState.LEASED.value, now + int(lease * SECOND)
        with self._reading() as connection:
            if connection.execute(select(_jobs.c.id).where(leased).limit(1)).first() is None:
                return
        with self._writing() as connection:
            connection.execute(update(_jobs).where(leased, _jobs.c.until < until).values(until=until))

    # ---- inside of a transaction ----

    def _held(self, connection: Connection, fence: str, who: str, *, also: JobState = JobState.LEASED) -> Row[Any]:
        """The job of a lease that lasts, for as long as the transaction does."""
        row = connection.execute(select(_jobs).where(_jobs.c.fence == plain(fence)).with_for_update()).first()
        if row is None or not fence or row.state not in (JobState.LEASED.value, also.value):
            why = (
                "it was cancelled" if row is not None and row.state == JobState.CANCELLED.value else "its time is over"
            )
            raise LeaseError(f"the job is no longer this machine's: {why}", remedy="drop it, and ask for another")
        _check_owner(machine_row(connection, row.leased_to), who)
        return row

    def _take_back(self, connection: Connection, row: Row[Any], reason: str, now: int, kind: str = FAILED) -> JobState:
        reasons = [*lab_rows.reasons_of(row), reason[: lab_rows.LONGEST_REASON]][-lab_rows.MOST_REASONS :]
        counts, losses = kind not in (RETURNED, REFUSED, SPARED), row.losses + (kind == SPARED)
        if (counts and row.attempt >= MOST_ATTEMPTS) or losses > MOST_LOSSES:
            said = f"given up after {row.attempt + row.losses} attempts: {'; '.join(reasons)}"
            records = lab_rows.unmeasured_results(
                row,
                status=Status.FAILED,
                kind="lost",
                message=said,
                remedy="submit it again when its machines are well",
            )
            if records:
                self._put(connection, [upload_of(row.run, record, "") for record in records])
            end_job(connection, row, JobState.FAILED, now, reasons)
            return JobState.FAILED
        changes: dict[str, Any] = {"state": JobState.QUEUED.value, "fence": "", "phase": "", "until": 0}
        changes |= {"reasons": json.dumps(reasons), "attempt": row.attempt if counts else row.attempt - 1}
        changes["losses"] = losses
        if kind == REFUSED:
            changes["avoid"] = f"{row.avoid or chr(10)}{row.leased_to}\n"
        connection.execute(update(_jobs).where(_jobs.c.id == row.id).values(**changes))
        return JobState.QUEUED

    def _next(self, connection: Connection, machine: LabMachine, now: int) -> Row[Any] | None:
        """The job that the machine is given, locked: the first of all, or the first of its own of the same priority."""
        conditions = self._conditions(connection, machine, now)
        if conditions is None:
            return None
        query = select(_jobs).where(*conditions).order_by(_jobs.c.rank, _jobs.c.id).limit(1)
        query = query.with_for_update(skip_locked=True)
        own = connection.execute(query.where(_jobs.c.prefers == machine.name)).first()
        if own is None:
            # What was lost here is rather for another machine: it may be this one that is ill.
            others = query.where(or_(_jobs.c.attempt == 0, _jobs.c.leased_to != machine.name))
            return connection.execute(others).first() or connection.execute(query).first()
        first = connection.execute(query.where(_jobs.c.rank < own.rank)).first()
        return first or own

    def _conditions(self, connection: Connection, machine: LabMachine, now: int) -> list[ColumnElement[bool]] | None:
        """What holds for the jobs that the machine may have; None where it may have none."""
        holds = lab_rows.holds(connection, at=now)
        quarantines = Quarantines(machine_rows.quarantines(connection))
        own = [hold for hold in holds if hold.machine == machine.name]
        reserved = next((hold for hold in own if hold.kind == RESERVATION), None)
        if len(own) > (reserved is not None):
            return None
        queued = _jobs.c.state == JobState.QUEUED.value
        texts = lab_rows.waiting_selectors(connection)
        fitting = [text for text in texts if Selector.parse(text).matches(machine.described)]
        if not fitting:
            return None
        expected = [
            other.name
            for other in lab_rows.machines(connection)
            if other.name != machine.name
            and other.is_offered
            and not other.trouble
            and now - other.seen_at < ABSENT * SECOND
            and quarantines.is_judged(other.key, now)
            and not any(hold.machine == other.name for hold in holds)
        ]
        # A case that another machine measured last is left to it for a while, if that one can be expected to come.
        free = or_(_jobs.c.prefers.not_in(expected), _jobs.c.queued_at < now - int(STICKY * SECOND))
        found = [queued, _jobs.c.selector.in_(fitting), _jobs.c.machine.in_(["", machine.name])]
        found += [~_jobs.c.avoid.contains(f"\n{machine.name}\n", autoescape=True)]
        found += [or_(_jobs.c.until <= now, _jobs.c.leased_to != machine.name)]
        found += [free] if expected else []
        # The control benchmark says how a machine is, so it runs there whoever has it, and whatever is wrong with it.
        # A title alone does not make one: SQLite compares without regard to capitals, and anybody may choose a title.
        is_control = and_(_jobs.c.who == CONTROLLER, _jobs.c.title.startswith(CONTROL, autoescape=True))
        found += [or_(_jobs.c.who == reserved.who, is_control)] if reserved else []
        return found if quarantines.is_judged(machine.key, now) else [*found, is_control]


def machine_row(connection: Connection, name: str, *, lock: bool = False) -> Row[Any]:
    """The row of a machine; with `lock`, nobody else changes it before the transaction ends."""
    query = select(_machines).where(_machines.c.name == plain(name))
    row = connection.execute(query.with_for_update() if lock else query).first()
    if row is None:
        raise StoreError(f"no machine {name!r} in this lab", remedy="benchwright lab lists them")
    return row


def _check_owner(machine: Row[Any], who: str) -> None:
    if machine.who != plain(who):
        raise LeaseError(f"the machine {machine.name!r} is another agent's", remedy="use the token it was offered with")


def _leased(connection: Connection, name: str) -> Row[Any] | None:
    leased = (_jobs.c.leased_to == name, _jobs.c.state == JobState.LEASED.value)
    return connection.execute(select(_jobs).where(*leased).limit(1)).first()


def _lease(row: Row[Any], **changes: Any) -> LabLease:
    """The lease of a job that was changed so."""
    job = replace(lab_rows.job_of(row), **{**changes, "state": JobState.LEASED})
    return LabLease(job=job, work=lab_rows.work_of(row.document, job=row.id), fence=job.fence, until=job.until)


def end_job(connection: Connection, row: Row[Any], state: JobState, now: int, reasons: Sequence[str]) -> None:
    """Ends a job. Its fence stays, so that an agent that delivers it again is told the same."""
    changes: dict[str, Any] = {"state": state.value, "ended_at": now, "phase": "", "reasons": json.dumps([*reasons])}
    if row.state == JobState.LEASED.value:
        changes["seconds"] = max(0, now - row.since) / SECOND
    connection.execute(update(_jobs).where(_jobs.c.id == row.id).values(**changes))
