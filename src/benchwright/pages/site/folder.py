"""A site's folder: written file by file, each whole or not at all, and only where something changed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from benchwright._version import VERSION
from benchwright.errors import OptionError
from benchwright.pages.site.files import SIGNATURE
from benchwright.system import whole_files

MARK = "benchwright-site.json"  # says that the folder is ours
DATA = "data"


@dataclass(slots=True, kw_only=True)
class FileCounts:
    """How many files of a site were written, left as they were and removed."""

    written: int = 0
    unchanged: int = 0
    removed: int = 0
    size: int = 0  # bytes, of the whole site


class Folder:
    """One writing of a site. A folder that is somebody else's is refused, unless `force`.

    `is_same_maker` says whether what is there was made by the same code, as `made_by` tells.
    """

    def __init__(self, path: Path, made_by: str, *, force: bool = False) -> None:
        self._path = path.absolute()
        self._now: set[str] = set()
        self.counts = FileCounts()
        if not force:
            self._check()
        try:
            (self._path / DATA).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(f"{path}: cannot be made: {error.strerror}", remedy="name another folder") from None
        self._mark = _mark(made_by)
        self.is_same_maker = not force and self.content(MARK) == self._mark
        if not self.is_same_maker:  # first: whoever is cut off can begin again, and trusts nothing that is older
            self._replace(self._path / MARK, _mark(""))

    def write(self, name: str, content: bytes) -> bool:
        """Puts a file there; False when it was there already, the very same."""
        if self.content(name) == content:
            return not self.keep(name)
        self._now.add(name)
        self.counts.written += 1
        self.counts.size += len(content)
        self._replace(self._path / name, content)
        return True

    def keep(self, name: str) -> bool:
        """Leaves a file as it is; False when there is none."""
        try:
            size = (self._path / name).stat().st_size
        except OSError:
            return False
        self._now.add(name)
        self.counts.unchanged += 1
        self.counts.size += size
        return True

    def content(self, name: str) -> bytes | None:
        """Returns the content of the file of this name; None when there is none."""
        try:
            return (self._path / name).read_bytes()
        except OSError:
            return None

    def finish(self) -> None:
        """Removes answers of an older site, but no file that is not ours; from now on this site can be trusted."""
        for file in sorted((self._path / DATA).glob("*.js")):
            if f"{DATA}/{file.name}" not in self._now and _is_ours(file):
                file.unlink(missing_ok=True)
                self.counts.removed += 1
        if not self.is_same_maker:
            self._replace(self._path / MARK, self._mark)

    def _check(self) -> None:
        path = self._path
        try:
            theirs = path.exists() and any(path.iterdir()) and not (path / MARK).is_file()
        except OSError as error:
            raise OptionError(f"{path}: {error.strerror}", remedy="name a folder for the site") from None
        if theirs:
            raise OptionError(
                f"{path}: the folder is not empty, and Benchwright did not write it",
                remedy="name another folder, or add --force to write into this one",
            )

    def _replace(self, file: Path, content: bytes) -> None:
        try:
            whole_files.write_bytes(file, content)
        except OSError as error:
            raise OptionError(f"{file}: cannot be written: {error.strerror}", remedy="name another folder") from None


def _mark(made_by: str) -> bytes:
    return json.dumps({"benchwright": VERSION, "made_by": made_by}).encode() + b"\n"


def _is_ours(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(len(SIGNATURE)) == SIGNATURE
    except OSError:
        return False
