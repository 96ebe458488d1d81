"""Real `tf.test.Benchmark` classes, unchanged, in the environment that `make test` keeps for TensorFlow.

Few tests, each of many asserts: importing TensorFlow takes seconds, and every method has a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
VECTOR = (
    "0a5c0a1144656d6f2e62656e63686d61726b5f6f6b1005210000000000000440320d0a046e6f7465120512036162633a240a0361636311"
    "000000000000e83f1a0909000000000000e03f220909000000000000f03f3a070a036572721a00"
)

FILE = """
import logging
import os
import tensorflow as tf

class Demo(tf.test.Benchmark):
    def __init__(self, output_dir=None, root_data_dir=None, **kwargs):
        super().__init__()
        self.data = os.path.join(root_data_dir, "x")
        self.kwargs = kwargs

    def benchmark_ok(self):
        logging.info("from the root logger, %s %s", self.data, self.kwargs)
        metrics = [
            {"name": "acc", "value": 0.75, "min_value": 0.5, "max_value": 1.0},
            {"name": "err", "value": 0.0, "min_value": 0.0, "max_value": None},
        ]
        self.report_benchmark(iters=5, wall_time=2.5, extras={"note": "abc"}, metrics=metrics)

    def benchmark_named(self):
        low = [{"name": "acc", "value": 80, "min_value": 90, "max_value": 99}]
        self.report_benchmark(1, None, float(tf.reduce_sum(tf.ones([3]))), None, None, "other/name", low)

    def benchmark_raise(self):
        self.report_benchmark(wall_time=9)
        raise RuntimeError("boom")

    def benchmark_twice(self):
        self.report_benchmark(wall_time=1)
        self.report_benchmark(wall_time=2)

class Cases(tf.test.Benchmark, metaclass=tf.__internal__.test.ParameterizedBenchmark):
    _benchmark_parameters = [("two", 2)]

    def benchmark_n(self, n):
        self._report(n)

    def _report(self, n):
        self.report_benchmark(throughput=n, metrics=[{"name": "n", "value": float("nan"), "max_value": 2}])
"""

VIA_RUNTIME = """
import json
from benchwright.worker.runtimes.classes import Class
from benchwright.targets.sources.classes import case_for

case = case_for("demo_bench.Demo.benchmark_ok", style="perfzero", root_data_dir="/d", tpu="t", log="run.log")
loaded = Class().load(case)
loaded.call(*loaded.arguments[0])
print(json.dumps(dict(loaded.report().details)))
loaded.close()
"""


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The Python that has TensorFlow, in a folder with the classes above."""
    if sys.version_info >= (3, 14):
        pytest.skip("TensorFlow has no release for this Python")
    found = os.environ.get("BENCHWRIGHT_TENSORFLOW_PYTHON") or str(ROOT / ".venv-tensorflow" / "bin" / "python")
    assert Path(found).is_file(), "run make .venv-tensorflow/.ready"
    (tmp_path / "demo_bench.py").write_text(FILE)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    return found


