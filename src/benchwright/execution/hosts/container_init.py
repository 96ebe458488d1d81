"""The first process of a container: starts the worker, reaps what it leaves, and tells how it ended.

Signals that would end any other process do not reach the first process of a container, so the worker must not be it.
And when the first process ends, the kernel ends every other: that is how nothing is left over. It ends when the
worker does, or when its line to the parent closes, however the parent ended. Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Any, NoReturn

LENGTH = struct.Struct("<I")
FDS = 4  # control, answer, lifeline, log
ENDED = 137  # what an engine reports when the parent has gone
_ROOT = str(Path(__file__).resolve().parents[3])
_WORKER = (
    f"import gc, sys; gc.disable(); sys.path.insert(0, {_ROOT!r}); from benchwright.worker.main import start; start()"
)


def main(place: str) -> NoReturn:
    """Lives as long as the worker and the parent at the other end of the socket `place` both do."""
    parent = _connect(place)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    worker = os.fork()
    if worker == 0:
        try:
            _become_worker(place)
        finally:
            os._exit(1)
    while True:
        readable = select.select([parent.fileno(), woken], [], [])[0]
        if woken in readable:
            os.read(woken, 4096)
            _reap(worker, parent)
        if parent.fileno() in readable:  # it never says anything: this is its end
            os._exit(ENDED)


def facts() -> dict[str, Any]:
    """What of the operating system is the container's own, not the machine's."""
    from benchwright.machine.environment import software

    own = ("distribution", "libc", "container", "cgroup", "python", "python_implementation", "python_build")
    found = software.collect(Path("/"))
    return {name: found[name] for name in own}


def ran_out_of_memory(groups: Path = Path("/sys/fs/cgroup")) -> bool:
    """Whether the kernel killed a process of this container because of its memory limit."""
    for name in ("memory.events", "memory/memory.oom_control"):
        with contextlib.suppress(OSError, ValueError):
            lines = (groups / name).read_text(encoding="ascii").splitlines()
            counts = {key: int(value) for key, _, value in (line.partition(" ") for line in lines)}
            if counts.get("oom_kill", 0) > 0:
                return True
    return False


def _connect(place: str) -> socket.socket:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.connect(place)
    except OSError as error:
        sys.exit(f"benchwright: the parent cannot be reached from the container: {error}")
    return line


def _become_worker(place: str) -> None:
    """Fetches what a worker inherits: its pipes, its log, its variables. Then it is one."""
    os.setsid()
    with _connect(place) as line:
        head, fds, _, _ = socket.recv_fds(line, LENGTH.size, FDS, socket.MSG_WAITALL)
        if len(fds) != FDS:  # the parent has gone
            return
        told = json.loads(_read(line, LENGTH.unpack(head)[0]))
    *pipes, log = fds
    nowhere = os.open(os.devnull, os.O_RDONLY)
    for target, fd in enumerate((nowhere, log, log)):
        os.dup2(fd, target)
    for fd in fds:
        os.set_inheritable(fd, fd != log)
    if told["cpus"]:
        os.sched_setaffinity(0, told["cpus"])
    with contextlib.suppress(OSError):  # a folder that only this machine's root has
        os.chdir(told["folder"])
    os.execve(sys.executable, [sys.executable, "-P", "-c", _WORKER, *map(str, pipes)], _variables(told))  # noqa: S606


def _variables(told: dict[str, Any]) -> dict[str, str]:
    """Returns the parent's environment variables; those that the image sets itself stay."""
    variables: dict[str, str] = {**told["variables"], **({} if told["same_root"] else os.environ), **told["job"]}
    if not os.access(variables.get("HOME", ""), os.W_OK):  # a user whom the image does not know
        variables["HOME"] = "/tmp"  # noqa: S108 - the container's own
    return variables


def _reap(worker: int, parent: socket.socket) -> None:
    """Takes leave of every process that has ended; after the worker's end nothing else matters."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == worker:
                code = os.waitstatus_to_exitcode(ended[1])
                with contextlib.suppress(OSError):
                    parent.sendall(json.dumps({"exit": code, "out_of_memory": ran_out_of_memory()}).encode())
                os._exit(code if code >= 0 else 128 - code)


def _read(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := line.recv(size - len(data))):
        data += piece
    return data
