"""This machine: a worker is a fresh interpreter in a session of its own.

Importing this module is cheap, so that the first worker starts up while the parent still imports the rest.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchwright.system import orphans, temporary_folder
from benchwright.system.lent_package import code_for
from benchwright.system.orphans import TOKEN_BYTES
from benchwright.system.scratch import JOB_VARIABLE

if TYPE_CHECKING:
    from benchwright.worker.channel import Frame, FrameReader, Job

READ = 1 << 20
TAIL = 8192  # bytes of the log that are kept
MOST_LOG = 256 << 20  # bytes a log may grow to before it is cut


class LocalHost:
    """Starts workers on this machine: with this interpreter and here, unless another `python` or `directory` is named.

    `environment` is added to this process's variables. With `lent_first`, workers run this very Benchwright even where
    their interpreter has one of its own.
    """

    def __init__(
        self,
        *,
        python: str = "",
        directory: Path | None = None,
        environment: Mapping[str, str] | None = None,
        lent_first: bool = False,
    ) -> None:
        self._start = partial(
            LocalWorker, python=python, directory=directory, environment=environment, lent_first=lent_first
        )
        self._waiting: LocalWorker | None = None

    def get_ready(self) -> None:
        """Starts a worker that waits for its job, so that it starts up while the parent still makes its plan."""
        with contextlib.suppress(OSError):  # `launch` tries again, and its caller can say what failed
            self._waiting = self._waiting or self._start()

    def launch(self, job: Job) -> LocalWorker:
        """Hands the job to a fresh process and returns at once."""
        from benchwright import schema
        from benchwright.worker.channel import Frame

        worker, self._waiting = self._waiting or self._start(), None
        worker.tell(Frame(kind="job", data=schema.encode(job)))
        return worker

    def close(self) -> None:
        """Ends a worker that got no job."""
        if self._waiting is not None:
            self._waiting.end(0)


class LocalWorker:
    """One child process, its log, its private line and its temporary folder, which goes with it."""

    def __init__(
        self,
        *,
        python: str = "",
        directory: Path | None = None,
        environment: Mapping[str, str] | None = None,
        lent_first: bool = False,
    ) -> None:
        self._lent_first = lent_first
        self._python, self._directory, self._environment = python or sys.executable, directory, environment or {}
        self._token = os.urandom(TOKEN_BYTES)
        self._reader: FrameReader | None = None
        self._temporary = temporary_folder.make()
        self._log = WorkerLog()
        self._exit: int | None = None
        self._pid = 0
        control, self._control = os.pipe()
        self._answer, answer = os.pipe()
        lifeline, self._lifeline = os.pipe()
        try:
            self._process = self._spawn(control, answer, lifeline)
        except OSError:
            for fd in (self._control, self._answer, self._lifeline):
                os.close(fd)
            self._log.close()
            temporary_folder.remove(self._temporary)
            raise
        finally:
            for fd in (control, answer, lifeline):
                os.close(fd)

    @property
    def pid(self) -> int:
        """Returns the worker's process id; that of its keeper until its first message."""
        return self._pid or self._process.pid

    def fileno(self) -> int:
        """Returns a descriptor that is readable when there is something to `hear`."""
        return self._answer

    def tell(self, message: Frame) -> None:
        """Sends the worker a message; a worker that has gone is no error."""
        from benchwright.worker.channel import write_message

        with contextlib.suppress(BrokenPipeError):
            write_message(self._control, self._token, message)

    def hear(self) -> list[Frame] | None:
        """Returns the messages that have arrived; None when the worker's line has ended."""
        from benchwright.worker.channel import FrameReader

        data = os.read(self._answer, READ)
        if not data:
            return None
        self._reader = self._reader or FrameReader(self._token)
        self._reader.feed(data)
        messages = list(iter(self._reader.next, None))
        if messages and not self._pid:
            told = messages[0].data.get("pid")
            self._pid = told if type(told) is int else self._process.pid
        return messages

    def gone(self) -> bool:
        """Whether the worker's process has ended; what it started may still hold the line open."""
        return self._exit is not None or self._process.poll() is not None

    def end(self, grace: float) -> int:
        """Waits `grace` seconds, then kills it and all it started. Its exit status: below zero, a signal."""
        if self._exit is None:
            # Before the lifeline closes: a guard goes too, and never acts.
            self._exit = orphans.end(self._process, self._token.hex(), grace)
            for fd in (self._control, self._answer, self._lifeline):
                os.close(fd)
            self._log.close()
            temporary_folder.remove(self._temporary)
        return self._exit

    def duplicate_log(self) -> int:
        """A descriptor of the caller's own on all that it prints, for who shows it meanwhile; `end` leaves it open."""
        return self._log.duplicate()

    def log_tail(self) -> str:
        """Returns the end of what the worker printed."""
        return self._log.tail(TAIL)

    def bound_log(self) -> None:
        """Cuts a log that has grown beyond reason; a flood must not fill the disk."""
        self._log.bound(MOST_LOG)

    def _spawn(self, control: int, answer: int, lifeline: int) -> subprocess.Popen[bytes]:
        # Imports make no garbage worth collecting; the worker turns the collector on again. The process that keeps it
        # is left behind before anything else is imported, so that it is small.
        begin = (
            "import sys; from benchwright.system import orphans; control, answer, lifeline = map(int, sys.argv[1:4]); "
            "orphans.tie(lifeline, closing=(control, answer), temporary=sys.argv.pop()); "
            "from benchwright.worker.main import start; start(tied=True)"
        )
        code = f"import gc; gc.disable(); {code_for(begin, first=self._lent_first)}"
        given = {**os.environ, **self._environment}
        return subprocess.Popen(
            [self._python, "-P", "-c", code, str(control), str(answer), str(lifeline), self._temporary],
            stdin=subprocess.DEVNULL,
            stdout=self._log.fileno(),
            stderr=self._log.fileno(),
            pass_fds=(control, answer, lifeline),
            start_new_session=True,
            env={**given, **temporary_folder.variables(self._temporary, given), JOB_VARIABLE: self._token.hex()},
            cwd=self._directory,
        )


class WorkerLog:
    """What a worker prints to stdout and stderr: a file without a name, of which the end is kept.

    Every write goes to its end, whoever writes.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(mode="ab+", buffering=0)  # noqa: SIM115 - closed in close()
        fcntl.fcntl(self._file, fcntl.F_SETFL, os.O_APPEND)  # which the mode alone does not set for a nameless file
        self._tail = ""  # once the file is closed

    def fileno(self) -> int:
        """The descriptor that a worker inherits."""
        return self._file.fileno()

    def duplicate(self) -> int:
        """A descriptor of the caller's own, to read the log with; it is whole for as long as that is open."""
        return os.dup(self._file.fileno())

    def write(self, text: str) -> None:
        """Adds a line of the parent's own to the log."""
        if not self._file.closed:
            self._file.write(text.encode())

    def tail(self, most: int = TAIL) -> str:
        """The last `most` bytes of what was printed, also after closing."""
        if self._file.closed:
            return self._tail
        size = os.fstat(self._file.fileno()).st_size
        self._file.seek(max(0, size - most))
        return self._file.read(most).decode("utf-8", errors="replace")

    def bound(self, most: int = MOST_LOG) -> None:
        """Cuts a log that has grown beyond `most` bytes; a flood must not fill the disk."""
        if not self._file.closed and os.fstat(self._file.fileno()).st_size > most:
            self._file.truncate(0)

    def close(self) -> None:
        """Keeps the end of the log and drops the rest."""
        if not self._file.closed:
            self._tail = self.tail()
            self._file.close()
