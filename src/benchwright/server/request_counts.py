"""How many requests there were and how long they took. Bounded: routes, methods and statuses are few."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


@dataclass(slots=True)
class RouteTimes:
    """The requests of one route: how many ended within each bound, the last of them beyond all."""

    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0


class Traffic:
    """Counts since the server began. Safe to use from every thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str, int], int] = {}
        self._timed: dict[str, RouteTimes] = {}

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """One request that was answered; `route` is its pattern, never its path."""
        name = (method if method in _METHODS else "other", route, status)
        with self._lock:
            self._counts[name] = self._counts.get(name, 0) + 1
            timed = self._timed.setdefault(route, RouteTimes())
            timed.buckets[bisect_left(BOUNDS, seconds)] += 1
            timed.seconds += seconds

    def counts(self) -> Mapping[tuple[str, str, int], int]:
        """Requests by method, route and status."""
        with self._lock:
            return dict(self._counts)

    def times(self) -> Mapping[str, RouteTimes]:
        """How long they took, by route."""
        with self._lock:
            return {
                route: RouteTimes(buckets=[*one.buckets], seconds=one.seconds) for route, one in self._timed.items()
            }
