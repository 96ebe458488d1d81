"""Clocks: the machine's, and one that tests can turn by hand; what reading and waiting on them costs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat, starmap
from operator import sub
from typing import Protocol

SLEEPS = 16  # how many sleeps teach the spin margin
SLEEP = 0.0003  # seconds each
LEAST_MARGIN, MOST_MARGIN = 20_000, 1_000_000  # ns


class Clock(Protocol):
    """A monotonic clock in nanoseconds that can be waited on."""

    @property
    def now(self) -> Callable[[], int]:
        """Reads the clock."""
        ...

    def wait_until(self, instant: int) -> None:
        """Returns at `instant`, or at once when it has passed."""
        ...


class SystemClock:
    """The machine's monotonic clock. Waits asleep until `margin` ns before the instant, then spins.

    The margin doubles whenever a sleep lasted too long and shrinks slowly while sleeps are punctual, so that it fits
    the machine as it is now: one that only grew would never sleep in the end, and be taken off the CPU for it.
    """

    def __init__(self, margin: int = 200_000) -> None:
        self.now = time.perf_counter_ns
        self.margin = margin

    def wait_until(self, instant: int) -> None:
        now = self.now
        asleep = instant - now() - self.margin
        if asleep > 0:
            time.sleep(asleep / 1e9)
            if now() > instant:
                self.margin = min(self.margin * 2, MOST_MARGIN)
            else:
                self.margin = max(self.margin - self.margin // 64, LEAST_MARGIN)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockFacts:
    """What the clock itself adds, in ns."""

    read: int  # one read, nothing between
    loop: int  # what the timed loop adds to each call: one read and the loop around it
    resolution: int  # the smallest step seen


def calibrate(clock: Clock, *, rounds: int = 20, reads: int = 200) -> ClockFacts:
    """Reads the clock back to back. The cheapest round counts: interference only ever adds."""
    if isinstance(clock, FakeClock):
        return ClockFacts(read=0, loop=0, resolution=1)
    now = clock.now
    plain = [_steps([now() for _ in range(reads)]) for _ in range(rounds)]
    looped = [_steps([now() for _ in starmap(_nothing, repeat((), reads))]) for _ in range(rounds)]
    nothing = min(_cost_of_nothing(now, reads) for _ in range(rounds))
    return ClockFacts(
        read=min(steps[reads // 2] for steps in plain),
        loop=max(0, min(steps[reads // 2] for steps in looped) - nothing),
        resolution=min((step for steps in plain for step in steps if step > 0), default=1),
    )


def learn_margin(clock: SystemClock, *, sleeps: int = SLEEPS) -> int:
    """Sets the clock's spin margin from how far sleeps overshoot on this machine now; returns the median overshoot."""
    late = []
    for _ in range(sleeps):
        due = clock.now() + int(SLEEP * 1e9)
        time.sleep(SLEEP)
        late.append(max(0, clock.now() - due))
    late.sort()
    clock.margin = min(MOST_MARGIN, max(LEAST_MARGIN, 2 * late[-2]))  # the worst but one: one outlier teaches nothing
    return late[sleeps // 2]


def tighten_timer_slack() -> None:
    """Asks Linux to end this thread's sleeps on time; by default they may last 50 µs longer."""
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)  # PR_SET_TIMERSLACK, 1 ns


_nothing: Callable[[], object] = tuple  # the cheapest callable there is: returns a shared constant


def _steps(ticks: list[int]) -> list[int]:
    """The distances between neighbours, shortest first."""
    return sorted(map(sub, ticks[1:], ticks))


def _cost_of_nothing(now: Callable[[], int], calls: int) -> int:
    """ns that one call of `_nothing` takes inside the loop."""
    begin = now()
    for _ in starmap(_nothing, repeat((), calls)):
        pass
    middle = now()
    for _ in repeat((), calls):
        pass
    return max(0, (middle - begin) - (now() - middle)) // calls
