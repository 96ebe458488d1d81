"""`kill -9` of a watch at twenty instants: every commit is measured exactly once, and none is lost."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

import pytest

import repositories
from benchwright.records import Status
from benchwright.store import open_store

plain = repositories.plain

SEED = 6
KILLS = 20
MOST_STARTS = 30
LINES = 2  # of the journal, at most, before it is killed: a commit has four
DELAY = 0.4  # seconds after that, at most: in the middle of building, planning, measuring, judging


# Imports once, so that nearly all of the time in which a watch is killed it is at work.
SERVER = """
import json, os, sys
import benchwright.cli.verbs.watch, benchwright.workflows.watch.loop
import benchwright.analysis.detection, benchwright.store.sql
import benchwright.stats.changepoint
from benchwright.cli import main

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.close(0)
        os.open(os.devnull, os.O_RDONLY)
        os.dup2(2, 1)
        os._exit(main(json.loads(line)))
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Watches:
    """Starts one watch after another, and kills it."""

    def __init__(self, server: subprocess.Popen[str], arguments: list[str], folder: Path) -> None:
        self._server, self._arguments, self._folder = server, arguments, folder

    def run(self, lines: int = 10_000, delay: float = 0.0) -> int:
        """How the watch ended: its exit code, or -9. It is killed so long after it wrote so many lines."""
        assert self._server.stdin and self._server.stdout
        enough = len(self.journal()) + lines
        self._server.stdin.write(json.dumps(self._arguments) + "\n")
        self._server.stdin.flush()
        child = int(self._server.stdout.readline())
        while len(self.journal()) < enough and not _readable(self._server.stdout, 0.01):
            continue
        if not _readable(self._server.stdout, delay):
            os.kill(child, signal.SIGKILL)  # the server has not waited for it yet, so the number is still its own
        return int(self._server.stdout.readline())

    def journal(self) -> list[str]:
        """The whole lines that were written so far."""
        return [line for file in self._folder.glob("*/journal.jsonl") for line in file.read_text().split("\n")[:-1]]


def _readable(stream: IO[str], seconds: float) -> bool:
    return bool(select.select([stream], [], [], seconds)[0])


@pytest.fixture
def server(plain: None) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin
        process.stdin.close()


@pytest.mark.timeout(300)  # beside other tests
@pytest.mark.parametrize("most_kills", [1, pytest.param(KILLS, marks=pytest.mark.soak)])
def test_a_watch_that_is_killed_anywhere_measures_every_commit_once(
    server: subprocess.Popen[str], tmp_path: Path, most_kills: int
) -> None:
    chance = random.Random(SEED)
    project = tmp_path / "project"
    commits = repositories.make(project, [1.0] * (3 if most_kills == 1 else 7))
    asked = [repositories.TARGET, "--repo", "project", "--build", repositories.BUILD, "--since", commits[0]]
    folder = tmp_path / ".benchwright" / "watch"
    watches = Watches(server, ["watch", *asked, "--once", "--rounds", "2"], folder)
    kills = starts = 0
    while kills < most_kills and starts < MOST_STARTS:
        starts += 1
        code = watches.run(chance.randint(0, LINES), chance.uniform(0, DELAY))
        assert code in (0, -signal.SIGKILL)
        kills += code != 0
        if code == 0:  # it had caught up: here is more to do
            commits.append(repositories.commit(project, 1.0, len(commits)))
    assert watches.run() == 0
    assert kills == most_kills

    lines = [json.loads(line) for line in watches.journal()]
    ended = [line for line in lines if line["what"] == "ended"]
    assert Counter(line["revision"] for line in ended) == Counter(commits[1:])
    assert {line["outcome"] for line in ended} <= {"measured", "interrupted"}
    assert len([line for line in lines if line["what"] == "began"]) == len(ended)
    with closing(open_store(".benchwright/results.db", create=False)) as store:
        runs = [store.run(run, samples=False) for run in store.run_ids()]
    assert Counter(run.revision.id for run in runs if run.revision) == Counter(commits[1:])
    measured = {line["run"] for line in ended if line["outcome"] == "measured"}
    for run in runs:
        if run.id in measured:
            assert [(result.round, result.status) for result in run.results] == [(0, Status.OK), (1, Status.OK)]
    assert not _left_behind(tmp_path, server.pid)


def _left_behind(folder: Path, server: int) -> list[int]:
    """Processes that still work in the folder; those that are about to end are waited for."""
    deadline = time.monotonic() + 60
    while (found := _working(folder, server)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def _working(folder: Path, server: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            place = str((entry / "cwd").readlink())
        except OSError:
            continue
        if place.startswith(str(folder)) and int(entry.name) not in (os.getpid(), server):
            found.append(int(entry.name))
    return found
