"""The rows of a run: one for each case, its rounds combined, with what tells the cases apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchwright import schema
from benchwright.analysis import row_warnings
from benchwright.records import (
    Case,
    Estimate,
    Failure,
    Metric,
    Result,
    ResultWarning,
    Run,
    Scalar,
    Status,
)
from benchwright.stats.summary import combine, within_limits
from benchwright.units import QuantityLimits, limits

# The smallest and largest call of all rounds is a fact about them together, not an average over them.
_EXTREMES = {"latency_min": min, "latency_max": max}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One case of a run: what tells it from the others, and what all its rounds say together."""

    key: str  # schema.case_key: the same in every run that measured the same thing
    case: Case
    params: Mapping[str, Scalar]  # only those that vary within the run
    metrics: Mapping[str, Metric]  # combined over the rounds that went well
    statuses: Mapping[Status, int]
    results: tuple[Result, ...]  # one for each round, in order
    beside: tuple[ResultWarning, ...] = ()  # what the other cases of the run show about this one
    only_name: bool = False  # every case of the run has this name, so the params say which one it is

    @property
    def name(self) -> str:
        """The case's name."""
        return self.case.name

    @property
    def label(self) -> str:
        """Name and varying params in one line."""
        return " ".join([self.name, *(f"{name}={show_scalar(value)}" for name, value in self.params.items())])

    @property
    def short(self) -> str:
        """The label without the name where every case of the run has the same."""
        return self.label.removeprefix(f"{self.name} ") if self.only_name else self.label

    @property
    def rounds(self) -> int:
        """How many times the case was measured, or tried; those that an interrupt left out do not count."""
        return sum(result.status is not Status.SKIPPED for result in self.results)

    @property
    def ok(self) -> tuple[Result, ...]:
        """The rounds that have numbers."""
        return tuple(r for r in self.results if r.status is Status.OK)

    @property
    def status(self) -> str:
        """`ok`, or how many rounds ended how: `ok 3, failed 1`."""
        if len(self.statuses) == 1:
            return str(next(iter(self.statuses)))
        return ", ".join(f"{status} {count}" for status, count in self.statuses.items())

    @property
    def warnings(self) -> tuple[ResultWarning, ...]:
        """Every warning of every round, and of all rounds together."""
        return (
            *(warning for result in self.results for warning in result.warnings),
            *row_warnings.of_two_speeds(self.ok),
            *self.beside,
        )

    @property
    def failures(self) -> tuple[tuple[Result, Failure], ...]:
        """Every round without numbers, with its reason."""
        return tuple((r, r.error or Failure(kind=str(r.status), message="")) for r in self._bad())

    def _bad(self) -> Iterable[Result]:
        return (r for r in self.results if r.status is not Status.OK)


def rows(run: Run) -> list[Row]:
    """The cases of a run in the order they were first measured, each with its rounds combined."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in run.results:
        # The key leaves the folder out, so that runs on two machines match; within one run two files are two cases.
        groups.setdefault((schema.case_key(result.case), result.case.target.uri), []).append(result)
    cases = [results[0].case for results in groups.values()]
    params = _find_distinguishing_params(cases)
    ok = [result for result in run.results if result.status is Status.OK]
    return [
        Row(
            key=key,
            case=results[0].case,
            params=params[i],
            metrics=_combine_metrics([r for r in results if r.status is Status.OK]),
            statuses=Counter(r.status for r in results),
            results=tuple(sorted(results, key=lambda r: r.round)),
            beside=tuple(row_warnings.of_threads(results[0].case, [r for r in results if r.status is Status.OK], ok)),
            only_name=len(cases) > 1 and len({case.name for case in cases}) == 1,
        )
        for i, ((key, _), results) in enumerate(groups.items())
    ]


def param_names(table: Iterable[Row]) -> list[str]:
    """Every varying param of the rows, in order of appearance."""
    return list(dict.fromkeys(name for row in table for name in row.params))


def combine_estimates(name: str, unit: str, rounds: Sequence[Estimate], *, least: float | None = None) -> Estimate:
    """All rounds of the metric of that name as one estimate; of a single round it is that round's.

    `least` is a value below which no interval of this metric can end, where one is known.
    """
    can_be = limits(name, unit)
    if len(rounds) == 1:
        return within_limits(rounds[0], can_be)
    if name in _EXTREMES:
        point = _EXTREMES[name](one.point for one in rounds)
        return Estimate(point=point, low=None, high=None, method="extreme of all rounds")
    return within_limits(combine(rounds, limits=can_be), QuantityLimits(low=least))


def show_scalar(value: Scalar) -> str:
    """A parameter's value as people write it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _combine_metrics(results: Sequence[Result]) -> dict[str, Metric]:
    """Each metric once, over the rounds that have it."""
    found: dict[str, list[Metric]] = {}
    for result in results:
        for metric in result.metrics:
            found.setdefault(metric.name, []).append(metric)
    shortest = min((m.estimate.point for m in found.get("latency_min", ())), default=None)
    return {
        name: _combine_metric(metrics, shortest if name == "latency" or name.startswith("latency_p") else None)
        for name, metrics in found.items()
    }


def _combine_metric(metrics: Sequence[Metric], least: float | None) -> Metric:
    first = metrics[0]
    if len(metrics) == 1:
        return replace(first, estimate=combine_estimates(first.name, first.unit, [first.estimate]))
    estimate = combine_estimates(first.name, first.unit, [m.estimate for m in metrics], least=least)
    values = tuple(value for m in metrics for value in m.values)
    return replace(first, estimate=estimate, count=sum(m.count for m in metrics), values=values)


# ---- what tells rows apart ----


def _find_distinguishing_params(cases: Sequence[Case]) -> list[dict[str, Scalar]]:
    """For each case the params that vary; where those do not suffice, the fields of the case that differ."""
    varying = [name for name in dict.fromkeys(n for c in cases for n in c.params) if _varies(name, cases)]
    chosen: list[dict[str, Scalar]] = [{n: c.params[n] for n in varying if n in c.params} for c in cases]
    same: dict[tuple[Any, ...], list[int]] = {}
    for i, case in enumerate(cases):
        same.setdefault((case.name, *chosen[i].items()), []).append(i)
    for indices in same.values():
        if len(indices) > 1:
            _add_differences(chosen, cases, indices)
    return chosen


def _varies(name: str, cases: Sequence[Case]) -> bool:
    if len({repr(c.params[name]) for c in cases if name in c.params}) > 1:
        return True
    named = [c for c in cases if any(name in d.params for d in cases if d.name == c.name)]
    return any(name not in c.params for c in named)


def _add_differences(chosen: list[dict[str, Scalar]], cases: Sequence[Case], indices: Sequence[int]) -> None:
    flat = {i: _flatten(schema.encode(replace(cases[i], params={}, tags=(), version=""))) for i in indices}
    for name in dict.fromkeys(n for fields in flat.values() for n in fields):
        if len({repr(fields.get(name)) for fields in flat.values()}) > 1:
            for i in indices:
                chosen[i][name.rpartition(".")[2]] = flat[i].get(name)


def _flatten(value: Any, prefix: str = "") -> dict[str, Scalar]:
    if isinstance(value, dict):
        return {k: v for name, item in value.items() for k, v in _flatten(item, f"{prefix}{name}.").items()}
    if isinstance(value, list):
        return {prefix.rstrip("."): ", ".join(map(str, value))}
    return {prefix.rstrip("."): value}
