"""Starts a program that serves a model, waits until it answers, ends it with all of its processes."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
STARTING = 90.0  # seconds for a server to answer, on a machine that has much to do
ENDING = 10.0


def python(environment: str) -> str:
    """The Python of `.venv-ENVIRONMENT`, which the Makefile makes; a test without it fails."""
    variable = f"BENCHWRIGHT_{environment.upper()}_PYTHON"
    found = os.environ.get(variable) or str(ROOT / f".venv-{environment}" / "bin" / "python")
    assert Path(found).is_file(), f"no {found}: run `make .venv-{environment}/.ready`, or name a Python in {variable}"
    return found


@contextlib.contextmanager
def running(command: list[str], ready: str, folder: Path, patience: float = STARTING) -> Iterator[int]:
    """Runs the command in the folder until the block ends; yields its process id when `ready` is answered with 200."""
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True
        )
    try:
        deadline = time.monotonic() + patience
        while not _answers(ready):
            assert process.poll() is None and time.monotonic() < deadline, f"{command}: {log.read_text()[-3000:]}"
            time.sleep(0.05)
        yield process.pid
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDING)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdin
        process.stdin.close()


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nobody has at the moment."""
    with contextlib.ExitStack() as held:
        lines = [held.enter_context(socket.socket()) for _ in range(count)]
        for line in lines:
            line.bind(("127.0.0.1", 0))
        return [line.getsockname()[1] for line in lines]


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError as answer:
        answer.close()
        return False
    except OSError:
        return False
