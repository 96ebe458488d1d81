"""Functions of the user's that are given every summary, each called in a process of its own.

This process imports none of their code: a hook that prints, hangs, exits or kills its process fails alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from benchwright.errors import UploadError
from benchwright.system import orphans

TIMEOUT = 300.0  # seconds for one hook
TAIL = 2000  # bytes of what a failed hook printed
MOST_LOG = 64 << 20  # bytes a log may grow to before it is cut
LOOK = 0.5  # seconds between two looks at it


def call(
    names: Sequence[str], summary: Mapping[str, Any], *, paths: Sequence[str] = (), timeout: float = TIMEOUT
) -> None:
    """Calls each `module.function` or `module.Class.method` with the summary as a dict.

    Modules are looked for as Python does, then in `paths`. Methods are static or class methods. All are called; what
    failed is told in one `UploadError` at the end.
    """
    failures = [f"{name}: {text}" for name in names if (text := _run_hook(name, summary, paths, timeout))]
    if failures:
        raise UploadError(
            f"{len(failures)} of {len(names)} result upload methods failed:\n" + "\n".join(failures),
            remedy="each is called with the summary as its only argument",
        )


def _run_hook(name: str, summary: Mapping[str, Any], paths: Sequence[str], timeout: float) -> str:
    try:
        return _failure(name, summary, paths, timeout)
    except OSError as error:  # no room for its files, or for a process
        return f"cannot be started: {error.strerror or error}"


def _failure(name: str, summary: Mapping[str, Any], paths: Sequence[str], timeout: float) -> str:
    """Why the hook failed; "" when it did not."""
    request = json.dumps({"name": name, "paths": list(paths), "summary": dict(summary)})
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as log:
        fcntl.fcntl(log, fcntl.F_SETFL, os.O_APPEND)  # so that a log that was cut begins anew
        given.write(request.encode())
        given.seek(0)
        ended = _run(given, answer, log, timeout)
        answer.seek(0)
        told = answer.read().decode(errors="replace")
        if told == "done" and ended is not None:
            return ""
        if ended is None:
            reason = f"did not end within {timeout:g} s"
        elif told:
            reason = told
        elif ended < 0:
            reason = f"its process was killed by {signal.Signals(-ended).name}"
        else:
            reason = f"its process ended with exit code {ended} before the hook returned"
        printed = _tail(log)
        return f"{reason}\n{printed}" if printed else reason


def _run(given: IO[bytes], answer: IO[bytes], log: IO[bytes], timeout: float) -> int | None:
    """Runs the child to its end: its exit status, or None when it had to be stopped. Nothing it started is left."""

    def command_for(lifeline: str) -> list[str]:
        return [sys.executable, "-P", "-c", _CODE.format(root=_ROOT), str(answer.fileno()), lifeline]

    with orphans.start_tied(command_for, os.environ, output=log, given=given, keep_open=[answer.fileno()]) as child:
        return _wait(child, log, timeout)


def _wait(child: subprocess.Popen[bytes], log: IO[bytes], timeout: float) -> int | None:
    deadline = time.monotonic() + timeout
    while (left := deadline - time.monotonic()) > 0:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.wait(min(LOOK, left))
        if os.fstat(log.fileno()).st_size > MOST_LOG:
            log.truncate(0)  # a flood must not fill the disk
    return None


_ROOT = str(Path(__file__).resolve().parents[3])
_CODE = (
    "import sys; sys.path.append({root!r}); "
    "from benchwright.exchange.uploads.hook_process import main; main(sys.argv[1:])"
)


def _tail(log: IO[bytes]) -> str:
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - TAIL))
    return log.read().decode(errors="replace").strip()
