"""The memory in use on GPUs while a command runs, as nvidia-smi tells it: of the whole device, whoever uses it."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass

from benchwright.records import Better, Estimate, Metric, Timeline, Value
from benchwright.system.process import signal_group
from benchwright.worker.tasks.aggregates import CapturedSeries

MIB = 2**20
FIRST = 5.0  # seconds to wait for a first sample, when the command was faster
_ROW = re.compile(rb"\s*(\d+)\s*,\s*(\d+(?:\.\d+)?)\s*(?:MiB)?\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuMemory:
    """What was seen of the GPUs. `reason` says why nothing was."""

    metrics: tuple[Metric, ...] = ()
    timelines: tuple[Timeline, ...] = ()
    details: tuple[dict[str, Value], ...] = ()
    reason: str = ""


class GpuWatch:
    """Watches the first `count` GPUs from `start` to `stop`; the first sample comes at once."""

    def __init__(self, count: int, interval: float) -> None:
        self._count, self._interval = count, interval
        self._series: dict[int, CapturedSeries] = {}
        self._some = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None
        self._reason = ""

    def start(self) -> None:
        """Returns at once. A machine without nvidia-smi is no error."""
        if not self._count:
            return
        query = ["--query-gpu=index,memory.used", "--format=csv,noheader,nounits"]
        every = ["-lms", str(max(1, round(self._interval * 1000)))]
        self._zero = time.perf_counter()
        try:
            self._child = subprocess.Popen(
                ["nvidia-smi", *query, *every],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                process_group=0,
            )
        except OSError as error:
            self._reason = f"nvidia-smi: {error.strerror}"
            return
        self._thread = threading.Thread(target=self._listen, name="benchwright-gpus", daemon=True)
        self._thread.start()

    def stop(self) -> GpuMemory:
        """Ends nvidia-smi and returns everything that was seen."""
        if self._child is None:
            return GpuMemory(reason=self._reason)
        self._some.wait(FIRST)
        signal_group(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._thread.join()
        assert self._child.stdout is not None
        self._child.stdout.close()
        if not self._series:
            return GpuMemory(reason="nvidia-smi listed no GPU")
        lines = [series.timeline(f"gpu{i}_memory_used", "B", MIB) for i, series in self._series_by_index()]
        return GpuMemory(metrics=(self._peak(),), timelines=tuple(lines), details=tuple(self._describe_gpus()))

    def _listen(self) -> None:
        assert self._child is not None and self._child.stdout is not None
        for line in self._child.stdout:
            row = _ROW.fullmatch(line)
            if row and int(row[1]) < self._count:
                series = self._series.setdefault(int(row[1]), CapturedSeries(["std"]))
                series.add([float(row[2])], time.perf_counter() - self._zero)
                self._some.set()
        self._some.set()  # it has ended, and will say no more

    def _series_by_index(self) -> list[tuple[int, CapturedSeries]]:
        return sorted(self._series.items())

    def _peak(self) -> Metric:
        peak = max(series.maximum for series in self._series.values()) * MIB
        estimate = Estimate(point=peak, low=None, high=None, method="highest of any GPU, all its users")
        count = sum(series.count for series in self._series.values())
        return Metric(name="gpu_memory_used_peak", unit="B", better=Better.LOWER, estimate=estimate, count=count)

    def _describe_gpus(self) -> list[dict[str, Value]]:
        return [
            {
                "index": i,
                "mean": series.sum / series.count * MIB,
                "std": series.std() * MIB,
                "peak": series.maximum * MIB,
                "samples": series.count,
            }
            for i, series in self._series_by_index()
        ]
