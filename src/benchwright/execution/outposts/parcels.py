"""Files on their way to another machine: what a case needs there, each file as it was when it was first looked at."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchwright import schema
from benchwright.errors import LinkError
from benchwright.execution.attempt import make_job
from benchwright.execution.outposts import bundles
from benchwright.execution.outposts.link import Link, Tell
from benchwright.fetch.remembered_digests import sha256_of
from benchwright.records import Case, Load, Target
from benchwright.worker.channel import Job

TRIES = 3  # to send files that change while they are read
PLACING = 60.0  # seconds for an outpost to lay files out


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """What must be over there for one piece of work, and each file as it was when it was first looked at."""

    bundle: bundles.Bundle
    files: dict[str, bundles.SentFile]


class ParcelDesk:
    """Makes parcels up and sends them; knows what lies over there already."""

    def __init__(self) -> None:
        self._placed: dict[str, bundles.SentFile] = {}
        self._parcels: dict[str, Parcel] = {}
        self._digests: dict[tuple[str, int, int], str] = {}

    def forget_placed(self) -> None:
        """Nothing lies over there any more: it went with the outpost."""
        self._placed.clear()

    def pack(self, job: Job, directory: Path, more: Iterable[str] = ()) -> Parcel:
        """What a case needs, as it is when the case is measured for the first time: every round gets the same.

        `more` are files that are needed beside it.
        """
        added = tuple(more)
        case = schema.encode(replace(job.case, load=Load()))
        key = json.dumps([case, job.paths, job.last_paths, str(directory), added])
        if key not in self._parcels:
            bundle = bundles.bundle_for(job, directory)
            bundle = replace(
                bundle,
                paths=(*bundle.paths, *map(Path, added)),
                named=(*bundle.named, *map(Path, added)),
                places=(*bundle.places, *added),
            )
            files = {str(path): self.describe(path) for path in bundle.paths}
            self._parcels[key] = Parcel(bundle=bundle, files=files)
        return self._parcels[key]

    def pack_code(
        self,
        targets: Sequence[str],
        directory: Path,
        *,
        paths: Sequence[str],
        last_paths: Sequence[str] = (),
        more: Iterable[str] = (),
    ) -> Parcel:
        """What must be there to import these targets."""
        parcels = [
            self.pack(
                make_job(
                    Case(name="", target=Target(runtime="python", uri=target)), paths=paths, last_paths=last_paths
                ),
                directory,
                more,
            )
            for target in targets or ("",)
        ]
        bundle = parcels[0].bundle
        for other in (parcel.bundle for parcel in parcels[1:]):
            bundle = bundles.Bundle(
                paths=tuple(dict.fromkeys((*bundle.paths, *other.paths))),
                named=tuple(dict.fromkeys((*bundle.named, *other.named))),
                folders=tuple(dict.fromkeys((*bundle.folders, *other.folders))),
                places=tuple(dict.fromkeys((*bundle.places, *other.places))),
            )
        return Parcel(bundle=bundle, files={path: one for each in parcels for path, one in each.files.items()})

    def send(self, link: Link, parcel: Parcel, directory: Path, tell: Tell) -> None:
        """Sends what is not over there yet. A file that keeps changing is left out, unless the case names it."""
        changed: list[str] = []
        for _ in range(TRIES):
            new = {path: one for path, one in parcel.files.items() if self._placed.get(path) != one}
            if not new and self._placed:
                return
            changed = link.send_files(new, tell)
            if not changed:
                break
            for path in changed:
                parcel.files[path] = self.describe(Path(path))
        for path in changed:
            if Path(path) in parcel.bundle.named:
                raise LinkError(f"{path} changed while it was sent", remedy="measure when nobody writes to it")
            del parcel.files[path], new[path]
        link.say(
            "place",
            files=[schema.encode(one) for one in new.values()],
            folders=list(parcel.bundle.folders),
            directory=str(directory),
            variables=bundles.sent_variables(),
        )
        link.hear_one("placed", seconds=PLACING)
        self._placed |= new

    def describe(self, path: Path) -> bundles.SentFile:
        """A file as it is now."""
        found = path.stat()
        key = (str(path), found.st_size, found.st_mtime_ns)
        if key not in self._digests:
            self._digests[key] = sha256_of([path])
        return bundles.SentFile(
            path=str(path), sha256=self._digests[key], size=found.st_size, executable=bool(found.st_mode & 0o100)
        )
