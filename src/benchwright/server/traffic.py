"""Requests over time: how often somebody may ask, and how many were answered how fast."""

from __future__ import annotations

import ipaddress
import threading
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Buckets:
    """Permits by key: `burst` at first, `rate` more each second. The keys asked longest ago are forgotten."""

    def __init__(
        self, *, rate: float, burst: float, most: int = 10_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._most, self._clock = rate, burst, most, clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()  # key -> permits left, and when
        self._lock = threading.Lock()

    def take(self, key: str) -> float:
        """Takes a permit and returns 0, or returns the seconds until there is one."""
        with self._lock:
            now = self._clock()
            wait, left = self._draw(self._levels.pop(key, (self._burst, now)), now)
            self._levels[key] = (left, now)
            if len(self._levels) > self._most:
                self._levels.popitem(last=False)
            return wait

    def _draw(self, known: tuple[float, ...], now: float) -> tuple[float, float]:
        """Returns the seconds to wait, 0 where a permit was taken, and how many are left then."""
        level, since = known
        level = min(self._burst, level + (now - since) * self._rate)
        wait = 0.0 if level >= 1 else (1 - level) / self._rate
        return wait, level - 1 if not wait else level


@lru_cache(maxsize=1000)
def neighbourhood(address: str) -> str:
    """Returns what counts as one address: of IPv6 the network, since a household has 2**64 addresses."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 4 or parsed.is_loopback:
        return str(parsed)
    if parsed.ipv4_mapped:  # a socket for both kinds tells addresses of IPv4 so
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))


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
        """Counts one answered request; `route` is its pattern, never its path."""
        name = (method if method in _METHODS else "other", route, status)
        with self._lock:
            self._counts[name] = self._counts.get(name, 0) + 1
            timed = self._timed.setdefault(route, RouteTimes())
            timed.buckets[bisect_left(BOUNDS, seconds)] += 1
            timed.seconds += seconds

    def counts(self) -> Mapping[tuple[str, str, int], int]:
        """Returns how many requests there were, by method, route and status."""
        with self._lock:
            return dict(self._counts)

    def times(self) -> Mapping[str, RouteTimes]:
        """Returns how long requests took, by route."""
        with self._lock:
            return {
                route: RouteTimes(buckets=[*one.buckets], seconds=one.seconds) for route, one in self._timed.items()
            }
