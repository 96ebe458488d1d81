"""Both ways of watching a tree, against real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from benchwright.machine.monitors.proctree import ProcTree
from benchwright.machine.monitors.psutiltree import PsutilTree
from benchwright.machine.monitors.tree import Tree, open_tree

BOTH = pytest.mark.parametrize("opened", [ProcTree, PsutilTree])
Opened = Callable[[list[int]], Tree]


@contextmanager
def program(code: str) -> Iterator[subprocess.Popen[str]]:
    """A Python process that has printed one line, in a group of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None and process.stdout.readline()
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def told(process: subprocess.Popen[str], word: str = "go") -> str:
    """Tells the process a word, and answers the line it prints."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(word + "\n")
    process.stdin.flush()
    return process.stdout.readline()


FAMILY = """
import subprocess, sys
grandchild = "import time; print(1, flush=True); time.sleep(60)"
child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {grandchild!r}])"
subprocess.Popen([sys.executable, "-c", child])
input()
"""

LATER = """
import subprocess
print(1, flush=True)
input()
print(subprocess.Popen(["sleep", "60"]).pid, flush=True)
input()
"""

BURN = """
import time
end = time.process_time() + 0.3
while time.process_time() < end: pass
"""

UNSEEN = f"""
import subprocess, sys
print(1, flush=True)
input()
subprocess.run([sys.executable, "-c", {BURN!r}])
print(2, flush=True)
input()
"""

BUSY_CHILD = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-c", {BURN!r} + "print(1, flush=True); input()"])
import time
time.sleep(60)
"""


@BOTH
def test_grandchildren_are_found_and_their_memory_counts(opened: Opened) -> None:
    with program(FAMILY) as process:
        tree = opened([process.pid])
        alone = opened([])
        use = tree.use()
        assert process.pid in tree.pids()
        assert len(tree.pids()) == 3
        assert use.rss > 3 * 4e6  # three interpreters
        assert use.threads == 3
        assert alone.use().rss == 0
        tree.close()


@BOTH
def test_a_child_that_starts_later_is_found_by_a_refresh(opened: Opened) -> None:
    with program(LATER) as process:
        tree = opened([process.pid])
        assert tree.pids() == [process.pid]
        child = int(told(process))
        tree.refresh()
        assert sorted(tree.pids()) == sorted([process.pid, child])
        os.kill(child, signal.SIGKILL)
        tree.close()


def test_time_of_children_that_came_and_went_unseen_counts() -> None:
    with program(UNSEEN) as process:
        tree = ProcTree([process.pid])
        before = tree.use().cpu
        told(process)
        assert tree.use().cpu - before >= 0.29  # a tick may be rounded away
        tree.close()


@BOTH
def test_time_never_goes_back_when_processes_end(opened: Opened) -> None:
    with program(BUSY_CHILD) as process:
        tree = opened([process.pid])
        before = tree.use()
        assert len(tree.pids()) == 2
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        _until(lambda: not tree.use().threads)
        after = tree.use()
        assert before.cpu >= 0.29
        assert after.cpu >= before.cpu
        assert after.rss == 0
        tree.close()


@BOTH
def test_a_process_that_is_gone_already_is_an_empty_tree(opened: Opened) -> None:
    with program("print(1)") as process:
        process.wait()
        pid = process.pid
    tree = opened([pid])
    tree.refresh()
    assert tree.use() == (0, 0, 0.0, 0, 0)
    tree.close()


def test_counters_grow_with_what_the_tree_does() -> None:
    # On a disk: what is written to memory does not count.
    code = """
import os, tempfile, threading, time
print(1, flush=True); input()
data = bytearray(64 << 20)
threads = [threading.Thread(target=lambda: [time.sleep(0.001) for _ in range(50)]) for _ in range(2)]
[t.start() for t in threads]
with tempfile.TemporaryFile(dir="/var/tmp") as f:
    f.write(os.urandom(1 << 20)); f.flush(); os.fsync(f.fileno())
print(2, flush=True); input()
"""
    with program(code) as process:
        tree = ProcTree([process.pid])
        before, faults = tree.totals(), tree.use().faults
        told(process)
        tree.refresh()
        after, use = tree.totals(), tree.use()
        assert use.faults - faults >= 32  # 64 MiB, be it in huge pages of 2 MiB
        assert after.peak is not None and after.peak >= 64 << 20
        assert after.written is not None and before.written is not None and after.written - before.written >= 1 << 20
        assert after.voluntary is not None and before.voluntary is not None
        assert after.voluntary > before.voluntary
        tree.close()
        assert tree.pids() == []


def test_a_name_full_of_brackets_and_blanks_is_read_past() -> None:
    code = "open('/proc/self/comm', 'w').write('a) S 1 (b'); print(1, flush=True); input()"
    with program(code) as process:
        tree = ProcTree([process.pid])
        use = tree.use()
        assert use.threads == 1
        assert 1e6 < use.rss < 1e9
        tree.close()


def test_descriptors_are_given_back() -> None:
    before = descriptors()
    with program(FAMILY) as process:
        inside = descriptors()
        tree = ProcTree([process.pid])
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        _until(lambda: not tree.pids() or not tree.use().threads)
        tree.close()
        assert descriptors() == inside
    assert descriptors() == before


def test_linux_gets_the_cheap_way_and_a_kernel_without_child_lists_the_other(tmp_path: Path) -> None:
    assert type(open_tree([])) is ProcTree
    assert type(open_tree([], proc=tmp_path)) is PsutilTree


def descriptors() -> list[str]:
    return sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208


def _until(condition: Callable[[], bool]) -> None:
    for _ in range(500):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never became true")
