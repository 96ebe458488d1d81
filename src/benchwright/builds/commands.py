"""The user's build command: run in a working copy, with its output in a log, never longer than allowed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from benchwright import orphans
from benchwright.orphans import TOKEN_BYTES, TOKEN_VARIABLE
from benchwright.records import Failure

TAIL = 4000  # bytes of the log that a failure carries


def run(
    command: str, folder: Path, environment: Mapping[str, str], *, log: Path, timeout: float, what: str
) -> Failure | None:
    """Runs the line with `sh` in the folder; None when it ended well. Nothing that it started is left."""
    token = os.urandom(TOKEN_BYTES).hex()
    note = _note(log)
    note.write_text(token, encoding="ascii")  # first: should this process be killed, the next one finds what it started
    with log.open("wb") as output:
        try:
            child = subprocess.Popen(
                ["sh", "-c", command],
                cwd=folder,
                env={**os.environ, **environment, TOKEN_VARIABLE: token},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            return Failure(kind="start", message=f"the build of {what} could not be started: {error.strerror}")
        late = False
        try:
            status = child.wait(timeout)
        except subprocess.TimeoutExpired:
            late, status = True, -signal.SIGKILL
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            orphans.sweep(token)
            note.unlink(missing_ok=True)
    return _failure(status, late, what, timeout, log)


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
        return Failure(kind="timeout", message=message, remedy="give --build-timeout more seconds", log_tail=tail)
    how = f"was ended by signal {-status}" if status < 0 else f"ended with exit code {status}"
    return Failure(kind="build", message=f"the build of {what} {how}", remedy=f"see {log}", log_tail=tail)


def _tail(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
        return file.read().decode("utf-8", "replace").strip()
