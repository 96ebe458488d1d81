"""Revisions made ready to be measured: a working copy and an environment of its own for each, built once.

The user's own working copy is never touched. What was built is kept and found again; what was cut off never looks
built; what failed by itself is remembered with the end of its log, and not tried again unless asked.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchwright import config, schema
from benchwright.builds import commands, environments
from benchwright.errors import BenchwrightError
from benchwright.fetch.locks import locked
from benchwright.records import Failure, Revision
from benchwright.vcs.history import open_repository

MARK = "built.json"  # written last: a folder without it was cut off
LOG = "build.log"
TIMEOUT = 3600.0  # seconds a build may take


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A revision that can be measured, or the reason why it cannot."""

    revision: Revision
    folder: Path  # its working copy
    python: str  # the interpreter to measure with
    log: Path
    failure: Failure | None = None
    seconds: float = 0.0
    cached: bool = False  # it was there from before

    @property
    def ok(self) -> bool:
        """Whether it was built."""
        return self.failure is None

    @property
    def environment(self) -> dict[str, str]:
        """The variables that whatever runs in it must see."""
        return environments.variables(Path(self.python), self.revision.id, self.folder)

    @property
    def paths(self) -> tuple[str, ...]:
        """What goes in front of `sys.path`: the working copy, and its `src` where there is one."""
        source = self.folder / "src"
        return (str(self.folder), *([str(source)] if source.is_dir() else []))


class Builder:
    """Makes working copies of the repository around `repo` ready with `command`, a shell line of the user's own.

    With a command, each revision has an environment of its own, first in PATH, so that `pip install -e .` goes there;
    it also sees what is installed here. `root` is where all of it is kept.
    """

    def __init__(
        self, repo: Path, *, command: str = "", root: Path | None = None, timeout: float = TIMEOUT, python: str = ""
    ) -> None:
        self.repository = open_repository(repo)
        self._command, self._timeout = command, timeout
        self._python = python or sys.executable
        told = [str(self.repository.root), command, self._python, ".".join(map(str, sys.version_info[:3]))]
        key = hashlib.sha256("\0".join(told).encode()).hexdigest()[:12]
        self._root = (root or config.cache_folder() / "builds") / f"{self.repository.root.name}-{key}"

    def prepare(self, name: str, *, rebuild: bool = False) -> Built:
        """The revision that `name` means, built now or found as it was built; of several processes one builds.

        A build that fails is an answer, not an exception; a name that means nothing is a `TargetError`.
        """
        revision = self.repository.resolve(name).revision
        place = self._root / revision.id
        place.parent.mkdir(parents=True, exist_ok=True)
        with locked(place.with_name(f".{revision.id}.lock")):
            kept = self._kept(place, revision)
            if kept is not None and not rebuild:
                return kept
            self._clear(place)
            return self._build(place, revision)

    def drop(self, name: str) -> None:
        """Forgets a revision with all that was built of it."""
        revision = self.repository.resolve(name).revision
        with locked((self._root / revision.id).with_name(f".{revision.id}.lock")):
            self._clear(self._root / revision.id)

    def _kept(self, place: Path, revision: Revision) -> Built | None:
        try:
            told = json.loads((place / MARK).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not (place / "work").is_dir():
            return None
        failure = schema.decode(Failure, told["failure"], where=MARK) if told["failure"] else None
        if failure is not None:
            failure = replace(failure, message=f"{failure.message} earlier; --rebuild builds it again")
        return self._answer(place, revision, failure=failure, seconds=float(told["seconds"]), cached=True)

    def _build(self, place: Path, revision: Revision) -> Built:
        begin = time.monotonic()
        (place / "tmp").mkdir(parents=True)
        failure = self._attempt(place, revision)
        built = self._answer(place, revision, failure=failure, seconds=time.monotonic() - begin)
        if failure is None or failure.kind == commands.OWN_FAULT:  # others may not happen again
            _write_whole(place / MARK, {"failure": schema.encode(failure), "seconds": built.seconds})
        return built

    def _attempt(self, place: Path, revision: Revision) -> Failure | None:
        try:
            self.repository.work_copy(revision.id, place / "work")
            if not self._command:
                return None
            environments.make(place / "environment", self._python)
        except (BenchwrightError, OSError) as error:
            remedy = getattr(error, "remedy", "")
            return Failure(kind="copy", message=f"no working copy of {revision.id[:12]}: {error}", remedy=remedy)
        built = self._answer(place, revision)
        return commands.run(
            self._command, built.folder, built.environment, log=built.log, timeout=self._timeout, what=revision.id[:12]
        )

    def _answer(self, place: Path, revision: Revision, **known: Any) -> Built:
        python = str(environments.interpreter(place / "environment")) if self._command else self._python
        bare = Built(revision=revision, folder=place / "work", python=python, log=place / LOG)
        return replace(bare, **known)

    def _clear(self, place: Path) -> None:
        (place / MARK).unlink(missing_ok=True)  # first: what is half gone does not look built
        commands.end_left_over(place / LOG)
        self.repository.drop(place / "work")
        environments.remove(place)


def _write_whole(path: Path, content: dict[str, Any]) -> None:
    fresh = path.with_name(f".{path.name}")
    with fresh.open("w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
