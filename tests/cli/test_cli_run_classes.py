"""Benchmark classes through `benchwright run`: what is reported, judged, and how what goes wrong ends."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.worker.runtimes.classes.reports import PREFIX, ReportedNumber, metrics

Command = Callable[..., subprocess.CompletedProcess[str]]

FILE = """
import ctypes, os, signal, sys

class Good:
    params = {"n": [1, 2]}

    def time_it(self, n):
        return sum(range(n))

    def benchmark_pid(self, report, n):
        report("pid", os.getpid())
        report("n", n, least=1, most=2)

    def track_pid(self, n):
        return os.getpid()

class Judged:
    def benchmark_equal(self, report):
        report("a", 5, least=5, most=5)

    def benchmark_low(self, report):
        report("acc", 80, least=90, most=99)

    def benchmark_nan(self, report):
        report("acc", float("nan"), least=90)

    def benchmark_silent(self):
        print("said on stdout")

class Bad:
    def benchmark_exit(self):
        sys.exit(0)

    def benchmark_hard_exit(self):
        os._exit(0)

    def benchmark_segfault(self):
        ctypes.string_at(0)

    def benchmark_killed(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def benchmark_raise(self, report):
        report("wall", 9)
        raise RuntimeError("boom")

class Untidy:
    def teardown(self):
        raise LookupError("cannot clean up")

    def benchmark_well(self):
        pass

    def time_raise(self):
        raise ValueError("the real one")

class Tensor:
    def __init__(self, output_dir, root_data_dir):
        self.folder = output_dir

    def benchmark_killed(self):
        open(f"{self.folder}/written", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)

class Unbuilt:
    def __init__(self, size):
        pass

    def benchmark_x(self):
        pass
"""


@pytest.fixture
def run(inside: Command, tmp_path: Path) -> Callable[..., tuple[int, list[dict[str, Any]]]]:
    """The exit code and the results of `benchwright run bench.py::TARGET`."""
    (tmp_path / "bench.py").write_text(FILE)

    def call(target: str, *flags: str) -> tuple[int, list[dict[str, Any]]]:
        ended = inside("run", f"bench.py::{target}", "--json", "--no-save", "--rounds", "1", *flags)
        assert ended.stdout, ended.stderr
        return ended.returncode, json.loads(ended.stdout)["data"]["results"]

    return call


def _points(result: dict[str, Any]) -> dict[str, float]:
    return {metric["name"]: metric["estimate"]["point"] for metric in result["metrics"]}


def test_a_class_is_measured_each_case_in_a_process_of_its_own(
    run: Callable[..., tuple[int, list[dict[str, Any]]]],
) -> None:
    code, results = run("Good", "--duration", "0.02s", "--rounds", "2")
    assert code == 0
    assert [(r["case"]["name"], r["case"]["params"]["n"]) for r in results[:6]] == [
        (f"bench.py::Good.{name}", n) for name in ("time_it", "benchmark_pid", "track_pid") for n in (1, 2)
    ]
    once = [_points(r) for r in results if "time_it" not in r["case"]["name"]]
    assert len({points["pid"] for points in once}) == len(once) == 8
    assert all("wall_time" in points and "latency" not in points for points in once)
    assert all("latency_p50" in _points(r) for r in results if "time_it" in r["case"]["name"])


def test_what_we_measure_has_names_of_its_own(run: Callable[..., tuple[int, list[dict[str, Any]]]]) -> None:
    _, results = run("Good", "--duration", "0.02s")
    ours = {name for result in results for name in _points(result)} - {"pid", "n"}
    assert ours
    kept, _ = metrics([ReportedNumber(name=name, value=1.0) for name in sorted(ours)])
    assert [metric.name for metric in kept if not metric.name.startswith(PREFIX)] == []


@pytest.mark.parametrize(
    ("method", "code", "warning"),
    [
        ("benchmark_equal", 0, None),
        ("benchmark_low", 1, "objective-missed"),
        ("benchmark_nan", 1, "objective-missed"),
        ("benchmark_silent", 0, "reported-nothing"),
    ],
)
def test_bounds_are_judged(
    method: str, code: int, warning: str | None, run: Callable[..., tuple[int, list[dict[str, Any]]]]
) -> None:
    ended, (result,) = run(f"Judged.{method}")
    assert (ended, result["status"]) == (code, "ok")
    codes = {w["code"] for w in result["warnings"]} - {"busy-machine"}
    assert warning in codes if warning else not codes
    assert "wall_time" in _points(result)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("style=perfzer", "did you mean 'perfzero'"),
        ("constructor=[]", "is not a JSON object"),
        ("tpus=x", "did you mean 'tpu'"),
    ],
)
def test_wrong_options_show_before_anything_runs(option: str, message: str, inside: Command, tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text(FILE)
    ended = inside("run", "bench.py::Judged.benchmark_equal", "--option", option)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr


@pytest.mark.parametrize(
    ("target", "status", "kind", "message"),
    [
        ("Bad.benchmark_exit", "failed", "SystemExit", "0"),
        ("Bad.benchmark_hard_exit", "failed", "exit", "exit code 0 before it answered"),
        ("Bad.benchmark_segfault", "failed", "signal", "SIGSEGV"),
        ("Bad.benchmark_killed", "killed", "signal", "SIGKILL"),
        ("Bad.benchmark_raise", "failed", "RuntimeError", "boom"),
        ("Untidy.benchmark_well", "failed", "LookupError", "cannot clean up"),
        ("Untidy.time_raise", "failed", "ValueError", "the real one; closing failed too: LookupError: cannot clean up"),
        ("Unbuilt.benchmark_x", "failed", "LoadError", "could not be constructed: TypeError"),
    ],
)
def test_whatever_a_method_does_there_is_a_record(
    target: str, status: str, kind: str, message: str, run: Callable[..., tuple[int, list[dict[str, Any]]]]
) -> None:
    code, (result,) = run(target)
    assert (code, result["status"], result["error"]["kind"]) == (1, status, kind)
    assert message in result["error"]["message"]
    assert "wall" not in _points(result)


def test_a_class_that_is_killed_leaves_no_folder_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., tuple[int, list[dict[str, Any]]]]
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)  # it is remembered
    code, (result,) = run("Tensor.benchmark_killed")
    assert (code, result["status"]) == (1, "killed")
    assert list(temporary.iterdir()) == []
