"""A run to a store: its document, and the folders its results left files in."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from benchwright import schema
from benchwright.errors import UploadError
from benchwright.exchange.uploads import stores
from benchwright.exchange.uploads.folders import Listener, upload_as
from benchwright.records import Artifact, Result, Run

DOCUMENT = "run.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The outcome of sending a run: the addresses of what arrived, and texts about what did not."""

    sent: tuple[str, ...]
    failures: tuple[str, ...]


def send_run(run: Run, url: str, *, listener: Listener = lambda progress: None) -> Delivery:
    """Sends `<url>/<run>/run.json`, and each result's files as `<url>/<run>/<result>/...`.

    What cannot be sent is told in the answer; everything else is sent all the same.
    """
    place = stores.join_address(url, _segment(run.id))
    sent: list[str] = []
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="benchwright-") as made:
        Path(made, DOCUMENT).write_text(schema.dumps(run) + "\n", encoding="utf-8")
        for folder, target in [(Path(made), place), *_folders(run, place)]:
            try:
                sent.append(upload_as(folder, target, listener=listener))
            except UploadError as error:
                failures.append(error.message)
    return Delivery(sent=tuple(sent), failures=tuple(failures))


def lost_files(run: Run) -> list[str]:
    """Describes the files that the run recorded and that can no longer be sent."""
    return [text for result in run.results for text in _lost_files_of(result)]


def _lost_files_of(result: Result) -> Iterator[str]:
    for artifact in result.artifacts:
        if _root(artifact) is None:
            yield f"{artifact.path}: not a file of a folder that its record names; not sent"
    for folder in roots(result):
        own = [Path(artifact.path) for artifact in result.artifacts if _root(artifact) == folder]
        missing = [path for path in own if not path.is_file()]
        if missing == own:
            yield f"{folder}: no longer there, with {len(own)} file{'s' * (len(own) != 1)}"
        else:
            yield from (f"{path}: no longer there" for path in missing)
            if not is_its_own(result, folder):
                yield f"{folder}: holds other files now than this run left there; not sent"


def _folders(run: Run, place: str) -> Iterator[tuple[Path, str]]:
    for result in run.results:
        for folder in roots(result):
            if is_its_own(result, folder):
                yield folder, stores.join_address(place, _segment(result.id))


def roots(result: Result) -> list[Path]:
    """The folders that the names of its artifacts count from: one, unless somebody put the record together by hand."""
    return list(dict.fromkeys(root for artifact in result.artifacts if (root := _root(artifact)) is not None))


def _root(artifact: Artifact) -> Path | None:
    path, name = Path(artifact.path), PurePosixPath(artifact.name)
    count = len(name.parts)
    if not count or not path.is_absolute() or ".." in path.parts or path.parts[-count:] != name.parts:
        return None
    return path.parents[count - 1]


def is_its_own(result: Result, folder: Path) -> bool:
    """Whether the files that are there are as this result left them, and not those of a later run; some may be gone.

    Empty files are alike everywhere: they prove nothing where there are others.
    """
    own = [artifact for artifact in result.artifacts if _root(artifact) == folder]
    telling = [artifact for artifact in own if artifact.size] or own
    there = [artifact for artifact in telling if Path(artifact.path).is_file()]
    return bool(there) and all(map(_is_intact, there))


def _is_intact(artifact: Artifact) -> bool:
    path = Path(artifact.path)
    try:
        if path.stat().st_size != artifact.size:
            return False
        if not artifact.sha256:
            return True
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == artifact.sha256
    except OSError:
        return False


def _segment(id: str) -> str:
    """An id as one part of an address; ids of records from elsewhere may be anything."""
    return re.sub(r"[^\w-]", "_", id) or "_"