def _run(python: str, folder: Path, *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code, and each result by the end of its name."""
    command = [python, "-m", "benchwright", "run", *arguments, "--rounds", "1", "--no-save", "--json"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=240)
    assert ended.stdout, ended.stderr
    results = json.loads(ended.stdout)["data"]["results"]
    return ended.returncode, {r["case"]["name"].rpartition("benchmark_")[2]: r for r in results}


def _points(result: dict[str, Any]) -> dict[str, float]:
    return {m["name"]: m["estimate"]["point"] for m in result["metrics"] if m["estimate"]["method"] == "reported"}


def _codes(result: dict[str, Any]) -> set[str]:
    return {warning["code"] for warning in result["warnings"]} - {"busy-machine"}


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_benchmark_classes_of_tensorflow_run_unchanged(python: str, tmp_path: Path) -> None:
    code, results = _run(python, tmp_path, "demo_bench.Demo.benchmark_ok", "demo_bench.Cases")
    assert code == 1
    assert list(results) == ["ok", "n__two"]
    _check_ok(results["ok"])
    _check_case(results["n__two"])


@pytest.mark.soak  # five imports of TensorFlow
@pytest.mark.timeout(300)
def test_every_way_to_report_is_understood(python: str, tmp_path: Path) -> None:
    code, results = _run(python, tmp_path, "demo_bench.Demo.filter:benchmark_", "demo_bench.Cases")
    assert code == 1
    assert list(results) == ["named", "ok", "raise", "twice", "n__two"]
    _check_ok(results["ok"])
    assert results["named"]["details"]["report"]["name"] == "Demo.other/name"
    assert _points(results["named"]) == {"acc": 80.0, "reported_wall_time": 3.0, "reported_iters": 1.0}
    assert _codes(results["named"]) == {"objective-missed"}
    _check_failed(results["raise"], "RuntimeError", "boom")
    _check_failed(results["twice"], "OSError", "File already exists")
    _check_case(results["n__two"])


def _check_ok(result: dict[str, Any]) -> None:
    assert _points(result) == {"acc": 0.75, "err": 0.0, "reported_wall_time": 2.5, "reported_iters": 5.0}
    assert _codes(result) == set()  # the bound of None is no bound, and that of 0 holds
    told = {m["name"]: (m["least"], m["most"]) for m in result["metrics"]}
    assert (told["acc"], told["err"]) == ((0.5, 1.0), (0.0, None))
    assert result["details"]["style"] == "perfzero"
    assert result["details"]["framework"]["name"] == "tensorflow"
    assert result["environment"]["runtimes"]["tensorflow"].startswith("2.")


def _check_failed(result: dict[str, Any], kind: str, message: str) -> None:
    assert (result["status"], result["error"]["kind"]) == ("failed", kind)
    assert message in result["error"]["message"]


def _check_case(result: dict[str, Any]) -> None:
    assert result["details"]["style"] == "tf_benchmark"
    assert result["details"]["report"]["name"] == "Cases.benchmark_n__two"
    assert _points(result) == {"reported_throughput": 2.0}
    assert _codes(result) == {"not-finite", "objective-missed"}


@pytest.mark.timeout(120)
def test_the_report_file_and_the_log_are_as_perfzero_left_them(python: str, tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.mkdir()
    environment = {**os.environ, "BENCHWRIGHT_OUTPUT": str(output)}
    command = [python, "-c", VIA_RUNTIME]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, env=environment)
    assert (output / "proto_Demo.benchmark_ok").read_bytes().hex() == VECTOR
    details = json.loads(ended.stdout.splitlines()[-1])
    assert details["report"]["metrics"][1] == {"name": "err", "value": 0.0, "min_value": 0.0}
    assert details["framework"]["version"].startswith("2.") and details["framework"]["build_version"]
    log = (output / "run.log").read_text()
    assert " INFO: from the root logger, /d/x {'tpu': 't'}\n" in log


@pytest.mark.soak  # two more imports of TensorFlow; the classes of the first test say the same of what is called often
@pytest.mark.timeout(120)
def test_a_class_as_large_model_repositories_write_them(python: str, tmp_path: Path) -> None:
    target = str(ROOT / "examples" / "models_benchmark.py::ClassifierBenchmark")
    code, results = _run(python, tmp_path, target, "--option", f"root_data_dir={tmp_path}")
    assert (code, list(results)) == (0, ["1_layer", "2_layers"])
    for name, bounds in (("1_layer", (0.5, 1.0)), ("2_layers", (None, None))):
        told = {m["name"]: m for m in results[name]["metrics"]}
        assert (told["accuracy_top_1"]["least"], told["accuracy_top_1"]["most"]) == bounds
        assert told["exp_per_second"]["estimate"]["point"] > 0
        assert told["reported_wall_time"]["estimate"]["point"] <= told["wall_time"]["estimate"]["point"]
        assert _codes(results[name]) == set()
        (flags,) = results[name]["details"]["report"]["extras"]
        assert f"--data_dir={tmp_path}/digits" in flags["value"]
