"""Which of a run's cases to choose: for latency, for throughput, and for throughput under a bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchwright.analysis import doubt, notes
from benchwright.analysis.best import Alternative, Respect, find_best
from benchwright.analysis.best import pareto_front as pareto_front
from benchwright.analysis.rows import Row
from benchwright.errors import OptionError, did_you_mean
from benchwright.records import Better, Estimate, Metric, Objective
from benchwright.units import format_value
from benchwright.units.numbers import printable
from benchwright.units.objectives import check_currency

LATENCY, THROUGHPUT = "latency_p50", "throughput"
_WORDS = {"latency_p50": "median latency"}
_BETTER = {LATENCY: Better.LOWER, THROUGHPUT: Better.HIGHER}
_MOST_NAMED = 4
ALLOWANCE = 0.10  # how far two cases of one run may lie apart, of one round each, and still be no choice


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One recommendation: what for, which case, and the others that the measurements do not tell from it."""

    aim: str
    row: Row | None  # None: no case meets the bound
    model: str = ""  # the one it is for, where a run measured several
    rivals: tuple[Row, ...] = ()
    by: str = LATENCY  # the metric that decides
    near: Row | None = None  # the case that comes closest to a bound that none meets
    metric: str = LATENCY

    def __str__(self) -> str:
        return f"{printable(self.model)}: {self._said()}" if self.model else self._said()

    def _said(self) -> str:
        if self.row is None:
            said = f"{self.aim}: no case"
            if self.near is not None:
                value = self.near.metrics[self.metric]
                near = self._name(self.near)
                said += f"; closest is {near} with {_short_name(self.metric)} {_format_with_interval(value)}"
            return said
        if self.rivals:
            alike = (self.row, *self.rivals)
            named = ", ".join(f"{self._name(row)} ({_value(row, self.by)})" for row in alike[:_MOST_NAMED])
            more = f" and {len(alike) - _MOST_NAMED} more" if len(alike) > _MOST_NAMED else ""
            return f"{self.aim}: one of {len(alike)} that cannot be told apart by {_short_name(self.by)}: {named}{more}"
        shown = [f"{_short_name(m)} {_value(self.row, m)}" for m in dict.fromkeys((LATENCY, self.metric, THROUGHPUT))]
        return f"{self.aim}: {self._name(self.row)} ({', '.join(shown)})"

    def _name(self, row: Row) -> str:
        """The case, without what stands before it already."""
        return printable(row.short.removeprefix(f"{self.model} ") if self.model else row.short)


def cautions(table: Sequence[Row]) -> list[str]:
    """What a reader must know before choosing by these measurements; empty where they are sound."""
    known, found = [row for group in _choices(table).values() for row in group], list[str]()
    if len(known) < 2:
        return []
    if held := sum(row.is_held for row in table):
        found.append(f"{held} of {len(table)} cases were measured in quarantine: they are not chosen from.")
    doubted = sum(notes.is_unreliable(row.results) for row in known)
    if doubted:
        which = "all" if doubted == len(known) else f"{doubted} of"
        found.append(
            f"The instrument calls {which} {len(known)} cases unreliable: only differences above "
            f"{doubt.ALLOWANCE:.0%} are told apart there. Measure on a quieter machine."
        )
    single = sum(len(row.ok) == 1 for row in known)
    if single:
        which = "Each case" if single == len(known) else f"{single} of {len(known)} cases"
        found.append(
            f"{which} was measured in one round, which says nothing about the next process: only differences above "
            f"{ALLOWANCE:.0%} are told apart. Give more --rounds."
        )
    return found


def advice(table: Sequence[Row], objectives: Sequence[Objective] = ()) -> list[Advice]:
    """Recommendations among the cases of each model that have both numbers; none where there is nothing to choose from.

    A model is what a case is called: its configurations are a choice, another model is not. Each of `objectives` adds
    one: the highest throughput of the cases that keep it.
    """
    choices = _choices(table)
    measured = dict.fromkeys(name for group in choices.values() for row in group for name in row.metrics)
    for objective in objectives if choices else ():
        if objective.metric not in measured:
            raise OptionError(
                f"--objective: no case has {objective.metric!r}", remedy=did_you_mean(objective.metric, measured)
            )
        for row in table:
            if objective.metric in row.metrics:
                check_currency(objective, row.metrics[objective.metric].unit)
    is_several = len({row.name for row in _rows_with_both_metrics(table)}) > 1
    return [
        replace(found, model=model if is_several else "")
        for model, known in choices.items()
        for found in _advise_on_model(known, objectives)
    ]


