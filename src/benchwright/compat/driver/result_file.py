"""dlbenchmark_result.json: one flat JSON object. It is whole or not there, and never an earlier run's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchwright.compat.driver import NAME
from benchwright.records import Metric, Result, Status
from benchwright.system import whole_files
from benchwright.targets.tasks.definition import recorded_name

KIB, MIB = 2**10, 2**20
_STAYS_WHOLE = ("first", "last", "min", "max", "sum", "count")


def write(folder: Path, keys: Mapping[str, float]) -> None:
    """Writes the keys on one line; whoever reads meanwhile sees nothing or all of it."""
    whole_files.write_text(folder / NAME, json.dumps(dict(keys), allow_nan=False), durable=True)


def keys(result: Result, task: str, *, framework: str | None = None, suffix: str | None = None) -> dict[str, float]:
    """`[framework.]task.metric[.suffix]` for every metric that there is.

    A metric of the task that has the name of one of ours wins over `cpu_memory_usage` and the GPUs', and loses against
    `uptime_in_seconds`, as ever. A task that failed also has the key `failed`, 1.
    """
    found: dict[str, float] = {**_memory(result), **_gpus(result), **_task_metrics(result), **_uptime()}
    if result.status is not Status.OK:
        found["failed"] = 1
    return {".".join(filter(None, (framework, task, name, suffix))): value for name, value in found.items()}


def _task_metrics(result: Result) -> dict[str, float]:
    log = result.details.get("log")
    facts: dict[str, Any] = log if isinstance(log, dict) else {}
    return {_plain_name(m.name): _number(m, whole=facts[m.name]["whole"]) for m in result.metrics if m.name in facts}


def _plain_name(name: str) -> str:
    """Returns the name in the task file: one that we measure ourselves was recorded with `log.` in front."""
    bare = name.removeprefix("log.")
    return bare if recorded_name(bare) == name else name


def _number(metric: Metric, *, whole: bool) -> float:
    """Returns a metric's value; whole numbers stay whole, as long as nothing was divided."""
    point = metric.estimate.point
    how = metric.estimate.method.removeprefix("reported: ")
    stays = (
        (whole or how.startswith("count")) and point.is_integer() and how.startswith(_STAYS_WHOLE) and "over" not in how
    )
    return int(point) if stays else point


def _memory(result: Result) -> dict[str, float]:
    """The mean resident memory of the command and all it started, in KiB; nothing when it was never seen."""
    memory = result.details.get("memory")
    mean = memory.get("mean") if isinstance(memory, dict) else None
    return {"cpu_memory_usage": mean / KIB} if isinstance(mean, float) else {}


def _gpus(result: Result) -> dict[str, float]:
    """In MiB: mean, spread and maximum over time of each GPU, then their mean over the GPUs that there are."""
    known = result.details.get("gpus")
    gpus: list[Any] = known if isinstance(known, list) else []
    if not gpus:
        return {}
    names = {"mean": "mean", "std": "std", "max": "peak"}
    return {f"gpu_memory_usage_{key}": sum(gpu[of] for gpu in gpus) / len(gpus) / MIB for key, of in names.items()}


def _uptime() -> dict[str, float]:
    """Returns how long this host is up; nothing where the system is not Linux."""
    try:
        return {"uptime_in_seconds": float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])}
    except (OSError, ValueError, IndexError):
        return {}
