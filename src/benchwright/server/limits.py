"""How often somebody may ask: a bucket of permits for each, refilled steadily."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache


class Buckets:
    """Permits by key: `burst` at first, `rate` more each second. The keys asked longest ago are forgotten."""

    def __init__(
        self, *, rate: float, burst: float, most: int = 10_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._most, self._clock = rate, burst, most, clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()  # key -> permits left, and when
        self._lock = threading.Lock()

    def take(self, key: str) -> float:
        """Takes a permit and returns 0; or the seconds until there is one."""
        with self._lock:
            now = self._clock()
            level, since = self._levels.pop(key, (self._burst, now))
            level = min(self._burst, level + (now - since) * self._rate)
            wait = 0.0 if level >= 1 else (1 - level) / self._rate
            self._levels[key] = (level - 1 if not wait else level, now)
            if len(self._levels) > self._most:
                self._levels.popitem(last=False)
            return wait


@lru_cache(maxsize=1000)
def neighbourhood(address: str) -> str:
    """What counts as one address: of IPv6 the network, since a household has 2**64 addresses of it."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 4 or parsed.is_loopback:
        return str(parsed)
    if parsed.ipv4_mapped:  # a socket for both kinds tells addresses of IPv4 so
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))
