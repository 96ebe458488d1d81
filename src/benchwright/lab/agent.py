"""An agent: offers machines to a server, and measures there what it is given. One thread for each machine.

What was measured is kept on the disk until the server has answered; a server that is away is called again and again.
On the first SIGTERM or Ctrl-C it takes nothing more and finishes what is under way if that does not take long; what
is not finished then, or at a second signal, is given back and costs no attempt. Killed with -9, its outposts see
their lines close and end with all that they started; the server gives the job to another machine.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchwright.errors import BenchwrightError, OptionError
from benchwright.execution.outposts.shelf import FileShelf
from benchwright.lab import parcels
from benchwright.lab.client import AgentClient, Terms
from benchwright.lab.environments import EnvironmentShelf
from benchwright.lab.life_marks import LifeMarks
from benchwright.lab.machines import MachineOffer
from benchwright.lab.parcels import LabParcel
from benchwright.lab.phone_watch import PhoneWatch
from benchwright.lab.spool import AgentSpool
from benchwright.lab.station import GRACE, Pauses, Station
from benchwright.machine.fitness import SelfCheck
from benchwright.store.remote.client import DeniedError, ServerAwayError
from benchwright.system.locks import open_lock

CLOSING = 15.0  # and for what is left to say then
LOOK = 0.25  # seconds between two looks at what still works
KNOWN_PARCELS = 20

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """How an agent works."""

    name: str
    folder: Path  # its own: files, what is not delivered yet, jobs under way
    secrets: tuple[Path, ...] = ()  # files with its token, which jobs must not see
    allowed: tuple[str, ...] = ()  # see `lab.permissions`; empty: everything
    once: bool = False  # end after one job
    until_idle: bool = False  # end when there is nothing to do
    cells: bool = True  # keep jobs from each other where the system can; see `lab.cells`
    check: SelfCheck | None = None  # whether the machine is fit; None: nobody looks


class Agent:
    """One process with its machines. Only one agent at a time has a folder."""

    def __init__(
        self,
        client: AgentClient,
        settings: AgentSettings,
        offers: Sequence[MachineOffer],
        say: Say = lambda text: None,
        *,
        find_phones: Callable[[], Sequence[MachineOffer]] | None = None,
    ) -> None:
        """`find_phones` tells which phones are there now, on top of the offers; it is asked again and again."""
        self.client, self.settings, self.say = client, settings, say
        self._offers, self._find_phones = offers, find_phones
        folder = settings.folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.spool = AgentSpool(folder / "spool")
        self.marks = LifeMarks(folder / "marks")
        self.home = folder / "outpost"
        self.shelf = FileShelf(self.home / "files")
        self.environments = EnvironmentShelf(folder / "environments")
        self.fetching, self.building = threading.Lock(), threading.Lock()
        self.stopping = threading.Event()
        self.hurried = threading.Event()
        self.terms = Terms(heartbeat=10.0, lease=60.0, poll=20.0)
        self._parcels: dict[str, LabParcel] = {}
        self._stations: dict[str, Station] = {}  # by the names of machines
        self._ended: list[Station] = []  # of phones that were there before
        self._changing = threading.Lock()
        self._registering = threading.Lock()
        self._ears = 0  # a descriptor: where signals are heard

    def run(self) -> int:
        """Works until it is told to end; how many jobs were delivered."""
        with self._alone(), self._signals():
            shutil.rmtree(self.settings.folder / "jobs", ignore_errors=True)  # of an agent that was killed
            phones = PhoneWatch(self, self._find_phones) if self._find_phones is not None else None
            there = phones.look() if phones is not None else ()
            self.begin([*self._offers, *there], is_first=True)
            self.say(f"{', '.join(self._stations)}: offered")
            if phones is not None:
                phones.start()
            self._attend()
        ended = [*self._ended, *self._stations.values()]
        if failure := next((one.failure for one in ended if one.failure is not None), None):
            raise failure
        return sum(len(one.delivered) for one in ended)

    def begin(self, offers: Sequence[MachineOffer], *, is_first: bool = False) -> None:
        """Offers these machines, too, and works for them."""
        fresh = {offer.machine.name: Station(self, offer) for offer in offers}
        with self._changing:
            self._ended += [self._stations[name] for name in fresh if name in self._stations]
            self._stations |= fresh
        try:
            self.register(fresh.values(), is_first=is_first)
        except BaseException:
            with self._changing:
                self._stations = {name: one for name, one in self._stations.items() if name not in fresh}
            raise
        for station in fresh.values():
            station.start()

    def withdraw(self, station: Station) -> None:
        """Offers a machine no longer, once it has finished what it does."""
        station.withdrawn.set()
        self.leave([station.name])  # if it waits for work it is answered at once

    @property
    def stations(self) -> list[Station]:
        """What works for its machines, or is about to."""
        with self._changing:
            return [one for one in self._stations.values() if not one.is_over]

    def _attend(self) -> None:
        """Hears signals until all stations have ended; a server that does not answer is not waited for in the end."""
        deadline = float("inf")
        while self.stations and time.monotonic() < deadline:
            heard = self._ears and select.select([self._ears], [], [], LOOK)[0]
            if heard:
                os.read(self._ears, 1)
                (self.hurried if self.stopping.is_set() else self.stopping).set()
            elif not self._ears:
                time.sleep(LOOK)
            if self.stopping.is_set() and deadline == float("inf"):
                deadline = time.monotonic() + GRACE + CLOSING
                self.leave([*self._stations])  # whoever waits for work is answered at once
        self.leave([*self._stations])

    def leave(self, names: Sequence[str]) -> None:
        """Offers machines no longer."""
        with contextlib.suppress(BenchwrightError):
            self.client.leave(names)

    def register(self, fresh: Iterable[Station] = (), *, is_first: bool = False) -> None:
        """Offers the machines, calling until the server answers; what it refuses is raised.

        `fresh` are those for which nothing was done yet: what they had before is not under way any more. A token or a
        certificate that is wrong from the start is an error; one that becomes so later may be mended.
        """
        unharmed = [one.name for one in fresh if one.is_shut_in and self.marks.is_unharmed(one.name)]
        with self._registering:
            stations, pauses = self.stations, Pauses()
            machines = [one.offer.machine for one in stations if not one.withdrawn.is_set()]
            fences = [delivery.fence for delivery in self.spool.all()] + [one.fence for one in stations if one.fence]
            while machines and not self.stopping.is_set():
                try:
                    self.terms = self.client.register(self.settings.name, machines, fences, unharmed)
                    return
                except ServerAwayError as error:
                    if is_first and isinstance(error, DeniedError):
                        remedy = "--token-file names a token of the scope agent, --ca certificates of your own"
                        raise OptionError(error.message, remedy=remedy) from None
                    self.wait_for_server(pauses, error)

    def wait_for_server(self, pauses: Pauses, error: ServerAwayError) -> None:
        """Rests before the next call, longer each time."""
        if pauses.count == 0:
            self.say(f"{error.message}; calling again")
        self.stopping.wait(pauses.next(error.wait))

    def parcel(self, digest: str) -> LabParcel:
        """The list of a job's files; the last ones are remembered."""
        known = self._parcels.get(digest)
        if known is None:
            known = self.client.parcel(digest)
            parcels.check(known, "parcel")
            while len(self._parcels) >= KNOWN_PARCELS:
                self._parcels.pop(next(iter(self._parcels)))
            self._parcels[digest] = known
        return known

    @contextmanager
    def _alone(self) -> Iterator[None]:
        handle = open_lock(self.settings.folder / "lock", mode=0o600)
        if handle is None:
            raise OptionError(
                f"another agent uses {self.settings.folder}", remedy="give this one another --folder, or end that one"
            )
        try:
            yield
        finally:
            os.close(handle)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ends the agent at SIGTERM, SIGHUP and Ctrl-C: gently at the first, at once at the second."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        self._ears, mouth = os.pipe()  # a handler must take no lock that the main thread may hold
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        before = {number: signal.signal(number, lambda *_: os.write(mouth, b"!") and None) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(self._ears)
            os.close(mouth)
