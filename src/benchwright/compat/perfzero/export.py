"""Any result as PerfZero's summary: `benchwright show RUN --format perfzero`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from benchwright.compat.perfzero import flags as perfzero_flags
from benchwright.compat.perfzero import processes, summary
from benchwright.compat.perfzero.flags import PerfZeroFlags
from benchwright.compat.perfzero.uploads import COMMAND, folder_of
from benchwright.errors import OptionError
from benchwright.records import Case, Metric, Result, Run, Status

_UPPER, _LOWER = ("<", "<="), (">", ">=")


def document(run: Run) -> str:
    """One object, or a list of them when the run has several results."""
    summaries = [summary_of(run, result) for result in run.results]
    return summary.text_of(summaries[0] if len(summaries) == 1 else summaries)


def summary_of(run: Run, result: Result) -> dict[str, Any]:
    """One result with every key of PerfZero's summary, from what the record holds; no file is read.

    What came through PerfZero's door is shown as it was written.
    """
    kept = result.details.get(summary.DETAILS)
    written = kept.get("summary") if isinstance(kept, Mapping) else None
    if isinstance(written, Mapping):
        return dict(written)
    flags = _flags(run)
    folder = folder_of(result) if flags else None
    texts = (flags or perfzero_flags.parse([])).texts
    called = result.details.get("called_at")
    label = texts["execution_label"] or " ".join(run.tags)
    failed = result.status is not Status.OK or (flags is not None and summary.has_exception(result))
    return {
        "execution_id": folder.name if folder else result.id,
        "execution_timestamp": called if isinstance(called, float) else _epoch(result.started_at),
        "benchmark_result": _benchmark_result(result, failed, told_only=flags is not None),
        "benchmark_info": {
            "harness_name": summary.HARNESS if flags else "benchwright",
            "harness_info": {"name": "benchwright", "version": run.harness},
            "has_exception": failed,
            **({"execution_label": label} if label else {}),
            **({"flags": flags.recorded} if flags else {}),
            "site_package_info": {},
        },
        "setup_info": {},
        "ml_framework_info": _framework(result, flags, texts["ml_framework_build_label"]),
        "system_info": _system(result, texts),
        "process_info": processes.maxima(result),
    }


def _flags(run: Run) -> PerfZeroFlags | None:
    """The flags of a run that came through PerfZero's door."""
    if run.command[:2] != COMMAND:
        return None
    try:
        return perfzero_flags.parse([word for word in run.command[2:] if word not in ("-h", "--help")])
    except (OptionError, SystemExit):  # a record may come from anyone
        return None


def _benchmark_result(result: Result, failed: bool, *, told_only: bool) -> dict[str, Any]:
    """What a class told, as it told it; what we measured of anything else."""
    extras = [{"name": name, "value": _extra(value)} for name, value in result.case.params.items()]
    if told_only or failed or summary.entry_of(result):
        told = summary.benchmark_result(result)
        named = {extra["name"] for extra in told["extras"]}
        more = [] if told_only or failed else [extra for extra in extras if extra["name"] not in named]
        return {**told, "extras": [*told["extras"], *more]}
    metrics = [_metric(result.case, metric) for metric in result.metrics]
    return {
        "name": result.case.name,
        "wall_time": _wall_time(result),
        "succeeded": all(map(summary.is_within_bounds, metrics)),
        "extras": extras,
        "metrics": metrics,
        "trial_id": result.round + 1,
    }


def _wall_time(result: Result) -> float:
    """Seconds of the one call, or of one call on average; of the whole attempt where nothing was timed."""
    for name in ("wall_time", "latency"):
        if found := result.metric(name):
            return found.estimate.point
    return result.duration


def _metric(case: Case, metric: Metric) -> dict[str, Any]:
    """A metric with its bounds: its benchmark's own and the load's objectives, whichever is tighter."""
    mine = [objective for objective in case.load.objectives if objective.metric == metric.name]
    least = max([o.bound for o in mine if o.relation in _LOWER] + _bounds_given(metric.least), default=-math.inf)
    most = min([o.bound for o in mine if o.relation in _UPPER] + _bounds_given(metric.most), default=math.inf)
    return {
        "name": metric.name,
        "value": metric.estimate.point,
        **({"min_value": least} if math.isfinite(least) else {}),
        **({"max_value": most} if math.isfinite(most) else {}),
    }


def _bounds_given(bound: float | None) -> list[float]:
    return [] if bound is None else [bound]


def _extra(value: object) -> float | str:
    """PerfZero's extras are numbers or words."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _framework(result: Result, flags: PerfZeroFlags | None, build_label: str) -> dict[str, str]:
    told, runtime = result.details.get("framework"), result.case.target.runtime
    facts = told if isinstance(told, Mapping) else {}
    versions = result.environment.runtimes
    info = {
        "name": str(facts.get("name") or ("tensorflow" if flags else runtime)),
        "version": str(facts.get("version") or versions.get(runtime) or ""),
        "build_version": str(facts.get("build_version") or ""),
    }
    return info | ({"build_label": build_label} if build_label else {})


def _system(result: Result, texts: Mapping[str, str]) -> dict[str, Any]:
    machine, system = result.environment.machine, result.environment.system
    found: dict[str, Any] = {name: texts[name] for name in ("platform_name", "system_name") if texts[name]}
    accelerators = result.environment.accelerators
    if accelerators:
        drivers = system.get("drivers")
        known = [str(version) for version in drivers.values()] if isinstance(drivers, dict) else []
        found["accelerator_driver_version"] = known[0] if known else ""
        found["accelerator_model"] = str(accelerators[0].get("name") or "")
        found["accelerator_count"] = len(accelerators)
    return found | {
        "cpu_model": str(machine.get("cpu") or ""),
        "physical_cpu_count": _count(machine.get("cores")),
        "logical_cpu_count": _count(machine.get("threads")),
        "cpu_socket_count": _count(machine.get("sockets")),
        "hostname": str(system.get("host") or ""),
    }


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _epoch(instant: str) -> float:
    try:
        return datetime.fromisoformat(instant).timestamp()
    except ValueError:
        return 0.0
