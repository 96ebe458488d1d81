"""Comparisons that were judged a moment ago, kept at hand.

Whoever looks at a comparison asks for its next page, types a filter or opens what did not change: each is a request of
its own, and thousands of lines would be judged again for each. What was judged stays right as long as the sides hold
the same results, so it is kept with a version that says which these are. A comparison that took long to judge is shown
for a while longer, though results have arrived: where some arrive all the time, it would be judged all the time.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from benchwright.store.archive import Archive

Judged = TypeVar("Judged")
LASTS = 60.0  # seconds: names of machines and subjects of commits may be stated anew
LONG = 1.0  # seconds of judging, from which on it is not done again for every result that arrives
PATIENCE = 10.0  # times as long as judging took
MOST_LINES = 20_000  # of all that are kept for one archive: a line takes a few kilobytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept(Generic[Judged]):
    """A comparison that was judged, of which version of the sides, when, and in how many seconds."""

    judged: Judged
    version: Hashable
    lines: int
    since: float
    took: float


class KeptComparisons(Generic[Judged]):
    """The comparisons of each archive that were asked for last, within bounds of age and size."""

    def __init__(self, *, lasts: float = LASTS, most_lines: int = MOST_LINES) -> None:
        self._lasts = lasts
        self._most = most_lines
        self._of: WeakKeyDictionary[Archive, OrderedDict[Hashable, _Kept[Judged]]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def get(
        self,
        archive: Archive,
        key: Hashable,
        make: Callable[[], Judged],
        *,
        size: Callable[[Judged], int],
        version: Hashable = None,
    ) -> Judged:
        """Returns what is kept under the key, or what `make` gives, and keeps that; `size` counts its lines."""
        with self._lock:
            kept = self._of.setdefault(archive, OrderedDict())
            found = kept.get(key)
            if found is not None and time.monotonic() - found.since < self._lasting(found, version):
                kept.move_to_end(key)
                return found.judged
        begun = time.monotonic()
        judged = make()  # without the lock: others need not wait for it
        with self._lock:
            now = time.monotonic()
            kept[key] = _Kept(judged=judged, version=version, lines=size(judged), since=now, took=now - begun)
            kept.move_to_end(key)
            self._shrink(kept)
        return judged

    def _lasting(self, found: _Kept[Judged], version: Hashable) -> float:
        """For how many seconds a comparison is shown, now that the sides are of this version."""
        if found.version == version:
            return self._lasts
        return min(self._lasts, PATIENCE * found.took) if found.took >= LONG else 0.0

    def _shrink(self, kept: OrderedDict[Hashable, _Kept[Judged]]) -> None:
        """Drops what is too old, then what was asked for longest ago, until the rest is small enough."""
        now = time.monotonic()
        for key in [key for key, one in kept.items() if now - one.since >= self._lasts]:
            del kept[key]
        while kept and sum(one.lines for one in kept.values()) > self._most:
            kept.popitem(last=False)
