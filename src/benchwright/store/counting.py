"""Counts over everything that was ever measured, without counting the old part again each time.

Results get ever larger numbers, and old ones rarely change. So what was counted up to a number is remembered, and only
what came after it is counted anew. A transaction that began earlier may end later: the newest numbers are therefore
never taken as settled. What another process takes away from the settled part shows within `_LASTS` seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from sqlalchemy import Connection, func, select

from benchwright.store import tables

K = TypeVar("K")
V = TypeVar("V")

UNSETTLED = 200  # results
EVERYTHING = 2**62  # a number that no result has
_LASTS = 600.0  # seconds


class Tally(Generic[K, V]):
    """`tally(connection)` is what `count` finds for all results, by key; `join` adds up two values of one key.

    `count(connection, above, upto)` looks at the results whose number is above one and at most the other.
    """

    def __init__(self, count: Callable[[Connection, int, int], dict[K, V]], join: Callable[[V, V], V]) -> None:
        self._count, self._join = count, join
        self._lock = threading.Lock()
        self._known: dict[K, V] = {}
        self._upto = 0
        self._since = time.monotonic()

    def __call__(self, connection: Connection) -> dict[K, V]:
        last = newest(connection)
        with self._lock:  # one thread counts the old part, the others wait for it
            if not settled(self._upto, last, self._since):
                self._restart()
            if last - self._upto > 2 * UNSETTLED:
                found = self._count(connection, self._upto, last - UNSETTLED)
                self._known, self._upto = self._joined(self._known, found), last - UNSETTLED
            known, upto = self._known, self._upto
        return self._joined(known, self._count(connection, upto, EVERYTHING))

    def forget(self) -> None:
        """Counts everything the next time."""
        with self._lock:
            self._restart()

    def _restart(self) -> None:
        self._known, self._upto, self._since = {}, 0, time.monotonic()

    def _joined(self, known: dict[K, V], found: dict[K, V]) -> dict[K, V]:
        both = dict(known)
        for key, value in found.items():
            both[key] = self._join(both[key], value) if key in both else value
        return both


def newest(connection: Connection) -> int:
    """The number of the newest result; 0 when there is none."""
    return connection.scalar(select(func.max(tables.results.c.id))) or 0


def settled(upto: int, last: int, since: float) -> bool:
    """Whether what was remembered up to a result, `since` an instant, may still be used when `last` is the newest."""
    return upto <= last and time.monotonic() - since < _LASTS
