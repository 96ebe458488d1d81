"""The benchmarks themselves: each runs, each prints its ratios, and their verdicts say what the figures say."""

from __future__ import annotations

import ast
import importlib
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

SCRIPTS = (
    "overhead",
    "memory",
    "open_loop",
    "threads",
    "startup",
    "precision",
    "crosscheck",
    "parent",
    "matrix",
    "extraction",
    "pairs",
    "busy_pairs",
    "bisection",
    "drift",
    "busy_bisection",
    "fleet",
    "fleet_lab",
    "endpoints",
    "tuning",
    "tuning_real",
)
_FIGURE = re.compile(r"-?[\d,.]+ \S+  \[-?[\d,.]+, -?[\d,.]+\]")


@pytest.fixture
def harness(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    yield importlib.import_module("harness")
    for name in [n for n in sys.modules if n.partition(".")[0] == "harness"]:
        del sys.modules[name]


@pytest.mark.timeout(300)
@pytest.mark.soak
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_quick_look_prints_ratios_and_judges_nothing(script: str, root: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(root / "benchmarks" / f"{script}.py"), "--quick"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if not line.startswith(("not installed", "note:"))]
    assert lines[0].split() == ["claim", "ours", "against", "measured", "bar", "verdict"]
    assert len(lines) > 1
    assert all(_FIGURE.search(line) for line in lines[1:]), done.stdout
    assert any(line.endswith("not judged") for line in lines)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("script", SCRIPTS)
def test_each_script_has_a_main_and_does_nothing_when_imported(script: str, root: Path) -> None:
    tree = ast.parse((root / "benchmarks" / f"{script}.py").read_text(encoding="utf-8"))
    assert "main" in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    kinds = (ast.Expr, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.FunctionDef, ast.ClassDef, ast.If)
    assert all(isinstance(node, kinds) for node in tree.body)


def test_every_benchmark_is_described(root: Path) -> None:
    text = (root / "benchmarks" / "README.md").read_text(encoding="utf-8")
    names = [path.stem for path in (root / "benchmarks").glob("*.py")]  # `server.py` runs those of its folder
    assert len(names) > len(SCRIPTS)
    assert [name for name in names if f"`{name}.py`" not in text and f"`{name}/" not in text] == []


def test_real_histories_are_held_against_their_labels(root: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    arrays: dict[str, np.ndarray] = {}
    for name, place in (("first", 120), ("second", 250)):
        level = np.where(np.arange(400) < place, 20.0, 22.0)
        arrays |= {
            f"{name}_values": level * np.exp(0.01 * rng.standard_normal(400)),
            f"{name}_confirmed": np.array([place, 380]),  # nothing happens at the second label
            f"{name}_invalid": np.array([50]),
        }
    np.savez(tmp_path / "histories.npz", **arrays)  # type: ignore[arg-type]  # of numpy's own declaration
    command = [sys.executable, str(root / "benchmarks" / "histories.py")]
    without = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert without.stdout.startswith("no real histories given")
    done = subprocess.run(
        [*command, str(tmp_path / "histories.npz")], capture_output=True, text=True, timeout=120, check=False
    )
    rows = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert any(row.startswith("confirmed alerts found: steps 2 of 4 50 %") for row in rows), done.stdout
    assert any(row.startswith("told per 1,000 values: steps 2 of 800 2.50 /1,000") for row in rows)
    assert any(row.startswith("alerts called invalid that are raised again: steps 0 of 2 0 %") for row in rows)
    assert any(row.startswith("confirmed alerts found: Perfherder's rule, t > 7 2 of 4") for row in rows)


def test_contenders_take_turns_and_nobody_always_begins(harness: ModuleType) -> None:
    turns = itertools.count(1)
    found = harness.interleaved(dict.fromkeys("abc", lambda: next(turns)), 3)  # rounds: abc, bca, cab
    assert found == {"a": [1, 6, 8], "b": [2, 4, 9], "c": [3, 5, 7]}


def test_a_ratio_compares_neighbours_of_one_round(harness: ModuleType) -> None:
    drifting = [1.0, 10.0, 100.0, 1000.0, 10_000.0]
    ratio = harness.ratios([2 * value for value in drifting], drifting)
    assert (ratio.point, ratio.low, ratio.high) == (2.0, 2.0, 2.0)


@pytest.mark.parametrize(
    ("low", "point", "high", "verdict"),
    [
        (0.8, 0.9, 1.0, "holds"),
        (0.8, 0.9, 1.1, "unclear, holds at the median"),
        (0.9, 1.05, 1.1, "unclear"),
        (1.1, 1.2, 1.3, "missed"),
    ],
)
def test_a_bar_is_judged_by_the_whole_spread(
    low: float, point: float, high: float, verdict: str, harness: ModuleType
) -> None:
    figure = harness.Spread(point=point, low=low, high=high)
    assert harness.at_most(1.0).verdict(figure) == verdict


def test_tools_agree_when_their_ratio_reaches_into_their_scatter(harness: ModuleType) -> None:
    ratio = harness.Spread(point=1.06, low=1.04, high=1.08)
    assert harness.Agreement(scatter=0.05).verdict(ratio) == "holds"
    assert harness.Agreement(scatter=0.03).verdict(ratio) == "missed"


def test_only_a_clear_miss_fails_the_run(harness: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    def claim(low: float, high: float) -> object:
        figure = harness.Spread(point=high, low=low, high=high)
        return harness.Claim(what="cost", figure=figure, bar=harness.at_most(1.0))

    assert harness.report([claim(0.5, 0.9), claim(0.9, 1.1)]) == 0
    assert harness.report([claim(0.5, 0.9), claim(1.1, 1.2)]) == 1
    assert harness.report([claim(1.1, 1.2)], judged=False) == 0
    assert "missed" in capsys.readouterr().out
