"""What builds a revision: run in its working copy, with its output in a log, never longer than allowed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchwright.records import Failure
from benchwright.system import orphans, temporary_folder
from benchwright.system.orphans import TOKEN_BYTES
from benchwright.system.texts import BoundedLog

OWN_FAULT = "build"  # the kind of a failure that the revision or the command line is to blame for
LATE = "timeout"  # the kind of a failure of what took too long
LOOK = 0.5  # seconds between two looks at the size of the log
TAIL = 4000  # bytes of the log that a failure carries
_ROOT = str(Path(__file__).resolve().parents[3])  # the interpreter that ties the build must find this package
_TIED = f"import sys; sys.path.append({_ROOT!r}); from benchwright.system import orphans; "
_TIED += "orphans.become(sys.argv[3:], int(sys.argv[1]), sys.argv[2])"


def run(
    command: str | Sequence[str], folder: Path, environment: Mapping[str, str], *, log: Path, timeout: float, what: str
) -> Failure | None:
    """Runs a shell line, or a program with its arguments, in the folder; None when it ended well.

    What it prints is added to the log. Nothing that it started is left.

    Should this process be killed, the build ends with it; where that cannot be, `end_left_over` finds it.
    """
    words = ["sh", "-c", command] if isinstance(command, str) else [*command]
    token = os.urandom(TOKEN_BYTES).hex()
    note = _note(log)
    note.write_text(token, encoding="ascii")  # first: the next process must find what this one started
    given = {**os.environ, **environment}
    try:
        # Appended to the log, so that its middle can be taken out while it grows.
        with temporary_folder.folder() as place, log.open("ab") as output:
            late, bounded = False, BoundedLog(log)
            given |= temporary_folder.variables(place, given)

            def command_for(lifeline: str) -> list[str]:
                return [sys.executable, "-I", "-S", "-c", _TIED, lifeline, place, *words]

            try:
                with orphans.start_tied(command_for, given, output=output, folder=folder, token=token) as child:
                    status = _wait(child, timeout, bounded)
            except subprocess.TimeoutExpired:
                late, status = True, -signal.SIGKILL
            finally:
                bounded.trim()
    except OSError as error:
        return Failure(kind="start", message=f"the build of {what} could not be started: {error.strerror}")
    finally:
        note.unlink(missing_ok=True)
    return _failure(status, late, what, timeout, log)


def _wait(child: subprocess.Popen[bytes], timeout: float, log: BoundedLog) -> int:
    """The exit status; a `TimeoutExpired` when the time is up. A flood of output must not fill the disk meanwhile."""
    deadline = time.monotonic() + timeout
    while True:
        left = deadline - time.monotonic()
        try:
            return child.wait(max(0.0, min(LOOK, left)))
        except subprocess.TimeoutExpired:
            if left <= LOOK:
                raise
        log.trim()


def end_left_over(log: Path) -> None:
    """Ends what a build with this log started, where whoever ran it was killed. Nobody else may be running it."""
    try:
        token = _note(log).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return
    if len(token) == 2 * TOKEN_BYTES:  # not one that was cut off: part of it might be part of another
        orphans.sweep(token)


def _note(log: Path) -> Path:
    return log.with_name(f".{log.name}.token")


def _failure(status: int, late: bool, what: str, timeout: float, log: Path) -> Failure | None:
    if status == 0:
        return None
    tail = _tail(log)
    if late:
        message = f"the build of {what} took longer than {timeout:g} s"
        return Failure(kind=LATE, message=message, remedy="give --build-timeout more seconds", log_tail=tail)
    how = f"was ended by signal {-status}" if status < 0 else f"ended with exit code {status}"
    return Failure(kind=OWN_FAULT, message=f"the build of {what} {how}", remedy=f"see {log}", log_tail=tail)


def _tail(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
        return file.read().decode("utf-8", "replace").strip()
