"""Probes of this machine: its clock, its sleeps, fixed work in a fresh process, and what others took meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from benchwright.errors import MeasureError
from benchwright.machine.monitors.system_cpu import SystemCpu
from benchwright.stats.ranks import interpolate
from benchwright.worker.engine.clock import ClockFacts, SystemClock, calibrate

WORKLOADS = ("interpreter", "memory", "matmul")
BUDGET = 0.2  # seconds of repetitions in one process

_PROGRAM = Path(__file__).with_name("workload.py")

# One thread, so that the work is fixed: how a library spreads it over cores is another question.
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM")}


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


def run_process(workload: str, *, budget: float = BUDGET) -> Sequence[float]:
    """The seconds that each repetition took in one fresh process."""
    command = [sys.executable, "-I", str(_PROGRAM), workload, str(budget)]
    try:
        done = subprocess.run(
            command, env=os.environ | _ONE_THREAD, capture_output=True, text=True, timeout=60, check=False
        )
    except subprocess.TimeoutExpired:
        raise MeasureError(f"the noise workload {workload!r} did not end within a minute") from None
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise MeasureError(f"the noise workload {workload!r} failed: {last[0]}")
    return [nanoseconds / 1e9 for nanoseconds in json.loads(done.stdout)]


class Interference:
    """What others took of the machine while a block ran; our own use is this process's and that of its ended children.

    After the block `cpu_others` (percent, 100 = one core) and `steal` (percent of the machine) are known.
    """

    def __init__(self) -> None:
        self.cpu_others: float | None = None
        self.steal: float | None = None

    def __enter__(self) -> Interference:
        self._system = SystemCpu()
        self._began, self._times, self._own = time.perf_counter(), self._system.times(), _own_cpu_seconds()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        times, elapsed = self._system.times(), time.perf_counter() - self._began
        self._system.close()
        busy = times.busy - self._times.busy - (_own_cpu_seconds() - self._own)
        # The kernel counts in ticks of 10 ms: over a short stretch they add up to more than the machine has.
        self.cpu_others = min(100 * max(0.0, busy) / elapsed, 100.0 * (os.cpu_count() or 1))
        total = times.total - self._times.total
        if times.steal is not None and self._times.steal is not None and total > 0:
            self.steal = 100 * max(0.0, times.steal - self._times.steal) / total


def _own_cpu_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
