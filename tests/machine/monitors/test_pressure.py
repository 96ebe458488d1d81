from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.machine.monitors import Observation, system_cpu
from benchwright.machine.monitors.pressure import PressureMonitor
from benchwright.machine.monitors.system_cpu import SystemCpu
from benchwright.machine.monitors.tree import Totals, TreeUse


class OneProcess:
    """A tree that uses the given seconds of CPU."""

    cpu = 0.0

    def refresh(self) -> None: ...

    def use(self) -> TreeUse:
        return TreeUse(1, 1, self.cpu, 0, 0)

    def totals(self) -> Totals:
        return Totals()

    def pids(self) -> list[int]:
        return [1]

    def close(self) -> None: ...


class Machine:
    """A made-up machine of two CPUs: seconds of busy, idle and stolen time, and of waiting."""

    def __init__(self, root: Path, *, psi: bool = True) -> None:
        self.root, self.tree, self.now = root, OneProcess(), 0.0
        self.user = self.idle = self.steal = self.waited = 0.0
        self.psi = psi
        (root / "proc/pressure").mkdir(parents=True)
        self.pass_time(0)

    def pass_time(
        self, seconds: float, *, own: float = 0, others: float = 0, steal: float = 0, waited: float = 0
    ) -> None:
        self.now += seconds
        self.tree.cpu += own
        self.user += own + others
        self.steal += steal
        self.waited += waited
        self.idle += 2 * seconds - own - others - steal
        ticks = [round(100 * value) for value in (self.user, 0, 0, self.idle, 0, 0, 0, self.steal)]
        (self.root / "proc/stat").write_text(f"cpu  {' '.join(map(str, ticks))} 0 0\ncpu0 1 2 3\n")
        if self.psi:
            for name in ("cpu", "memory", "io"):
                line = f"some avg10=0.00 avg60=0.00 avg300=0.00 total={round(self.waited * 1e6)}\n"
                (self.root / "proc/pressure" / name).write_text(line + line.replace("some", "full"))

    def monitor(self) -> PressureMonitor:
        return PressureMonitor(root=self.root, open_tree=lambda pids: self.tree, now=lambda: self.now)


def points(seen: Observation) -> dict[str, float]:
    return {metric.name: metric.estimate.point for metric in seen.metrics}


def test_others_are_the_busy_time_that_is_not_ours(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    monitor = machine.monitor()
    monitor.start([1])
    machine.pass_time(1, own=1.0, others=0.0)
    monitor.sample()
    machine.pass_time(0.5, own=0.5)
    monitor.sample()  # too early for the next point
    machine.pass_time(0.5, own=0.5, others=0.8, steal=0.1, waited=0.4)
    monitor.sample()
    seen = monitor.stop()
    assert points(seen) == pytest.approx(
        {"cpu_others": 40.0, "steal": 2.5, "psi_cpu": 20.0, "psi_memory": 20.0, "psi_io": 20.0}
    )
    lines = {line.name: (line.seconds, line.values) for line in seen.timelines}
    assert lines["cpu_others"] == ((1.0, 2.0), pytest.approx((0.0, 80.0)))
    assert lines["steal"] == ((1.0, 2.0), pytest.approx((0.0, 5.0)))
    assert lines["psi_cpu"] == ((1.0, 2.0), pytest.approx((0.0, 40.0)))


def test_rounding_of_ticks_is_never_a_negative_share(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    monitor = machine.monitor()
    monitor.start([1])
    machine.pass_time(1, own=1.0, others=-0.01)
    assert points(monitor.stop())["cpu_others"] == 0.0


def test_a_kernel_without_pressure_files_says_so(tmp_path: Path) -> None:
    machine = Machine(tmp_path, psi=False)
    monitor = machine.monitor()
    monitor.start([1])
    machine.pass_time(1)
    seen = monitor.stop()
    assert set(points(seen)) == {"cpu_others", "steal"}
    assert set(seen.unavailable) == {"psi_cpu", "psi_memory", "psi_io"}
    assert seen.unavailable["psi_cpu"].startswith("unavailable: ")


def test_a_system_without_proc_is_asked_through_psutil(tmp_path: Path) -> None:
    portable, linux = SystemCpu(tmp_path), SystemCpu()
    a, b = portable.times(), linux.times()
    assert a.busy == pytest.approx(b.busy, rel=0.05, abs=0.5)
    assert a.total == pytest.approx(b.total, rel=0.05, abs=0.5)
    linux.close()


def test_a_system_that_does_not_count_steal_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now: list[float] = [0.0]
    times: Callable[[], system_cpu.CpuTimes] = lambda: system_cpu.CpuTimes(now[0], None, 2 * now[0])  # noqa: E731
    monkeypatch.setattr(system_cpu, "_portable_times", times)
    monitor = PressureMonitor(root=tmp_path, open_tree=lambda pids: OneProcess(), now=lambda: now[0])
    monitor.start([1])
    now[0] = 1.0
    seen = monitor.stop()
    assert points(seen) == {"cpu_others": 100.0}
    assert seen.unavailable["steal"] == "unavailable: this system does not count it"
