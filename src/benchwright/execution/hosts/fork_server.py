"""A process that imports a benchmark file once and forks a worker from itself for each job.

Started with the end of a socket, of a lifeline, and its temporary folder. The first message names the module and where
to look for it; then each message is a job's token and temporary folder, with the file descriptors of its pipes and its
log. `forked.ForkServer` describes its answers. It forks only while it has a single thread: a lock that another
one holds would stay locked in the worker.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any, NoReturn

from benchwright.system import orphans, temporary_folder
from benchwright.system.scratch import JOB_VARIABLE
from benchwright.worker import main
from benchwright.worker.runtimes import user_objects

MOST = 1 << 16  # bytes of a message
FDS = 4  # control, answer, lifeline, log


def start() -> None:
    """The entry of the process. It ends when the parent's end of the socket closes."""
    line = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(line.fileno(), False)
    orphans.tie(int(sys.argv[2]), closing=(line.fileno(),), temporary=sys.argv[3])
    asked = json.loads(line.recv(MOST))
    sys.path[:0] = asked["paths"]
    sys.path += asked["last_paths"]
    _say(line, **_import_once(asked["module"]))
    _serve(line)


def _import_once(module: str) -> dict[str, Any]:
    """Imports the module; how long that took, or why nothing can be forked."""
    begin = time.perf_counter()
    try:
        user_objects.preload(module)
    except BaseException as error:  # the border to the user's code; a fresh process says it with its place
        return {"refused": f"it cannot be imported: {type(error).__name__}"}
    threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208 - threads of libraries count, which Python does not know
    if threads > 1:
        return {"refused": f"importing it starts {threads - 1} threads, which a fork would lose"}
    gc.collect()
    gc.freeze()  # a collection in a worker would otherwise copy all that was imported
    return {"seconds": time.perf_counter() - begin}


def _serve(line: socket.socket) -> NoReturn:
    """Forks a worker for each message, and tells of each end."""
    woken, wake = os.pipe()
    for fd in (woken, wake):
        os.set_blocking(fd, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    while True:
        readable = select.select([line.fileno(), woken], [], [])[0]
        if woken in readable:
            with contextlib.suppress(BlockingIOError):
                os.read(woken, MOST)
            _reap(line)
        if line.fileno() in readable:
            told, fds, _, _ = socket.recv_fds(line, MOST, FDS)
            if not told:
                os._exit(0)
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.close(woken)
                os.close(wake)
                line.close()
                _become_worker(json.loads(told), fds)
            _lead_a_group(pid)
            for fd in fds:
                os.close(fd)
            _say(line, pid=pid)


def _become_worker(told: dict[str, str], fds: list[int]) -> NoReturn:
    """One job, as a fresh process would do it, but for what was imported."""
    code = 1
    try:
        _lead_a_group(0)
        control, answer, lifeline, log = fds
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        os.environ[JOB_VARIABLE] = told["token"]
        temporary_folder.move_to(told["temporary"])
        _draw_anew()
        orphans.tie(lifeline, closing=(control, answer), temporary=told["temporary"])
        code = main.main([str(control), str(answer), str(lifeline)], tied=True)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _draw_anew() -> None:
    """Gives random generators that were imported a state of this process's own, as a fresh process has it."""
    if "random" in sys.modules:
        sys.modules["random"].seed()
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        numpy.random.seed()


def _lead_a_group(pid: int) -> None:
    """Puts a worker into a process group of its own. Both it and this process do: neither may act before it is so."""
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)


def _reap(line: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        _say(line, ended=pid, status=os.waitstatus_to_exitcode(status))


def _say(line: socket.socket, **told: Any) -> None:
    try:
        line.send(json.dumps(told).encode())
    except OSError:  # the parent has gone
        os._exit(0)
