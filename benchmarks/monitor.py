"""What watching a process tree costs, against a walk with psutil. Prints ratios with their spread.

    python benchmarks/monitor.py [--rounds 20] [--children 3] [--threads 8]

Contenders take turns on the same tree: one round is a second's worth of samples (ten) of each. Ours is the process
monitor's own `sample`, once a second with a search for new descendants; CPU is that of the sampling thread. Exits with
1 when a bound is missed: the walk must cost at least 15 times as much, the watching thread at most 0.5 % of a core.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil

from benchwright.machine.monitors.process import ProcessMonitor
from benchwright.machine.monitors.watch import Watch

SAMPLES = 10  # a second's worth
LEAST_RATIO = 15.0
MOST_SHARE = 0.5  # % of a core
WATCH_SECONDS = 10.0

WORKER = """
import subprocess, sys, threading, time
child = "import time; time.sleep(600)"
for _ in range({children}): subprocess.Popen([sys.executable, "-c", child])
for _ in range({threads}): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
time.sleep(0.5)
print("ready", flush=True)
time.sleep(600)
"""


def main() -> int:
    """Prints the table; the exit code says whether the bounds hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--children", type=int, default=3)
    parser.add_argument("--threads", type=int, default=8)
    options = parser.parse_args()
    with worker(options.children, options.threads) as pid:
        seen = len(list(psutil.process_iter()))
        print(f"tree: {1 + options.children} processes, {options.threads} extra threads; machine: {seen} processes")
        ratio = print_samples(pid, options.rounds)
        share = print_watch(pid)
    return 0 if ratio >= LEAST_RATIO and share < MOST_SHARE else 1


def print_samples(pid: int, rounds: int) -> float:
    """CPU per sample of each contender, interleaved; returns the median ratio of the bare walk to ours."""
    now = [0.0]
    ours = ProcessMonitor(now=lambda: now[0])
    ours.start([pid])
    root = psutil.Process(pid)

    def sample() -> None:
        now[0] += 1.0 / SAMPLES
        ours.sample()

    def walk() -> None:
        root.children(recursive=True)

    def walk_and_read() -> None:
        for process in (root, *root.children(recursive=True)):
            with process.oneshot():
                process.memory_info()
                process.cpu_times()

    contenders = {"process monitor": sample, "psutil walk": walk, "psutil walk, memory and CPU": walk_and_read}
    costs: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            costs[name].append(cpu_per_call(contender))
    ours.stop()
    base = costs["process monitor"]
    for name, cost in costs.items():
        ratios = [theirs / mine for theirs, mine in zip(cost, base, strict=True)]
        print(f"  {name:28} {spread(cost, ' µs a sample', 1e6):34} {spread(ratios, ' times ours')}")
    return statistics.median(a / b for a, b in zip(costs["psutil walk"], base, strict=True))


def print_watch(pid: int) -> float:
    """The share of a core that the watching thread takes with every built-in monitor."""
    with Watch(names=["process", "pressure", "gpu", "power"], pids=[pid]) as watch:
        time.sleep(WATCH_SECONDS)
    print(f"  watching thread with all monitors: {watch.observation.cost:.3f} % of a core over {WATCH_SECONDS:.0f} s")
    return watch.observation.cost


def cpu_per_call(call: Callable[[], None]) -> float:
    """Seconds of this thread's CPU time for one of SAMPLES calls."""
    begin = time.thread_time()
    for _ in range(SAMPLES):
        call()
    return (time.thread_time() - begin) / SAMPLES


def spread(values: list[float], unit: str, scale: float = 1.0) -> str:
    """Median with the quarter and three-quarter points."""
    low, middle, high = statistics.quantiles([scale * value for value in values], n=4)
    return f"{middle:.1f} ({low:.1f} to {high:.1f}){unit}"


@contextmanager
def worker(children: int, threads: int) -> Iterator[int]:
    """A process with children and threads that do nothing."""
    code = WORKER.format(children=children, threads=threads)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline()
        yield process.pid
    finally:
        for child in psutil.Process(process.pid).children(recursive=True):
            child.kill()
        process.kill()
        process.communicate()


if __name__ == "__main__":
    sys.exit(main())
