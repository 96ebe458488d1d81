"""A worker in a container: the parent's end of its line, from the engine's start to the container's removal."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchwright.execution.hosts.container_init import LENGTH
from benchwright.execution.hosts.local import WorkerLog
from benchwright.system.orphans import TOKEN_BYTES
from benchwright.system.scratch import JOB_VARIABLE
from benchwright.worker.channel import Frame, FrameReader, write_message

READ = 1 << 20
LOOK = 0.005  # seconds between two looks while waiting for an end
REMOVAL = 30.0  # seconds an engine may take to remove a container that has ended
_PEER = struct.Struct("3i")  # process, user and group of whoever is at the other end
_SIGNALLED = 128  # an exit code above it, where only the engine's is known, names a signal


class ContainerWorker:
    """One container with one worker in it. It exists before the container does, and says so by silence.

    `command` makes the engine's argument list from a name and the folder that holds the socket. Two processes come to
    that socket: first the container's own, whose connection is the container's life; then the worker, which is given
    its pipes, its log and what it is `told`.
    """

    def __init__(self, *, engine: str, command: Callable[[str, Path], Sequence[str]], told: Mapping[str, Any]) -> None:
        self._engine, self._told = engine, told
        self._name = f"benchwright-{os.urandom(6).hex()}"
        self._token = os.urandom(TOKEN_BYTES)
        self._reader = FrameReader(self._token)
        self._log = WorkerLog()
        self._pid = 0
        self._init: socket.socket | None = None  # the line to the container's first process
        self._unsaid: list[Frame] = []  # until there is somebody to hear it
        self._ended: int | None = None  # the worker's exit status, as the container's first process told it
        self._exit: int | None = None
        control, self._control = os.pipe()
        self._answer, answer = os.pipe()
        lifeline, self._lifeline = os.pipe()
        self._inner = [control, answer, lifeline]  # the worker's ends, ours until it has come for them
        self._folder = Path(tempfile.mkdtemp(prefix="benchwright-"))
        self._listener = _listen(self._folder / "socket")
        self._ready = select.epoll()  # the one descriptor that callers wait on, whatever is being waited for
        self._ready.register(self._listener, select.EPOLLIN)
        self._ready.register(self._answer, select.EPOLLIN)
        try:
            self._process = subprocess.Popen(
                command(self._name, self._folder),
                stdin=subprocess.DEVNULL,
                stdout=self._log.fileno(),
                stderr=self._log.fileno(),
                start_new_session=True,
            )
        except OSError:
            self._hang_up()
            self._close()
            raise

    @property
    def pid(self) -> int:
        """The worker's process id on this machine; 0 until it is ready."""
        return self._pid

    def fileno(self) -> int:
        """Returns a descriptor that is readable when there is something to `hear`."""
        return self._ready.fileno()

    def tell(self, message: Frame) -> None:
        """Sends it a message, or keeps it until there is a worker; one that has gone is no error."""
        if self._inner:
            self._unsaid.append(message)
            return
        with contextlib.suppress(BrokenPipeError):
            write_message(self._control, self._token, message)

    def hear(self) -> list[Frame] | None:
        """Returns the messages that have arrived; None when the worker's line has ended."""
        for fd, _ in self._ready.poll(0):
            if fd == self._answer:
                data = os.read(self._answer, READ)
                if not data:
                    return None
                self._reader.feed(data)
            else:
                self._welcome()
        return list(iter(self._reader.next, None))

    def gone(self) -> bool:
        """Whether the worker has ended; the engine may still be removing the container."""
        if self._exit is None and self._ended is None:
            self._ended = self._read_exit_status()
        return self._exit is not None or self._ended is not None or self._process.poll() is not None

    def end(self, grace: float) -> int:
        """Waits `grace` seconds, then ends the container and waits until it is removed. Below zero: a signal."""
        if self._exit is None:
            deadline = time.monotonic() + grace
            while not self.gone() and time.monotonic() < deadline:
                time.sleep(LOOK)
            by_itself = self.gone()
            self._hang_up()
            code = self._remove()
            if self._ended is not None:
                self._exit = self._ended
            else:
                self._exit = _as_signal(code) if by_itself else -signal.SIGKILL
            self._close()
        return self._exit

    def log_tail(self) -> str:
        """Returns the end of what the worker printed."""
        return self._log.tail()

    def bound_log(self) -> None:
        """Cuts a log that has grown beyond reason; a flood must not fill the disk."""
        self._log.bound()

    # ---- those who come to the socket ----

    def _welcome(self) -> None:
        line, _ = self._listener.accept()
        if self._init is None:
            self._init = line
            self._init.setblocking(False)
            return
        self._pid = _PEER.unpack(line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))[0]
        told = json.dumps({**self._told, "job": {JOB_VARIABLE: self._token.hex()}}).encode()
        with line, contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has gone: that is noticed elsewhere
            socket.send_fds(line, [LENGTH.pack(len(told))], [*self._inner, self._log.fileno()])
            line.sendall(told)
        self._ready.unregister(self._listener)
        self._stop_listening()
        for message in self._unsaid:
            self.tell(message)

    def _read_exit_status(self) -> int | None:
        """The worker's exit status, once the container's first process has told it."""
        if self._init is None:
            return None
        try:
            told = self._init.recv(READ)
        except (BlockingIOError, ConnectionResetError):
            return None
        if not told:  # it ended without a word: the engine's exit code must do
            return None
        end = json.loads(told)
        if end["out_of_memory"]:
            self._log.write("benchwright: the container reached its memory limit, and the kernel killed a process\n")
        return int(end["exit"])

    # ---- the end ----

    def _hang_up(self) -> None:
        """Closes every line. The container's first process ends then, and all others with it."""
        if self._init is not None:
            self._init.close()
        os.close(self._lifeline)
        self._stop_listening()

    def _stop_listening(self) -> None:
        self._listener.close()
        while self._inner:
            os.close(self._inner.pop())
        shutil.rmtree(self._folder, ignore_errors=True)

    def _remove(self) -> int:
        """The engine's exit code, once the container is gone; an engine that takes too long is told to remove it."""
        try:
            return self._process.wait(REMOVAL)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                subprocess.run(
                    [self._engine, "rm", "--force", self._name],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=REMOVAL,
                    check=False,
                )
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            return self._process.wait()

    def _close(self) -> None:
        self._stop_listening()
        self._ready.close()
        for fd in (self._control, self._answer):
            os.close(fd)
        self._log.close()


def _listen(place: Path) -> socket.socket:
    """A socket at that path, which may be longer than the kernel takes for one."""
    folder = os.open(place.parent, os.O_PATH)
    try:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(f"/proc/self/fd/{folder}/{place.name}")
        listener.listen()
        return listener
    finally:
        os.close(folder)


def _as_signal(code: int) -> int:
    """An engine reports a process that a signal ended as 128 + its number."""
    return _SIGNALLED - code if code > _SIGNALLED else code
