"""`benchwright watch` and `benchwright repo-driver` as processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import repositories

plain = repositories.plain
pytestmark = pytest.mark.usefixtures("plain")
Call = Callable[..., subprocess.CompletedProcess[str]]

BENCH = """
import time
from pathlib import Path


class Encode:
    def run(self, report):
        Path({started!r}).touch()
        while not Path({go_on!r}).exists():
            time.sleep(0.01)
        report("encode_time", 1.0, unit="s", better="lower")
"""


def test_each_commit_is_told_and_the_exit_code_says_how_it_went(benchwright: Call) -> None:
    commits = repositories.make(Path("project"), [1.0] * 3, broken=[2])
    asked = ["watch", repositories.TARGET, "--repo", "project", "--build", repositories.BUILD, "--once"]
    done = benchwright(*asked, "--since", commits[0], "--json")
    assert done.returncode == 1, done.stderr
    documents = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(document["kind"] == "commit" for document in documents)
    told = [document["data"] for document in documents]
    assert [(each["revision"], each["outcome"]) for each in told] == [(commits[1], "measured"), (commits[2], "unbuilt")]
    assert (told[0]["results"], told[0]["failed"], told[0]["findings"]) == (1, 0, [])
    again = benchwright(*asked)
    assert (again.returncode, again.stdout) == (0, "")


def test_the_first_signal_finishes_the_commit_and_the_second_does_not(tmp_path: Path) -> None:
    project, started, go_on = (tmp_path / name for name in ("project", "started", "go-on"))
    commits = repositories.make(project, [1.0] * 3)
    for number in (3, 4):
        (project / "bench.py").write_text(BENCH.format(started=str(started), go_on=str(go_on)))
        subprocess.run(["git", "commit", "-q", "--allow-empty", "-am", f"Slow {number}"], cwd=project, check=True)
    asked = [repositories.TARGET, "--repo", "project", "--since", commits[2], "--interval", "60"]
    command = [sys.executable, "-m", "benchwright", "watch", *asked]

    def watch(signals: int) -> tuple[int, str, str]:
        started.unlink(missing_ok=True)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with process:
            while not started.exists():
                assert process.poll() is None, process.stderr.read() if process.stderr else ""
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            assert process.stderr is not None
            assert any("stopping after the present commit" in line for line in process.stderr)
            if signals == 1:
                go_on.touch()
            else:
                process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    code, out, err = watch(2)
    assert (code, out) == (130, ""), err
    code, out, err = watch(1)  # the commit that was cut off is gone on with, and the next one waits
    assert code == 0, err
    assert out.split("\n")[0].endswith("measured  Slow 3") and out.count("\n") == 1


def test_a_wrong_request_is_told_in_one_line(inside: Call) -> None:
    done = inside("watch", "bench.py::f", "--repo", ".", "--once")
    assert done.returncode == 2 and "not in a git or hg repository" in done.stderr
    repositories.make(Path("project"), [1.0])
    done = inside("watch", "--repo", "project", "--once")
    assert done.returncode == 2 and "nothing to" in done.stderr


def test_the_older_driver_lists_its_flags_and_refuses_what_it_does_not_know(inside: Call) -> None:
    done = inside("repo-driver", "--help")
    assert done.returncode == 0 and "--base_commit REV" in done.stdout and "--same_host" in done.stdout
    done = inside("repo-driver", "--framework", "generic")
    assert done.returncode == 2 and "--platforms" in done.stderr
