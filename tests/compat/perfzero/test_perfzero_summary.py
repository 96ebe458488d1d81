"""The summary's parts: what the machine is, what the monitors saw, what counts as success."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchwright._version import VERSION
from benchwright.compat.perfzero import flags, processes, summary, systems
from benchwright.compat.perfzero.summary import Execution, RunFacts
from benchwright.records import Case, Environment, Estimate, Metric, Result, Status, Target, Timeline

REPORT: dict[str, Any] = {"name": "C.m", "iters": 1, "wall_time": 2.0, "extras": [], "metrics": []}
KEYS = [
    "execution_id",
    "execution_timestamp",
    "benchmark_result",
    "benchmark_info",
    "setup_info",
    "ml_framework_info",
    "system_info",
    "process_info",
]


def _result(**changes: Any) -> Result:
    fields: dict[str, Any] = {
        "id": "r",
        "case": Case(name="mod.C.m", target=Target(runtime="class", uri="mod:C.m")),
        "round": 1,
        "status": Status.OK,
        "environment": Environment(machine={}, system={}),
        "started_at": "2026-11-16T00:00:00+00:00",
        "duration": 1.0,
        "details": {"report": REPORT},
    }
    return Result(**{**fields, **changes})


def _metric(name: str, value: float) -> Metric:
    return Metric(name=name, unit="B", better=None, estimate=Estimate(point=value, low=None, high=None))


def test_the_keys_are_in_perfzeros_order(tmp_path: Path) -> None:
    facts = RunFacts(flags=flags.parse(["--execution_label=l"]), env_vars={"PERFZERO_A": "1"}, system={"hostname": "h"})
    built = summary.build(facts, Execution(id="e", timestamp=1.5, output_url="gs://b/e/"), _result())
    assert list(built) == KEYS
    assert list(built["benchmark_result"]) == ["name", "wall_time", "succeeded", "extras", "metrics", "trial_id"]
    assert list(built["benchmark_info"]) == [
        "harness_name",
        "harness_info",
        "has_exception",
        "execution_label",
        "output_url",
        "env_vars",
        "flags",
        "site_package_info",
    ]
    assert (built["benchmark_result"]["trial_id"], built["benchmark_result"]["wall_time"]) == (2, 2.0)
    summary.write(built, tmp_path / "s.json")
    text = (tmp_path / "s.json").read_text()
    assert json.loads(text) == built
    assert text.startswith('{\n  "execution_id": "e",\n')
    assert [p.name for p in tmp_path.iterdir()] == ["s.json"]


@pytest.mark.parametrize(
    ("metric", "holds"),
    [
        ({"value": 5.0, "min_value": 5.0, "max_value": 5.0}, True),
        ({"value": 4.9, "min_value": 5.0}, False),
        ({"value": 5.1, "max_value": 5.0}, False),
        ({"value": -0.1, "min_value": 0.0}, False),
        ({"value": 0.1, "max_value": 0.0}, False),
        ({"value": "NaN"}, False),
        ({"value": "Infinity", "min_value": 1.0}, False),
        ({"value": 1.0, "min_value": "NaN"}, False),
        ({"value": 1.0, "max_value": "Infinity"}, True),
        ({"value": 1.0}, True),
    ],
)
def test_bounds_are_strict_and_equality_holds(metric: dict[str, Any], holds: bool) -> None:
    report = {**REPORT, "metrics": [{"name": "m", **metric}]}
    assert summary.benchmark_result(_result(details={"report": report}))["succeeded"] is holds


@pytest.mark.parametrize("changes", [{"status": Status.KILLED}, {"details": {}}])
def test_without_a_report_or_after_a_failure_nothing_is_told(changes: dict[str, Any]) -> None:
    result = _result(**changes)
    told = summary.benchmark_result(result)
    assert summary.has_exception(result)
    assert (told["wall_time"], told["succeeded"], told["extras"], told["metrics"]) == (-1, False, [], [])


# ---- what the monitors saw ----


def test_a_monitor_that_saw_nothing_leaves_zeros() -> None:
    """Defect 9: whatever the tracker does, the result stays."""
    assert processes.maxima(_result()) == {"max_rss": 0, "max_vms": 0, "max_cpu_percent": 0.0}
    assert processes.lines(_result()) == ""


def test_lines_join_what_the_monitors_saw() -> None:
    timelines = (
        Timeline(name="rss", unit="B", seconds=(0.0, 0.1, 0.6), values=(10.0, 30.0, 20.0)),
        Timeline(name="cpu", unit="%", seconds=(0.6,), values=(87.0,)),
        Timeline(name="vms", unit="B", seconds=(0.001, 0.101, 0.601), values=(100.0, 300.0, 200.0)),
    )
    result = _result(timelines=timelines, metrics=(_metric("rss_peak", 35.0), _metric("vms_peak", 310.0)))
    assert [json.loads(line) for line in processes.lines(result).splitlines()] == [
        {"time": 0.0, "rss": 10, "vms": 100, "cpu_percent": 0.0},
        {"time": 0.1, "rss": 30, "vms": 300, "cpu_percent": 0.0},
        {"time": 0.6, "rss": 20, "vms": 200, "cpu_percent": 87.0},
    ]
    assert processes.maxima(result) == {"max_rss": 35, "max_vms": 310, "max_cpu_percent": 87.0}


@pytest.mark.parametrize(
    ("typed", "cost"),
    [
        ([], None),
        (["--cost_per_hour=1.18"], {"per_hour": 1.18, "per_million": 2.5, "by": "exp_per_second"}),
    ],
)
def test_with_a_price_the_summary_says_what_a_million_items_cost(typed: list[str], cost: Any) -> None:
    estimate = Estimate(point=2.5, low=None, high=None, method="price over exp_per_second: reported")
    result = _result(metrics=(Metric(name="cost_per_million", unit="", better=None, estimate=estimate),))
    facts = RunFacts(flags=flags.parse(typed))
    built = summary.build(facts, Execution(id="e", timestamp=1.0), result)["benchmark_info"]
    assert built.get("cost") == cost


def test_a_reported_rate_is_priced_and_its_absence_is_told(project: Any) -> None:
    project.add(
        "demo",
        "rates.py",
        "class Rates:\n    def __init__(self, output_dir, data_dir, **kwargs):\n        pass\n\n"
        "    def benchmark_rate(self, report):\n        report('exp_per_second', 1000)\n\n"
        "    def benchmark_none(self, report):\n        report('accuracy', 0.9)\n",
    )
    ended = project.run(
        "--benchmark_methods=rates.Rates.benchmark_rate,rates.Rates.benchmark_none", "--cost_per_hour=3.6"
    )
    assert ended.code == 0, ended.err
    rate, none = (found["benchmark_info"]["cost"] for found in ended.summaries())
    assert rate == {"per_hour": 3.6, "per_million": pytest.approx(1.0), "by": "exp_per_second"}
    assert none == {"per_hour": 3.6}
    assert "A million items cost 1, counted by exp_per_second" in ended.out
    assert "WARNING: no cost per million" in ended.out


@pytest.mark.parametrize("price", ["nothing", "0", "-1", "inf", "nan"])
def test_a_price_is_a_number_above_zero(price: str) -> None:
    with pytest.raises(SystemExit):
        flags.parse([f"--cost_per_hour={price}"])


# ---- the machine ----


def test_graphics_processors_are_counted_and_a_screens_is_passed_over() -> None:
    one = "535.1, NVIDIA A100\n535.1, NVIDIA A100\n"
    assert systems.nvidia(one) == {
        "accelerator_driver_version": "535.1",
        "accelerator_model": "NVIDIA A100",
        "accelerator_count": 2,
    }
    assert systems.nvidia(f"535.1, Quadro K600\n{one}")["accelerator_model"] == "NVIDIA A100"
    assert systems.nvidia("") == {}


def _program(folder: Path, name: str, answer: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\ncat <<'E'\n{answer}\nE\n")
    (folder / name).chmod(0o755)


def test_the_vendors_programs_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.delenv("TPUVM_MODE", raising=False)
    _program(tmp_path, "nvidia-smi", "535.1, Tesla V100")
    assert systems.system_info()["accelerator_model"] == "Tesla V100"
    assert "accelerator_model" not in systems.system_info(has_tpu=True)
    cards = {"card0": {"Card series": "Instinct MI100"}, "card1": {"Card series": "Instinct MI100"}}
    _program(tmp_path, "rocm-smi", json.dumps({**cards, "system": {"Driver version": "5.16"}}))
    found = systems.system_info()
    assert (found["accelerator_model"], found["accelerator_count"]) == ("Instinct MI100", 2)
    assert found["accelerator_driver_version"] == "5.16"
    monkeypatch.setenv("TPUVM_MODE", "1")
    assert systems.system_info()["accelerator_model"] == "tpuvm"
    assert "accelerator_count" not in systems.system_info()


def test_processors_are_read_from_the_kernel() -> None:
    page = "model name\t: Fast CPU\nphysical id\t: 0\n\nmodel name\t: Fast CPU\nphysical id\t: 1\n"
    found = systems.processors(page)
    assert (found["cpu_model"], found["cpu_socket_count"]) == ("Fast CPU", 2)
    assert systems.processors("CPU implementer\t: 0x41\n")["cpu_model"] == ""
    assert systems.processors("")["cpu_socket_count"] == -1
    assert found["logical_cpu_count"] >= 1


def test_the_framework_is_what_the_worker_told() -> None:
    told = {"name": "tensorflow", "version": "2.1", "build_version": "b'v2.1'"}
    assert systems.framework_info(told, "") == {"name": "tensorflow", "version": "2.1", "build_version": "v2.1"}
    assert systems.framework_info(None, "b")["build_label"] == "b"


def test_the_harness_is_benchwright_with_its_own_revision(tmp_path: Path) -> None:
    """Not the repository of the user, in which Benchwright may only be installed."""
    ours = {"name": "benchwright", "version": VERSION}
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    assert systems.harness_info(package) == ours
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    for command in (
        ["init", "-q", "-b", "main"],
        [*identity, "commit", "-q", "--allow-empty", "-m", "one"],
        ["remote", "add", "origin", "https://u:p@h/r.git"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert systems.harness_info(package) == ours
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    found = systems.harness_info(package)
    assert found | {"hash": ""} == {**ours, "url": "https://h/r.git", "branch": "main", "hash": ""}
    assert len(found["hash"]) == 40


def test_a_summary_names_benchwright_wherever_the_project_lies(project: Any) -> None:
    for command in (["init", "-q"], ["remote", "add", "origin", "https://h/user.git"]):
        subprocess.run(["git", *command], cwd=project.folder, check=True)
    ended = project.run("--benchmark_methods=demo_bench.Demo.benchmark_ok", "--execution_id=e")
    info = ended.summary("e")["benchmark_info"]
    assert (info["harness_info"]["name"], info["harness_info"]["version"]) == ("benchwright", VERSION)
    assert "user.git" not in str(info["harness_info"])
