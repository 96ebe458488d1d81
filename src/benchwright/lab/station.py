"""One machine of an agent: delivers what it measured, asks for work, measures it in a cell, says that it goes on."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchwright.errors import BenchwrightError, DecodeError, StoreError
from benchwright.execution.outposts.orders import MadeEnvironment
from benchwright.lab import cells, job, parcels, permissions
from benchwright.lab.machines import MachineOffer
from benchwright.lab.parcels import LabParcel
from benchwright.lab.spool import SpooledJob
from benchwright.records.lab import LabLease
from benchwright.store.remote.client import RefusedError, ServerAwayError
from benchwright.system.texts import describe_error

if TYPE_CHECKING:
    from benchwright.lab.agent import Agent

GRACE = 20.0  # seconds for what is under way when the agent is to end
FIRST_PAUSE, MOST_PAUSE = 0.5, 30.0  # seconds between two calls of a server that is away
FIRST_REST, MOST_REST = 10.0, 600.0  # seconds without work after a job that could not be measured here
IDLE = 0.5  # seconds that a question for work waits where the agent is to end when there is none
RETURNED, REFUSED, FAILED = "returned", "refused", "failed"  # how a job is given back


@dataclass(slots=True)
class Pauses:
    """How long to rest before the next call of a server that is away."""

    count: int = 0

    def next(self, least: float = 0.0) -> float:
        """Longer each time, and never the same for all agents."""
        self.count += 1
        usual = min(MOST_PAUSE, FIRST_PAUSE * float(1 << min(self.count - 1, 10)))
        return max(least, usual * random.uniform(0.7, 1.3))


@dataclass(slots=True)
class Station:
    """What an agent does for one machine."""

    agent: Agent
    offer: MachineOffer
    delivered: set[str] = field(default_factory=set)  # fences
    failure: BenchwrightError | None = None
    phase: str = field(default="")
    fence: str = ""  # of what it works on
    withdrawn: threading.Event = field(default_factory=threading.Event)  # its machine is not there any more
    is_over: bool = False
    _failures: int = 0  # jobs in a row that it could not measure
    _rests_until: float = 0.0  # by the monotonic clock
    _ailment: str = ""  # why it rests

    @property
    def name(self) -> str:
        return self.offer.machine.name

    @property
    def is_shut_in(self) -> bool:
        """Whether what it measures can do nothing to the agent: it is in a cell, or on a phone."""
        return self.agent.settings.cells or bool(self.offer.device)

    @property
    def is_ending(self) -> bool:
        """Whether it takes nothing more."""
        return self.agent.stopping.is_set() or self.withdrawn.is_set()

    def start(self) -> None:
        """Works in a thread of its own."""
        threading.Thread(target=self.run, name=self.name, daemon=True).start()

    def run(self) -> None:
        """Delivers, asks, measures, until the agent is to end."""
        try:
            self._go_on()
            self.agent.marks.clear(self.name)
            if self.withdrawn.is_set():  # it may have asked for work after it was withdrawn
                self.agent.leave([self.name])
        except BenchwrightError as error:  # what no later try would mend
            self.failure = error
            self.agent.stopping.set()
        except BaseException as error:  # the border of this thread
            self.agent.marks.clear(self.name)  # what it worked on may be why
            self.failure = BenchwrightError(f"the agent failed: {describe_error(error, 400)}")
            self.agent.stopping.set()
            raise
        finally:
            self.is_over = True

    def _go_on(self) -> None:
        agent, pauses = self.agent, Pauses()
        while not self.is_ending:
            try:
                self._deliver_all()
                lease = self._claim()
                pauses = Pauses()
            except ServerAwayError as error:
                agent.wait_for_server(pauses, error)
                continue
            except RefusedError as error:
                if error.status != 404:
                    raise
                agent.register()  # the server has forgotten the machine
                continue
            if lease is not None:
                self.fence = lease.fence
                try:
                    self._work(lease)
                finally:
                    self.fence = ""
            if (lease is not None and agent.settings.once) or (lease is None and agent.settings.until_idle):
                break
        with contextlib.suppress(ServerAwayError):
            self._deliver_all()

    def _claim(self) -> LabLease | None:
        agent = self.agent
        trouble = ""
        if agent.settings.check is not None:
            fitness = agent.settings.check.fitness(agent.terms.skew)
            trouble = "" if fitness.is_fit else fitness.verdict
        if not trouble and time.monotonic() < self._rests_until:
            trouble = self._ailment
        agent.marks.set(self.name)
        wait = IDLE if agent.settings.until_idle else agent.terms.poll
        lease = agent.client.claim(self.name, trouble=trouble, wait=wait)
        if lease is None and trouble:
            agent.stopping.wait(agent.terms.heartbeat)
        return lease

    # ---- one job ----

    def _work(self, lease: LabLease) -> None:
        self.agent.say(f"{self.name}: {lease.job.case} of {lease.job.run}, submitted by {lease.job.who or 'somebody'}")
        interrupt = job.JobInterrupt()
        self.phase = "preparing"
        with Pulse(self, lease.fence, interrupt) as pulse:
            try:
                is_measured = self._measure(lease, interrupt, pulse)
            except _JobRefusedError as error:
                self._give_back(lease, REFUSED, str(error))
                return
            except (StoreError, DecodeError) as error:  # what is wrong is the job, or what the server has of it
                self._give_back(lease, FAILED, error.message)
                return
            except BenchwrightError as error:
                self._give_back(lease, FAILED, self._rest(error.message))
                return
            except OSError as error:  # a disk that is full, most likely: others may have room
                self._give_back(lease, FAILED, self._rest(f"it cannot keep files: {describe_error(error, 200)}"))
                return
        self._failures = 0
        if pulse.lost:
            self.agent.say(f"{self.name}: {lease.job.case}: {pulse.lost}")
        elif not is_measured:
            self._give_back(lease, RETURNED, "the agent ends")
        else:
            with contextlib.suppress(ServerAwayError):  # it is on the disk: the next turn delivers it
                self._deliver_all()

    def _rest(self, reason: str) -> str:
        """Takes no work for a while, longer each time: a machine that is ill must not use up the whole queue."""
        self._failures += 1
        self._rests_until = time.monotonic() + min(MOST_REST, FIRST_REST * float(1 << min(self._failures - 1, 10)))
        self._ailment = f"it rests, since it could not measure its last job: {reason}"
        return reason

    def _measure(self, lease: LabLease, interrupt: job.JobInterrupt, pulse: Pulse) -> bool:
        """Measures a job and keeps its results; False when the agent is to end before, or the job was lost."""
        agent = self.agent
        parcel = self._until_told(pulse, lambda: agent.parcel(lease.job.parcel))
        if parcel is None:
            return False
        said = permissions.refusal(lease.work, parcel, agent.settings.allowed)
        if said or (said := self.offer.refusal(lease.work.case)):
            raise _JobRefusedError(said)
        if not self._until_told(pulse, lambda: self._fetch(parcel)):
            return False
        made = self._make_environment(lease, parcel, interrupt)
        if interrupt.is_cancelled():
            return False
        place = agent.environments.place_of(parcel.environment, made)
        with self._job_folder(lease.fence) as folder, cells.opened(self._cell(folder, parcel, place)) as connect:
            if lease.work.planning:
                found = job.plan(
                    lease, parcel, self.offer, connect=connect, interrupt=interrupt, tell=self._tell, made=made
                )
                return not interrupt.seen and self._answer(lease, found, pulse)
            run = job.measure(
                lease,
                parcel,
                self.offer,
                connect=connect,
                folder=folder / "left",  # not in the cell: what lies there is read and written out of it
                interrupt=interrupt,
                tell=self._tell,
                made=made,
            )
            if interrupt.seen:
                return False
            agent.spool.add(self.name, lease.fence, run)
        return True

    def _answer(self, lease: LabLease, found: Mapping[str, Any], pulse: Pulse) -> bool:
        """Tells the server what was planned; False where it does not hear of it."""
        told = self._until_told(pulse, lambda: self.agent.client.answer(lease.fence, found))
        if told:
            self.delivered.add(lease.fence)
        return bool(told)

    def _make_environment(
        self, lease: LabLease, parcel: LabParcel, interrupt: job.JobInterrupt
    ) -> MadeEnvironment | None:
        """The environment that the job is measured in, made now or found; None where its outpost sees to that."""
        agent, order = self.agent, parcel.environment
        if order is None or not agent.settings.cells:
            return None
        with agent.building:
            if (found := agent.environments.find(order)) is not None:
                return found
            place = agent.environments.clear(order)
            with self._job_folder(f"{lease.fence}.environment") as folder:
                plan = replace(self._cell(folder, parcel, place), builds=True)
                with cells.opened(plan) as connect:
                    made = job.make_environment(
                        parcel, self.name, connect=connect, interrupt=interrupt, tell=self._tell
                    )
            if not interrupt.seen:
                agent.environments.keep(order, made)
            return made

    def _cell(self, folder: Path, parcel: LabParcel, environment: Path | None = None) -> cells.CellPlan:
        agent = self.agent
        return cells.CellPlan(
            name=self.name,
            folder=folder,
            hidden=agent.settings.folder,
            secrets=agent.settings.secrets,
            home=agent.home,
            digests=tuple(parcels.digests_of([parcel])),
            closed=agent.settings.cells,
            environment=environment,
        )

    def _fetch(self, parcel: LabParcel) -> bool:
        with self.agent.fetching:
            job.fetch_files(self.agent.client, parcel, self.agent.shelf, self._tell)
        return True

    def _until_told(self, pulse: Pulse, call: Callable[[], LabParcel | bool | None]) -> LabParcel | None:
        """What the server answers, however long it is away; None where the job or the agent ends before."""
        pauses = Pauses()
        while not (pulse.lost or self.agent.stopping.is_set()):
            try:
                return call()  # type: ignore[return-value]
            except ServerAwayError as error:
                self.agent.wait_for_server(pauses, error)
        return None

    @contextmanager
    def _job_folder(self, fence: str) -> Iterator[Path]:
        """A folder of the job's own, which nobody else may read and which goes with it."""
        folder = self.agent.settings.folder / "jobs" / fence
        for place in (folder.parent, folder, folder / "left"):
            place.mkdir(mode=0o700, exist_ok=place == folder.parent)
        try:
            yield folder
        finally:
            cells.remove(folder)

    def _tell(self, phase: str) -> None:
        self.phase = phase

    def _give_back(self, lease: LabLease, kind: str, reason: str) -> None:
        self.agent.say(f"{self.name}: {lease.job.case} is given back: {reason}")
        pauses = Pauses()
        for _ in range(3 if self.agent.stopping.is_set() else 1000):
            try:
                self.agent.client.give_back(lease.fence, kind, reason)
                return
            except ServerAwayError as error:
                time.sleep(min(pauses.next(error.wait), 1.0 if self.agent.stopping.is_set() else MOST_PAUSE))
            except RefusedError:  # it is somebody else's by now
                return

    def _deliver_all(self) -> None:
        """Delivers what was measured; what the server does not take any more is dropped."""
        for delivery in self.agent.spool.all(self.name):
            try:
                self.agent.client.deliver(delivery.fence, delivery.path.read_bytes())
                self.delivered.add(delivery.fence)
                self._send_files(delivery)
            except RefusedError as error:
                self.agent.say(f"{self.name}: the server does not take a job's results: {error.message}")
                if error.status != 409:  # it is not that somebody else has the job
                    with contextlib.suppress(RefusedError):
                        self.agent.client.give_back(
                            delivery.fence, FAILED, f"its results were refused: {error.message}"
                        )
            self.agent.spool.drop(delivery)

    def _send_files(self, delivery: SpooledJob) -> None:
        for result, artifact in delivery.artifacts():
            try:
                self.agent.client.send_file(delivery.fence, result, artifact)
            except RefusedError as error:  # the results are there; one file of them is not
                self.agent.say(f"{self.name}: the server does not take {artifact.name}: {error.message}")


