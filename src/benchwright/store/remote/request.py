"""A request to a server, as a record that can wait on the disk; and those that bring the files of a result."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from benchwright.records import Artifact, Result

JSON = "application/json"
LINES = "application/x-ndjson"
BYTES = "application/octet-stream"
PACKED_FROM = 1024  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRequest:
    """A request to the server. `file` is sent in the place of `body`."""

    method: str
    path: str  # below the API
    body: bytes = b""
    kind: str = JSON
    packed: bool = False  # `body` is compressed
    file: str = ""
    size: int = 0  # of the file
    what: str = ""  # for people
    repeatable: bool = True  # sent twice, it does no harm

    @property
    def is_result(self) -> bool:
        """Whether it adds a result to a run and does nothing else."""
        return self.method == "PUT" and not self.file and _RESULT.fullmatch(self.path) is not None

    @property
    def run_path(self) -> str:
        """Returns where the results of the run are to which this adds one."""
        return self.path.rpartition("/")[0]

    def small(self) -> ServerRequest:
        """The same request with its body compressed, where that is worth it: a document, unless it is tiny."""
        if self.packed or self.kind != JSON or len(self.body) < PACKED_FROM:
            return self
        return replace(self, body=gzip.compress(self.body, 1, mtime=0), packed=True)


_RESULT = re.compile(r"runs/[^/?]+/results/[^/?]+")
_LINE_END = gzip.compress(b"\n", 1, mtime=0)


def join_results(requests: Sequence[ServerRequest]) -> ServerRequest:
    """Returns one request for requests that add results to the same run: a document on each line.

    What gzip packed can be put one behind the other as it is.
    """
    bodies = [one.body if one.packed else gzip.compress(one.body, 1, mtime=0) for one in requests]
    return ServerRequest(
        method="POST",
        path=requests[0].run_path,
        body=_LINE_END.join(bodies),
        kind=LINES,
        packed=True,
        what=f"{len(requests)} results",
    )


def requests_for_files(result: Result, *, trusted: bool) -> Iterator[ServerRequest]:
    """Returns a request for each file of a result that is still here, unchanged since it was recorded.

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
