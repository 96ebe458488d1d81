"""The example of a benchmark class is executed; the one that needs TensorFlow is in tests/tensorflow."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path


def test_the_benchmark_class_runs(inside: Callable[..., subprocess.CompletedProcess[str]], root: Path) -> None:
    file = str(root / "examples" / "benchmark_class.py")
    ended = inside("run", file, "--duration", "0.02s", "--rounds", "1", "--no-save", "--json")
    assert ended.returncode == 0, ended.stderr
    results = json.loads(ended.stdout)["data"]["results"]
    names = [(r["case"]["name"].partition("::Search.")[2], r["case"]["params"]["dimensions"]) for r in results]
    methods = ("time_exact", "time_approximate", "benchmark_recall", "track_index")
    assert names == [(method, dimensions) for method in methods for dimensions in (16, 128)]
    told = [{m["name"]: m for m in r["metrics"]} for r in results]
    assert all("latency_p50" in metrics for metrics in told[:4])
    assert (told[4]["recall"]["least"], told[4]["compression"]["estimate"]["point"]) == (0.9, 4.0)
    assert (told[7]["index"]["unit"], told[7]["index"]["estimate"]["point"]) == ("B", 2000 * 128)
