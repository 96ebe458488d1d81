"""No process outlives its job: ties a worker to its parent, and finds what the measured code left behind.

Three nets, each for what the one before lets through. The kernel kills the worker's process group the moment the
parent's end of a pipe closes, however the parent ended. A keeper above the worker (`system.process`) ends what the
worker's death hands over to it, whatever that did to hide. And a parent that lives looks for what carries the job's
token in its environment when the job is over; where no kernel hands anything over, a guard does that in its place.
Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from benchwright.system import process
from benchwright.system.scratch import JOB_VARIABLE

TYPE_CHECKING = False  # whoever keeps a worker imports this module and nothing else
if TYPE_CHECKING:
    import subprocess
    from pathlib import Path
    from typing import IO

TOKEN_BYTES = 16
_F_SETSIG = 10


def tie(lifeline: int, *, closing: Sequence[int] = (), temporary: str = "") -> None:
    """Ties this process and all that it will start to the other end of a pipe; called once, as early as can be.

    On Linux this process becomes a keeper, and what follows the call happens in its child, which keeps nothing open
    that the caller does not: see `process.keep`. `closing` is what neither keeper nor guard may hold open. `temporary`
    is a folder that goes with the process: the parent removes it, or, where that has gone, keeper or guard.
    """
    token = os.environ[JOB_VARIABLE]

    def tidy() -> None:
        if select.select([lifeline], [], [], 0)[0]:  # the parent has gone, and looks for nothing any more
            sweep(token)
            _remove(temporary)

    if process.keep(tidy, closing=closing):
        die_with(lifeline)
        return
    die_with(lifeline)
    stand_guard(lifeline, token, closing=closing, temporary=temporary)


@contextlib.contextmanager
def start_tied(
    command_for: Callable[[str], Sequence[str]],
    environment: Mapping[str, str],
    *,
    output: IO[bytes],
    given: IO[bytes] | None = None,
    folder: Path | None = None,
    keep_open: Sequence[int] = (),
    token: str = "",
) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a child in a session of its own that ties itself (`tie`, `become`); in the end nothing it started is left.

    `command_for` is given the number of the lifeline, which closes when this process ends, however it ends. What the
    child prints goes to `output`, what it reads comes from `given`. All that it starts carries `token`, or a new one.
    """
    import subprocess

    token = token or os.urandom(TOKEN_BYTES).hex()
    lifeline, held = os.pipe()
    try:
        child = subprocess.Popen(
            [*command_for(str(lifeline))],
            cwd=folder,
            env={**environment, JOB_VARIABLE: token},
            stdin=subprocess.DEVNULL if given is None else given,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=(lifeline, *keep_open),
            start_new_session=True,
        )
        try:
            yield child
        finally:
            end(child, token)
    finally:
        os.close(lifeline)
        os.close(held)


def end(child: subprocess.Popen[bytes], token: str, grace: float = 0.0) -> int:
    """Waits `grace` seconds for a child that tied itself, then ends it and all it started. Its exit status."""
    status = process.end(child, grace)
    sweep(token)
    return status


def die_with(lifeline: int) -> None:
    """Ties this process group to the other end of a pipe: when it closes, the kernel kills the whole group.

    That holds even for a call that never gives the interpreter back. Where no kernel does this, a thread watches.
    """
    if sys.platform.startswith("linux"):
        import fcntl

        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, _F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
        if select.select([lifeline], [], [], 0)[0]:  # it closed before the kernel was asked to watch
            os._exit(1)
    else:
        import threading

        def watch() -> None:
            os.read(lifeline, 1)
            os.killpg(os.getpgrp(), signal.SIGKILL)

        threading.Thread(target=watch, daemon=True).start()


def stand_guard(lifeline: int, token: str, *, closing: Sequence[int], temporary: str = "") -> None:
    """Leaves a process in a session of its own that sweeps when the lifeline closes; it does not hold `closing` open.

    It costs two forks of a small process before anything is loaded, and nothing while it waits.
    """
    if not sys.platform.startswith("linux"):
        return
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2, *closing):
            os.dup2(nowhere, fd)
        with contextlib.suppress(InterruptedError):
            os.read(lifeline, 1)
        sweep(token)
        _remove(temporary)
    finally:
        os._exit(0)


def become(command: list[str], lifeline: int, temporary: str = "") -> None:
    """Turns this process into a program that ends, with all that it starts, when the lifeline closes.

    The keeper or the guard keeps the pipe open in its place, so that the kernel goes on watching; without one
    nobody does.
    """
    os.set_inheritable(lifeline, False)
    tie(lifeline, temporary=temporary)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores, and whose programs would too
        signal.signal(number, signal.SIG_DFL)
    os.execvp(command[0], command)  # noqa: S606


def sweep(token: str) -> None:
    """Kills every other process that carries the job's token; then the folder goes that they would have removed."""
    process.end_carriers(JOB_VARIABLE, token)
    from benchwright.system.scratch import (
        unwanted_folder,  # not before: the first worker starts before all that is imported
    )

    folder = unwanted_folder(token)
    if os.path.isdir(folder):  # noqa: PTH112
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _remove(folder: str) -> None:
    if folder:
        from benchwright.system import temporary_folder as temporary  # not before: a keeper stays small

        temporary.remove(folder)
