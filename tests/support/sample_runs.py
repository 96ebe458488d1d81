"""Runs as the runner would make them, from seeded draws: several cases, rounds, copies, timelines, one failed case.

The estimates are simple normal ones: what is tested here is how they are shown, not how they are made.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchwright.records import (
    Better,
    Case,
    Environment,
    Estimate,
    Failure,
    Inputs,
    Load,
    Metric,
    Result,
    ResultWarning,
    Revision,
    Run,
    Samples,
    Scalar,
    Status,
    Target,
    Timeline,
)

ENVIRONMENT = Environment(
    machine={"cpu": "Example CPU 9000", "cores": 8, "memory": 33_285_996_544, "caches": {"L2": "512 KiB"}},
    system={"os": "Linux", "architecture": "x86_64", "kernel": "6.1.0", "python": "3.11.2"},
    runtimes={"onnxruntime": "1.31.1", "openvino": "2026.4.1"},
    packages={"numpy": "2.3.1", "onnx": "1.23.2"},
    knobs={"governor": "performance", "turbo": "unavailable: no cpufreq here", "load_at_start": 0.12},
    collected_at="2026-11-02T08:59:58Z",
)
OTHER_MACHINE = Environment(machine={**ENVIRONMENT.machine, "cpu": "Other CPU 1"}, system=ENVIRONMENT.system)
REVISION = Revision(vcs="git", id="4f2c9b1e" * 5, branch="main", subject="Cache the tokenizer")
NOISY = ResultWarning(code="noisy-machine", seen="others took 12 % of the CPU", remedy="stop what else runs here")


def make_run(
    run_id: str = "01JBQ7M3Y8T2",
    *,
    slower: float = 1.0,
    rounds: int = 3,
    calls: int = 2000,
    seed: int = 7,
    failing: bool = True,
    environment: Environment = ENVIRONMENT,
    version: str = "a1",
) -> Run:
    """Two runtimes at two batch sizes, one of them with two copies, and a case that cannot load."""
    rng = np.random.default_rng(seed)
    cases = [
        model_case("onnxruntime", 1, version=version),
        model_case("onnxruntime", 8, version=version),
        model_case("openvino", 1, version=version),
        model_case("openvino", 8, copies=2, version=version),
    ]
    seconds = [1.8e-3, 9.1e-3, 2.3e-3, 7.7e-3]
    results: list[Result] = []
    for i in range(rounds):
        for case, latency in zip(cases, seconds, strict=True):
            results.append(ok_result(case, i, latency * slower, calls, rng, environment))
        if failing:
            results.append(failed_result(model_case("torch", 1, version=version), i, environment))
    return Run(
        id=run_id,
        started_at="2026-11-02T09:00:00Z",
        harness="0.1.0",
        command=("benchwright", "run", "model.onnx", "--runtime", "onnxruntime,openvino,torch", "--batch-size", "1,8"),
        revision=REVISION,
        results=tuple(replace(r, id=f"{run_id}-{i}") for i, r in enumerate(results)),
        tags=("nightly",),
    )


def model_case(
    runtime: str, batch_size: int, *, copies: int = 1, name: str = "model.onnx", version: str = "a1"
) -> Case:
    """One cell of the matrix."""
    params: dict[str, Scalar] = {"runtime": runtime, "batch_size": batch_size, "copies": copies, "device": "cpu"}
    return Case(
        name=name,
        target=Target(runtime=runtime, uri=f"models/{name}"),
        params=params,
        inputs=Inputs(batch_size=batch_size),
        load=Load(copies=copies, duration=10.0),
        version=version,
    )


def ok_result(
    case: Case,
    number: int,
    seconds: float,
    calls: int,
    rng: np.random.Generator,
    environment: Environment = ENVIRONMENT,
) -> Result:
    """A round with a lognormal body, a slow start and a few stalls."""
    shift = seconds * rng.normal(1.0, 0.004)
    samples = tuple(_copy(copy, shift, calls, rng) for copy in range(case.load.copies))
    values = np.concatenate([np.frombuffer(s.columns["latency"], np.int64) for s in samples]) / 1e9
    elapsed = max(s.elapsed for s in samples) / 1e9
    throughput = len(values) * case.inputs.batch_size / elapsed
    return Result(
        id=f"r{number}-{case.target.runtime}-{case.inputs.batch_size}",
        case=case,
        round=number,
        status=Status.OK,
        environment=environment,
        started_at=f"2026-11-02T09:00:{number:02d}Z",
        duration=elapsed + 0.8,
        revision=REVISION,
        metrics=_metrics(values, throughput, 210e6 + 3e6 * case.inputs.batch_size + 1e5 * number),
        samples=samples,
        timelines=_timelines(elapsed, case.load.copies, rng),
        instrument=_instrument(noisy=number == 1 and case.target.runtime == "openvino"),
        warnings=(NOISY,) if number == 1 and case.target.runtime == "openvino" else (),
    )


def failed_result(case: Case, number: int, environment: Environment = ENVIRONMENT) -> Result:
    """A round that could not load its model."""
    tail = "\n".join([*(f"loading shard {i}" for i in range(14)), "ImportError: libcudart.so.12: cannot open"])
    return Result(
        id=f"r{number}-failed",
        case=case,
        round=number,
        status=Status.FAILED,
        environment=environment,
        started_at=f"2026-11-02T09:00:{number:02d}Z",
        duration=0.4,
        error=Failure(
            kind="LoadError", message="torch cannot read model.onnx", remedy="export it again", log_tail=tail
        ),
    )


def _copy(copy: int, seconds: float, calls: int, rng: np.random.Generator) -> Samples:
    values = seconds * np.exp(rng.normal(0, 0.06, calls))
    values[: calls // 50] *= 1.3
    values[rng.integers(0, calls, max(1, calls // 200))] *= rng.uniform(2, 5)
    latency = (values * 1e9).astype(np.int64)
    end = np.cumsum(latency)
    columns = {"latency": array("q", latency.tolist()), "end": array("q", end.tolist())}
    return Samples(copy=copy, calls=calls, loops=1, elapsed=int(end[-1]), columns=columns)


def _metrics(values: np.ndarray, throughput: float, peak: float) -> tuple[Metric, ...]:
    lower, higher = Better.LOWER, Better.HIGHER
    metrics = [_metric("latency", "s", lower, float(values.mean()), 0.004, len(values))]
    for name, level in (("p50", 50), ("p90", 90), ("p99", 99), ("p99.9", 99.9), ("min", 0), ("max", 100)):
        width = 0.003 if level <= 50 else 0.02
        metrics.append(_metric(f"latency_{name}", "s", lower, float(np.percentile(values, level)), width, len(values)))
    metrics.append(_metric("throughput", "/s", higher, throughput, 0.004, len(values)))
    metrics.append(_metric("load_time", "s", lower, 0.31, 0.0, 1))
    metrics.append(_metric("rss_peak", "B", lower, peak, 0.0, 1))
    metrics.append(_metric("cpu", "%", None, 99.2, 0.0, 1))
    return tuple(metrics)


def _metric(name: str, unit: str, better: Better | None, point: float, width: float, count: int) -> Metric:
    low, high = (point * (1 - width), point * (1 + width)) if width else (None, None)
    return Metric(name=name, unit=unit, better=better, estimate=Estimate(point=point, low=low, high=high), count=count)


def _timelines(elapsed: float, copies: int, rng: np.random.Generator) -> tuple[Timeline, ...]:
    seconds = tuple(float(s) for s in np.arange(0, max(elapsed, 0.5), max(elapsed, 0.5) / 40))
    rss = tuple(float(v) for v in 210e6 * copies * (1 - 0.3 * np.exp(-np.arange(len(seconds)) / 4)))
    cpu = tuple(float(v) for v in 100 * copies + rng.normal(0, 2, len(seconds)))
    return (
        Timeline(name="rss", unit="B", seconds=seconds, values=rss),
        Timeline(name="cpu", unit="%", seconds=seconds, values=cpu),
    )


def _instrument(*, noisy: bool) -> dict[str, str | int | float | bool]:
    return {
        "clock_cost_ns": 46,
        "cost_per_call_ns": 71.0,
        "wakeup_error_ns": 1900,
        "recorded_calls": 2000,
        "folded_calls": 0,
        "steady": True,
        "warmup_calls": 412,
        "warmup_reason": "latency is level",
        "cpu_others_percent": 12.0 if noisy else 0.6,
        "steal_percent": 0.1,
        "verdict": "noisy: others took 12 % of the CPU" if noisy else "trustworthy",
    }


def rename(run: Run, names: Sequence[str]) -> Run:
    """The run with its cases called as given, going round; for names that try to break out of a page."""
    fresh = [
        replace(r, case=replace(r.case, name=names[i % len(names)], params={**r.case.params, names[0]: names[-1]}))
        for i, r in enumerate(run.results)
    ]
    return replace(run, results=tuple(fresh))
