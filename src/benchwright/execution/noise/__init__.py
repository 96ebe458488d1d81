"""This machine's noise floor: how much fixed work varies here, and so the smallest change that can be told from chance.

The process is the unit of repetition. Fixed work is repeated in many short fresh processes, kinds of work taking
turns. The spread of the repetitions in one process tells how restless the machine is; the spread between processes
tells how far two honest measurements of the same thing lie apart, and that one decides what can be resolved.

What a spread between processes allows to resolve is computed in `resolution`.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchwright.execution.noise.advice import advice
from benchwright.execution.noise.probes import WORKLOADS, Interference, clock_facts, quantile, run_process, sleep_errors
from benchwright.execution.noise.resolution import ROUNDS, rounds_to_resolve, smallest_change
from benchwright.execution.noise.selftest import self_test

__all__ = [
    "NoiseFloor",
    "WorkloadNoise",
    "advice",
    "measure_noise",
    "rounds_to_resolve",
    "self_test",
    "smallest_change",
]

LEAST_PROCESSES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadNoise:
    """How one kind of fixed work varied. Spreads are relative standard deviations."""

    processes: int
    repetitions: int  # in all
    typical: float  # seconds for one repetition
    within: float  # of the repetitions of one process, the median process's
    between: float  # of the processes' medians
    smallest_change: float  # relative, that ROUNDS rounds on each side resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseFloor:
    """What measuring on this machine must reckon with. Times are seconds, shares percent."""

    seconds: float
    workloads: Mapping[str, WorkloadNoise]
    rounds: int
    smallest_change: float  # of the worst workload
    cpu_others: float | None  # 100 = one core
    steal: float | None
    sleep_error_p50: float
    sleep_error_p99: float
    clock_cost: float
    clock_resolution: float


def measure_noise(seconds: float = 60, progress: Callable[[float], None] | None = None) -> NoiseFloor:
    """Measures for about `seconds`; `progress` is told the share done after each process."""
    began = time.perf_counter()
    told = progress or (lambda share: None)
    clock, sleeps = clock_facts(), sleep_errors()
    processes: dict[str, list[Sequence[float]]] = {name: [] for name in WORKLOADS}
    with Interference() as interference:
        while not _enough(processes, time.perf_counter() - began, seconds):
            for name, done in processes.items():
                done.append(run_process(name))
                told(min(1.0, (time.perf_counter() - began) / seconds))
    workloads = {name: _noise(done) for name, done in processes.items()}
    return NoiseFloor(
        seconds=time.perf_counter() - began,
        workloads=workloads,
        rounds=ROUNDS,
        smallest_change=max(noise.smallest_change for noise in workloads.values()),
        cpu_others=interference.cpu_others,
        steal=interference.steal,
        sleep_error_p50=quantile(sleeps, 0.50),
        sleep_error_p99=quantile(sleeps, 0.99),
        clock_cost=clock.read / 1e9,
        clock_resolution=clock.resolution / 1e9,
    )


def _enough(processes: Mapping[str, Sequence[object]], elapsed: float, seconds: float) -> bool:
    return elapsed >= seconds and all(len(done) >= LEAST_PROCESSES for done in processes.values())


def _noise(processes: Sequence[Sequence[float]]) -> WorkloadNoise:
    medians = [statistics.median(repetitions) for repetitions in processes]
    between = statistics.stdev(map(math.log, medians))
    return WorkloadNoise(
        processes=len(processes),
        repetitions=sum(map(len, processes)),
        typical=statistics.median(medians),
        within=statistics.median(_spread(repetitions) for repetitions in processes),
        between=between,
        smallest_change=smallest_change(between),
    )


def _spread(repetitions: Sequence[float]) -> float:
    return statistics.stdev(map(math.log, repetitions))
