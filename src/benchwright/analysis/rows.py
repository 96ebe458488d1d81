"""The rows of a run: one for each case, its rounds combined, with what tells the cases apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchwright import schema
from benchwright.analysis import goals, instances, row_warnings
from benchwright.analysis.judged_metrics import directions_of, headline_metrics
from benchwright.errors import OptionError, did_you_mean
from benchwright.execution.pricing import TIMES
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
from benchwright.records.costs import SHARES
from benchwright.records.goals import goals_of
from benchwright.records.quarantine_marks import is_marked
from benchwright.stats.summary import combine, within_limits
from benchwright.units import QuantityLimits, limits

HOST = "host"  # beside the params of a run that several machines measured
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
    is_held: bool = False  # measured in quarantine, in any round: shown, and not judged
    machine: str = ""  # of a run that several measured: the one that measured this row
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
            *instances.warn_of_spread(self.ok, self.chief),
            *self.beside,
        )

    @property
    def chief(self) -> str:
        """The metric of most interest; "" where there is none."""
        return next(iter(headline_metrics(directions_of(self.metrics.values()))), "")

    @property
    def failures(self) -> tuple[tuple[Result, Failure], ...]:
        """Every round without numbers, with its reason."""
        return tuple((r, r.error or Failure(kind=str(r.status), message="")) for r in self._bad())

    def _bad(self) -> Iterable[Result]:
        return (r for r in self.results if r.status is not Status.OK)


def rows(run: Run, *, held: Container[str] = ()) -> list[Row]:
    """The cases of a run in the order they were first measured, each with its rounds combined.

    `held` are the ids of results that were measured in quarantine (`analysis.judged_results`), beside those that are
    marked so (`records.quarantine_marks`).
    """
    groups: dict[tuple[str, str, str], list[Result]] = {}
    machines = machine_names(run.results)
    is_several = len({*machines}) > 1
    for result, machine in zip(run.results, machines, strict=True):
        # The key leaves the folder out, so that runs on two machines match; within one run two files are two cases.
        groups.setdefault((schema.case_key(result.case), result.case.target.uri, machine), []).append(result)
    cases = [results[0].case for results in groups.values()]
    params = _find_distinguishing_params(cases)
    if is_several:
        params = [{**found, HOST: machine} for found, (_, _, machine) in zip(params, groups, strict=True)]
    ok = [result for result in run.results if result.status is Status.OK]
    return [
        Row(
            key=key,
            case=results[0].case,
            params=params[i],
            metrics=_combine_rounds(results),
            statuses=Counter(r.status for r in results),
            results=tuple(sorted(results, key=lambda r: r.round)),
            beside=tuple(row_warnings.of_threads(results[0].case, [r for r in results if r.status is Status.OK], ok)),
            is_held=any(r.id in held or is_marked(r) for r in results),
            machine=machine if is_several else "",
            only_name=len(cases) > 1 and len({case.name for case in cases}) == 1,
        )
        for i, ((key, _, machine), results) in enumerate(groups.items())
    ]


def part_row(row: Row, results: Sequence[Result]) -> Row:
    """A row of some of its rounds alone."""
    counted = Counter(result.status for result in results)
    return replace(row, metrics=_combine_rounds(results), statuses=counted, results=tuple(results), beside=())


def machine_names(results: Sequence[Result]) -> list[str]:
    """A name for the machine of each result: those that measured side by side in one run are told apart by it."""
    names: dict[str, str] = {}
    found = []
    for result in results:
        environment = result.environment
        host, device = (environment.system.get(kind) for kind in ("host", "device"))
        if isinstance(device, dict):
            name = f"adb:{device.get('serial', '')}"
        elif isinstance(host, dict):
            name = str(host.get("name", ""))
        else:
            key = schema.environment_key(environment)
            name = names.setdefault(key, "local" if not names else f"machine {len(names) + 1}")
        found.append(name)
    return found


def pair_rows(before: Sequence[Row], after: Sequence[Row]) -> list[tuple[Row | None, Row | None]]:
    """Pairs cases of equal key; of several, those at the same place first. Then come cases that one side alone has."""
    left = list(after)
    pairs: list[tuple[Row | None, Row | None]] = []
    for row in before:
        same = [other for other in left if other.key == row.key]
        match = next((o for o in same if o.case.target.uri == row.case.target.uri), same[0] if same else None)
        pairs.append((row, match))
        if match:
            left.remove(match)
    return pairs + [(None, row) for row in left]


def param_names(table: Iterable[Row]) -> list[str]:
    """Every varying param of the rows, in order of appearance."""
    return list(dict.fromkeys(name for row in table for name in row.params))


def check_metric_names(metrics: Sequence[str], table: Sequence[Row]) -> None:
    """Raises when none of the rows has one of the metrics."""
    known = {name for row in table for name in row.metrics}
    for name in metrics:
        if name not in known:
            raise OptionError(f"neither run has a metric {name!r}", remedy=did_you_mean(name, known))


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
    if name in SHARES and all(one.point > 0 and not one.method.startswith(TIMES) for one in rounds):
        return _combine_shares(rounds)
    return within_limits(combine(rounds, limits=can_be), QuantityLimits(low=least))


def repeated_estimates(results: Sequence[Result], metric: Metric) -> tuple[Estimate, ...]:
    """One estimate for each repetition: of each round, or of each cloud instance where several measured the rounds."""
    return instances.repeated_estimates(
        results, metric.name, lambda rounds: combine_estimates(metric.name, metric.unit, rounds)
    )


def show_scalar(value: Scalar) -> str:
    """A parameter's value as people write it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _combine_rounds(results: Sequence[Result]) -> dict[str, Metric]:
    """Each metric once, over the rounds that have it; of a goal that some round never reached, over all rounds."""
    found = _combine_metrics([r for r in results if r.status is Status.OK])
    for name, metric in goals.combine_goals(results).items():
        found.pop(name, None)  # the mean of the rounds that got there alone would be too good
        if metric is not None:
            found[name] = metric
    return found


