"""perfzero_summary.json, key for key: what a method told, where it ran, with what."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchwright.compat.perfzero import processes, systems
from benchwright.compat.perfzero.flags import PerfZeroFlags
from benchwright.records import Result, Status
from benchwright.system import whole_files

HARNESS = "perfzero"
DETAILS = "perfzero"  # where a kept result says what its summary was, and where it was made


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What holds for every method of a run."""

    flags: PerfZeroFlags
    harness: Mapping[str, str] = field(default_factory=dict)
    env_vars: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    system: Mapping[str, Any] = field(default_factory=dict)
    paths: tuple[str, ...] = ()  # where classes are imported from, behind Python's own places


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One method in one trial."""

    id: str
    timestamp: float  # epoch seconds: the call, or the process's start if it never came to that
    output_url: str = ""


def build(facts: RunFacts, execution: Execution, result: Result) -> dict[str, Any]:
    """The whole summary, in PerfZero's order of keys. Numbers that JSON lacks are words."""
    texts = facts.flags.texts
    return {
        "execution_id": execution.id,
        "execution_timestamp": execution.timestamp,
        "benchmark_result": benchmark_result(result),
        "benchmark_info": {
            "harness_name": HARNESS,
            "harness_info": dict(facts.harness),
            "has_exception": has_exception(result),
            **_unless_empty("execution_label", texts["execution_label"]),
            **_unless_empty("output_url", execution.output_url),
            **_unless_empty("env_vars", dict(facts.env_vars)),
            **_unless_empty("flags", dict(facts.flags.recorded)),
            "site_package_info": {name: dict(info) for name, info in facts.packages.items()},
            **_unless_empty("cost", cost_of(facts.flags, result)),
        },
        "setup_info": {},
        "ml_framework_info": systems.framework_info(_framework(facts, result), texts["ml_framework_build_label"]),
        "system_info": dict(facts.system),
        "process_info": processes.maxima(result),
    }


def _framework(facts: RunFacts, result: Result) -> Any:
    """What the worker told of it; of a method that failed before it had loaded any, what TensorFlow tells."""
    told = result.details.get("framework")
    return systems.read_tensorflow_facts(facts.paths) if told is None and result.status is Status.FAILED else told


def benchmark_result(result: Result) -> dict[str, Any]:
    """What the method told; after an exception, or without a report, wall_time -1 and nothing else."""
    report = {} if has_exception(result) else entry_of(result)
    metrics = report.get("metrics", [])
    return {
        "name": result.case.name,
        "wall_time": report.get("wall_time", -1),
        "succeeded": bool(report)
        and math.isfinite(_number(report.get("wall_time", -1)))
        and all(map(is_within_bounds, metrics)),
        "extras": report.get("extras", []),
        "metrics": metrics,
        "trial_id": result.round + 1,
    }


def cost_of(flags: PerfZeroFlags, result: Result) -> dict[str, Any]:
    """With `--cost_per_hour`: the price, what a million items cost at it, and by which of the method's metrics."""
    if flags.cost_per_hour is None:
        return {}
    found = result.metric("cost_per_million")
    if found is None:
        return {"per_hour": flags.cost_per_hour}
    by = found.estimate.method.partition(":")[0].removeprefix("price over ")
    return {"per_hour": flags.cost_per_hour, "per_million": found.estimate.point, "by": by}


def has_exception(result: Result) -> bool:
    """Whether a result has no report: the method, its constructor or its process failed, or it reported nothing."""
    return result.status is not Status.OK or not entry_of(result)


def entry_of(result: Result) -> dict[str, Any]:
    """Returns the method's own report as it was told, {} when there was none."""
    told = result.details.get("report")
    return told if isinstance(told, dict) else {}


def is_within_bounds(metric: Mapping[str, Any]) -> bool:
    """Whether a metric is a number within its bounds; equality holds."""
    value = _number(metric["value"])
    least, most = _number(metric.get("min_value", -math.inf)), _number(metric.get("max_value", math.inf))
    return math.isfinite(value) and least <= value <= most


def write(summary: Mapping[str, Any], path: Path) -> None:
    """Writes the whole file or nothing."""
    whole_files.write_text(path, text_of(summary) + "\n")


def text_of(summary: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    """The summary as JSON, two spaces deep."""
    return json.dumps(summary, indent=2, allow_nan=False)


def _number(value: object) -> float:
    """A number as JSON holds it, or the word that stands for one it cannot hold."""
    return float(value) if isinstance(value, int | float | str) else math.nan


def _unless_empty(key: str, value: Any) -> dict[str, Any]:
    return {key: value} if value else {}
