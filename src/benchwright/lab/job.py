"""One job on one machine: its files fetched, its case measured in every round, its results as a run."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchwright._version import VERSION
from benchwright.errors import MeasureError
from benchwright.events import Began, Event, Reached
from benchwright.execution import plan_elsewhere
from benchwright.execution.hosts.adb import AdbHost, parse_wishes
from benchwright.execution.outposts.environment_desk import NotMadeError
from benchwright.execution.outposts.host import AWAY, Connect
from benchwright.execution.outposts.orders import MadeEnvironment
from benchwright.execution.outposts.shelf import FileShelf
from benchwright.execution.rounds import order_attempts
from benchwright.execution.session import Measuring, Plan, now
from benchwright.lab.client import AgentClient
from benchwright.lab.job_host import JobHost
from benchwright.lab.machines import MachineOffer
from benchwright.lab.parcels import LabParcel
from benchwright.records import Result, Run
from benchwright.records.lab import LabLease
from benchwright.system.interrupts import Interrupt

SPARE = 256 << 20  # bytes that stay free on the disk


class JobInterrupt(Interrupt):
    """How another thread ends a job: signals reach the main thread alone."""

    def __init__(self) -> None:
        super().__init__()
        self._host: JobHost | None = None
        self._lock = threading.Lock()

    @contextmanager
    def allow(self) -> Iterator[None]:
        """A stretch that may be cancelled."""
        yield

    def cancel(self) -> None:
        """Ends what is under way; what would follow is not begun."""
        with self._lock:
            self.seen, host = True, self._host
        if host is not None:
            host.cancel()

    def is_cancelled(self) -> bool:
        """Whether nothing more is to be begun."""
        return self.seen

    def watch_host(self, host: JobHost | None) -> None:
        """Says which host is to be cancelled from now on."""
        with self._lock:
            self._host = host


def fetch_files(client: AgentClient, parcel: LabParcel, shelf: FileShelf, tell: Callable[[str], None]) -> None:
    """Puts on the shelf what is not there yet, each file verified by its digest."""
    lacking = {one.sha256: one for one in parcel.files if not shelf.holds(one.sha256, one.size)}
    size = sum(one.size for one in lacking.values())
    shelf.make_room(size + SPARE, keep={one.sha256 for one in parcel.files})
    if size > shelf.free - SPARE:
        wanted = f"{size / 1e6:.0f} MB of files are to come, and {SPARE / 1e6:.0f} MB stay free"
        raise MeasureError(f"its disk is too full: {shelf.free / 1e6:.0f} MB are free; {wanted}")
    done = 0
    for one in lacking.values():
        seen = 0

        def take(piece: bytes, sha256: str = one.sha256, whole: int = one.size) -> None:
            nonlocal seen
            seen += len(piece)
            if seen > whole:
                raise MeasureError(f"the server sends more than the {whole} bytes of {sha256[:12]}")
            shelf.add(sha256, piece, last=False)

        tell(f"fetching files, {done / 1e6:.0f} of {size / 1e6:.0f} MB")
        try:
            client.fetch(one.sha256, take)
            whole = shelf.add(one.sha256, b"", last=True)
        except BaseException:
            shelf.abandon(one.sha256)
            raise
        if not whole:
            raise MeasureError(f"the file {one.sha256[:12]} arrived damaged")
        done += one.size


def plan(
    lease: LabLease,
    parcel: LabParcel,
    offer: MachineOffer,
    *,
    connect: Connect,
    interrupt: JobInterrupt,
    tell: Callable[[str], None],
    made: MadeEnvironment | None = None,
) -> dict[str, Any]:
    """The cases of the code that a job asks for, or the error that stands in their way."""
    work = lease.work
    host = JobHost(offer.machine.name, connect, parcel, system=offer.system, made=made)
    interrupt.watch_host(host)
    try:
        return host.plan(
            work.planning,
            paths=work.paths,
            tell=tell,
            directory=Path(parcel.directory),
            seconds=plan_elsewhere.TIMEOUT,
        )
    except NotMadeError as error:
        remedy = "\n".join(filter(None, (error.failure.log_tail.strip(), error.remedy)))
        return {"error": "OptionError", "message": error.message, "remedy": remedy}
    finally:
        interrupt.watch_host(None)
        with contextlib.suppress(OSError):
            host.close()


def make_environment(
    parcel: LabParcel, name: str, *, connect: Connect, interrupt: JobInterrupt, tell: Callable[[str], None]
) -> MadeEnvironment:
    """Makes the environment that a parcel asks for, through an outpost that `connect` starts."""
    host = JobHost(name, connect, parcel, system={})
    interrupt.watch_host(host)
    try:
        return host.make_environment(tell)
    finally:
        interrupt.watch_host(None)
        with contextlib.suppress(OSError):
            host.close()


def measure(
    lease: LabLease,
    parcel: LabParcel,
    offer: MachineOffer,
    *,
    connect: Connect,
    folder: Path,
    interrupt: JobInterrupt,
    tell: Callable[[str], None],
    made: MadeEnvironment | None = None,
) -> Run:
    """Measures the case in every round. `connect` starts an outpost; `folder` is where files may be left.

    `made` is the environment that the parcel asks for, where it is there already.
    """
    work, job = lease.work, lease.job
    phone = AdbHost(offer.device.removeprefix("adb:"), parse_wishes(work.phone, work.phone)) if offer.device else None
    host = JobHost(offer.machine.name, connect, parcel, system=offer.system, phone=phone, made=made, known=offer.known)
    plan = Plan(
        cases=[work.case],
        rounds=work.rounds,
        retries=work.retries,
        host=host,
        paths=work.paths,
        last_paths=work.last_paths,
        profile=work.profile,
        profile_inline=work.profile_inline,
        operators=work.operators,
        cpus=work.cpus,
        memory=work.memory,
        monitors=work.monitors,
        directory=folder,
        price=work.price,
        notes=(lambda case: work.notes) if work.notes else None,
        by_hand=work.by_hand,
    )
    header = Run(id=f"{job.run}-{job.id}.{job.attempt}", started_at=now(), harness=VERSION)
    hear = _Listener(tell, work.rounds)
    measuring = Measuring(plan, None, hear, interrupt=interrupt, record=header)
    interrupt.watch_host(host)
    try:
        with measuring:
            for case, number in order_attempts(measuring):
                if interrupt.seen:
                    break
                measuring.measure(case, number)
    finally:
        interrupt.watch_host(None)
        with contextlib.suppress(OSError):
            host.close()
    if lost := next((one.error for one in measuring.results if one.error and one.error.kind == AWAY), None):
        raise MeasureError(lost.message, remedy=lost.remedy)  # no cell could be opened: that says nothing of the case
    return replace(header, id=job.run, results=tuple(map(_without_revision, measuring.results)))


class _Listener:
    """Tells which round is measured, and how far it is."""

    def __init__(self, tell: Callable[[str], None], rounds: int) -> None:
        self._tell, self._rounds, self._round = tell, rounds, ""

    def __call__(self, event: Event) -> None:
        if isinstance(event, Began):
            self._round = f"round {event.round + 1} of {self._rounds}"
            self._tell(self._round)
        elif isinstance(event, Reached):
            self._tell(f"{self._round}, {event.phase}")


def _without_revision(result: Result) -> Result:
    """The result as one of its run, which knows what was measured; the folder here does not."""
    return replace(result, revision=None)
