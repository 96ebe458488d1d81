"""Workers of pytest-xdist take turns: while one of them runs a benchmark, the others run nothing.

Two locks on files that all workers of a run share. Whoever wants a turn waits in a line of one, so that a benchmark
does not wait for ever behind tests that follow each other.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchwright.system.locks import unlock, wait_for_lock


class WorkerTurns:
    """The turns of one worker. `run` is what all workers of a run of pytest have in common, and nobody else knows."""

    def __init__(self, run: str) -> None:
        if sys.platform == "win32":  # there is no such lock
            raise RuntimeError("workers cannot take turns on this system; run benchmarks without -n")
        self._line, self._turn = (os.open(path, os.O_RDWR | os.O_CREAT, 0o600) for path in _paths(run))

    @contextmanager
    def take(self, *, alone: bool) -> Iterator[None]:
        """Waits for a turn: with others that need no quiet, or alone."""
        wait_for_lock(self._line)
        try:
            wait_for_lock(self._turn, shared=not alone)
        finally:
            unlock(self._line)
        try:
            yield
        finally:
            unlock(self._turn)


def remove_turns(run: str) -> None:
    """Removes the files, when all workers have ended."""
    for path in _paths(run):
        with suppress(OSError):
            path.unlink()


def _paths(run: str) -> tuple[Path, Path]:
    folder = Path(tempfile.gettempdir())
    return folder / f"benchwright-{run}.line", folder / f"benchwright-{run}.turn"
