"""Digests of large files, kept from one run to the next: what nobody has touched since is not read again.

Whether a file was touched is told by its size, its times of change and its number on the disk. A file that changed a
moment ago may change again without its times showing it, so its digest is not kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

from benchwright import config
from benchwright.errors import BenchwrightError
from benchwright.system import whole_files

LEAST = 4 << 20  # bytes: reading less takes no longer than looking it up
SETTLED = 2.0  # seconds, the coarsest clock of a file system in use
MOST_KEPT = 1000
PIECE = 1 << 20
_FOLDER = "digests"
_KEPT = re.compile(r"([0-9a-f]{64}) ([0-9a-f]{64})\n")


def sha256_of(paths: Sequence[Path]) -> str:
    """The SHA-256 of the contents of files, one after another."""
    found = [path.stat() for path in paths]
    if sum(one.st_size for one in found) < LEAST:
        return _read(paths)
    place, stamp = _place(paths), _stamp(found)
    if place is not None and (kept := _look_up(place, stamp)):
        return kept
    digest = _read(paths)
    after = [path.stat() for path in paths]
    settled = max(max(one.st_mtime, one.st_ctime) for one in after) < time.time() - SETTLED
    if place is not None and settled and _stamp(after) == stamp:
        _keep(place, stamp, digest)
    return digest


def _read(paths: Sequence[Path]) -> str:
    state = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                state.update(piece)
    return state.hexdigest()


def _stamp(found: Sequence[os.stat_result]) -> str:
    """What differs as soon as somebody writes to one of the files, or puts another in its place."""
    told = [f"{one.st_dev} {one.st_ino} {one.st_size} {one.st_mtime_ns} {one.st_ctime_ns}" for one in found]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()


def _place(paths: Sequence[Path]) -> Path | None:
    """Where the digest of these files is kept; None where this user has no cache."""
    names = "\0".join(os.path.abspath(path) for path in paths)  # noqa: PTH100
    try:
        return config.cache_folder() / _FOLDER / hashlib.sha256(os.fsencode(names)).hexdigest()
    except BenchwrightError:
        return None


def _look_up(place: Path, stamp: str) -> str:
    try:
        with place.open("rb") as file:
            text = file.read(1000).decode("ascii", "replace")
    except OSError:
        return ""
    found = _KEPT.fullmatch(text)
    if found is None or found[1] != stamp:
        return ""
    with contextlib.suppress(OSError):
        os.utime(place)  # it is in use
    return found[2]


def _keep(place: Path, stamp: str, digest: str) -> None:
    """Keeps a digest; a disk that does not take it costs a second look at the file, no more."""
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        whole_files.write_text(place, f"{stamp} {digest}\n", mode=0o600)
        others = sorted(os.scandir(place.parent), key=lambda one: one.stat().st_mtime, reverse=True)
        for one in others[MOST_KEPT:]:
            Path(one.path).unlink(missing_ok=True)
