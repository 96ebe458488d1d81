"""A small asv project in a git repository: a package whose commits state what it costs, and a suite for it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

INSTALL = (
    "python -c \"import shutil, sysconfig; shutil.copytree('counted', sysconfig.get_path('purelib') + '/counted')\""
)
SUITE = '''
import os
import random
import time

from asv_runner.benchmarks.mark import SkipNotImplemented, skip_benchmark_if, skip_for_params
from counted import COST

timeout = 30


def time_nothing():
    """As little as there is."""


def track_cost():
    return COST * random.Random(f"{os.getpid()} {time.time_ns()}").gauss(1, 0.002)


track_cost.unit = "steps"
track_cost.better = "lower"


class Lists:
    """Lists of numbers."""

    params = ([10, 1000], [int, float])
    param_names = ["n", "kind"]

    def setup_cache(self):
        with open("written.txt", "a") as file:
            file.write("x")
        return {"computed": True}

    def setup(self, cache, n, kind):
        assert cache == {"computed": True}
        if n == 10 and kind is float:
            raise NotImplementedError("no floats")
        self.values = list(range(n))

    def time_pop(self, cache, n, kind):
        for _ in range(n):
            self.values.pop()

    time_pop.number = 1  # the next call finds nothing to pop

    def mem_list(self, cache, n, kind):
        return [kind(0)] * n

    @skip_for_params([(10, int)])
    def track_written(self, cache, n, kind):
        return len(open("written.txt").read())


def peakmem_bytes():
    return bytes(1000)


def timeraw_pass():
    return "pass", "import sys"


def time_fails():
    print("before it fails")
    raise ValueError("broken")


def time_skips():
    raise SkipNotImplemented("not here")


@skip_benchmark_if(True)
def time_never():
    pass


def time_plainly_named():
    pass


time_plainly_named.benchmark_name = "other.time_with_a_name"
time_plainly_named.number = 10
time_plainly_named.repeat = 3
time_plainly_named.rounds = 2
'''


def make(folder: Path, costs: Sequence[float], *, suite: str = SUITE, **more: Any) -> list[str]:
    """The project with one commit for each cost; the ids of the commits. `more` goes into asv.conf.json."""
    (folder / "counted").mkdir(parents=True)
    (folder / "benchmarks").mkdir()
    (folder / "benchmarks" / "__init__.py").touch()
    (folder / "benchmarks" / "suite.py").write_text(suite)
    write_config(folder, more)
    run_git(folder, "init", "-q", "-b", "main")
    return [commit(folder, cost, number) for number, cost in enumerate(costs)]


def write_config(folder: Path, more: Mapping[str, Any]) -> None:
    """asv.conf.json, with a comment and a trailing comma, as people write it."""
    usual = {
        "version": 1,
        "project": "counted",
        "repo": ".",
        "branches": ["main"],
        "build_command": [],
        "install_command": [INSTALL],
    }
    text = json.dumps({**usual, **more}, indent=4)
    (folder / "asv.conf.json").write_text(f"// of the project\n{text[:-2]},  // the last\n}}\n")


def commit(folder: Path, cost: float, number: int) -> str:
    """One more commit, in which the package costs so much."""
    (folder / "counted" / "__init__.py").write_text(f"COST = {cost}  # {number}\n")
    run_git(folder, "add", "--all")
    run_git(folder, "commit", "-q", "-m", f"Change {number}")
    return run_git(folder, "rev-parse", "HEAD").strip()


def run_git(folder: Path, *arguments: str) -> str:
    """What git answers."""
    return subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True, text=True).stdout
