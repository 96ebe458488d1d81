"""Clocks: the machine's, and one that tests can turn by hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock in nanoseconds that can be waited on."""

    now: Callable[[], int]

    def wait_until(self, instant: int) -> None:
        """Returns at `instant`, or at once when it has passed."""
        ...


class SystemClock:
    """The machine's monotonic clock. Waits asleep until `margin` ns before the instant, then spins."""

    def __init__(self, margin: int = 200_000) -> None:
        self.now = time.perf_counter_ns
        self.margin = margin

    def wait_until(self, instant: int) -> None:
        now = self.now
        asleep = instant - now() - self.margin
        if asleep > 0:
            time.sleep(asleep / 1e9)
        while now() < instant:
            pass


class FakeClock:
    """Virtual time: it moves only when something advances it or waits on it."""

    def __init__(self, start: int = 0) -> None:
        self.time = start

    def now(self) -> int:
        return self.time

    def advance(self, nanoseconds: int) -> None:
        """Lets virtual time pass; negative values turn the clock back."""
        self.time += nanoseconds

    def wait_until(self, instant: int) -> None:
        self.time = max(self.time, instant)
