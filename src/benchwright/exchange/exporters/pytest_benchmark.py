"""pytest-benchmark's JSON, as `--benchmark-json` writes it: for whatever reads such files."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchwright._version import VERSION
from benchwright.records import Environment, Result, Revision, Run, Status

FORMAT = "5.0.0"  # of pytest-benchmark, whose keys these are


class PytestBenchmarkJson:
    """One entry for each case, with the samples of all its rounds, in seconds a call."""

    name = "pytest-benchmark"

    def text(self, run: Run) -> str:
        """Writes the cases of a run that have samples."""
        cases: dict[str, list[Result]] = {}
        for result in run.results:
            if result.status is Status.OK and result.samples:
                cases.setdefault(_full_name(result), []).append(result)
        first = run.results[0].environment if run.results else Environment(machine={}, system={})
        whole = {
            "machine_info": _machine(first),
            "commit_info": _commit(run.revision),
            "benchmarks": [_entry(name, results) for name, results in cases.items()],
            "datetime": run.started_at,
            "version": FORMAT,
            "benchwright": {"version": VERSION, "run": run.id},
        }
        return json.dumps(whole, indent=4, allow_nan=False) + "\n"


def _full_name(result: Result) -> str:
    case = result.case
    if case.target.runtime == "pytest":
        return case.target.uri
    told = "-".join(str(value) for value in case.params.values())
    return f"{case.name}[{told}]" if told else case.name


def split_name(name: str) -> tuple[str, str]:
    """The full name of a function and, in its brackets, what its parameters are called: anything, also `a::b`."""
    path, colons, inner = name.partition("::")
    if not colons:
        path, inner = "", name
    function, bracket, called = inner.partition("[")
    return f"{path}{colons}{function}", f"{bracket}{called}"


def _entry(name: str, results: Sequence[Result]) -> dict[str, Any]:
    case, details = results[0].case, results[0].details
    function, called = split_name(name)
    return {
        "group": case.tags[0] if case.tags else None,
        "name": function.rpartition("::")[2] + called,
        "fullname": name,
        "params": dict(case.params) or None,
        "param": called[1:-1] or None,
        "extra_info": details.get("extra_info", {}),
        "options": {
            "max_time": case.load.duration,
            "disable_gc": True,
            "timer": case.target.options.get("timer", "perf_counter"),
        },
        "stats": stats_of(results),
    }


def stats_of(results: Sequence[Result]) -> dict[str, Any]:
    """pytest-benchmark's figures of all samples of some rounds of one case, in seconds a call."""
    values, loops = [], 1
    for result in results:
        cost = result.instrument.get("cost_taken_off_ns")
        off = float(cost) if isinstance(cost, int | float) else 0.0
        for samples in result.samples:
            loops = max(loops, samples.loops)
            values += [max(0.0, spent / samples.loops - off) / 1e9 for spent in samples.columns["latency"]]
    return {**summarize(values), "iterations": loops, "data": values}


def summarize(values: Sequence[float]) -> dict[str, Any]:
    """The figures of some values, of which there is one at least."""
    ordered = sorted(values)
    mean = min(max(ordered[0], math.fsum(values) / len(values)), ordered[-1])  # which rounding may put outside
    spread = statistics.stdev(values, mean) if len(values) > 1 else 0.0
    q1, median, q3 = statistics.quantiles(ordered, n=4, method="inclusive") if len(values) > 1 else ordered * 3
    iqr = q3 - q1
    low, high = q1 - 1.5 * iqr, q3 + 1.5 * iqr
    inside = [value for value in ordered if low <= value <= high]
    beyond, far = sum(abs(value - mean) > spread for value in values), len(values) - len(inside)
    return {
        "min": ordered[0],
        "max": ordered[-1],
        "mean": mean,
        "stddev": spread,
        "rounds": len(values),
        "median": median,
        "iqr": iqr,
        "q1": q1,
        "q3": q3,
        "iqr_outliers": far,
        "stddev_outliers": beyond,
        "outliers": f"{beyond};{far}",
        "ld15iqr": inside[0],
        "hd15iqr": inside[-1],
        "ops": 1 / mean if mean else 0.0,
        "total": math.fsum(values),
    }


def _machine(environment: Environment) -> dict[str, Any]:
    machine, system = environment.machine, environment.system
    cpu = {"brand_raw": machine.get("cpu", ""), "count": machine.get("threads")}
    told: Mapping[str, Any] = {
        "node": system.get("host", "") if isinstance(system.get("host"), str) else "",
        "processor": machine.get("cpu", ""),
        "machine": system.get("architecture", ""),
        "python_implementation": system.get("python_implementation", ""),
        "python_version": system.get("python", ""),
        "system": system.get("os", ""),
        "release": system.get("kernel", ""),
    }
    return {**told, "cpu": cpu}


def _commit(revision: Revision | None) -> dict[str, Any]:
    if revision is None:
        return {"id": "unversioned", "time": None, "dirty": False, "project": "", "branch": "(unknown)"}
    return {
        "id": revision.id,
        "time": revision.committed_at or None,
        "author_time": revision.committed_at or None,
        "dirty": bool(revision.dirty),
        "project": "",
        "branch": revision.branch or "(unknown)",
    }
