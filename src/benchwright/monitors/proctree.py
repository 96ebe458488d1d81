"""The process tree on Linux, through kept `/proc` descriptors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchwright.monitors.tree import Totals, Use

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = 1.0 / os.sysconf("SC_CLK_TCK")
_GONE = (ProcessLookupError, FileNotFoundError)  # ended, and ended before its file was opened


class ProcTree:
    """Processes and their descendants; see `tree.Tree`."""

    def __init__(self, pids: Iterable[int], proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._alive: dict[int, _Process] = {}
        self._lost_ticks = 0  # of processes that ended where no process of the tree collects their time
        self._lost_faults = 0
        self._lost_major = 0
        self._counters = _Counters()  # of processes that have ended
        for pid in pids:
            self._adopt(pid, parent=0)
        self.refresh()

    def refresh(self) -> None:
        queue = list(self._alive.values())
        while queue:
            process = queue.pop()
            try:
                process.read_counters()
                children = list(process.children())
            except _GONE:
                continue  # the next look notices
            except PermissionError:
                continue  # a descendant with other rights: its memory and time are still readable
            new = (self._adopt(pid, parent=process.pid) for pid in children if pid not in self._alive)
            queue += [found for found in new if found is not None]

    def use(self) -> Use:
        rss = threads = 0
        ticks, faults, major = self._lost_ticks, self._lost_faults, self._lost_major
        ended: list[_Process] = []
        for process in self._alive.values():
            try:
                # "pid (name) state ppid ...": the name may hold anything, blanks and brackets too.
                line = os.pread(process.stat, 1024, 0)
            except ProcessLookupError:
                ended.append(process)
                continue
            f = line[line.rindex(b")") + 2 :].split()
            process.ticks = int(f[11]) + int(f[12]) + int(f[13]) + int(f[14])
            process.faults = int(f[7]) + int(f[8])
            process.major = int(f[9]) + int(f[10])
            ticks += process.ticks
            faults += process.faults
            major += process.major
            threads += int(f[17])
            rss += int(f[21])
        if ended:
            lost = self._bury(ended)
            ticks, faults, major = ticks + lost[0], faults + lost[1], major + lost[2]
        return Use(rss * _PAGE, threads, ticks * _TICK, faults + major, major)

    def totals(self) -> Totals:
        every = _Counters()
        for counters in (self._counters, *(process.counters for process in self._alive.values())):
            every.include(counters)
        return Totals(
            peak=every.peak,
            voluntary=every.voluntary,
            involuntary=every.involuntary,
            read=None if every.denied else every.read,
            written=None if every.denied else every.written,
            reasons={"io": every.denied} if every.denied else {},
        )

    def pids(self) -> list[int]:
        return list(self._alive)

    def close(self) -> None:
        for process in list(self._alive.values()):
            process.close()
        self._alive.clear()

    def _adopt(self, pid: int, parent: int) -> _Process | None:
        try:
            process = _Process(pid, parent, self._proc)
        except _GONE:
            return None
        self._alive[pid] = process
        return process

    def _bury(self, ended: list[_Process]) -> tuple[int, int, int]:
        """Ticks, faults and major faults that no figure of a living process holds.

        Once a parent has waited for a child, the child's are part of the parent's own.
        """
        for process in ended:
            del self._alive[process.pid]
            process.close()
            self._counters.include(process.counters)
        orphans = [process for process in ended if process.parent not in self._alive]
        lost = sum(p.ticks for p in orphans), sum(p.faults for p in orphans), sum(p.major for p in orphans)
        self._lost_ticks += lost[0]
        self._lost_faults += lost[1]
        self._lost_major += lost[2]
        return lost


@dataclass(slots=True)
class _Counters:
    """What is read once a second."""

    peak: int = 0
    voluntary: int = 0
    involuntary: int = 0
    read: int = 0
    written: int = 0
    denied: str = ""

    def include(self, other: _Counters) -> None:
        self.peak = max(self.peak, other.peak)
        self.voluntary += other.voluntary
        self.involuntary += other.involuntary
        self.read += other.read
        self.written += other.written
        self.denied = self.denied or other.denied


@dataclass(slots=True)
class _Switches:
    """Of one thread; they end with it, so the last look is kept."""

    voluntary: int = 0
    involuntary: int = 0


class _Process:
    """One process by its kept descriptors."""

    def __init__(self, pid: int, parent: int, proc: Path) -> None:
        self.pid, self.parent = pid, parent
        self.ticks = self.faults = self.major = 0
        self.counters = _Counters()
        self._threads: dict[str, _Switches] = {}
        self.folder = os.open(proc / str(pid), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.stat = os.open("stat", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.folder)
        except OSError:
            os.close(self.folder)
            raise

    def children(self) -> Iterator[int]:
        """Every thread's children."""
        for thread in self._tasks():
            try:
                yield from map(int, self._read(f"task/{thread}/children").split())
            except _GONE:
                continue

    def read_counters(self) -> None:
        c = self.counters
        for thread in self._tasks():
            try:
                self._threads[thread] = self._switches(thread)
            except _GONE:
                continue
        c.voluntary = sum(t.voluntary for t in self._threads.values())
        c.involuntary = sum(t.involuntary for t in self._threads.values())
        try:
            io = self._read("io")
        except PermissionError:
            c.denied = f"/proc/{self.pid}/io may not be read by this user"
        else:
            c.read, c.written = _number(io, b"\nread_bytes:"), _number(io, b"\nwrite_bytes:")

    def _switches(self, thread: str) -> _Switches:
        status = self._read(f"task/{thread}/status")
        if thread == str(self.pid):
            self.counters.peak = max(self.counters.peak, _number(status, b"VmHWM:") * 1024)
        return _Switches(
            _number(status, b"\nvoluntary_ctxt_switches:"), _number(status, b"nonvoluntary_ctxt_switches:")
        )

    def _tasks(self) -> list[str]:
        # A listing needs a descriptor of its own: a kept one would have to be rewound and would miss new threads.
        descriptor = os.open("task", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.folder)
        try:
            return os.listdir(descriptor)  # noqa: PTH208 - pathlib knows no descriptors
        finally:
            os.close(descriptor)

    def _read(self, name: str) -> bytes:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.folder)
        try:
            return os.read(descriptor, 65536)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        os.close(self.stat)
        os.close(self.folder)


def _number(page: bytes, key: bytes) -> int:
    """The number after a key; 0 where the kernel leaves the line out, as it does for a process that has just ended."""
    at = page.find(key)
    return int(page[at + len(key) :].split(None, 1)[0]) if at >= 0 else 0
