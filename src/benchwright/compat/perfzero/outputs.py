"""A fresh output folder for each method and trial."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

from benchwright.compat.perfzero.console import log
from benchwright.compat.perfzero.workspace import FolderClaim, Workspace
from benchwright.errors import OptionError

_PLAIN = re.compile(r"[^/\0\n]+")


class Folders:
    """Makes output folders. No two are the same, also when one `--execution_id` was given for all.

    A run takes the place of an earlier one of the same id; two at once do not get into each other's way.
    """

    def __init__(self, workspace: Workspace, execution_id: str) -> None:
        if execution_id and (execution_id in (".", "..") or not _PLAIN.fullmatch(execution_id)):
            raise OptionError(f"--execution_id={execution_id} cannot be a folder's name", remedy="leave out / and ..")
        self._workspace, self._id = workspace, execution_id
        self._claim: FolderClaim | None = None
        self._names: Iterator[str] | None = None
        self.tried = workspace.output  # the folder that `next` tried to make last

    def next(self) -> Path:
        """A new folder: `<id>`, `<id>-2`, ..., or the present local time. An `OSError` when it cannot be made."""
        if self._names is None:
            self._names = (
                self._numbered_names() if self._id and self._claim_id() else _times(f"{self._id}-" if self._id else "")
            )
        while True:
            name = next(self._names)
            self.tried = self._workspace.output / name
            if self._claim is not None:
                self._claim.note(name)
            try:
                self.tried.mkdir(parents=True)
            except FileExistsError:
                if name != self._id or not self.tried.is_dir():  # that one may have been made for the run
                    continue
            return self.tried

    def close(self) -> None:
        """Releases the id for other runs."""
        if self._claim is not None:
            self._claim.close()
            self._claim = None

    def _claim_id(self) -> bool:
        """Claims the id and removes what an earlier run left under it; False while another run has it."""
        claim = FolderClaim.take(self._workspace.root, self._id)
        if claim is None:
            log.warning("--execution_id=%s is in use by another run: the time is added to it", self._id)
            return False
        try:
            claim.clear(self._workspace.output)
        except BaseException:
            claim.close()
            raise
        self._claim = claim
        return True

    def _numbered_names(self) -> Iterator[str]:
        yield self._id
        yield from (f"{self._id}-{number}" for number in count(2))


def _times(prefix: str) -> Iterator[str]:
    """Local times, as PerfZero's ids are; a microsecond later where one is taken."""
    last = datetime.min
    while True:
        last = max(datetime.now(), last + timedelta(microseconds=1))
        yield f"{prefix}{last:%Y-%m-%d-%H-%M-%S-%f}"
