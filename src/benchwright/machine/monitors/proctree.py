"""The process tree on Linux, through kept `/proc` descriptors."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from benchwright.machine.monitors.tree import Totals, TreeUse

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = 1.0 / os.sysconf("SC_CLK_TCK")
_LONG = 65536  # bytes, more than any of these files
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
                children = process.children()
            except _GONE:
                continue  # the next look notices
            new = (self._adopt(pid, parent=process.pid) for pid in children if pid not in self._alive)
            queue += [found for found in new if found is not None]

    def use(self) -> TreeUse:
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
            if (pages := int(f[21])) > 0:  # one that has ended and waits to be collected has no memory left
                rss += pages
                process.threads = int(f[17])
                threads += process.threads
        if ended:
            lost = self._bury(ended)
            ticks, faults, major = ticks + lost[0], faults + lost[1], major + lost[2]
        return TreeUse(rss * _PAGE, threads, ticks * _TICK, faults + major, major)

    def totals(self) -> Totals:
        every = _Counters()
        every.include(self._counters)
        for process in self._alive.values():
            with suppress(*_GONE):  # what was read before it ended counts
                process.read_counters()
            every.include(process.counters)
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
        except (*_GONE, PermissionError):  # ended already, or hidden from this user
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
    """The counters of a process that are read once a second."""

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


class _Process:
    """One process by its kept descriptors."""

    def __init__(self, pid: int, parent: int, proc: Path) -> None:
        self.pid, self.parent = pid, parent
        self.ticks = self.faults = self.major = 0
        self.threads = 0  # as of the last look; 0 before the first
        self.counters = _Counters()
        self._switches_of: dict[str, tuple[int, int]] = {}  # by thread, ended ones too
        with ExitStack() as undo:  # a process may end between two files
            self._folder = os.open(proc / str(pid), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            undo.callback(os.close, self._folder)
            self.stat = self._open("stat")
            undo.callback(os.close, self.stat)
            self._children = self._open(f"task/{pid}/children")
            undo.pop_all()

    def children(self) -> list[int]:
        """The children of every thread: the kernel lists them by the thread that started them."""
        found = os.pread(self._children, _LONG, 0)
        if self.threads != 1:
            for thread in self._tasks():
                with suppress(*_GONE):
                    found += b" " + (self._read(f"task/{thread}/children") if thread != str(self.pid) else b"")
        return [int(pid) for pid in found.split()]

    def read_counters(self) -> None:
        """Reads what is too dear for every sample: one file for each thread."""
        c = self.counters
        for thread in self._tasks():
            with suppress(*_GONE):
                status = self._read(f"task/{thread}/status")
                self._switches_of[thread] = (
                    _number(status, b"\nvoluntary_ctxt_switches:"),
                    _number(status, b"\nnonvoluntary_ctxt_switches:"),
                )
                c.peak = max(c.peak, _number(status, b"\nVmHWM:") * 1024)
        c.voluntary = sum(voluntary for voluntary, _ in self._switches_of.values())
        c.involuntary = sum(involuntary for _, involuntary in self._switches_of.values())
        try:
            io = self._read("io")
        except PermissionError:
            c.denied = f"/proc/{self.pid}/io may not be read by this user"
        else:
            c.read, c.written = _number(io, b"\nread_bytes:"), _number(io, b"\nwrite_bytes:")

    def close(self) -> None:
        for descriptor in (self._children, self.stat, self._folder):
            os.close(descriptor)

    def _tasks(self) -> list[str]:
        # A listing needs a descriptor of its own: a kept one would have to be rewound.
        descriptor = self._open("task", os.O_DIRECTORY)
        try:
            return os.listdir(descriptor)  # noqa: PTH208 - pathlib knows no descriptors
        finally:
            os.close(descriptor)

    def _read(self, name: str) -> bytes:
        descriptor = self._open(name)
        try:
            return os.read(descriptor, _LONG)
        finally:
            os.close(descriptor)

    def _open(self, name: str, flags: int = 0) -> int:
        return os.open(name, os.O_RDONLY | os.O_CLOEXEC | flags, dir_fd=self._folder)


def _number(page: bytes, key: bytes) -> int:
    """The number after a key; 0 where the kernel leaves the line out, as it does for a process that has just ended."""
    at = page.find(key)
    return int(page[at + len(key) :].split(None, 1)[0]) if at >= 0 else 0
