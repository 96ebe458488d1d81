"""Runs that measured one case over and over, to look for changes in."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from benchwright.records import (
    Better,
    Case,
    Environment,
    Estimate,
    Metric,
    Operator,
    Result,
    Revision,
    Run,
    Status,
    Target,
)
from benchwright.store import Store

ENVIRONMENT = Environment(
    machine={"cpu": "Example 9000", "cores": 2},
    system={"os": "Linux", "architecture": "x86_64", "kernel": "6.1", "host": "a1"},
    packages={"numpy": "2.3.1"},
    knobs={"governor": "performance", "at_start": {"load": [0.25]}},
)
CASE = Case(name="bench.py::encode", target=Target(runtime="python", uri="bench.py::encode"), params={"batch_size": 8})


def levels(*pieces: tuple[float, int], noise: float = 0.003, seed: int = 1) -> list[float]:
    """Seconds: each level so many times, with a little noise."""
    draw = random.Random(seed)
    return [level * (1 + draw.gauss(0, noise)) for level, count in pieces for _ in range(count)]


def commit(i: int) -> str:
    """The id of the commit that run `i` measured."""
    return f"{i:04d}" + "c0ffee" * 6


def run_of(
    i: int,
    seconds: float,
    *,
    memory: float = 1e8,
    environment: Environment = ENVIRONMENT,
    case: Case = CASE,
    revision: str | None = None,
    operators: Sequence[Operator] = (),
) -> Run:
    """The run number `i`, of two rounds."""
    known = Revision(vcs="git", id=commit(i) if revision is None else revision, subject=f"Change {i}", author="Ada")
    at = f"2026-03-{1 + i // 24:02d}T{i % 24:02d}:00:00+00:00"
    rounds = tuple(
        Result(
            id=f"run-{i:04d}-{case.name}-{number}",
            case=case,
            round=number,
            status=Status.OK,
            environment=environment,
            started_at=at,
            duration=1.0,
            metrics=_metrics(seconds * (1 + number / 10_000), memory),
            operators=tuple(operators),
        )
        for number in range(2)
    )
    return Run(id=f"run-{i:04d}", started_at=at, harness="1", revision=known, results=rounds)


def fill(store: Store, values: Sequence[float], *, start: int = 0) -> list[Run]:
    """Adds a run for each value."""
    runs = [run_of(start + i, value) for i, value in enumerate(values)]
    for run in runs:
        store.add_run(run)
    return runs


def with_metric(
    run: Run, name: str, value: float, *, better: Better = Better.LOWER, method: str = "reported", unit: str = ""
) -> Run:
    """The run with one metric more in each result."""
    extra = _metric(name, unit, better, value, method)
    return replace(run, results=tuple(replace(r, metrics=(*r.metrics, extra)) for r in run.results))


def _metrics(seconds: float, memory: float) -> tuple[Metric, ...]:
    return (
        _metric("latency_p50", "s", Better.LOWER, seconds),
        _metric("latency_p99", "s", Better.LOWER, 2 * seconds),
        _metric("throughput", "/s", Better.HIGHER, 1 / seconds),
        _metric("rss_peak", "B", Better.LOWER, memory),
    )


def _metric(name: str, unit: str, better: Better, value: float, method: str = "order statistics") -> Metric:
    estimate = Estimate(point=value, low=value * 0.999, high=value * 1.001, method=method)
    return Metric(name=name, unit=unit, better=better, estimate=estimate, count=100)
