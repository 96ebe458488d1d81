"""The files of a result, as requests that bring them to a server."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from benchwright.records import Artifact, Result
from benchwright.store.remote.request import ServerRequest

BYTES = "application/octet-stream"


def requests_of(result: Result, *, trusted: bool) -> Iterator[ServerRequest]:
    """One for each file that is here and is the one that was recorded.

    What the record of somebody else names (`trusted` is false) is sent only where its digest proves that it is meant: a
    record could name any file of this machine.
    """
    below = f"results/{quote(result.id, safe='', errors='replace')}/artifacts/"
    for artifact in result.artifacts:
        if _is_here(artifact, trusted=trusted):
            yield ServerRequest(
                method="PUT",
                path=below + quote(artifact.name, safe="/", errors="replace"),
                kind=BYTES,
                file=str(Path(artifact.path).absolute()),
                size=artifact.size,
                what=f"file {artifact.name} of result {result.id}",
            )


def _is_here(artifact: Artifact, *, trusted: bool) -> bool:
    path = Path(artifact.path)
    try:
        if not path.is_file() or path.stat().st_size != artifact.size:
            return False
        if trusted:
            return True
        with path.open("rb") as file:
            return bool(artifact.sha256) and hashlib.file_digest(file, "sha256").hexdigest() == artifact.sha256
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return False
