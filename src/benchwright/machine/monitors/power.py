"""Energy of the processor packages and their memory, from the counters that RAPL keeps. Measured, never estimated.

The counters belong to the whole machine: on one that does other work too, that work is in the figure.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from benchwright.machine.monitors import Observation
from benchwright.machine.monitors.trace import Trace, metric
from benchwright.records import Better, Estimate

PERIOD = 1.0  # seconds; a counter wraps around after minutes, and each read costs the kernel a trip to the hardware
_FOLDER = Path("sys/class/powercap")


class PowerMonitor:
    """Watches every RAPL package and memory domain."""

    name: ClassVar[str] = "power"

    def __init__(self, *, root: Path = Path("/"), now: Callable[[], float] = time.perf_counter) -> None:
        self._root, self._now = root, now

    def start(self, pids: list[int]) -> None:
        self._domains, self._reason = _domains(self._root)
        self._zero = self._read = self._now()
        self._joules = 0.0
        self._power = Trace("power", "W")

    def sample(self) -> None:
        if self._domains and self._now() - self._read >= PERIOD:
            self._advance()

    def stop(self) -> Observation:
        if not self._domains:
            return Observation(unavailable={"energy": f"unavailable: {self._reason}"})
        self._advance()
        names = ", ".join(domain.name for domain in self._domains)
        for domain in self._domains:
            domain.close()
        estimate = Estimate(point=self._joules, low=None, high=None, method=f"measured: RAPL {names}")
        found = [metric("energy", "J", estimate, better=Better.LOWER)]
        if self._read > self._zero:
            found.append(metric("power", "W", replace(estimate, point=self._joules / (self._read - self._zero))))
        return Observation(
            metrics=tuple(found),
            timelines=(self._power.timeline(),) if self._power.count else (),
        )

    def _advance(self) -> None:
        now = self._now()
        joules = sum(domain.read_growth() for domain in self._domains)
        if now > self._read:
            self._power.add(now - self._zero, joules / (now - self._read))
        self._joules += joules
        self._read = now


class _Domain:
    """One counter, read in place."""

    def __init__(self, folder: Path) -> None:
        self.name = (folder / "name").read_text(encoding="ascii").strip()
        self._range = int((folder / "max_energy_range_uj").read_text(encoding="ascii"))
        self._file = os.open(folder / "energy_uj", os.O_RDONLY | os.O_CLOEXEC)
        self._last = self._microjoules()

    def read_growth(self) -> float:
        """Joules since the last call; the counter starts again from zero when it passes its range."""
        now = self._microjoules()
        grown = now - self._last
        self._last = now
        return (grown if grown >= 0 else grown + self._range) / 1e6

    def close(self) -> None:
        os.close(self._file)

    def _microjoules(self) -> int:
        return int(os.pread(self._file, 32, 0))


def _domains(root: Path) -> tuple[list[_Domain], str]:
    """Packages, and memory, which packages do not include; cores and graphics are parts of a package."""
    found: list[_Domain] = []
    reason = "no RAPL domain in /sys/class/powercap"
    for folder in sorted((root / _FOLDER).glob("intel-rapl:*")):  # AMD's counters bear this name too
        try:
            name = (folder / "name").read_text(encoding="ascii").strip()
            if name.startswith("package-") or name == "dram":
                found.append(_Domain(folder))
        except PermissionError:
            reason = f"{folder / 'energy_uj'} is readable by root only (sudo chmod a+r {folder / 'energy_uj'})"
        except (OSError, ValueError) as error:
            reason = f"{folder}: {error}"
    return found, reason
