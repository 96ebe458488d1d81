"""`benchwright show RUN --format perfzero`: any result in PerfZero's words."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from benchwright.compat.perfzero import export
from benchwright.records import (
    Case,
    Environment,
    Estimate,
    Load,
    Metric,
    Objective,
    Result,
    Run,
    Status,
    Target,
)

Benchwright = Callable[..., subprocess.CompletedProcess[str]]


def test_a_run_of_the_door_comes_out_as_it_was_written(project: Any) -> None:
    flags = ["--execution_id=e", "--system_name=s", f"--output_gcs_url={project.folder}/away"]
    ended = project.run("--benchmark_methods=demo_bench.Demo.benchmark_ok", *flags)
    written = ended.summary("e")
    command = [sys.executable, "-m", "benchwright", "show", "--format", "perfzero"]
    shown = json.loads(subprocess.run(command, cwd=project.folder, check=True, capture_output=True).stdout)
    assert list(shown) == list(written)
    assert shown == written
    assert shown["benchmark_info"]["output_url"] and shown["benchmark_info"]["env_vars"] == {"PERFZERO_TAG": "x"}


def test_other_runs_are_a_list_of_summaries(inside: Benchwright) -> None:
    assert inside("run", "fake:constant?ms=2", "--rounds", "2", "--duration", "0.1", "--tag", "t").returncode == 0
    ended = inside("show", "--format", "perfzero")
    first, second = json.loads(ended.stdout)
    result = first["benchmark_result"]
    assert (result["name"], result["wall_time"], result["succeeded"]) == (
        "fake:constant?ms=2",
        result["metrics"][0]["value"],
        True,
    )
    assert {"name": "runtime", "value": "fake"} in result["extras"]
    assert (result["trial_id"], second["benchmark_result"]["trial_id"]) == (1, 2)
    assert (first["benchmark_info"]["harness_name"], first["benchmark_info"]["execution_label"]) == ("benchwright", "t")
    assert first["ml_framework_info"]["name"] == "fake"


def test_what_only_prints_text_does_not_fit(inside: Benchwright) -> None:
    ended = inside("show", "--format", "perfzero", "--plot")
    assert ended.returncode == 2


@pytest.mark.parametrize(("value", "succeeded"), [(0.01, True), (0.03, False)])
def test_objectives_become_bounds(value: float, succeeded: bool) -> None:
    load = Load(objectives=(Objective(metric="latency_p99", relation="<", bound=0.02),))
    metric = Metric(name="latency_p99", unit="s", better=None, estimate=Estimate(point=value, low=None, high=None))
    run = Run(id="r", started_at="", harness="", results=(_result(load=load, metrics=(metric,)),))
    told = json.loads(export.document(run))["benchmark_result"]
    assert told["metrics"] == [{"name": "latency_p99", "value": value, "max_value": 0.02}]
    assert told["succeeded"] is succeeded


def test_parameters_of_a_class_that_reports_are_extras() -> None:
    told = {"report": {"wall_time": 1.0, "extras": [{"name": "note", "value": "abc"}], "metrics": []}}
    result = _result(details=told)
    result = replace(result, case=replace(result.case, params={"size": 3, "note": "mine"}))
    shown = json.loads(export.document(Run(id="r", started_at="", harness="", results=(result,))))
    extras = shown["benchmark_result"]["extras"]
    assert extras == [{"name": "note", "value": "abc"}, {"name": "size", "value": 3.0}]


def test_a_method_that_never_began_is_tensorflows_too() -> None:
    run = Run(id="r", started_at="", harness="", command=("benchwright", "perfzero"))
    case = Case(name="m", target=Target(runtime="class", uri="m:A.b"))
    shown = export.summary_of(run, replace(_result(status=Status.SKIPPED), case=case))
    assert shown["ml_framework_info"]["name"] == "tensorflow"


def test_a_failed_result_has_no_numbers() -> None:
    run = Run(id="r", started_at="", harness="", results=(_result(status=Status.TIMEOUT),))
    told = json.loads(export.document(run))
    assert (told["benchmark_result"]["wall_time"], told["benchmark_info"]["has_exception"]) == (-1, True)


def _result(*, load: Load | None = None, **changes: Any) -> Result:
    case = Case(name="m", target=Target(runtime="torch", uri="m.pt"), load=load or Load())
    fields: dict[str, Any] = {
        "id": "r-0",
        "case": case,
        "round": 0,
        "status": Status.OK,
        "environment": Environment(machine={"cpu": "c"}, system={}),
        "started_at": "2026-11-16T00:00:00+00:00",
        "duration": 1.0,
    }
    return Result(**{**fields, **changes})
