"""Which of 30 commits made it slower, by real processes beside busy loops: how often it is named, in how many runs.

    python benchmarks/busy_bisection.py [--quick] [--rounds 8]

Each round makes a git repository whose benchmark is a loop, slower by 10 to 30 % from one commit on, from two, or from
none, in turn, and runs `benchwright bisect` on it within 100 runs while three processes keep the machine busy.
"""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness import Claim, Spread, at_least, at_most, report, settings

COMMITS, LOOPS, MOST_RUNS = 30, 3, 100
_BUSY = "while True:\n    for i in range(100_000): pass"
_BENCH = """from lib import COUNT


def work():
    total = 0
    for i in range(COUNT):
        total += i & 7
    return total
"""
_KINDS = (1, 1, 2, 0)  # culprits of one round and the next
_Z = 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What a bisection of one repository came to."""

    truth: dict[int, float]
    named: int | None
    runs: int
    seconds: float
    covered: bool | None  # whether the interval holds the size of the commit's own change


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes repositories, bisects them and prints the table."""
    asked = settings(__doc__, arguments, rounds=8, quick_rounds=1)
    commits, duration = asked.count(COMMITS, 3), asked.pick(0.2, 0.05)
    with tempfile.TemporaryDirectory() as folder, _busy(LOOPS):
        rounds = [_round(Path(folder), number, commits, duration) for number in range(asked.rounds)]
    slower = [each for each in rounds if each.truth]
    wrong = [each.named is not None and each.named not in each.truth for each in rounds]
    sized = [each.covered for each in rounds if each.covered is not None]
    runs = sorted(each.runs for each in slower)
    seconds = sorted(each.seconds for each in slower)
    claims = [
        Claim(
            what=f"a commit of {commits} is named within {MOST_RUNS} runs",
            figure=_share([each.named in each.truth for each in slower]),
            ours=f"{runs[len(runs) // 2]} runs, {seconds[len(seconds) // 2]:.0f} s at the median",
            against=f"{len(slower)} repositories",
            unit="%",
            bar=at_least(75.0),
        ),
        Claim(
            what="a wrong commit is named",
            figure=_share(wrong),
            ours=f"{sum(wrong)} of {len(wrong)}",
            unit="%",
            bar=at_most(2.0),
        ),
    ]
    if sized:
        inside = _share([bool(each) for each in sized])
        claims.append(Claim(what="its interval holds the size of its own change", figure=inside, unit="%"))
    return report(claims, judged=not asked.quick)


def _round(folder: Path, number: int, commits: int, duration: float) -> Round:
    top = folder / str(number)
    truth = _make(top / "project", random.Random(number), commits, _KINDS[number % len(_KINDS)])
    environment = {**os.environ, "BENCHWRIGHT_CACHE": str(top / "cache"), "GIT_CONFIG_GLOBAL": os.devnull}
    flags = ["--good", "c0", "--bad", "main", "bench.py::work", "--duration", str(duration)]
    command = [sys.executable, "-m", "benchwright", "bisect", *flags, "--most-runs", str(MOST_RUNS), "--json"]
    done = subprocess.run(
        command, cwd=top / "project", env=environment, capture_output=True, text=True, timeout=3600, check=False
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    told = json.loads(done.stdout)["data"]
    named = int(told["culprits"][0]["subject"].split()[-1]) if told["sure"] else None
    size, covered = told["effect"], None
    if named in truth and size:
        covered = size["low"] <= 1 + truth[named] <= size["high"]
    return Round(truth=truth, named=named, runs=told["runs"], seconds=told["seconds"], covered=covered)


def _make(folder: Path, chance: random.Random, commits: int, culprits: int) -> dict[int, float]:
    """A repository with the good commit and so many after it; what each culprit adds, as a share."""
    truth = {place: chance.uniform(0.1, 0.3) for place in chance.sample(range(1, commits + 1), culprits)}
    folder.mkdir(parents=True)
    _git(folder, "init", "-q", "-b", "main")
    (folder / "bench.py").write_text(_BENCH, encoding="utf-8")
    count = 20_000
    for number in range(commits + 1):
        count = round(count * (1 + truth.get(number, 0.0)))
        (folder / "lib.py").write_text(f"COUNT = {count}\nNUMBER = {number}\n", encoding="utf-8")
        _git(folder, "add", ".")
        _git(
            folder, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "-m", f"change {number}"
        )
        _git(folder, "tag", f"c{number}")
    return truth


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


@contextmanager
def _busy(count: int) -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def _share(found: Sequence[bool]) -> Spread:
    """A share with Wilson's interval, in per cent."""
    count, hits = len(found), sum(found)
    share, extra = hits / count, _Z**2 / count
    centre = (share + extra / 2) / (1 + extra)
    half = _Z * math.sqrt(share * (1 - share) / count + extra / (4 * count)) / (1 + extra)
    return Spread(point=100 * share, low=max(0.0, 100 * (centre - half)), high=100 * (centre + half))


if __name__ == "__main__":
    sys.exit(main())
