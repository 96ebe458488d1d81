"""CPU that watching takes: the parent and its monitors during the timed phase, as a share of one core.

python benchmarks/parent.py [--quick]
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence

import benchwright
from benchwright.events import Event, Reached
from harness import Claim, at_most, report, settings, spread, subjects

BEFORE_END = 0.1  # seconds: the look ends inside the timed phase


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is missed."""
    asked = settings(__doc__, arguments, rounds=5, quick_rounds=1)
    seconds = asked.pick(5.0, 1.0)
    meter = Meter(seconds - BEFORE_END)
    benchwright.run(
        str(subjects.model()),
        runtime="onnxruntime",
        options={"intra_op_num_threads": 1},
        duration=seconds,
        rounds=asked.rounds,
        save=False,
        listener=meter,
    )
    meter.join()
    claim = Claim(
        what="parent and monitors, share of a core while calls are timed",
        against="one core",
        figure=spread(meter.shares),
        unit="%",
        bar=at_most(0.5),
    )
    return report([claim], judged=not asked.quick)


class Meter:
    """Reads this process's CPU time when a timed phase begins and shortly before it ends; all threads count."""

    def __init__(self, seconds: float) -> None:
        self.shares: list[float] = []
        self._seconds = seconds
        self._timers: list[threading.Timer] = []

    def __call__(self, event: Event) -> None:
        """The runner's events."""
        if isinstance(event, Reached) and event.phase == "measuring":
            began, used = time.perf_counter(), time.process_time()
            self._timers.append(threading.Timer(self._seconds, self._end, (began, used)))
            self._timers[-1].start()

    def join(self) -> None:
        """Returns when every look has ended."""
        for timer in self._timers:
            timer.join()

    def _end(self, began: float, used: float) -> None:
        self.shares.append(100 * (time.process_time() - used) / (time.perf_counter() - began))


if __name__ == "__main__":
    sys.exit(main())
