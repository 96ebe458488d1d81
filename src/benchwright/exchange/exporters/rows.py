"""What exporters write: each metric of each case once, over all its rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchwright import schema
from benchwright.records import Better, Case, Estimate, Metric, Result, Run, Scalar, Status
from benchwright.stats.summary import combine, within_limits
from benchwright.units import limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRow:
    """One metric of one case."""

    name: str  # of the case, with what tells it from others of that name
    metric: str
    unit: str
    better: Better | None
    estimate: Estimate
    rounds: int


def rows(run: Run) -> list[ExportRow]:
    """Every metric of every case that is ok, in the order they were measured."""
    cases: dict[str, list[Result]] = {}
    for result in run.results:
        if result.status is Status.OK:
            cases.setdefault(schema.case_key(result.case), []).append(result)
    names = _names([rounds[0].case for rounds in cases.values()])
    return [row for name, rounds in zip(names, cases.values(), strict=True) for row in _rows(name, rounds)]


def _rows(name: str, rounds: Sequence[Result]) -> list[ExportRow]:
    found: dict[tuple[str, str], list[Metric]] = {}
    for result in rounds:
        for metric in result.metrics:
            found.setdefault((metric.name, metric.unit), []).append(metric)
    return [
        ExportRow(
            name=name,
            metric=metric,
            unit=unit,
            better=told[0].better,
            estimate=_combine(metric, unit, [one.estimate for one in told]),
            rounds=len(told),
        )
        for (metric, unit), told in found.items()
    ]


def _combine(metric: str, unit: str, rounds: Sequence[Estimate]) -> Estimate:
    if len(rounds) == 1:
        return within_limits(rounds[0], limits(metric, unit))
    if metric.endswith(("_min", "_max")):
        extreme = min if metric.endswith("_min") else max
        point = extreme(one.point for one in rounds)
        return Estimate(point=point, low=None, high=None, method="extreme of all rounds")
    return combine(rounds, limits=limits(metric, unit))


def _names(cases: Sequence[Case]) -> list[str]:
    """The case's name with its params, its runtime where one name is measured on several, a number where all fails."""
    runtimes: dict[str, set[str]] = {}
    for case in cases:
        runtimes.setdefault(case.name, set()).add(case.target.runtime)
    taken: dict[str, int] = {}
    found = []
    for case in cases:
        words = [f"{key}={_format_scalar(value)}" for key, value in case.params.items()]
        if len(runtimes[case.name]) > 1 and "runtime" not in case.params:
            words.insert(0, f"runtime={case.target.runtime}")
        name = " ".join([case.name, *words])
        taken[name] = taken.get(name, 0) + 1
        found.append(name if taken[name] == 1 else f"{name} #{taken[name]}")
    return found


def _format_scalar(value: Scalar) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)
