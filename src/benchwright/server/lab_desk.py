"""What the routes of the lab share: its files, a bell for machines that wait for work, and what is done by itself."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from benchwright import schema
from benchwright._version import VERSION
from benchwright.errors import BenchwrightError
from benchwright.execution.session import new_run_id
from benchwright.lab.parcels import LabParcel, digests_of, pack
from benchwright.records import CONTROL_TAG, Run
from benchwright.records.lab import (
    ABSENT,
    CONTROLLER,
    PLAN,
    SECOND,
    JobState,
    LabJob,
    LabMachine,
    LabSubmission,
    LabWork,
)
from benchwright.schema.parsing import json_value
from benchwright.server.lab_files import LabFiles
from benchwright.server.shared_state import SharedCounter
from benchwright.store.live import ENDED, Progress
from benchwright.store.sql import SqlStore
from benchwright.store.sql.lab_leases import LEASE
from benchwright.store.sql.lab_queue import NewJob
from benchwright.workflows.control import is_unusual

HEARTBEAT = 10.0  # seconds between two words about a job
POLL = 20.0  # seconds that a question for work may wait
LOOK = 5.0  # seconds between two looks at the queue: another process may have changed it
SWEEP = 5.0  # seconds between two looks for leases that are over
PRUNE = 3600.0
KEPT = 90 * 86400  # seconds that jobs are kept after their end
SOON = 600.0  # seconds between two controls of a machine that is watched
_URGENT = 50  # the priority of control benchmarks
_TELL = 2.0  # seconds between two words about one run
_LISTEN = 0.1  # seconds between two looks at the bell of other processes: it is a number in memory


class LabDesk:
    """The lab of one server: may be used by several threads."""

    def __init__(
        self,
        store: SqlStore,
        folder: Path,
        *,
        lease: float = LEASE,
        control: float = 0.0,
        bell: SharedCounter | None = None,
    ) -> None:
        self.store, self.lease, self._control = store, lease, control
        self._bell = bell  # that the other processes of this server hear
        self._outstanding: dict[str, tuple[int, bool]] = {}  # by machine: when its last control was queued
        self.files = LabFiles(folder)
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._lock = threading.Lock()
        self._told: dict[str, float] = {}
        self._ended = threading.Event()

    # ---- the bell ----

    def ring(self) -> None:
        """Wakes whoever waits for work: something has changed."""
        if self._bell is not None:
            self._bell.add()
        with self._lock:
            waiting = [*self._waiting]
        for loop, bell in waiting:
            loop.call_soon_threadsafe(bell.set)

    async def wait(self, seconds: float) -> None:
        """Waits until something changes, at most so long."""
        entry = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._waiting.add(entry)
        try:
            async with asyncio.timeout(min(seconds, LOOK)):
                await (entry[1].wait() if self._bell is None else self._hear(self._bell, entry[1]))
        except TimeoutError:
            pass
        finally:
            with self._lock:
                self._waiting.discard(entry)

    async def _hear(self, bell: SharedCounter, own: asyncio.Event) -> None:
        """Waits for the bell of this process or of another one."""
        before = bell.value
        while bell.value == before and not own.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(own.wait(), _LISTEN)

    # ---- what runs say of themselves ----

    def tell(self, job: LabJob, phase: str) -> None:
        """Says on behalf of a run what one of its jobs does: agents cannot, and nobody judges a run that speaks."""
        if job.run.startswith(PLAN):
            return
        with self._lock:
            now = time.monotonic()
            if now - self._told.get(job.run, -_TELL) < _TELL:
                return
            self._told = {run: at for run, at in self._told.items() if now - at < 600} | {job.run: now}
        header = self.store.header(job.run)
        done, _ = self.store.run_extent(job.run)
        self.store.tell_progress(
            Progress(
                run=job.run,
                started_at=header.started_at,
                planned=header.planned,
                done=done,
                case=job.case,
                phase=phase or "measuring",
                host=job.leased_to,
            )
        )

    def tell_end(self, run: str) -> None:
        """Says that a run has ended, if all of its jobs have."""
        if run.startswith(PLAN) or self.store.lab.is_open(run):
            return
        header = self.store.header(run)
        self.store.tell_progress(
            Progress(run=run, started_at=header.started_at, planned=header.planned, done=0, phase=ENDED)
        )

    # ---- what is done by itself ----

    def start(self) -> None:
        """Gives every lease its whole time, since nobody could be heard before, and begins to look after them."""
        self.store.lab.renew_all(now=microseconds(), lease=self.lease)
        threading.Thread(target=self._go_on, name="lab", daemon=True).start()

    def end(self) -> None:
        """Looks after nothing any more."""
        self._ended.set()

    def sweep(self) -> list[LabJob]:
        """Takes jobs back of which nothing was heard in time."""
        lost = self.store.lab.sweep(now=microseconds())
        for job in lost:
            self.store.audit_add(
                who="", address="", action="lab job lost", what=f"{job.leased_to}: {job.run} {job.case}"
            )
        if lost:
            self.ring()
        for run in {job.run for job in lost}:
            self.tell_end(run)
        return lost

    def submit_controls(self) -> list[str]:
        """Has every machine that works run its control benchmark, if its last one is too long ago; which ones.

        Sooner than usual where a control is what a machine waits for in quarantine, or where the last one stood out.
        """
        if not self._control:
            return []
        now = microseconds()
        offered = [
            machine
            for machine in self.store.lab.machines()
            if machine.kind == "host" and machine.is_offered and now - machine.seen_at < ABSENT * SECOND
        ]
        held = {one.machine for one in self.store.quarantines() if one.finding and one.covers(one.machine, now)}
        due = []
        for machine in offered:
            before = machine.control_at
            is_due = now - before > self._control * SECOND
            if is_due or (now - before > SOON * SECOND and (machine.key in held or self._stood_out(machine, before))):
                due.append(machine)
        begun = [machine for machine in due if self.store.lab.begin_control(machine, now=now)]
        for machine in begun:
            self._submit_control(machine)
        if begun:
            self.ring()
        return [machine.name for machine in begun]

    def _stood_out(self, machine: LabMachine, before: int) -> bool:
        """Whether its last control, which was queued then, was out of the usual; looked at once."""
        known = self._outstanding.get(machine.name)
        if known is None or known[0] != before:
            known = self._outstanding[machine.name] = (before, is_unusual(self.store, machine.key))
        return known[1]

    def _submit_control(self, machine: LabMachine) -> None:
        from benchwright.execution.control import ROUNDS, control_cases

        digest, document = pack(LabParcel())
        works = [LabWork(case=case, rounds=ROUNDS) for case in control_cases(machine.facts.get("python", ""))]
        run = Run(
            id=new_run_id(),
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            harness=VERSION,
            reason="control",
            tags=(CONTROL_TAG,),
            planned=ROUNDS * len(works),
        )
        wish = LabSubmission(
            run=run.id, who=CONTROLLER, at=microseconds(), selector=f"machine={machine.name}", priority=_URGENT
        )
        jobs = [NewJob(work=work, parcel=digest, machine=machine.name) for work in works]
        self.store.lab.submit(run, wish, jobs, {digest: document}, now=wish.at)

    def prune(self) -> int:
        """Removes what no open job needs; how many bytes of files."""
        self.store.lab.prune(before=microseconds() - KEPT * SECOND)
        needed = digests_of(read_parcel(document) for document in self.store.lab.open_parcels().values())
        return self.files.prune(needed)

    def _go_on(self) -> None:
        next_prune = time.monotonic() + PRUNE / 60
        while not self._ended.wait(SWEEP):
            try:
                self.sweep()
                self.submit_controls()
                if time.monotonic() > next_prune:
                    next_prune = time.monotonic() + PRUNE
                    self.prune()
            except BenchwrightError as error:  # a database that is away comes back
                sys.stderr.write(f"lab: {error}\n")


def read_parcel(document: str) -> LabParcel:
    """The parcel of a document."""
    return schema.decode(LabParcel, json_value(document), where="parcel")


def microseconds() -> int:
    """The present instant, as the lab's tables have it."""
    return time.time_ns() // 1000


def is_over(job: LabJob) -> bool:
    """Whether nothing more comes of a job."""
    return job.state not in (JobState.QUEUED, JobState.LEASED)
