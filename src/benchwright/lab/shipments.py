"""A plan as it is sent to a lab: what is measured, and the parcels of files that go along, each file by its digest.

Cases that need the same files share a parcel: the thousand cases of one project name its files once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchwright import schema
from benchwright.events import Counted, Listener, nobody
from benchwright.execution.attempt import make_job
from benchwright.execution.outposts import bundles
from benchwright.execution.outposts.bundles import SentFile
from benchwright.execution.outposts.orders import EnvironmentOrder
from benchwright.execution.outposts.parcels import ParcelDesk
from benchwright.execution.plans import Plan
from benchwright.fetch.remembered_digests import sha256_of
from benchwright.lab.parcels import LabParcel
from benchwright.records import Case
from benchwright.records.lab import LabWork


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipment:
    """All that a run in a lab needs: what is measured, the parcel of each, and the files that they name."""

    works: tuple[tuple[LabWork, int], ...]  # each with the place of its parcel
    parcels: tuple[LabParcel, ...]
    files: Mapping[str, SentFile]  # one for each content, by SHA-256
    named: frozenset[str] = frozenset()  # paths that the cases themselves name; others only lie beside them


def pack(
    plan: Plan,
    listener: Listener = nobody,
    *,
    left_out: frozenset[str] = frozenset(),
    phone: str = "",
    environment: EnvironmentOrder | None = None,
) -> Shipment:
    """What every case of a plan needs, with each file as it is now, but for paths that are left out.

    `phone` says how a phone is to be when a case begins, as behind the `?` of `--host adb:SERIAL?cool=35C`;
    `environment` holds the packages to measure with.
    """
    packer = _Packer(plan, left_out, environment)
    works = []
    for number, case in enumerate(plan.cases):
        works.append((replace(_work(plan, case), phone=phone), packer.parcel_of(case)))
        listener(Counted(what="cases packed", done=number + 1, whole=len(plan.cases)))
    return Shipment(
        works=tuple(works), parcels=tuple(packer.parcels), files=packer.files, named=frozenset(packer.named)
    )


def pack_code(targets: Sequence[str], *, environment: EnvironmentOrder | None = None) -> LabParcel:
    """What must be there to read Python code, with the wheels of the environment that it is read with."""
    directory = Path.cwd()
    wheels = [one.path for one in environment.wheels] if environment is not None else []
    parcel = ParcelDesk().pack_code(targets, directory, paths=(str(directory),), more=wheels)
    return LabParcel(
        directory=str(directory),
        files=tuple(parcel.files.values()),
        folders=parcel.bundle.folders,
        places=parcel.bundle.places,
        variables=bundles.sent_variables(),
        environment=environment,
    )


def _work(plan: Plan, case: Case) -> LabWork:
    return LabWork(
        case=case,
        rounds=plan.rounds,
        retries=plan.retries,
        monitors=tuple(plan.monitors),
        paths=tuple(plan.paths),
        last_paths=tuple(plan.last_paths),
        profile=plan.profile,
        profile_inline=plan.profile_inline,
        operators=plan.operators,
        cpus=tuple(plan.cpus),
        memory=plan.memory,
        price=plan.price,
        by_hand=plan.by_hand,
        notes=dict(plan.notes(case)) if plan.notes else {},
    )


class _Packer:
    """Looks at every file once, and at the files of a project once for all its cases."""

    def __init__(self, plan: Plan, left_out: frozenset[str], environment: EnvironmentOrder | None) -> None:
        self._plan, self._left_out, self._environment = plan, left_out, environment
        self._directory = Path.cwd()
        self._variables = bundles.sent_variables()
        self._described: dict[Path, SentFile] = {}
        self._known: dict[str, int] = {}  # the place of a parcel, by what its files follow from
        self.parcels: list[LabParcel] = []
        self.files: dict[str, SentFile] = {}
        self.named: set[str] = set()

    def parcel_of(self, case: Case) -> int:
        key = json.dumps(_what_names_files(case))
        if key not in self._known:
            made = self._make(case)
            if made not in self.parcels:
                self.parcels.append(made)
            self._known[key] = self.parcels.index(made)
        return self._known[key]

    def _make(self, case: Case) -> LabParcel:
        job = make_job(case, paths=self._plan.paths, last_paths=self._plan.last_paths)
        bundle = bundles.bundle_for(job, self._directory)
        order = self._environment
        wheels = {one.path: Path(one.path) for one in order.wheels} if order is not None else {}
        self.named |= {*map(str, bundle.named), *wheels}
        paths = dict.fromkeys((*bundle.paths, *wheels.values()))
        return LabParcel(
            directory=str(self._directory),
            files=tuple(self._describe(path) for path in paths if str(path) not in self._left_out),
            folders=bundle.folders,
            places=(*bundle.places, *wheels),
            variables=self._variables,
            environment=order,
        )

    def _describe(self, path: Path) -> SentFile:
        if path not in self._described:
            found = path.stat()
            digest = sha256_of([path])
            one = SentFile(path=str(path), sha256=digest, size=found.st_size, executable=bool(found.st_mode & 0o100))
            self._described[path] = self.files[digest] = one
        return self._described[path]


def _what_names_files(case: Case) -> list[Any]:
    """Everything in a case that `bundles.bundle_for` looks at."""
    words = [value for value in case.params.values() if isinstance(value, str)]
    expected = schema.encode(case.expected) if case.expected is not None else None
    return [schema.encode(case.target), case.inputs.source, dict(case.inputs.files), case.load.trace, words, expected]
