from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

import pytest

from benchwright.machine.monitors.power import PowerMonitor

RANGE = 262_143_328_850


class Counters:
    """A made-up powercap tree: one package with its parts, memory, and the whole platform."""

    NAMES: ClassVar = {
        "intel-rapl:0": "package-0",
        "intel-rapl:0:0": "core",
        "intel-rapl:0:1": "dram",
        "intel-rapl:1": "psys",
    }

    def __init__(self, root: Path) -> None:
        self.root, self.now = root, 0.0
        self.values = dict.fromkeys(self.NAMES, 0)
        for folder, name in self.NAMES.items():
            path = root / "sys/class/powercap" / folder
            path.mkdir(parents=True)
            (path / "name").write_text(name + "\n")
            (path / "max_energy_range_uj").write_text(f"{RANGE}\n")
            (path / "energy_uj").write_text("0\n")

    def spend(self, seconds: float, **joules: float) -> None:
        self.now += seconds
        for folder, name in self.NAMES.items():
            spent = joules.get(name.replace("-", "_"), 0.0)
            self.values[folder] = (self.values[folder] + round(spent * 1e6)) % RANGE
            (self.root / "sys/class/powercap" / folder / "energy_uj").write_text(f"{self.values[folder]}\n")

    def monitor(self) -> PowerMonitor:
        return PowerMonitor(root=self.root, now=lambda: self.now)


def test_packages_and_memory_are_summed_and_nothing_twice(tmp_path: Path) -> None:
    counters = Counters(tmp_path)
    monitor = counters.monitor()
    monitor.start([1])
    counters.spend(1, package_0=50, core=40, dram=5, psys=100)
    monitor.sample()
    counters.spend(2, package_0=20, core=10, dram=2, psys=60)
    seen = monitor.stop()
    energy, power = seen.metrics
    assert (energy.name, energy.unit, energy.estimate.point) == ("energy", "J", pytest.approx(77))
    assert (power.name, power.unit, power.estimate.point) == ("power", "W", pytest.approx(77 / 3))
    assert energy.estimate.method == "measured: RAPL package-0, dram"
    (line,) = seen.timelines
    assert (line.name, line.unit, line.seconds) == ("power", "W", (1.0, 3.0))
    assert line.values == pytest.approx((55.0, 11.0))
    assert not seen.unavailable


def test_a_counter_that_wraps_around_goes_on(tmp_path: Path) -> None:
    counters = Counters(tmp_path)
    counters.spend(0, package_0=RANGE / 1e6 - 1)
    monitor = counters.monitor()
    monitor.start([1])
    counters.spend(1, package_0=4)
    assert monitor.stop().metrics[0].estimate.point == pytest.approx(4)


def test_counters_are_read_once_a_second(tmp_path: Path) -> None:
    counters = Counters(tmp_path)
    monitor = counters.monitor()
    monitor.start([1])
    for _ in range(20):
        counters.spend(0.25, package_0=1)
        monitor.sample()
    (line,) = monitor.stop().timelines
    assert line.seconds[:5] == (1.0, 2.0, 3.0, 4.0, 5.0)


def test_no_counters(tmp_path: Path) -> None:
    monitor = PowerMonitor(root=tmp_path)
    monitor.start([1])
    monitor.sample()
    seen = monitor.stop()
    assert seen.metrics == ()
    assert seen.unavailable == {"energy": "unavailable: no RAPL domain in /sys/class/powercap"}


def test_counters_for_root_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counters = Counters(tmp_path)

    def refuse(path: object, flags: int) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", refuse)
    monitor = counters.monitor()
    monitor.start([1])
    assert "readable by root only (sudo chmod a+r " in monitor.stop().unavailable["energy"]