def count_observed(row: Row) -> int:
    """How many rounds say what they were asked: those that have numbers, or that looked for a goal until a timeout."""
    return sum(result.status is Status.OK or bool(goals_of(result)) for result in row.results)


def _combine_metrics(results: Sequence[Result]) -> dict[str, Metric]:
    """Each metric once, over the rounds that have it."""
    found: dict[str, list[Metric]] = {}
    for result in results:
        for metric in result.metrics:
            found.setdefault(metric.name, []).append(metric)
    shortest = min((m.estimate.point for m in found.get("latency_min", ())), default=None)
    return {
        name: _combine_metric(results, metrics, shortest if name == "latency" or name.startswith("latency_p") else None)
        for name, metrics in found.items()
    }


def _combine_shares(rounds: Sequence[Estimate]) -> Estimate:
    """Costs and energies of an item by the rate of all rounds: a mean of them would weigh slow rounds more."""
    whole = combine([_turn_over(one) for one in rounds], limits=QuantityLimits(low=0.0))
    return replace(_turn_over(whole), method=f"{rounds[0].method.partition(':')[0]}: {whole.method}")


def _turn_over(one: Estimate) -> Estimate:
    """One over the estimate; without an interval where an end may be nothing."""
    if one.low is None or one.high is None or one.low <= 0:
        return replace(one, point=1 / one.point, low=None, high=None)
    return replace(one, point=1 / one.point, low=1 / one.high, high=1 / one.low)


def _combine_metric(results: Sequence[Result], metrics: Sequence[Metric], least: float | None) -> Metric:
    first = metrics[0]
    if len(metrics) == 1:
        return replace(first, estimate=combine_estimates(first.name, first.unit, [first.estimate]))
    estimate = combine_estimates(first.name, first.unit, repeated_estimates(results, first), least=least)
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
