"""PerfZero's folders: what lies where under the project, and which run may use the folders of an id."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from benchwright.system.locks import try_lock

DATA = "/data"  # where PerfZero has data sets
SUMMARY = "perfzero_summary.json"
LOG = "perfzero.log"
PROCESS_INFO = "process_info.log"
PROFILE = "profiler_data"
PLACE = ".execution_ids"  # below the workspace: a file for each id, locked by the run that has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """The workspace of a project; an absolute `name` is taken as it is."""

    project: Path
    name: str

    @property
    def root(self) -> Path:
        return (self.project / (self.name or "workspace")).absolute()

    @property
    def packages(self) -> Path:
        """Returns the folder that repositories are cloned to."""
        return self.root / "site-packages"

    @property
    def output(self) -> Path:
        """Returns the folder in which every method has a folder of its own."""
        return self.root / "output"

    def python_path(self, parts: list[str]) -> tuple[str, ...]:
        """The folders that `--python_path` names; an absolute one is taken as it is."""
        return tuple(os.path.normpath(self.packages / part) for part in parts)


class FolderClaim:
    """The right to the output folders of an id. Which were made is written down, for the next run to clear.

    Names alone would not tell: `nightly-2` may be the second folder of `nightly`, or somebody's id.
    """

    def __init__(self, file: int, path: Path) -> None:
        self._file, self._path = file, path

    @classmethod
    def take(cls, workspace: Path, execution_id: str) -> FolderClaim | None:
        """The claim, or None while another run has it. It ends with this process, however that ends."""
        path = workspace / PLACE / execution_id
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            is_ours = try_lock(file)
        except OSError:
            is_ours = True  # a file system without locks: better without than not at all
        if not is_ours:
            os.close(file)
            return None
        return cls(file, path)

    def clear(self, output: Path) -> None:
        """Removes what the run before left under this id, and what PerfZero itself left there."""
        id, names = self._path.name, self._path.read_text(encoding="utf-8").split("\n")
        earlier = {output / name for name in names if name == id or (name.startswith(f"{id}-") and "/" not in name)}
        if _is_output(own := output / id):
            earlier.add(own)
        for folder in sorted(earlier):
            if folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder)
        os.ftruncate(self._file, 0)

    def note(self, folder: str) -> None:
        """Writes down a folder that is about to be made."""
        with contextlib.suppress(OSError):  # a full disk: the next run will not clear it, and that is all
            os.lseek(self._file, 0, os.SEEK_END)
            os.write(self._file, f"{folder}\n".encode())

    def close(self) -> None:
        """Releases the id for another run."""
        os.close(self._file)


def _is_output(folder: Path) -> bool:
    """Whether a benchmark ran there; a folder that somebody has put data into is nobody's to clear."""
    return any((folder / name).is_file() for name in (LOG, SUMMARY, PROCESS_INFO))
