"""Files of a spec on this machine: in the cache when they have a digest or an address, else where they lie."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchwright.errors import FetchError
from benchwright.targets.specs.definition import SpecFile

Tell = Callable[[str, int, int | None], None]  # a file's name, the bytes that are here, and in all where that is known

_PAUSE = 0.2  # seconds between two looks at the progress of a download


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFile:
    """A file on this machine."""

    path: Path
    sha256: str  # "" when nobody needed it yet


def obtain(file: SpecFile, tell: Tell) -> LocalFile:
    """The file, verified when the spec has a digest of it; a `FetchError` that begins with its place in the spec."""
    if not file.is_url and not (file.sha256 or file.md5):
        if problem := problem_of_path(file):
            raise FetchError(f"{file.where}: {problem}", remedy="paths are relative to the spec")
        return LocalFile(path=Path(file.location), sha256="")
    from benchwright.fetch.cache import Cache, default_root

    progress = _limit_progress(file.name, tell) if file.is_url else None
    try:
        held = Cache(default_root()).obtain(
            file.location, name=file.name, sha256=file.sha256, md5=file.md5, progress=progress
        )
    except FetchError as error:
        raise FetchError(f"{file.where}: {error.message}", remedy=error.remedy) from error
    return LocalFile(path=held.path, sha256=held.sha256)


def problem_of_path(file: SpecFile) -> str:
    """What is wrong with a file of this machine, or ""."""
    path = Path(file.location)
    try:
        if path.is_file():
            return ""
        return f"{path} is a folder" if path.is_dir() else f"there is no file {path}"
    except (OSError, ValueError) as error:  # a name that no file can have
        why = error.strerror if isinstance(error, OSError) else str(error)
        return f"{str(path)[:100]!r} cannot be looked for: {why}"


def _limit_progress(name: str, tell: Tell) -> Callable[[int, int | None], None]:
    """Tells how far a download is, not more often than anybody can read."""
    last = 0.0

    def progress(here: int, whole: int | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _PAUSE or here == whole:
            last = now
            tell(name, here, whole)

    return progress
