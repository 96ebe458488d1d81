"""What asv's methods about memory measure."""

from __future__ import annotations

import array
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright import schema
from benchwright.records import Better, Run
from benchwright.worker.runtimes.classes import object_sizes

BENCHMARKS = """
class Memory:
    params = [1000, 50000]
    param_names = ["n"]

    def mem_numbers(self, n):
        return [0] * n

    def peakmem_block(self, n):
        block = bytearray(1000 * n)
        block[::4096] = b"x" * len(block[::4096])
"""


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [
        ([0] * 1000, 8000, 8200),
        (array.array("d", [0.0] * 1000), 8000, 8200),
        ({"a": [0] * 1000}, 100, 500),
        (None, 0, 0),
    ],
)
def test_a_copy_counts_without_what_it_shares(value: object, least: float, most: float) -> None:
    assert least <= object_sizes.size_of(value) <= most


def test_the_peak_of_a_process_does_not_fall() -> None:
    before = object_sizes.peak_of_process()
    block = bytearray(64 << 20)
    block[::4096] = b"x" * len(block[::4096])
    assert object_sizes.peak_of_process() >= max(before, len(block))


def test_asvs_methods_about_memory_are_measured(
    inside: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "bench.py").write_text(BENCHMARKS)
    done = inside("run", "bench.py", "--no-save", "--json")
    assert done.returncode == 0, done.stderr
    run = schema.loads(done.stdout, Run)
    found = {(r.case.name, r.case.params["n"]): r.metrics for r in run.results}
    assert len(found) == 4
    told = {(metric.name, n): metric for (_, n), metrics in found.items() for metric in metrics}
    assert 8000 <= told["numbers", 1000].estimate.point <= 8200
    assert 400_000 <= told["numbers", 50000].estimate.point <= 400_200
    grown = told["block", 50000].estimate.point - told["block", 1000].estimate.point
    assert 40e6 < grown < 60e6
    assert all(
        (told[key].unit, told[key].better) == ("B", Better.LOWER) for key in told if key[0] in ("numbers", "block")
    )
