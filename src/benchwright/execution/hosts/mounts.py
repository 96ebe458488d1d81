"""Which places of this machine a job needs inside a container: each at the path it has here.

Everything is read-only but the job's own folder. Folders that a container must have for itself (`/`, `/tmp`, `/usr`)
are never covered: of what lies directly in them, the file alone is mounted.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchwright.worker.channel import Job

_OWN = re.compile(
    r"/(?:bin|boot|etc|home|lib|lib64|opt|run|sbin|tmp|usr(?:/local)?(?:/(?:bin|lib|sbin|share))?|var(?:/(?:lib|tmp))?)?"
)
_PROGRAMS = tuple(map(Path, ("/bin", "/lib", "/lib64", "/sbin", "/usr")))
_KERNEL = tuple(map(Path, ("/dev", "/proc", "/sys")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A file or folder of this machine, inside at `at`, or at its own path."""

    path: Path
    writable: bool = False
    at: str = ""

    def argument(self) -> str:
        """What `--mount` takes; engines read it as a line of CSV, so a comma in a path is quoted."""
        fields = ["type=bind", f"source={self.path}", f"target={self.at or self.path}"]
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow([*fields, *(() if self.writable else ("readonly",))])
        return line.getvalue()


def needed_mounts(job: Job, here: Path, also: Iterable[Path] = ()) -> list[Mount]:
    """What must be there for the job: the present folder, what the case names, where it may write; parents first."""
    found = readable_mounts((here, *_named_paths(job, here), *also))
    if job.folder:
        folder = Path(job.folder)
        found = [*(mount for mount in found if mount.path != folder), Mount(path=folder, writable=True)]
    return sorted(found, key=lambda mount: mount.path.parts)


def readable_mounts(paths: Iterable[Path]) -> list[Mount]:
    """What to mount so that these can be read; nothing twice, and nothing below another."""
    places = {place for path in paths for place in _places(path)}
    return [Mount(path=place) for place in places if not any(parent in places for parent in place.parents)]


def _named_paths(job: Job, here: Path) -> Iterator[Path]:
    """Every existing file or folder that the job's texts name."""
    case = job.case
    words = [case.target.uri]
    if case.target.runtime == "command":
        words = [word for word in _words(case.target.uri) if not _is_below(Path(word), _PROGRAMS)]
    settings = [value for value in (*case.target.options.values(), *case.params.values()) if isinstance(value, str)]
    arrays = [*case.inputs.files.values()]
    if case.expected is not None:
        arrays += [*case.expected.outputs.values(), *case.expected.inputs.values()]
    for text in (*words, *settings, *arrays, case.inputs.source, case.load.trace, *job.paths, *job.last_paths):
        path = here / text.partition("::")[0]
        if text and _exists(path):
            yield path


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # an open quotation mark: the worker says so
        return []


def _is_below(path: Path, tops: tuple[Path, ...]) -> bool:
    return any(top in (path, *path.parents) for top in tops)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long for a name, or with a NUL: not a path at all
        return False


def _places(path: Path) -> Iterator[Path]:
    """What to mount for a path: its folder, so that files beside it are there; and the same where links lead."""
    for found in dict.fromkeys((Path(os.path.normpath(path)), path.resolve())):
        folder = found if found.is_dir() else found.parent
        if _is_below(found, _KERNEL):  # a container has its own of these
            continue
        if not _OWN.fullmatch(str(folder)):
            yield folder
        elif not found.is_dir():
            yield found
