"""A process tree seen from outside: what it uses now, and what it has used since it was first seen.

On Linux each process is one kept `/proc/PID/stat` descriptor, read in place, and the tree is looked for again once a
second. A kept descriptor also survives the reuse of a process id: it goes on naming the process it was opened for.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol

REFRESH = 1.0  # seconds between searches for new descendants


class TreeUse(NamedTuple):
    """What a whole tree uses: memory and threads now; time and faults in all, ended descendants included."""

    rss: int
    threads: int
    cpu: float  # seconds
    faults: int
    major_faults: int


@dataclass(slots=True)
class Totals:
    """Counters too dear to read at every sample. None: this system does not tell."""

    peak: int | None = None  # bytes; the largest that any single process ever was
    voluntary: int | None = None
    involuntary: int | None = None
    read: int | None = None  # bytes from storage
    written: int | None = None
    reasons: dict[str, str] = field(default_factory=dict)


class Tree(Protocol):
    """Processes and their descendants."""

    def refresh(self) -> None:
        """Looks for new descendants."""
        ...

    def use(self) -> TreeUse:
        """Returns what the tree uses now; a cheap look."""
        ...

    def totals(self) -> Totals:
        """The dear counters now, summed over every process ever seen."""
        ...

    def pids(self) -> list[int]:
        """Returns the ids of the processes that were alive at the last look."""
        ...

    def close(self) -> None:
        """Lets go of every descriptor."""
        ...


def open_tree(pids: Iterable[int], proc: Path = Path("/proc")) -> Tree:
    """The tree below `pids`, by the cheapest way that this system offers."""
    if sys.platform.startswith("linux") and (proc / "self/task" / str(os.getpid()) / "children").exists():
        from benchwright.machine.monitors.proctree import ProcTree

        return ProcTree(pids, proc)
    from benchwright.machine.monitors.psutiltree import PsutilTree

    return PsutilTree(pids)


class TreeMonitor:
    """A monitor of the process trees below the workers; how a tree is opened and the clock can be others.

    Where workers only ask another process of theirs, such as a server, that is the one it watches.
    """

    of_measured: ClassVar[bool] = True

    def __init__(
        self,
        *,
        open_tree: Callable[[list[int]], Tree] = open_tree,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._open_tree, self._now = open_tree, now

    def _open(self, pids: list[int]) -> None:
        """Opens the tree below these processes, and starts the clock."""
        self._tree = self._open_tree(pids)
        self._zero = self._refreshed = self._now()

    def _elapsed(self) -> float:
        """Seconds since time zero; searches for new descendants when it is time to."""
        now = self._now()
        if now - self._refreshed >= REFRESH:
            self._refreshed = now
            self._tree.refresh()
        return now - self._zero
