"""Whoever builds is killed: the build does not go on beside the next one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from benchwright.builds import Builder

CODE = "import sys; from pathlib import Path; from benchwright.builds import Builder; "
CODE += "Builder(Path('project'), command=sys.argv[1]).prepare('HEAD')"


def test_a_build_whose_parent_was_killed_is_ended_before_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    subprocess.run(["git", "init", "-q", "project"], check=True)
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", "-C", "project", *identity, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    pid = tmp_path / "pid"
    command = f"test -s {pid} || {{ echo $$ > {pid}; sleep 100; }}"  # the second time it has nothing to do
    with subprocess.Popen([sys.executable, "-c", CODE, command]) as builder:
        while not (pid.exists() and pid.read_text().strip()):
            assert builder.poll() is None
            time.sleep(0.01)
        builder.kill()
    build = psutil.Process(int(pid.read_text()))
    assert _lives(build)
    assert Builder(Path("project"), command=command).prepare("HEAD").ok
    assert not _lives(build)


def _lives(process: psutil.Process) -> bool:
    """One that has ended, and that nobody waits for, does not."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
