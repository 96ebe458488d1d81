"""What the command line imports for the smallest run that is kept, and when: each library would be waited for."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

SMALLEST = ("--rounds", "1", "--samples", "1", "--warmup", "0")
LAUNCHED = "benchwright.machine.monitors.watch"  # is imported as soon as the worker has its job


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The modules of the parent process, in the order in which their imports ended."""
    folder = tmp_path_factory.mktemp("smallest")
    (folder / "work.py").write_text("def work():\n    return sum(range(1000))\n", encoding="utf-8")
    program = [sys.executable, "-X", "importtime", "-m", "benchwright", "run", "work.py::work", *SMALLEST]
    ended = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert (folder / ".benchwright" / "results.db").is_file()
    return re.findall(r"^import time:.*\| +(\S+)$", ended.stderr, re.MULTILINE)


@pytest.mark.parametrize("library", ["sqlalchemy", "alembic", "psycopg", "pynvml", "psutil", "asyncio", "numpy"])
def test_a_run_is_measured_and_kept_without(library: str, imported: list[str]) -> None:
    assert LAUNCHED in imported
    assert library not in imported


@pytest.mark.parametrize("library", ["rich", "statistics", "importlib.metadata", "benchwright.execution.frames"])
def test_the_worker_does_not_wait_for(library: str, imported: list[str]) -> None:
    assert library not in imported[: imported.index(LAUNCHED)]
