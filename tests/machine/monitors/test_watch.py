from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import ClassVar

import pytest

from benchwright.errors import OptionError
from benchwright.machine.monitors import Observation
from benchwright.machine.monitors.trace import metric
from benchwright.machine.monitors.watch import Watch


class Recording:
    """Writes down what is called, from which thread."""

    name: ClassVar[str] = "recording"

    def __init__(self, fails_in: str = "", burns: float = 0.0) -> None:
        self.calls: list[str] = []
        self.threads: set[str] = set()
        self.sampled = threading.Event()
        self._fails_in, self._burns = fails_in, burns

    def start(self, pids: list[int]) -> None:
        self._note(f"start {pids}")

    def sample(self) -> None:
        end = time.thread_time() + self._burns
        while time.thread_time() < end:
            pass
        self._note("sample")
        self.sampled.set()

    def stop(self) -> Observation:
        self._note("stop")
        return Observation(metrics=(metric("cpu", "%", 1.0),))

    def _note(self, call: str) -> None:
        self.threads.add(threading.current_thread().name)
        self.calls.append(call)
        if call.split()[0] == self._fails_in:
            raise ValueError("broken")


class Other(Recording):
    name: ClassVar[str] = "other"


def test_monitors_start_before_start_returns_and_run_in_one_thread() -> None:
    monitor = Recording()
    watch = Watch([monitor], interval=0.001)
    watch.start([7, 8])
    assert monitor.calls[0] == "start [7, 8]"
    assert monitor.sampled.wait(10)
    seen = watch.stop()
    assert [m.name for m in seen.metrics] == ["cpu"]
    assert monitor.calls[-1] == "stop"
    assert set(monitor.calls[1:-1]) == {"sample"}
    assert monitor.threads == {"benchwright-watch"}
    assert watch.stop() is seen
    assert monitor.calls.count("stop") == 1


class Narrow(Recording):
    name: ClassVar[str] = "narrow"
    of_measured: ClassVar[bool] = True


def test_monitors_of_what_is_measured_watch_that_alone() -> None:
    """Whoever counts what others do must know the client's processes, too."""
    for measured, watched in (([9], "start [9]"), ([], "start [7]")):
        monitors = Recording(), Narrow()
        watch = Watch(monitors)
        watch.start([7], measured=measured)
        watch.stop()
        assert [monitor.calls[0] for monitor in monitors] == ["start [7]", watched]


def test_a_context_merges_what_all_saw() -> None:
    with Watch([Recording(), Other()], [1]) as watch:
        pass
    assert [m.name for m in watch.observation.metrics] == ["cpu", "cpu"]


@pytest.mark.parametrize("moment", ["start", "sample", "stop"])
def test_a_monitor_that_fails_takes_no_other_with_it(moment: str) -> None:
    good, bad = Recording(), Other(fails_in=moment)
    with Watch([bad, good], [1], interval=0.001) as watch:
        assert good.sampled.wait(10)
    assert [m.name for m in watch.observation.metrics] == ["cpu"]
    assert watch.observation.unavailable == {"other": f"unavailable: {moment} failed: ValueError: broken"}


def test_stopping_without_a_start_saw_nothing() -> None:
    assert Watch([Recording()]).stop() == Observation()


def test_an_unknown_name_is_the_users_error() -> None:
    with pytest.raises(OptionError, match="unknown monitor 'proces'"):
        Watch(names=["proces"])


@pytest.mark.serial
def test_dear_samples_are_taken_less_often() -> None:
    monitor = Recording(burns=0.005)
    with Watch([monitor], [1], interval=0.001) as watch:
        time.sleep(2)
    assert 1 <= monitor.calls.count("sample") <= 3  # more than a second apart
    assert watch.observation.cost < 1  # percent of a core: 0.4, and what two seconds leave uneven


@pytest.mark.serial
def test_every_built_in_monitor_watches_a_real_process_at_little_cost() -> None:
    code = "import time; data = bytearray(30 << 20); e = time.time() + 2\nwhile time.time() < e: pass"
    process = subprocess.Popen([sys.executable, "-c", code])
    watch = Watch(names=["process", "pressure", "gpu", "power"])
    watch.start([process.pid])
    process.wait()
    seen = watch.stop()
    points = {m.name: m.estimate.point for m in seen.metrics}
    assert points["rss_peak"] > 30 << 20
    assert 0 < points["cpu"] <= 101
    assert {"rss", "cpu", "cpu_others"} <= {line.name for line in seen.timelines}
    assert all(why.startswith("unavailable: ") for why in seen.unavailable.values())
    assert watch.observation.cost < 1.0