def _advise_on_model(known: Sequence[Row], objectives: Sequence[Objective]) -> list[Advice]:
    return [
        _advise(known, LATENCY, Advice(aim="Lowest latency", row=None)),
        _advise(known, THROUGHPUT, Advice(aim="Highest throughput", row=None, by=THROUGHPUT)),
        *(_advise_within_bound(known, objective) for objective in objectives),
    ]


def _choices(table: Sequence[Row]) -> dict[str, list[Row]]:
    """The cases of each model that has several to choose from, without what was measured in quarantine."""
    groups: dict[str, list[Row]] = {}
    for row in _rows_with_both_metrics(table):
        if not row.is_held:
            groups.setdefault(row.name, []).append(row)
    return {model: known for model, known in groups.items() if len(known) > 1}


def _rows_with_both_metrics(table: Sequence[Row]) -> list[Row]:
    return [row for row in table if {LATENCY, THROUGHPUT} <= row.metrics.keys() and _point(row, THROUGHPUT) > 0]


def _advise_within_bound(known: Sequence[Row], objective: Objective) -> Advice:
    """The highest throughput among the cases whose whole interval keeps the bound."""
    bound = format_value(objective.bound, known[0].metrics.get(objective.metric, known[0].metrics[LATENCY]).unit)
    aim = f"Highest throughput with {_short_name(objective.metric)} {objective.relation} {bound}"
    measured = [row for row in known if objective.metric in row.metrics]
    meeting = [row for row in measured if is_kept(row.metrics[objective.metric].estimate, objective)]
    if meeting:
        return _advise(meeting, THROUGHPUT, Advice(aim=aim, row=None, by=THROUGHPUT, metric=objective.metric))
    upward = objective.relation.startswith(">")
    ordered = sorted(measured, key=lambda row: _point(row, objective.metric), reverse=upward)
    return Advice(aim=aim, row=None, near=ordered[0] if ordered else None, metric=objective.metric)


def is_kept(estimate: Estimate, objective: Objective) -> bool:
    """Whether the end of the interval that lies nearer to the bound keeps it, too."""
    if objective.relation.startswith("<"):
        worst = estimate.point if estimate.high is None else estimate.high
        return worst < objective.bound or (objective.relation == "<=" and worst == objective.bound)
    worst = estimate.point if estimate.low is None else estimate.low
    return worst > objective.bound or (objective.relation == ">=" and worst == objective.bound)


def _advise(among: Sequence[Row], metric: str, aim: Advice) -> Advice:
    """The advice with the best of several cases, and the rivals that cannot be told from it."""
    alternatives = [
        Alternative(_rounds(row, metric), _point(row, metric), notes.is_unreliable(row.results)) for row in among
    ]
    found = find_best(alternatives, Respect(metric=metric, better=_BETTER[metric], allowance=ALLOWANCE))
    assert found is not None
    return replace(aim, row=among[found.place], rivals=tuple(among[i] for i in found.ties))


def _rounds(row: Row, metric: str) -> list[Estimate]:
    return [m.estimate for r in row.ok if (m := r.metric(metric))] or [row.metrics[metric].estimate]


def _point(row: Row, metric: str) -> float:
    return row.metrics[metric].estimate.point


def _value(row: Row, metric: str) -> str:
    found = row.metrics[metric]
    return format_value(found.estimate.point, found.unit)


def _short_name(metric: str) -> str:
    return _WORDS.get(metric, metric.removeprefix("latency_"))


def _format_with_interval(metric: Metric) -> str:
    """The value with its interval: the end of the interval decides whether a bound is kept, not the point."""
    estimate, unit = metric.estimate, metric.unit
    point = format_value(estimate.point, unit)
    if estimate.low is None or estimate.high is None:
        return point
    return f"{point} ({format_value(estimate.low, unit)} to {format_value(estimate.high, unit)})"
