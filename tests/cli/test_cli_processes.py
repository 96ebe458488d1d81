"""`--processes`: tasks that a launcher starts, from the command line to the speed-up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Call = Callable[..., "subprocess.CompletedProcess[str]"]

# Starts ranks in sessions of their own, as torchrun does, so that a signal to its group does not reach them.
LAUNCHER = """#!{python}
import os, subprocess, sys
number, command = int(sys.argv[2]), sys.argv[3:]
assert sys.argv[1] == "-n"
ranks = [
    subprocess.Popen(command, env=dict(os.environ, RANK=str(rank), SIZE=str(number)), start_new_session=True)
    for rank in range(number)
]
sys.exit(max(rank.wait() for rank in ranks))
"""

TASKS = r"""
[tasks.train]
command = ["sh", "-c", "if [ $RANK = 0 ]; then echo speed $((100 * SIZE - 10 * SIZE + 10)); fi"]
launcher = "mpirun"
scaling = "strong"
patterns = ['speed (?P<speed>\S+)']
[tasks.train.metrics]
speed = { unit = "samples/s", better = "higher" }

[tasks.hang]
command = ["sh", "-c", "echo $$ > pid-$RANK; sleep 600"]
launcher = "mpirun"
timeout = "0.7s"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with tasks, and a stand-in for mpirun on PATH: `mpirun -n N COMMAND` starts N processes."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "mpirun").write_text(LAUNCHER.format(python=sys.executable))
    (programs / "mpirun").chmod(0o755)
    (tmp_path / "tasks.toml").write_text(TASKS)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    yield tmp_path


def test_a_task_is_measured_with_each_number_and_its_speedup_is_shown(inside: Call, folder: Path) -> None:
    ended = inside("run", "tasks.toml::train", "--processes", "1,2,4", "--rounds", "2")
    assert ended.returncode == 0, ended.stderr
    assert "Speed-up of tasks.toml::train by speed, against 1 process, strong scaling" in ended.stdout
    assert "1.9× " in ended.stdout and "3.7× " in ended.stdout and "92 % [" in ended.stdout
    told = json.loads(inside("scaling", "--json").stdout)["data"]["speedups"][0]
    assert [point["processes"] for point in told["points"]] == [1, 2, 4]
    assert [point["value"]["point"] for point in told["points"]] == [100, 190, 370]
    assert "Worth it: 4 processes" in inside("scaling").stdout
    assert "weak scaling" in inside("show", "--scaling", "--kind", "weak").stdout
    assert "by wall_time" in inside("scaling", "--metric", "wall_time").stdout
    page = folder / "report.html"
    assert inside("report", "-o", str(page)).returncode == 0
    assert "nothing lost" in page.read_text() and "Worth it: 4 processes" in page.read_text()


def test_a_picture_of_the_speedup_is_drawn(inside: Call, folder: Path) -> None:
    assert inside("run", "tasks.toml::train", "--processes", "1,2").returncode == 0
    ended = inside("scaling", "-o", "speedup.svg")
    assert ended.returncode == 0, ended.stderr
    assert "<svg" in (folder / "speedup.svg").read_text()


def test_a_speedup_of_what_has_none_is_refused(inside: Call, folder: Path) -> None:
    assert inside("run", "tasks.toml::train", "--processes", "2").returncode == 0
    ended = inside("scaling", "--kind", "weak")
    assert ended.returncode == 2 and "--kind is for a speed-up" in ended.stderr and "--processes 1,2,4" in ended.stderr
    assert inside("run", "tasks.toml::train", "--processes", "1,two").returncode == 2
    assert inside("run", "tasks.toml::train", "--processes", "0").returncode == 2
    assert inside("run", "tasks.toml::train", "--processes", "1,100000").returncode == 2


def test_every_process_of_a_launcher_ends_at_the_timeout(inside: Call, folder: Path) -> None:
    ended = inside("run", "tasks.toml::hang", "--processes", "3")
    assert ended.returncode == 1 and "timeout" in ended.stdout
    started = [int((folder / f"pid-{rank}").read_text()) for rank in range(3)]
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in started) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [pid for pid in started if Path(f"/proc/{pid}").exists()] == []


def test_a_command_is_measured_with_each_number(inside: Call, folder: Path) -> None:
    ended = inside("run", "--processes", "1,2", "--launcher", "mpirun", "--samples", "1", "--rounds", "1", "--", "true")
    assert ended.returncode == 0, ended.stderr
    assert "Speed-up of true by latency_p50" in ended.stdout and "Counted as strong scaling" in ended.stdout
