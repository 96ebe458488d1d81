"""An `--execution_id` while a run uses it: the folders of the run before are cleared, those of one at work are not."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from benchwright.compat.perfzero.workspace import LOG, PROCESS_INFO, SUMMARY
from benchwright.system.locks import try_lock

PLACE = ".execution_ids"  # below the workspace: a file for each id, locked by the run that has it


class Claim:
    """The right to the output folders of an id. Which were made is written down, for the next run to clear.

    Names alone would not tell: `nightly-2` may be the second folder of `nightly`, or somebody's id.
    """

    def __init__(self, file: int, path: Path) -> None:
        self._file, self._path = file, path

    @classmethod
    def take(cls, workspace: Path, execution_id: str) -> Claim | None:
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
        """Lets another run have the id."""
        os.close(self._file)


def _is_output(folder: Path) -> bool:
    """Whether a benchmark ran there; a folder that somebody has put data into is nobody's to clear."""
    return any((folder / name).is_file() for name in (LOG, SUMMARY, PROCESS_INFO))