class _JobRefusedError(Exception):
    """A job that the agent's owner does not want here."""


class Pulse:
    """Says again and again that a job goes on; ends it when it is no longer this machine's, or when the agent ends."""

    def __init__(self, station: Station, fence: str, interrupt: job.JobInterrupt) -> None:
        self._station, self._fence, self._interrupt = station, fence, interrupt
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=f"{station.name} pulse")
        self.lost = ""  # why the job is no longer this machine's

    def __enter__(self) -> Pulse:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        agent = self._station.agent
        next_beat = time.monotonic() + agent.terms.heartbeat
        patience: float | None = None
        while not self._over.wait(0.1 if agent.stopping.is_set() else min(1.0, agent.terms.heartbeat / 4)):
            if agent.stopping.is_set() and patience is None:
                patience = time.monotonic() + GRACE
            if patience is not None and (agent.hurried.is_set() or time.monotonic() > patience):
                self._interrupt.cancel()
                return
            if time.monotonic() < next_beat:
                continue
            next_beat = time.monotonic() + agent.terms.heartbeat
            try:
                agent.client.beat(self._fence, self._station.phase)
            except RefusedError as error:
                self.lost = error.message
                self._interrupt.cancel()
                return
            except ServerAwayError:
                next_beat = time.monotonic() + min(2.0, agent.terms.heartbeat)  # it goes on, and may be heard later
            except BenchwrightError as error:
                agent.say(f"{self._station.name}: {error.message}")
