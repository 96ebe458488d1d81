"""How busy the whole machine is, and how often tasks had to wait."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class CpuTimes(NamedTuple):
    """Seconds since boot, over all CPUs."""

    busy: float
    steal: float | None  # taken by the hypervisor; None where the system does not tell
    total: float


class SystemCpu:
    """Reads the machine's CPU times from a kept descriptor, or through psutil."""

    def __init__(self, root: Path = Path("/")) -> None:
        try:
            self._stat: int | None = os.open(root / "proc/stat", os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        except OSError:
            self._stat = None
        else:
            self._tick = 1.0 / os.sysconf("SC_CLK_TCK")

    def times(self) -> CpuTimes:
        """Returns the machine's CPU times now."""
        if self._stat is None:
            return _portable_times()
        line = os.pread(self._stat, 512, 0).split(b"\n", 1)[0]
        # user and nice already include the time of guests, the two fields after steal.
        user, nice, system, idle, iowait, irq, softirq, steal = (int(v) * self._tick for v in line.split()[1:9])
        busy = user + nice + system + irq + softirq
        return CpuTimes(busy, steal, busy + idle + iowait + steal)

    def close(self) -> None:
        """Lets go of the descriptor."""
        if self._stat is not None:
            os.close(self._stat)
            self._stat = None


class Pressure:
    """The kernel's count of the time in which some task waited for a resource."""

    def __init__(self, resource: str, root: Path = Path("/")) -> None:
        self._file = os.open(root / "proc/pressure" / resource, os.O_RDONLY | os.O_CLOEXEC)

    def read_waited(self) -> float:
        """Reads how many seconds tasks have waited since boot."""
        some = os.pread(self._file, 256, 0).split(b"\n", 1)[0]
        return int(some.rpartition(b"total=")[2]) / 1e6

    def close(self) -> None:
        """Lets go of the descriptor."""
        os.close(self._file)


def _portable_times() -> CpuTimes:
    import psutil

    times = psutil.cpu_times()
    total = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    idle = times.idle + getattr(times, "iowait", 0.0)
    steal = getattr(times, "steal", None)
    return CpuTimes(total - idle - (steal or 0.0), steal, total)
