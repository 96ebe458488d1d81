"""A server of several processes: this one accepts connections and hands each to the process that has fewest.

Connections are long: a browser, a program that sends results and a proxy keep theirs. Were all processes to accept by
themselves, whichever was quickest would have most of them. This process also does what a server does by itself, once;
starts again what has ended; and ends them all.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from benchwright.errors import BenchwrightError, OptionError
from benchwright.server.app import make_context
from benchwright.server.process import address_of, listen
from benchwright.server.serving_process import LAST, TAKEN, ServingJob
from benchwright.server.settings import ServerSettings
from benchwright.server.shared_state import MOST_PROCESSES, SharedState
from benchwright.server.standing_jobs import StandingJobs
from benchwright.system import temporary_folder

LONGEST_PAUSE = 30.0  # seconds before a process is started again that ends at once, each time
WELL = 10.0  # seconds: one that lasted longer is started again at once
_ACCEPTED_AT_ONCE = 64
_PAUSE = 0.1  # seconds when this process can hold no more files
_ROOT = str(Path(__file__).resolve().parents[2])
_CODE = (
    f"import sys; sys.path.append({_ROOT!r}); from benchwright.server.serving_process import main; main(sys.argv[1:])"
)


def serve_with(settings: ServerSettings, processes: int, *, port: int, ready: Callable[[str], None]) -> None:
    """Answers requests in so many processes until Ctrl-C or SIGTERM. `ready` is told the address, as `serve` does."""
    if sys.platform == "win32":
        raise OptionError("--server-processes: on Windows a server is one process", remedy="leave it out")
    if not 1 < processes <= MOST_PROCESSES:
        raise OptionError(f"--server-processes {processes}", remedy=f"2 to {MOST_PROCESSES}; without it, one")
    with ExitStack() as stack:
        listening = stack.enter_context(listen(settings.host, port))  # first: where this fails, no store has been made
        shared = stack.enter_context(closing(SharedState.create()))
        here = make_context(settings, shared=shared)
        stack.callback(here.store.close)
        jobs = StandingJobs(here)
        stack.callback(jobs.end)
        traffic = stack.enter_context(temporary_folder.folder())
        group = stack.enter_context(closing(_ProcessGroup(settings, processes, shared, traffic)))
        stopped = stack.enter_context(_signals())
        if group.start(stopped):
            jobs.start()
            ready(address_of(listening, settings.host))
            group.hand_out(listening, stopped)
        listening.close()  # whoever comes now is refused at once


@contextmanager
def _signals() -> Iterator[socket.socket]:
    """A socket that can be read once somebody wants this process to end."""
    reading, writing = socket.socketpair()
    with reading, writing:
        writing.setblocking(False)
        before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
        waking = signal.set_wakeup_fd(writing.fileno())
        try:
            yield reading
        finally:
            signal.set_wakeup_fd(waking)
            for number, handler in before.items():
                signal.signal(number, handler)


class _ProcessGroup:
    """The processes of one server."""

    def __init__(self, settings: ServerSettings, count: int, shared: SharedState, traffic: str) -> None:
        limits = settings.limits
        each = replace(limits, connections=-(-limits.connections // count), listeners=-(-limits.listeners // count))
        theirs = replace(settings, limits=each)
        self._members = [
            _Member(ServingJob(settings=theirs, number=number, processes=count, traffic=traffic), shared)
            for number in range(count)
        ]
        self._changes = selectors.DefaultSelector()

    def start(self, stopped: socket.socket) -> bool:
        """Starts all, and returns when each can take connections; False when somebody wants the server to end."""
        self._changes.register(stopped, selectors.EVENT_READ)
        for member in self._members:
            self._start(member)
        while not all(member.is_ready for member in self._members):
            for key, _ in self._changes.select():
                if key.fileobj is stopped:
                    return False
                if not key.data.hear():
                    why = _explain(key.data.end(LAST))
                    raise BenchwrightError(f"a process of the server {why} before it was ready")
        return True

    def hand_out(self, listening: socket.socket, stopped: socket.socket) -> None:
        """Hands out connections until somebody wants the server to end."""
        listening.setblocking(False)
        is_accepting = False
        while True:
            wants = any(member.is_ready for member in self._members)
            if wants != is_accepting:  # while nobody can take one, they wait in the kernel
                is_accepting = wants
                if wants:
                    self._changes.register(listening, selectors.EVENT_READ)
                else:
                    self._changes.unregister(listening)
            for key, _ in self._changes.select(self._seconds_until_due()):
                if key.fileobj is stopped:
                    return
                if key.fileobj is listening:
                    self._accept(listening)
                elif not key.data.hear():
                    self._replace(key.data)
            for member in self._members:
                if member.is_due():
                    self._start(member)

    def close(self) -> None:
        """Ends all processes: first they are asked to, then they have to."""
        answering = [member for member in self._members if member.is_ready]  # one that just starts would not hear it
        for member in self._members:
            member.let_go()
        deadline = time.monotonic() + LAST
        for member in self._members:
            member.end(max(0.0, deadline - time.monotonic()) if member in answering else 0.0)
            for accepted in member.give_back():
                accepted.close()
        self._changes.close()

    def _start(self, member: _Member) -> None:
        self._changes.register(member.start(), selectors.EVENT_READ, member)

    def _replace(self, member: _Member) -> None:
        self._changes.unregister(member.line)
        why = _explain(member.end(LAST))
        pause = member.plan_start()
        when = f"in {pause:.0f} s" if pause else "now"
        sys.stderr.write(f"server: process {member.number + 1} {why}; it is started again {when}\n")
        sys.stderr.flush()
        for accepted in member.give_back():
            self._hand(accepted)

    def _seconds_until_due(self) -> float | None:
        due = [member.due for member in self._members if member.due is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                accepted, _ = listening.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:  # too many open files, for example: those that wait are not lost
                sys.stderr.write(f"server: a connection could not be accepted: {error.strerror}\n")
                time.sleep(_PAUSE)
                return
            self._hand(accepted)

    def _hand(self, accepted: socket.socket) -> None:
        """Hands a connection to the process that has fewest; where none takes it, it is closed."""
        ready = [member for member in self._members if member.is_ready]
        if not any(member.take(accepted) for member in sorted(ready, key=lambda one: one.connections)):
            accepted.close()


class _Member:
    """One process, and the one that comes after it when it has ended."""

    def __init__(self, job: ServingJob, shared: SharedState) -> None:
        self._job, self._shared = job, shared
        self._ended = shared.ended_connections(job.number)
        self._process: subprocess.Popen[bytes] | None = None
        self._handed = 0
        self._untaken: deque[socket.socket] = deque()  # handed out, and perhaps never seen by a process that has gone
        self._failures = 0
        self._since = 0.0
        self.line = socket.socket()  # to the process
        self.is_ready = False
        self.due: float | None = None  # when it is started again

    @property
    def number(self) -> int:
        """Its place among the processes."""
        return self._job.number

    @property
    def connections(self) -> int:
        """How many connections it has, or is about to take."""
        return self._handed - self._ended.value

    def start(self) -> socket.socket:
        """Starts the process; the socket to it."""
        self.line.close()
        self.line, theirs = socket.socketpair()
        self._ended.set(0)
        self._handed, self.due, self.is_ready = 0, None, False
        self._since = time.monotonic()
        with theirs, tempfile.TemporaryFile() as given:
            given.write(self._job.encode())
            given.seek(0)
            handles = (theirs.fileno(), self._shared.handle)
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _CODE, *map(str, handles)],
                stdin=given,
                stdout=subprocess.DEVNULL,
                pass_fds=handles,
                start_new_session=True,  # Ctrl-C is for this process, which tells the others
            )
        self.line.setblocking(False)
        return self.line

    def hear(self) -> bool:
        """Takes what the process says; False when it has ended, or takes nothing any more."""
        try:
            said = self.line.recv(4096)
        except BlockingIOError:
            return True
        except OSError:
            said = b""
        self.is_ready = bool(said)
        for _ in range(said.count(TAKEN)):
            self._untaken.popleft().close()  # whoever it was handed to has a handle of its own
        return self.is_ready

    def take(self, accepted: socket.socket) -> bool:
        """Hands the process a connection; False when it takes none now."""
        try:
            socket.send_fds(self.line, [b"c"], [accepted.fileno()])
        except OSError:  # it has gone, or has so many waiting that no more fit
            return False
        self._handed += 1
        self._untaken.append(accepted)
        return True

    def give_back(self) -> list[socket.socket]:
        """Returns the connections that the process, which has gone, had not taken yet."""
        left = [*self._untaken]
        self._untaken.clear()
        return left

    def let_go(self) -> None:
        """Asks the process to end."""
        self.is_ready = False
        self.line.close()

    def end(self, patience: float) -> int:
        """Waits for the process to end, then ends it; its exit status."""
        self.let_go()
        if self._process is None:
            return 0
        try:
            return self._process.wait(patience)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            return self._process.wait()

    def plan_start(self) -> float:
        """Says when it is started again: at once, or later if it keeps ending; the pause in seconds."""
        self._failures = 0 if time.monotonic() - self._since > WELL else self._failures + 1
        pause = min(2.0 ** (self._failures - 1), LONGEST_PAUSE) if self._failures else 0.0
        self.due = time.monotonic() + pause
        return pause

    def is_due(self) -> bool:
        """Whether it has to be started again now."""
        return self.due is not None and self.due <= time.monotonic()


def _explain(status: int) -> str:
    if status < 0:
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-status).name}"
    return f"ended with exit code {status}"
