"""What an agent has measured and not delivered yet: results and the files that they name, until the server has them."""

from __future__ import annotations

import contextlib
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from benchwright import schema
from benchwright.errors import BenchwrightError
from benchwright.records import Artifact, Result, Run
from benchwright.system import whole_files

_NAME = re.compile(r"(?P<machine>[A-Za-z0-9._:-]+)@(?P<fence>[0-9a-f.]+)\.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpooledJob:
    """The results of one job, in a file."""

    machine: str
    fence: str
    path: Path

    @property
    def files(self) -> Path:
        """The folder of the files that the results name."""
        return self.path.with_suffix(".files")

    def artifacts(self) -> list[tuple[str, Artifact]]:
        """The files that the results name, each with the id of its result."""
        if not self.files.is_dir():
            return []
        try:
            run = schema.loads(self.path.read_text(encoding="utf-8"), Run, where=self.path.name)
        except (OSError, ValueError, BenchwrightError):  # something changed it: the results themselves are delivered
            return []
        return [(result.id, artifact) for result in run.results for artifact in result.artifacts]


class AgentSpool:
    """Jobs below a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def add(self, machine: str, fence: str, run: Run) -> SpooledJob:
        """Keeps results, with the files that they name; they are on the disk when this returns."""
        job = SpooledJob(machine=machine, fence=fence, path=self._folder / f"{machine}@{fence}.json")
        shutil.rmtree(job.files, ignore_errors=True)
        kept = replace(run, results=tuple(_with_files(result, job.files) for result in run.results))
        whole_files.write_bytes(job.path, schema.dumps(kept).encode(), mode=0o600, durable=True)
        return job

    def all(self, machine: str = "") -> list[SpooledJob]:
        """What is left to deliver, of one machine or of all."""
        found = []
        for path in sorted(self._folder.iterdir()):
            named = _NAME.fullmatch(path.name)
            if named and machine in ("", named["machine"]):
                found.append(SpooledJob(machine=named["machine"], fence=named["fence"], path=path))
        return found

    def drop(self, job: SpooledJob) -> None:
        """Forgets what the server has, or does not want."""
        with contextlib.suppress(FileNotFoundError):
            job.path.unlink()
        shutil.rmtree(job.files, ignore_errors=True)


def _with_files(result: Result, folder: Path) -> Result:
    """The result, with the files that it names moved to a folder where they stay until they are sent."""
    moved = []
    for artifact in result.artifacts:
        target = folder / result.id / artifact.name
        with contextlib.suppress(OSError):  # one that is not there, or cannot be read, is not sent
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            shutil.move(artifact.path, target)
            moved.append(replace(artifact, path=str(target)))
    return replace(result, artifacts=tuple(moved)) if result.artifacts else result
