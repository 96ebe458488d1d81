"""Faults that really happen, so that what survives them can be tested. Standard library only.

Each takes the options of the fake runtime. Those that return leave a worker that can go on and finish its case.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from benchwright.records import Scalar

FLOOD_BYTES = 100_000_000
_HEADROOM = 256 * 2**20
_LINE = b"\xff\xfe not UTF-8: the quick brown fox jumps over the lazy dog \x80\x81\n"


def segfault(options: Mapping[str, Scalar]) -> None:
    """Reads address zero."""
    ctypes.string_at(0)


def leave(options: Mapping[str, Scalar]) -> None:
    """Ends the process with status 3, without a word."""
    os._exit(3)


def kill(options: Mapping[str, Scalar]) -> None:
    """Kills the process itself with SIGKILL."""
    os.kill(os.getpid(), signal.SIGKILL)


def hang(options: Mapping[str, Scalar]) -> None:
    """Hangs: the call never returns."""
    while True:
        time.sleep(60)


def out_of_memory(options: Mapping[str, Scalar]) -> None:
    """Limits the address space a little above what is used, and allocates until it is full."""
    import resource

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + _HEADROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    hoard = []
    while True:
        hoard.append(bytearray(2**24))


def flood(options: Mapping[str, Scalar]) -> None:
    """Prints 100 MB that are not UTF-8, half to each of stdout and stderr; returns."""
    chunk = _LINE * 1000
    for i in range(FLOOD_BYTES // len(chunk) + 1):
        os.write(1 + i % 2, chunk)


def fork(options: Mapping[str, Scalar]) -> None:
    """Leaves a grandchild in a session of its own that sleeps for an hour with every descriptor open; returns.

    The option `pid_file` names a file that receives the grandchild's process id.
    """
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if grandchild := os.fork():
        if path := str(options.get("pid_file", "")):  # written by whoever is waited for: it is there on return
            Path(path).write_text(f"{grandchild}\n", encoding="ascii")
        os._exit(0)
    time.sleep(3600)
    os._exit(0)


def channel(options: Mapping[str, Scalar]) -> None:
    """Writes rubbish to every open descriptor above stderr; returns."""
    for descriptor in sorted(int(entry.name) for entry in Path("/proc/self/fd").iterdir()):
        if descriptor > 2:
            try:
                os.write(descriptor, b'\x00\xffrubbish{"format": 1}\n')
            except OSError:  # opened for reading only, or gone since it was listed
                continue


FAULTS: dict[str, Callable[[Mapping[str, Scalar]], None]] = {
    "segfault": segfault,
    "exit": leave,
    "kill": kill,
    "hang": hang,
    "oom": out_of_memory,
    "flood": flood,
    "fork": fork,
    "channel": channel,
}
