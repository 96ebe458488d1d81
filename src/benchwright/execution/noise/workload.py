"""The program of a noise process: repeats one kind of fixed work, then prints what each repetition took, in ns.

Run as a file, by a fresh interpreter: it imports nothing of the package.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable
from time import perf_counter_ns

WARM = 3  # repetitions that are not counted: first touches of memory, caches, frequency
LEAST = 5


def main(workload: str, budget: float) -> None:
    """Runs one workload, and prints the nanoseconds of each repetition as a JSON list."""
    work = {"interpreter": interpreter, "memory": memory, "matmul": matmul}[workload]()
    gc.disable()
    for _ in range(WARM):
        work()
    taken: list[int] = []
    end = perf_counter_ns() + int(budget * 1e9)
    while len(taken) < LEAST or perf_counter_ns() < end:
        begin = perf_counter_ns()
        work()
        taken.append(perf_counter_ns() - begin)
    sys.stdout.write(json.dumps(taken))


def interpreter() -> Callable[[], object]:
    """Bytecode: integers, no allocation to speak of."""

    def work() -> int:
        total = 0
        for i in range(30_000):
            total += i * i % 7
        return total

    return work


def memory() -> Callable[[], object]:
    """A copy that no second-level cache holds."""
    size = 32 << 20
    source, target = bytearray(size), memoryview(bytearray(size))

    def work() -> None:
        target[:] = source

    return work


def matmul() -> Callable[[], object]:
    """The inner loop of most models, on one thread."""
    import numpy as np

    a = np.random.default_rng(0).random((384, 384), dtype=np.float32)
    out = np.empty_like(a)

    def work() -> None:
        for _ in range(4):
            np.matmul(a, a, out=out)

    return work


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
