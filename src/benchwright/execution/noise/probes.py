"""Small probes of the clock and of sleeping."""

from __future__ import annotations

import time
from collections.abc import Sequence

from benchwright.stats.ranks import interpolate
from benchwright.worker.engine.clock import ClockFacts, SystemClock, calibrate


def clock_facts() -> ClockFacts:
    """What a read of the machine's clock costs, and its smallest step."""
    return calibrate(SystemClock())


def sleep_errors(count: int = 200, asked: float = 0.001) -> list[float]:
    """How much longer than asked each of `count` sleeps was, in seconds, shortest first."""
    errors = []
    for _ in range(count):
        begin = time.perf_counter()
        time.sleep(asked)
        errors.append(time.perf_counter() - begin - asked)
    return sorted(errors)


def quantile(ordered: Sequence[float], q: float) -> float:
    """The value below which the share `q` of ordered values lies."""
    return interpolate(ordered, 1 + q * (len(ordered) - 1))
