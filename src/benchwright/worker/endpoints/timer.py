"""An alarm for an event loop that rings within microseconds: loops' own timers count in milliseconds."""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
from collections.abc import Callable

_MONOTONIC = 1  # the clock that `time.perf_counter_ns` reads on Linux
_FLAGS = 0o4000 | 0o2000000  # TFD_NONBLOCK, TFD_CLOEXEC
_ABSOLUTE = 1  # TFD_TIMER_ABSTIME
_SECOND = 1_000_000_000
_EARLY = 0.0015  # seconds before the instant at which a loop without such a timer begins to look at the clock


class _Interval(ctypes.Structure):
    """`struct itimerspec` of Linux: interval, then the first expiry."""

    _fields_ = [(name, ctypes.c_long) for name in ("every_s", "every_ns", "first_s", "first_ns")]


class KernelAlarm:
    """Linux's timer as a file that the loop watches. `ring` is called at the instant that was set last."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop, self._ring = loop, ring
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.timerfd_create(_MONOTONIC, _FLAGS)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._setting = _Interval()
        self._address = ctypes.byref(self._setting)
        loop.add_reader(self._fd, self._expired)

    def set(self, instant: int) -> None:
        """Rings at an instant in ns of `time.perf_counter_ns`; at once when it has passed."""
        self._setting.first_s, self._setting.first_ns = divmod(max(1, instant), _SECOND)
        self._libc.timerfd_settime(self._fd, _ABSOLUTE, self._address, None)

    def close(self) -> None:
        """Never rings again."""
        self._loop.remove_reader(self._fd)
        os.close(self._fd)

    def _expired(self) -> None:
        try:
            os.read(self._fd, 8)
        except BlockingIOError:  # it was set anew since it rang
            return
        self._ring()


class LoopAlarm:
    """The same without Linux: sleeps until shortly before the instant, then asks the clock in each turn of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None], now: Callable[[], int]) -> None:
        self._loop, self._ring, self._now = loop, ring, now
        self._handle: asyncio.Handle | None = None
        self._instant = 0

    def set(self, instant: int) -> None:
        """Rings at an instant in ns of the clock; at once when it has passed."""
        self.close()
        self._instant = instant
        left = (instant - self._now()) / _SECOND - _EARLY
        self._handle = self._loop.call_later(left, self._look) if left > 0 else self._loop.call_soon(self._look)

    def close(self) -> None:
        """Never rings again, unless it is set."""
        if self._handle is not None:
            self._handle.cancel()

    def _look(self) -> None:
        if self._now() < self._instant:
            self._handle = self._loop.call_soon(self._look)
        else:
            self._ring()


def make_alarm(
    loop: asyncio.AbstractEventLoop, ring: Callable[[], None], now: Callable[[], int]
) -> KernelAlarm | LoopAlarm:
    """The best alarm that this system has."""
    if sys.platform.startswith("linux"):
        try:
            return KernelAlarm(loop, ring)
        except (OSError, AttributeError):  # a system call that a sandbox refuses, a library that lacks it
            pass
    return LoopAlarm(loop, ring, now)
