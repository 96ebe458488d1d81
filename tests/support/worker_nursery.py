"""Workers that begin as forks of a process which has imported what every worker imports.

A worker that is started as usual costs a tenth of a second of CPU before it does anything, and the tests start some
thousand. Tests that run the command line as a process, and those that are marked `fresh`, have workers started as
usual; so has everything in `make soak`. What a forked worker shares with its brothers is where memory lies, the hash
seed, and `/proc/PID/environ`; all else is its own: session, keeper, folder, environment, descriptors.

A library of models takes up to two seconds to import. Workers that need one are forks of a process that has it, which
is itself forked for the first of them.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

from benchwright.execution.hosts.local import LocalHost, LocalWorker
from benchwright.system import temporary_folder
from benchwright.system.scratch import JOB_VARIABLE

MOST = 150_000  # bytes of a request
FDS = 5  # control, answer, lifeline, log, and where its process id and its end are told
NUMBER = struct.Struct("=q")
PATIENCE = 60.0  # seconds
# Code begins in another way where one of these differs: a fork has begun already.
BEFORE_ALL = ("PYTHON", "LD_", "MALLOC", "GLIBC", "LC_", "LANG", "OMP_", "MKL_", "KMP_", "OPENBLAS_", "TORCH", "ORT_")
# What a runtime imports before anything else; what starts threads meanwhile cannot be forked.
LIBRARIES = {"onnxruntime": "onnxruntime", "openvino": "openvino", "torch": "torch"}


class Nursery:
    """The tests' end of the process that forks workers."""

    def __init__(self) -> None:
        self._line, line = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._began_with = _before_all(os.environ)
        self.needed = threading.local()  # `runtime` of the worker that this thread is about to start, where it is known
        here = str(Path(__file__).parent)
        code = f"import sys; sys.path.append({here!r}); import worker_nursery; worker_nursery.serve()"
        with line:
            subprocess.run(
                [sys.executable, "-P", "-c", code, str(line.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(line.fileno(),),
                start_new_session=True,
                check=True,
            )

    def fits(self, environment: dict[str, str]) -> bool:
        """Whether a fork can have this environment; it can import from other folders, if nothing begins there."""
        now, then = _before_all(environment), dict(self._began_with)
        folders, usual = now.pop("PYTHONPATH", ""), then.pop("PYTHONPATH", "")
        return now == then and (folders == usual or not any(map(_begins, _folders(folders))))

    def fork(self, request: dict[str, Any], fds: list[int]) -> ForkedProcess:
        """Has a worker forked."""
        told, telling = os.pipe()
        try:
            library = LIBRARIES.get(getattr(self.needed, "runtime", ""), "")
            socket.send_fds(self._line, [json.dumps({**request, "library": library}).encode()], [*fds, telling])
        finally:
            os.close(telling)
        return ForkedProcess(told)

    def end(self) -> None:
        """Ends the process; its workers have ended before."""
        self._line.close()


class ForkedProcess:
    """A forked worker, with as much of `subprocess.Popen` as its owner needs."""

    def __init__(self, told: int) -> None:
        self._told = told
        self.returncode: int | None = None
        pid = self._read(PATIENCE)
        if pid is None:
            raise OSError("no worker was forked")
        self.pid = pid

    def __del__(self) -> None:
        os.close(self._told)

    def poll(self) -> int | None:
        """Its exit status, or None while it is there."""
        return self._wait(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status, when it has ended."""
        status = self._wait(3600.0 if timeout is None else max(0.0, timeout))
        if status is None:
            raise subprocess.TimeoutExpired("a forked worker", timeout or 0.0)
        return status

    def terminate(self) -> None:
        """Asks it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        """Sends it a signal, as long as its number is its own."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def _wait(self, seconds: float) -> int | None:
        if self.returncode is None:
            self.returncode = self._read(seconds)
        return self.returncode

    def _read(self, seconds: float) -> int | None:
        if not select.select([self._told], [], [], seconds)[0]:
            return None
        data = os.read(self._told, NUMBER.size)
        return NUMBER.unpack(data)[0] if data else -signal.SIGKILL  # nobody is left to tell


def launcher(nursery: Nursery, usual: Any) -> Any:
    """What hands a job to a worker. Only here is it known which runtime it needs."""

    def launch(host: LocalHost, job: Any) -> Any:
        nursery.needed.runtime = job.case.target.runtime
        try:
            return usual(host, job)
        finally:
            nursery.needed.runtime = ""

    return launch


def spawner(nursery: Nursery, usual: Any) -> Any:
    """What starts the process of a worker: a fork where one will do, else as usual."""

    def spawn(worker: LocalWorker, control: int, answer: int, lifeline: int) -> Any:
        environment = {**os.environ, **worker._environment}
        request = {
            "environment": {
                **environment,
                **temporary_folder.variables(worker._temporary, environment),
                JOB_VARIABLE: worker._token.hex(),
            },
            "temporary": worker._temporary,
            "folder": str(worker._directory or Path.cwd()),
        }
        plain = worker._python == sys.executable and not worker._lent_first and type(worker) is LocalWorker
        if not plain or not nursery.fits(environment) or len(json.dumps(request)) > MOST:
            return usual(worker, control, answer, lifeline)
        return nursery.fork(request, [control, answer, lifeline, worker._log.fileno()])

    return spawn


def _before_all(environment: Any) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(BEFORE_ALL)}


def _folders(named: str) -> list[str]:
    return [os.path.abspath(folder) for folder in named.split(os.pathsep) if folder]  # noqa: PTH100 - as Python does


def _begins(folder: str) -> bool:
    return any(Path(folder, name).exists() for name in ("sitecustomize.py", "usercustomize.py", "benchwright"))


# ---- in the process that forks ----


def serve() -> NoReturn:
    """Forks workers until the line closes."""
    if os.fork():
        os._exit(0)  # tests look for children that somebody left: this is none
    import benchwright.worker.engine.engine
    import benchwright.worker.main
    import benchwright.worker.runtimes.fake
    import benchwright.worker.runtimes.python  # noqa: F401

    gc.collect()
    gc.freeze()
    gc.disable()  # as a worker begins; it turns the collector on again
    _fork_all(socket.socket(fileno=int(sys.argv[1])), "")


def _fork_all(line: socket.socket, library: str) -> NoReturn:
    """Forks a worker for each request, and tells of each end; for another library, by way of a process that has it."""
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    telling: dict[int, int] = {}
    lines: dict[str, socket.socket] = {}
    while True:
        readable = select.select([line.fileno(), woken], [], [])[0]
        if woken in readable:
            with contextlib.suppress(BlockingIOError):
                os.read(woken, 4096)
            _reap(telling)
        if line.fileno() not in readable:
            continue
        data, fds, _, _ = socket.recv_fds(line, MOST + 1, FDS)
        if not data:
            os._exit(0)
        request = json.loads(data)
        mine = [woken, wake, line.fileno(), *telling.values(), *(one.fileno() for one in lines.values())]
        if (other := request["library"]) != library:
            if other not in lines:
                lines[other] = _fork_nursery(other, closing=[*mine, *fds])
            socket.send_fds(lines[other], [data], fds)
        else:
            told = fds.pop()
            pid = os.fork()
            if pid == 0:
                _become_worker(request, fds, closing=[*mine, told])
            telling[pid] = told
            _tell(told, pid)
        for fd in fds:
            os.close(fd)


def _fork_nursery(library: str, closing: list[int]) -> socket.socket:
    """The line to a process like this one that has the library."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        for fd in (*closing, near.fileno()):
            os.close(fd)
        importlib.import_module(library)
        gc.freeze()
        _fork_all(far, library)
    far.close()
    return near


def _become_worker(request: dict[str, Any], fds: list[int], closing: list[int]) -> NoReturn:
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for fd in closing:
            os.close(fd)
        os.setsid()
        control, answer, lifeline, log = fds
        for number in (1, 2):
            os.dup2(log, number)
        os.close(log)
        os.chdir(request["folder"])
        before, after = (_folders(these.get("PYTHONPATH", "")) for these in (os.environ, request["environment"]))
        sys.path[:] = [*after, *(folder for folder in sys.path if folder not in before)]
        os.environ.clear()
        os.environ.update(request["environment"])
        time.tzset()
        for name in {"random", "numpy.random"} & sys.modules.keys():
            sys.modules[name].seed()
        from benchwright.system import orphans
        from benchwright.worker import main

        sys.argv = ["-c", *map(str, (control, answer, lifeline))]
        orphans.tie(lifeline, closing=(control, answer), temporary=request["temporary"])
        main.start(tied=True)
    finally:
        os._exit(code)


def _reap(telling: dict[int, int]) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if (fd := telling.pop(pid, None)) is None:  # a process with a library
            continue
        _tell(fd, os.waitstatus_to_exitcode(status))
        os.close(fd)


def _tell(fd: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(fd, NUMBER.pack(number))
