"""The file that a report goes to: checked before anything is measured, and never left half written."""

from __future__ import annotations

import os
from pathlib import Path

from benchwright.errors import OptionError
from benchwright.system import whole_files

SIGNATURE = '<meta name="generator" content="benchwright">'
_FORCE = {"-o": ", or add --force"}  # the one verb that can replace somebody else's file


def check_target(path: Path, force: bool = False, *, flag: str = "-o") -> None:
    """Raises when no report can go to `path`; remedies name `flag`, which is what the verb calls it.

    A file that is there already may be replaced only when Benchwright wrote it, or with `force`.
    """
    if path.is_dir():
        raise OptionError(f"'{path}' is a folder; name a file", remedy=f"for example {flag} {path / 'report.html'}")
    if not path.parent.is_dir():
        raise OptionError(f"{path}: there is no folder {path.parent}", remedy=f"make it, or name another file: {flag}")
    if path.exists() and not path.is_file():
        raise OptionError(f"{path}: is not a file that can be replaced", remedy=f"name another file: {flag}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise OptionError(f"{path}: its folder cannot be written to", remedy=f"name another file: {flag}")
    if path.exists() and not force and not _is_ours(path):
        raise OptionError(
            f"{path}: exists, and Benchwright did not write it",
            remedy=f"name another file: {flag}{_FORCE.get(flag, '')}",
        )


def write_target(path: Path, text: str, *, flag: str = "-o") -> None:
    """Writes the whole text or nothing."""
    try:
        whole_files.write_text(path.resolve(), text)  # a link stays one
    except OSError as error:
        raise OptionError(f"{path}: cannot be written: {error.strerror}", remedy=f"name another file: {flag}") from None


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return SIGNATURE.encode() in file.read(4096)
    except OSError:
        return False  # what cannot be read is somebody else's
