"""Small files through which a watch and its surroundings talk: the last commit, a switch, a machine's turn."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from benchwright import config
from benchwright.errors import OptionError
from benchwright.system import whole_files
from benchwright.system.locks import hold_lock

STOP = "0"
_LONGEST = 200  # characters of a commit file that are looked at


def told_to_stop(status_file: Path | None) -> bool:
    """Whether the status file says so; one that is not there, or cannot be read, says nothing."""
    if status_file is None:
        return False
    try:
        return status_file.read_text(encoding="utf-8").strip() == STOP
    except (OSError, ValueError):
        return False


def read_commit(commit_file: Path | None) -> str:
    """What the commit file holds; "" for nothing."""
    if commit_file is None:
        return ""
    try:
        return commit_file.read_text(encoding="utf-8", errors="replace").strip()[:_LONGEST]
    except OSError:
        return ""


def write_commit(commit_file: Path | None, commit: str) -> None:
    """Puts the commit into the file, whole or not at all; an `OptionError` when it cannot be written."""
    if commit_file is None:
        return
    try:
        commit_file.parent.mkdir(parents=True, exist_ok=True)
        whole_files.write_text(commit_file, f"{commit}\n", durable=True)
    except OSError as error:
        raise OptionError(f"{commit_file} cannot be written: {error.strerror}") from None


@contextlib.contextmanager
def own_turn() -> Iterator[None]:
    """The machine's turn, among all that ask for it: nothing is built or measured by another meanwhile."""
    folder = config.cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with hold_lock(folder / "this-machine.lock"):
        yield
