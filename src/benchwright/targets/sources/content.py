"""The files that targets name, and what identifies their content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from benchwright.errors import TargetError

_CHUNK = 2**20


def find_file(target: str) -> Path:
    """The absolute path of the file that `target` names, or a `TargetError` that names the nearest one beside it.

    Links are not followed: caches of models keep files without their endings behind links that have them.
    """
    path = Path(target).expanduser().absolute()
    if path.is_file():
        return path
    if path.is_dir():
        raise TargetError(f"{target} is a folder", remedy="name a file in it")
    if not path.parent.is_dir():
        raise TargetError(f"there is no file {target}", remedy=f"there is no folder {path.parent} either")
    import difflib  # costs 5 ms and is needed only when something is wrong

    near = difflib.get_close_matches(path.name, [entry.name for entry in path.parent.iterdir()], n=1)
    raise TargetError(f"there is no file {target}", remedy=f"did you mean {near[0]!r}?" if near else "")


def digest(paths: Iterable[Path]) -> str:
    """SHA-256 of the files' contents one after another, read in pieces."""
    state = hashlib.sha256()
    for path in paths:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                state.update(chunk)
    return state.hexdigest()
