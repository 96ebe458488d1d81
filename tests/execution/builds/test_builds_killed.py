"""Whoever builds or plans is killed: that ends too, and does not go on beside the next one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from benchwright.execution.venvs import commands
from benchwright.system.orphans import TOKEN_BYTES
from benchwright.system.scratch import JOB_VARIABLE

CODE = "import sys; from pathlib import Path; from benchwright.execution.venvs import commands; "
CODE += "commands.run(sys.argv[1], Path(), {}, log=Path('log'), timeout=100, what='it')"

PLAN = "import sys; from pathlib import Path; from benchwright.execution.builds import BuiltRevision; "
PLAN += "from benchwright.execution.plan_elsewhere import plan_in; from benchwright.records import Revision; "
PLAN += "from benchwright.targets.sources import Request; here = Path.cwd(); "
PLAN += (
    "built = BuiltRevision(revision=Revision(id='f' * 40, vcs='git'), folder=here, python=sys.executable, log=here); "
)
PLAN += "plan_in(built, Request(targets=['bench.py::look']))"


def test_a_build_ends_with_whoever_runs_it_however_that_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = "setsid sleep 100 & echo $$ $! > fresh; mv fresh pids; sleep 100"  # one of them leaves the group
    pids = tmp_path / "pids"
    with subprocess.Popen([sys.executable, "-c", CODE, command]) as builder:
        while not pids.exists():
            assert builder.poll() is None
            time.sleep(0.01)
        started = [psutil.Process(int(pid)) for pid in pids.read_text().split()]
        assert all(_lives(process) for process in started)
        builder.kill()
    while any(_lives(process) for process in started):  # or pytest's own limit ends this
        time.sleep(0.01)


def test_what_a_build_left_is_ended_before_the_next(tmp_path: Path) -> None:
    log, token = tmp_path / "build.log", os.urandom(TOKEN_BYTES).hex()
    with subprocess.Popen(["sleep", "100"], env={**os.environ, JOB_VARIABLE: token}) as left:
        commands.end_left_over(log)  # nothing says that there is any
        log.with_name(".build.log.token").write_text(token[:-1])
        commands.end_left_over(log)  # a note that was cut off
        assert left.poll() is None
        log.with_name(".build.log.token").write_text(token)
        commands.end_left_over(log)
        assert left.wait() < 0


def test_planning_ends_with_whoever_asked_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench.py").write_text("import pathlib, time\npathlib.Path('begun').touch()\ntime.sleep(600)\n")
    with subprocess.Popen([sys.executable, "-c", PLAN]) as planner:
        while not (tmp_path / "begun").exists():
            assert planner.poll() is None
            time.sleep(0.01)
        started = psutil.Process(planner.pid).children(recursive=True)
        assert len(started) > 1
        planner.kill()
    while any(_lives(process) for process in started):  # or pytest's own limit ends this
        time.sleep(0.01)


def _lives(process: psutil.Process) -> bool:
    """One that has ended, and that nobody waits for, does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:  # it went between the two questions
        return False
