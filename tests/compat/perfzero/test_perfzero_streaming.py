"""What a benchmark prints is shown while it runs, on a terminal and in a pipe; measuring waits for no reader."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

# Each step waits until the test has seen the one before: without streaming it would wait in vain.
STEPS = """
import logging, os, subprocess, sys, time

class Steps:
    def __init__(self, output_dir=None, root_data_dir=None, **kwargs):
        pass

    def benchmark_steps(self, report):
        print("printed")
        self._wait("printed")
        logging.info("recorded")
        self._wait("recorded")
        print("on the error stream", file=sys.stderr)
        self._wait("error")
        subprocess.run(["echo", "by a child"])
        self._wait("child")
        report("steps", 4)
        print("without an end", end="")

    def benchmark_flood(self, report):
        print("x" * 1_000_000)
        report("printed", 1)
        open(os.path.join(os.environ["SEEN"], "flooded"), "w").close()

    def _wait(self, step):
        while not os.path.exists(os.path.join(os.environ["SEEN"], step)):
            time.sleep(0.01)
"""
SAID = {"printed": b"printed", "recorded": b"INFO: recorded", "error": b"on the error stream", "child": b"by a child"}


@pytest.fixture
def seen(project: Any, tmp_path: Path) -> Path:
    """A folder in which the test says what it has seen."""
    project.add("demo", "steps.py", STEPS)
    folder = tmp_path / "seen"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("is_terminal", [False, True], ids=["pipe", "terminal"])
def test_a_line_is_shown_while_the_method_still_runs(project: Any, seen: Path, is_terminal: bool) -> None:
    with _started(project, seen, "benchmark_steps", is_terminal=is_terminal) as (door, read):
        shown = b""
        for step, words in SAID.items():
            while words not in shown:
                piece = read()
                assert piece, shown.decode()
                shown += piece
            (seen / step).touch()
        while piece := read():
            shown += piece
    assert door.returncode == 0
    text = shown.decode().replace("\r\n", "\n")
    places = [text.index(words.decode()) for words in SAID.values()]
    assert places == sorted(places)
    assert text.count("by a child") == 1 and "without an end" in text


def test_a_method_does_not_wait_for_whoever_reads(project: Any, seen: Path) -> None:
    with _started(project, seen, "benchmark_flood", is_terminal=False) as (door, read):
        deadline = time.monotonic() + 60
        while not (seen / "flooded").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert (seen / "flooded").exists()  # a pipe holds 64 kB, and nothing has been read yet
        shown = b""
        while piece := read():
            shown += piece
    assert door.returncode == 0
    assert b"x" * 1_000_000 in shown


@contextmanager
def _started(
    project: Any, seen: Path, method: str, *, is_terminal: bool
) -> Iterator[tuple[subprocess.Popen[bytes], Callable[[], bytes]]]:
    """The door, and what reads the next piece of what it shows: b"" at its end."""
    command = [sys.executable, "-m", "benchwright", "perfzero", "--python_path=demo", "--timeout=60"]
    environment = {**os.environ, "SEEN": str(seen)}
    ours, theirs = pty.openpty() if is_terminal else os.pipe()
    door = subprocess.Popen(
        [*command, f"--benchmark_methods=steps.Steps.{method}"], cwd=project.folder, env=environment, stdout=theirs
    )
    os.close(theirs)

    def read() -> bytes:
        try:
            return os.read(ours, 1 << 16)
        except OSError:  # how a terminal ends
            return b""

    try:
        yield door, read
        door.wait(60)
    finally:
        door.kill()
        door.wait()
        os.close(ours)
