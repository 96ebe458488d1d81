"""Virtual memory of a process tree."""

from __future__ import annotations

import subprocess
import sys

import psutil

from benchwright.machine.monitors.vms import VirtualMemoryMonitor

MAPS = "import mmap, sys; m = mmap.mmap(-1, 512 << 20); print('ready', flush=True); sys.stdin.read()"


def test_the_whole_tree_is_added_up() -> None:
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {MAPS!r}], check=True)"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as tree:
        assert tree.stdout is not None and tree.stdin is not None
        tree.stdout.readline()
        monitor = VirtualMemoryMonitor()
        monitor.start([tree.pid])
        monitor.sample()
        seen = monitor.stop()
        tree.stdin.close()
    (peak,) = seen.metrics
    (timeline,) = seen.timelines
    assert peak.estimate.point >= 512 << 20
    assert timeline.seconds[0] < 0.1 and len(timeline.values) == 3


def test_a_process_that_has_ended_is_told_as_such() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert not psutil.pid_exists(ended.pid)
    monitor = VirtualMemoryMonitor()
    monitor.start([ended.pid])
    seen = monitor.stop()
    assert seen.metrics == () and seen.unavailable["vms"].startswith("unavailable: ")
