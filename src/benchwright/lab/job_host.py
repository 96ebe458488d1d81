"""The machine of an agent as a host: an outpost of its own for each job, with the files that the job names.

Nothing that a job names is read from this machine: files come from the shelf, by their digests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchwright import schema
from benchwright.errors import DeviceError, MeasureError
from benchwright.execution.attempt import AttemptOutcome
from benchwright.execution.hosts.adb import AdbHost
from benchwright.execution.outposts.environment_desk import EnvironmentDesk, WorkTerms
from benchwright.execution.outposts.host import Connect, OutpostHost
from benchwright.execution.outposts.link import Link, Tell
from benchwright.execution.outposts.orders import EnvironmentOrder, MadeEnvironment
from benchwright.execution.outposts.parcels import PLACING, Parcel, ParcelDesk
from benchwright.lab.parcels import LabParcel
from benchwright.records import Environment, Failure, ResultWarning, Status, Value
from benchwright.worker.channel import Frame, Job

_IDENTITY = ("os", "architecture", "image", "device", "host")  # what `schema.environment_key` looks at


class JobHost(OutpostHost):
    """Measures one job. `system` tells its machine from others; `phone` is the one that it means."""

    def __init__(
        self,
        name: str,
        connect: Connect,
        parcel: LabParcel,
        *,
        system: Mapping[str, Value],
        phone: AdbHost | None = None,
        made: MadeEnvironment | None = None,
        known: Environment | None = None,
    ) -> None:
        """`made` is the environment that the parcel asks for, where it is there already.

        `known` is the machine as the agent sees it, which counts before what comes out of a cell.
        """
        self._known = known
        self._system, self._phone, self._directory = system, phone, Path(parcel.directory)
        super().__init__(name, connect, patience=0.0, eager=False)
        self._desk = _JobDesk(parcel)
        if parcel.environment is not None:
            self._environments = _JobEnvironments(parcel.environment, made)

    def make_environment(self, tell: Tell) -> MadeEnvironment:
        """Makes the environment that the parcel asks for; what failed is part of the answer."""
        return self.prepare(WorkTerms(folder=str(self._directory)), paths=(), tell=tell)

    @property
    def system(self) -> Mapping[str, Value]:
        """What tells this machine from others."""
        return self._system

    def notes(self) -> Mapping[str, Value]:
        """What is kept with the last result: how the phone was when its case began."""
        return self._phone.notes() if self._phone is not None else {}

    def warnings(self) -> list[ResultWarning]:
        """What spoke against measuring there, and what about the phone was not as it was asked for."""
        return [*super().warnings(), *(self._phone.warnings() if self._phone is not None else ())]

    def cancel(self) -> None:
        """Ends what is under way, from another thread; also the wait for a phone that cools down."""
        if self._phone is not None:
            self._phone.cancel()
        super().cancel()

    def close(self) -> None:
        """Ends the outpost, and lets the phone be as it was before."""
        super().close()
        if self._phone is not None:
            self._phone.close()

    def attempt(
        self,
        job: Job,
        *,
        directory: Path,
        monitors: Sequence[str],
        while_loading: Callable[[], None],
        on_phase: Tell,
        terms: WorkTerms | None = None,
    ) -> AttemptOutcome:
        """Makes one attempt, in the folder that the job was submitted in."""
        if self._phone is not None:  # it works there, so there is nothing here for monitors to watch
            job, monitors = _on_device(job, self._phone.name), ()
            self._phone.tell = on_phase
            try:
                self._phone.prepare()
            except DeviceError as error:
                failure = Failure(kind=error.kind, message=error.message, remedy=error.remedy)
                return AttemptOutcome(status=Status.FAILED, failure=failure, early=True)
        return super().attempt(
            job,
            directory=self._directory,
            monitors=monitors,
            while_loading=while_loading,
            on_phase=on_phase,
            terms=terms,
        )

    def _learn(self, frame: Frame) -> None:
        """Takes from a cell what is installed there, but not which machine it is: a job could say anything."""
        super()._learn(frame)
        if self._known is None or self._environment is None:
            return
        told = {name: fact for name, fact in self._environment.system.items() if name not in _IDENTITY}
        own = {name: fact for name, fact in self._known.system.items() if name in _IDENTITY}
        self._environment = replace(
            self._environment,
            machine=self._known.machine,
            accelerators=self._known.accelerators,
            system={**told, **own, **self.system},
        )


class _JobEnvironments(EnvironmentDesk):
    """Knows one environment, which outlives the outpost."""

    def __init__(self, order: EnvironmentOrder, made: MadeEnvironment | None) -> None:
        super().__init__()
        self.usual = order
        if made is not None:
            (self._never_made if made.failure else self._made)[replace(order, again=False)] = made

    def forget_made(self) -> None:
        """Nothing: it is on this machine, whichever outpost uses it."""


class _JobDesk(ParcelDesk):
    """Hands over one parcel, all of which lies on the shelf already."""

    def __init__(self, parcel: LabParcel) -> None:
        super().__init__()
        self._variables = dict(parcel.variables)
        self._parcel = Parcel(bundle=parcel.bundle, files={one.path: one for one in parcel.files})
        self._is_placed = False

    def forget_placed(self) -> None:
        """Nothing lies over there any more: it went with the outpost."""
        self._is_placed = False

    def pack(self, job: Job, directory: Path, more: Iterable[str] = ()) -> Parcel:
        """The parcel of the job."""
        return self._parcel

    def send(self, link: Link, parcel: Parcel, directory: Path, tell: Callable[[str], None]) -> None:
        """Has the files laid out."""
        if self._is_placed:
            return
        files = [schema.encode(one) for one in parcel.files.values()]
        link.say("files", files=files)
        if lacking := link.hear_one("lacking", seconds=PLACING).data["digests"]:
            raise MeasureError(f"{len(lacking)} files of the job were removed from this machine")
        link.say(
            "place",
            files=files,
            folders=[*parcel.bundle.folders],
            directory=str(directory),
            variables=self._variables,
        )
        link.hear_one("placed", seconds=PLACING)
        self._is_placed = True


def _on_device(job: Job, device: str) -> Job:
    return replace(job, case=replace(job.case, target=replace(job.case.target, device=device)))
