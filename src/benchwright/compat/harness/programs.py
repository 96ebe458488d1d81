"""Programs of a commit, built as FAI-PEP builds them: `build.sh REPOSITORY DESTINATION`, kept by commit."""

from __future__ import annotations

import os
import shlex
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchwright.compat.harness.driver_flags import DriverFlags
from benchwright.errors import TargetError
from benchwright.execution.venvs import commands
from benchwright.records import Failure
from benchwright.system.locks import hold_lock
from benchwright.vcs.history import ALL, Commit, History

SCRIPT = "build.sh"
LOG = "build.log"
_ENDINGS = {"ios": ".ipa", "win": ".exe"}  # by the beginning of a platform's name


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltProgram:
    """What a commit was built to, or why it was not."""

    commit: Commit
    path: Path
    failure: Failure | None = None
    cached: bool = False

    def side(self) -> dict[str, Any]:
        """Returns the program as a side of an `--info` document, with other programs that the build left beside it."""
        beside = [file for file in sorted(self.path.parent.iterdir()) if file != self.path and _is_program(file)]
        programs = {"program": self.path} | {file.stem: file for file in beside}
        return {
            "commit": self.commit.revision.id,
            "commit_time": epoch(self.commit.revision.committed_at),
            "programs": {name: {"location": str(path)} for name, path in programs.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """Builds commits for one platform, each once."""

    flags: DriverFlags
    repository: History
    platform: str

    def build(self, commit: Commit) -> BuiltProgram:
        """Returns the commit's program: found where it was built before, or built in a working copy of its own."""
        place = self._place(commit)
        place.parent.parent.mkdir(parents=True, exist_ok=True)
        with hold_lock(place.parent.with_name(f".{commit.revision.id}.lock")):
            if place.is_file():
                return BuiltProgram(commit=commit, path=place, cached=True)
            copy = self.flags.exec_dir / ".work" / f"{commit.revision.id[:12]}-{uuid.uuid4().hex[:8]}"
            try:
                self.repository.work_copy(commit.revision.id, copy, submodules=ALL)
                return self._build(commit, copy, place)
            finally:
                self.repository.drop(copy)

    def build_working_copy(self, commit: Commit) -> BuiltProgram:
        """Builds the user's working copy, always anew."""
        return self._build(commit, self.repository.root, self._place(commit))

    def _build(self, commit: Commit, source: Path, place: Path) -> BuiltProgram:
        """Builds beside the place, and puts it there whole: what was cut off never looks built."""
        script = self._script()
        staging = place.parent.with_name(f".{commit.revision.id}-{uuid.uuid4().hex[:8]}")
        staging.mkdir(parents=True)
        try:
            made = staging / place.name
            failure = commands.run(
                shlex.join(["sh", str(script), str(source), str(made)]),
                source,
                self.flags.env,
                log=staging / LOG,
                timeout=self.flags.timeout,
                what=f"{commit.revision.id[:12]} for {self.platform}",
            )
            if failure is None and not made.is_file():
                failure = Failure(kind="build", message=f"{script} ended well but made no {made.name}")
            if failure is None:
                made.chmod(made.stat().st_mode | 0o100)
                shutil.rmtree(place.parent, ignore_errors=True)
                staging.rename(place.parent)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        return BuiltProgram(commit=commit, path=place, failure=failure)

    def _script(self) -> Path:
        """The platform's script, or that of the nearest folder above it."""
        if self.flags.frameworks_dir is None:
            raise TargetError(
                "no build script is named", remedy="name the folder of build scripts with --frameworks_dir"
            )
        root = self.flags.frameworks_dir / self.flags.framework
        folder = root / self.platform
        for place in (folder, *folder.parents):
            if (place / SCRIPT).is_file():
                return place / SCRIPT
            if place == root:
                break
        raise TargetError(f"there is neither {folder / SCRIPT} nor {root / SCRIPT}", remedy="write one")

    def _place(self, commit: Commit) -> Path:
        day = datetime.fromisoformat(commit.revision.committed_at).astimezone(UTC)
        folder = self.flags.exec_dir / self.flags.framework / self.platform / str(day.year) / str(day.month)
        ending = next((end for begin, end in _ENDINGS.items() if self.platform.startswith(begin)), "")
        return folder / str(day.day) / commit.revision.id / f"{self.flags.framework}_benchmark{ending}"


def epoch(instant: str) -> float:
    """Seconds since 1970."""
    return datetime.fromisoformat(instant).timestamp()


def info_document(treatment: BuiltProgram, control: BuiltProgram | None, more: Mapping[str, Any]) -> dict[str, Any]:
    """The `--info` document of a run."""
    compared = {"control": control.side()} if control is not None else {}
    return {"treatment": treatment.side(), **compared, **more}


def _is_program(file: Path) -> bool:
    return file.is_file() and os.access(file, os.X_OK)
