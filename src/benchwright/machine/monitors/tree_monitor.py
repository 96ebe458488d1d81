"""What monitors of process trees have in common: the tree, the time since it was first seen, and when to search it."""

from __future__ import annotations

import time
from collections.abc import Callable

from benchwright.machine.monitors.tree import Tree, open_tree

REFRESH = 1.0  # seconds between searches for new descendants


class TreeMonitor:
    """A monitor of the process trees below the workers; how a tree is opened and the clock can be others."""

    def __init__(
        self,
        *,
        open_tree: Callable[[list[int]], Tree] = open_tree,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._open_tree, self._now = open_tree, now

    def _open(self, pids: list[int]) -> None:
        """Time zero."""
        self._tree = self._open_tree(pids)
        self._zero = self._refreshed = self._now()

    def _elapsed(self) -> float:
        """Seconds since time zero; searches for new descendants when it is time to."""
        now = self._now()
        if now - self._refreshed >= REFRESH:
            self._refreshed = now
            self._tree.refresh()
        return now - self._zero
