"""Repositories for tests that watch and bisect: a benchmark whose cost each commit states, with fresh noise each time.

Test modules call `make` and take the fixture by name: `plain = repositories.plain`.
"""

from __future__ import annotations

import os
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import pytest

TARGET = "bench.py::Encode.run"
BUILD = "sh build.sh"
BROKEN = "exit 3"
BENCH = """
import os
import random
import time
from pathlib import Path


class Encode:
    def run(self, report):
        encode, decode, _ = Path("cost.txt").read_text().split()
        chance = random.Random(f"{os.getpid()} {time.time_ns()}")
        report("encode_time", float(encode) * chance.gauss(1, 0.004), unit="s", better="lower")
        report("decode_time", float(decode) * chance.gauss(1, 0.004), unit="s", better="lower")
"""
METRICS = ("encode_time", "decode_time")


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the user's settings nor the user's cache."""
    for name, value in {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
        "HGUSER": "Ada <ada@example.org>",
        "HGRCPATH": "",
        "BENCHWRIGHT_CACHE": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", sysconfig.get_path("scripts"), prepend=os.pathsep)  # where pip puts hg
    monkeypatch.chdir(tmp_path)


def make(
    folder: Path,
    costs: Sequence[float],
    decoding: Sequence[float] = (),
    *,
    kind: str = "git",
    broken: Sequence[int] = (),
) -> list[str]:
    """A repository with a commit for each cost, those of `broken` not to be built; the commits' ids, oldest first.

    `costs` are those of encoding; decoding costs always the same where nothing is said.
    """
    folder = folder.absolute()
    git = folder if kind == "git" else folder.with_name(f"{folder.name}-git")
    git.mkdir()
    _run(git, "git", "init", "-q", "-b", "main")
    for number, (cost, decode) in enumerate(zip(costs, decoding or [1.0] * len(costs), strict=True)):
        commit(git, cost, number, decode=decode, broken=number in broken)
    if kind == "git":
        return _run(git, "git", "rev-list", "--reverse", "HEAD").split()
    patches = _run(git, "git", "format-patch", "--root", "--stdout", "HEAD")
    folder.mkdir()
    _run(folder, "hg", "init")
    (git / "all.patch").write_text(patches + "\n")
    _run(folder, "hg", "import", "--quiet", str(git / "all.patch"))
    return _run(folder, "hg", "log", "--rev", "sort(all(), rev)", "--template", r"{node}\n").split()


def commit(folder: Path, cost: float, number: int, *, decode: float = 1.0, broken: bool = False) -> str:
    """One more commit in a git repository; its id."""
    content = {
        "bench.py": BENCH,
        "cost.txt": f"{cost} {decode} {number}\n",
        "build.sh": f"{BROKEN if broken else 'echo built'}\n",
    }
    for name, text in content.items():
        (folder / name).write_text(text)
    _run(folder, "git", "add", ".")
    _run(folder, "git", "commit", "-q", "-m", f"Commit {number}", at=1_700_000_000 + 3600 * number)
    return _run(folder, "git", "rev-parse", "HEAD")


def _run(folder: Path, *command: str, at: int = 0) -> str:
    dated = {"GIT_COMMITTER_DATE": f"{at} +0000", "GIT_AUTHOR_DATE": f"{at} +0000"} if at else {}
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, env={**os.environ, **dated})
    return done.stdout.strip()
