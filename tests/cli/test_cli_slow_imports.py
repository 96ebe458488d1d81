"""What slow imports will cost is told by the verbs that measure revisions, before they measure."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import repositories

plain = repositories.plain
pytestmark = pytest.mark.usefixtures("plain")
Call = Callable[..., subprocess.CompletedProcess[str]]

FILE = """
import time
from pathlib import Path

MARK = Path(__file__).with_name("imported")
if not MARK.exists():  # planned for the first time: those that measure need not be slow for this test
    MARK.touch()
    time.sleep(5.1)


def quick():
    pass
"""
SHORT = ("--samples", "1", "--warmup", "0")


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        (
            ("ab", "--control", "HEAD~1", "--treatment", "HEAD", "--pairs", "1", *SHORT),
            "at most 2 processes will do it",
        ),
        pytest.param(
            ("watch", "--once", "--rounds", "2", *SHORT),
            "2 processes of each commit will do it",
            marks=pytest.mark.soak,
        ),
        pytest.param(
            ("bisect", "--good", "HEAD~1", "--bad", "HEAD", "--most-runs", "2", *SHORT),
            "at most 2 processes will do it",
            marks=pytest.mark.soak,
        ),
    ],
    ids=["ab", "watch", "bisect"],
)
def test_what_imports_will_take_is_told_first(benchwright: Call, verb: tuple[str, ...], said: str) -> None:
    repositories.make(Path("project"), [1.0] * 2)
    Path("slow_bench.py").write_text(FILE)
    done = benchwright(verb[0], "slow_bench.py::quick", "--repo", "project", *verb[1:])
    (line,) = [line for line in done.stderr.splitlines() if "importing" in line]
    assert line.startswith("benchwright: importing slow_bench.py takes ") and said in line
    assert done.stderr.index("importing") < done.stderr.index("measuring" if verb[0] != "bisect" else "looking")
