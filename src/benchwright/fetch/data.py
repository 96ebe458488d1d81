"""Data sets: fetched, and unpacked beside when they come packed."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from benchwright.fetch.archives import is_archive, unpack
from benchwright.fetch.downloads import FetchOptions, fetch
from benchwright.system.addresses import name_of

PACKED = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".zip", ".gz")


def fetch_data(url: str, target: Path, **how: Unpack[FetchOptions]) -> Path:
    """As `fetch`; what is called and is an archive is also unpacked into the target's folder, and kept.

    The target appears last: once it is there, so is everything that was in it. Formats that merely are zip files
    inside, such as `.npz` or `.pt`, are left alone.
    """

    def unpack_beside(file: Path) -> None:
        named = any(name.lower().endswith(PACKED) for name in (name_of(url), target.name))
        if named and is_archive(file):
            unpack(file, target.absolute().parent, name=target.name)

    return fetch(url, target, before_done=unpack_beside, **how)
