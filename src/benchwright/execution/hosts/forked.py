"""This machine, for benchmark files that take long to import: imported once a round, and forked for each case.

Each case is still measured in a process of its own in every round. But those of one file and round share what a fresh
process draws anew: where memory lies, and the hash seed. So rounds are as independent as ever, cases of a round are
not, and every result says so.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from benchwright.errors import OptionError
from benchwright.events import Listener, Noted, nobody
from benchwright.execution.hosts.fork_server import MOST
from benchwright.execution.hosts.local import LocalHost, LocalWorker
from benchwright.records import Case, ResultWarning
from benchwright.system import orphans, temporary_folder
from benchwright.system.lent_package import code_for
from benchwright.system.orphans import TOKEN_BYTES
from benchwright.system.scratch import JOB_VARIABLE

if TYPE_CHECKING:
    from benchwright.worker.channel import Job

CODE = "forked"
IMPORTING = 3600.0  # seconds that an import may take; --timeout is about what is measured
_RUNTIMES = ("python", "class")


class ForkingHost:
    """Starts workers as forks of a process that has imported the benchmark's file; a context manager.

    What cannot be forked is measured in a fresh process as usual, and the listener is told why.
    """

    def __init__(self, listener: Listener = nobody) -> None:
        if not (sys.platform.startswith("linux") and hasattr(os, "fork")):
            raise OptionError("--fork works on Linux alone", remedy="leave it out")
        self._fresh = LocalHost()
        self._listener = listener
        self._round = 0
        self._nurseries: dict[str, ForkServer] = {}
        self._told: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    def enter_round(self, number: int) -> None:
        """Ends the processes that imported files in another round."""
        if number != self._round:
            self._end()
            self._round = number

    def launch(self, job: Job) -> LocalWorker:
        """Forks a worker for the job, or starts a fresh one."""
        nursery = self._nursery(job)
        if nursery is None:
            return self._fresh.launch(job)
        from benchwright import schema
        from benchwright.worker.channel import Frame

        worker = ForkedWorker(nursery)
        worker.tell(Frame(kind="job", data=schema.encode(job)))
        return worker

    def remark(self, case: Case) -> ResultWarning | None:
        """Returns the warning that a result of this case must carry about being forked."""
        nursery = self._nurseries.get(_module(case))
        if nursery is None or nursery.refused:
            return None
        return ResultWarning(
            code=CODE,
            seen="forked from a process that imports the file once a round: its memory layout and hash seed are shared",
            remedy="leave --fork out to measure every case in a fresh process",
        )

    def _nursery(self, job: Job) -> ForkServer | None:
        """The process to fork from; None where the job needs a fresh one."""
        module = _module(job.case)
        if job.case.target.runtime not in _RUNTIMES or not module or job.profile is not None:
            return None
        known = self._nurseries.get(module)
        if known is not None and not known.refused and known.gone:  # killed by whoever
            known.end()
            del self._nurseries[module]
        if module not in self._nurseries:
            self._nurseries[module] = ForkServer(module, job)
        nursery = self._nurseries[module]
        if not nursery.refused:
            return nursery
        if module not in self._told:
            self._told.add(module)
            self._listener(Noted(text=f"{module} is not forked: {nursery.refused}; its cases run in fresh processes"))
        return None

    def _end(self) -> None:
        for nursery in self._nurseries.values():
            nursery.end()
        self._nurseries.clear()


class ForkServer:
    """The parent's end of a process that forks workers. `refused` says why it does not."""

    def __init__(self, module: str, job: Job) -> None:
        self.refused = ""
        self.ended: dict[int, int] = {}  # exit statuses of workers, by process id
        self._pid = 0  # of the worker that was forked last
        self._token = os.urandom(TOKEN_BYTES).hex()
        self._temporary = temporary_folder.make()  # of what it does while it imports
        self._line, line = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        lifeline, self._lifeline = os.pipe()
        code = (
            f"import gc; gc.disable(); {code_for('from benchwright.execution.hosts.fork_server import start; start()')}"
        )
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", code, str(line.fileno()), str(lifeline), self._temporary],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(line.fileno(), lifeline),
                start_new_session=True,
                env={
                    **os.environ,
                    **temporary_folder.variables(self._temporary, os.environ),
                    JOB_VARIABLE: self._token,
                },
            )
        finally:
            line.close()
            os.close(lifeline)
        try:
            asked = {"module": module, "paths": job.paths, "last_paths": job.last_paths}
            self._line.send(json.dumps(asked).encode())
            told = self._hear(IMPORTING)
        except BaseException:  # Ctrl-C while it imports
            self.end()
            raise
        self.refused = "its process ended while it was imported" if told is None else told.get("refused", "")

    @property
    def gone(self) -> bool:
        """Whether the process that forks workers has ended."""
        return self._process.poll() is not None

    def fork(self, token: bytes, folder: str, fds: list[int]) -> int:
        """Has a worker forked that has these file descriptors and this temporary folder; its process id."""
        self._pid = 0
        socket.send_fds(self._line, [json.dumps({"token": token.hex(), "temporary": folder}).encode()], fds)
        while not self._pid:
            if not self.listen(IMPORTING):
                raise OSError("the process that forks workers has ended")
        return self._pid

    def listen(self, timeout: float) -> bool:
        """Reads what the process says within so many seconds; False when it has ended."""
        told = self._hear(timeout)
        if told is None:
            return False
        self._pid = told.get("pid", self._pid)
        if "ended" in told:
            self.ended[told["ended"]] = told["status"]
        return True

    def end(self) -> None:
        """Ends the process; its workers have ended before."""
        orphans.end(self._process, self._token)
        self._line.close()
        os.close(self._lifeline)
        temporary_folder.remove(self._temporary)

    def _hear(self, timeout: float) -> dict[str, Any] | None:
        """Returns the next message: an empty one when none came in time, None when the process has closed its line."""
        if not select.select([self._line], [], [], max(0.0, timeout))[0]:
            return {}
        try:
            data = self._line.recv(MOST)
        except ConnectionResetError:
            return None
        return json.loads(data) if data else None


class ForkedWorker(LocalWorker):
    """A worker that is another process's child."""

    def __init__(self, nursery: ForkServer) -> None:
        self._nursery = nursery
        super().__init__()

    def _spawn(self, control: int, answer: int, lifeline: int) -> Any:
        fds = [control, answer, lifeline, self._log.fileno()]
        return _ForkedProcess(self._nursery, self._nursery.fork(self._token, self._temporary, fds))


class _ForkedProcess:
    """The forked process, with as much of `subprocess.Popen` as a worker needs."""

    def __init__(self, nursery: ForkServer, pid: int) -> None:
        self._nursery, self.pid = nursery, pid

    def poll(self) -> int | None:
        return self._wait_for_end(0.0)

    def terminate(self) -> None:
        if self.poll() is None:  # until the nursery has told of its end, its number is its own
            os.kill(self.pid, signal.SIGTERM)

    def wait(self, timeout: float | None = None) -> int:
        end = time.monotonic() + (IMPORTING if timeout is None else timeout)
        while (status := self._wait_for_end(end - time.monotonic())) is None:
            if time.monotonic() >= end:
                raise subprocess.TimeoutExpired("a forked worker", timeout or IMPORTING)
        return status

    def _wait_for_end(self, timeout: float) -> int | None:
        if self.pid not in self._nursery.ended and not self._nursery.listen(timeout):
            return -signal.SIGKILL  # nobody is left to tell
        return self._nursery.ended.get(self.pid)


def _module(case: Case) -> str:
    from benchwright.worker.runtimes.user_objects import split

    return split(case.target.uri)[0]
