"""Counts over everything that was ever measured, without counting the old part again each time.

Results get ever larger numbers, and old ones rarely change. So what was counted up to a number is remembered, and only
what came after it is counted anew. A transaction that began earlier may end later: the newest numbers are therefore
never taken as settled. What another process takes away from the settled part shows within `_LASTS` seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

from sqlalchemy import Connection, Select, func, select

from benchwright.store.sql import tables
from benchwright.store.sql.engine import size

K = TypeVar("K")
V = TypeVar("V")

UNSETTLED = 200  # results
EVERYTHING = 2**62  # a number that no result has
_LASTS = 600.0  # seconds
_LATELY = 1.0  # seconds
_MANY = 1000  # keys


class RecentValue(Generic[V]):
    """What was found while some result was the newest. It holds for a second: a page asks for the same several times.

    Another's transaction may add a result with an older number meanwhile; that shows a second later.
    """

    def __init__(self) -> None:
        self._kept: tuple[int, float, V] | None = None

    def get(self, last: int) -> V | None:
        """The value that was kept, while `last` is still the newest result; else None."""
        kept = self._kept
        return kept[2] if kept and kept[0] == last and time.monotonic() - kept[1] < _LATELY else None

    def last(self) -> V | None:
        """The value that was kept, whatever the newest result is; None after a second."""
        kept = self._kept
        return kept[2] if kept and time.monotonic() - kept[1] < _LATELY else None

    def keep(self, last: int, found: V) -> V:
        """Remembers a value for as long as `last` is the newest result, and returns it."""
        self._kept = (last, time.monotonic(), found)
        return found

    def forget(self) -> None:
        """Drops the value, after rows were deleted or changed."""
        self._kept = None


class Sums(Mapping[K, V]):
    """What a `Tally` found: the settled part, which many are given, and what came since, added up when asked for."""

    def __init__(self, settled: dict[K, V], recent: dict[K, V], join: Callable[[V, V], V]) -> None:
        self.settled, self.recent, self._join = settled, recent, join

    def __getitem__(self, key: K) -> V:
        if key not in self.recent:
            return self.settled[key]
        recent = self.recent[key]
        return self._join(self.settled[key], recent) if key in self.settled else recent

    def __iter__(self) -> Iterator[K]:
        yield from self.settled
        yield from (key for key in self.recent if key not in self.settled)

    def __len__(self) -> int:
        return len(self.settled) + sum(key not in self.settled for key in self.recent)


class WholeSum:
    """How much all keys of `Sums` come to; the settled part, which may have 100,000 keys, is added up once."""

    def __init__(self) -> None:
        self._settled: tuple[object, int] = (None, 0)  # what of, and how much

    def __call__(self, sums: Sums[K, int]) -> int:
        settled = self._settled
        if settled[0] is not sums.settled:
            settled = self._settled = (sums.settled, sum(sums.settled.values()))
        return settled[1] + sum(sums.recent.values())


class Tally(Generic[K, V]):
    """`tally(connection)` is what `count` finds for all results, by key; `join` adds up two values of one key.

    `count(connection, above, upto)` looks at the results whose number is above one and at most the other. Where more is
    new than `_MANY` keys, what was counted holds for a second: with a hundred results a second, every look would count
    thousands of points again.
    """

    def __init__(self, count: Callable[[Connection, int, int], dict[K, V]], join: Callable[[V, V], V]) -> None:
        self._count, self._join = count, join
        self._lock = threading.Lock()
        self._known: dict[K, V] = {}
        self._upto = 0
        self._since = time.monotonic()
        self._lately: RecentValue[Sums[K, V]] = RecentValue()

    def __call__(self, connection: Connection) -> Sums[K, V]:
        kept = self._lately.last()
        if kept is not None and len(kept.recent) > _MANY:
            return kept
        last = newest(connection)
        if (same := self._lately.get(last)) is not None:
            return same
        with self._lock:  # one thread counts the old part, the others wait for it
            if self._upto > last:
                self._restart()
            is_old = not is_settled(self._upto, last, self._since)
            self._since = time.monotonic() if is_old else self._since
            if last - self._upto > 2 * UNSETTLED:
                found = self._count(connection, self._upto, last - UNSETTLED)
                self._known, self._upto = self._add_up(self._known, found), last - UNSETTLED
            known, upto = self._known, self._upto
        if is_old:  # this thread counts all of it again, which takes seconds; the others go on with what was known
            known, upto = self._count(connection, 0, upto), upto
            with self._lock:
                self._known, self._upto = known, upto
        recent = self._count(connection, upto, EVERYTHING)
        return self._lately.keep(last, Sums(known, recent, self._join))

    def forget(self) -> None:
        """Drops what was counted: the next call counts everything again."""
        with self._lock:
            self._restart()

    def _restart(self) -> None:
        self._known, self._upto, self._since = {}, 0, time.monotonic()
        self._lately.forget()

    def _add_up(self, known: dict[K, V], found: dict[K, V]) -> dict[K, V]:
        both = dict(known)  # others look at what is known meanwhile
        for key, value in found.items():
            both[key] = self._join(both[key], value) if key in both else value
        return both


def newest(connection: Connection) -> int:
    """The number of the newest result; 0 when there is none."""
    return connection.scalar(_newest()) or 0


@cache
def _newest() -> Select[tuple[int]]:
    return select(func.max(tables.results.c.id))


def is_settled(upto: int, last: int, since: float) -> bool:
    """Whether what was remembered up to a result, `since` an instant, may still be used when `last` is the newest."""
    return upto <= last and time.monotonic() - since < _LASTS


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreInfo:
    """What `benchwright store info` tells."""

    kind: str  # sqlite or postgresql
    place: str  # without secrets
    version: str  # of the tables
    server: str  # the database's own version
    counts: Mapping[str, int]  # rows of what people know by name
    bytes: int  # of the whole database
    sample_bytes: int  # of raw samples, compressed: what can age out


def info(connection: Connection, place: str) -> StoreInfo:
    """What kind of database this is, and how much it holds."""
    named = (
        tables.runs,
        tables.results,
        tables.series,
        tables.points,
        tables.environments,
        tables.findings,
        tables.mutes,
        tables.thresholds,
        tables.series_notes,
        tables.views,
        tables.tokens,
    )
    data = tables.sample_columns.c.data
    return StoreInfo(
        kind=connection.dialect.name,
        place=place,
        version=tables.VERSION,
        server=".".join(map(str, connection.dialect.server_version_info or ())),
        counts={table.name: connection.scalar(select(func.count()).select_from(table)) or 0 for table in named},
        bytes=size(connection),
        sample_bytes=int(connection.scalar(select(func.sum(func.length(data)))) or 0),
    )
