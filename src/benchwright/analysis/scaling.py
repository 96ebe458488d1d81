"""Which of a run's cases to choose: for latency, for throughput, and for throughput under a bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchwright.analysis import doubt, notes
from benchwright.analysis.rows import Row
from benchwright.errors import OptionError, did_you_mean
from benchwright.records import Better, Estimate, Metric, Objective, Verdict
from benchwright.stats.compare import compare
from benchwright.units import format_value
from benchwright.units.numbers import printable

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
    rivals: tuple[Row, ...] = ()
    by: str = LATENCY  # the metric that decides
    near: Row | None = None  # the case that comes closest to a bound that none meets
    metric: str = LATENCY

    def __str__(self) -> str:
        if self.row is None:
            said = f"{self.aim}: no case"
            if self.near is not None:
                value = self.near.metrics[self.metric]
                said += (
                    f"; closest is {_name(self.near)} with {_short_name(self.metric)} {_format_with_interval(value)}"
                )
            return said
        if self.rivals:
            alike = (self.row, *self.rivals)
            named = ", ".join(f"{_name(row)} ({_value(row, self.by)})" for row in alike[:_MOST_NAMED])
            more = f" and {len(alike) - _MOST_NAMED} more" if len(alike) > _MOST_NAMED else ""
            return f"{self.aim}: one of {len(alike)} that cannot be told apart by {_short_name(self.by)}: {named}{more}"
        shown = [f"{_short_name(m)} {_value(self.row, m)}" for m in dict.fromkeys((LATENCY, self.metric, THROUGHPUT))]
        return f"{self.aim}: {_name(self.row)} ({', '.join(shown)})"


def cautions(table: Sequence[Row]) -> list[str]:
    """What a reader must know before choosing by these measurements; empty where they are sound."""
    known, found = _rows_with_both_metrics(table), []
    if len(known) < 2:
        return []
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
    """Recommendations among the cases that have both numbers; none where there is nothing to choose from.

    Each of `objectives` adds one: the highest throughput of the cases that keep it.
    """
    known = _rows_with_both_metrics(table)
    if len(known) < 2:
        return []
    fastest = min(known, key=lambda row: _point(row, LATENCY))
    most = max(known, key=lambda row: _point(row, THROUGHPUT))
    found = [
        Advice(aim="Lowest latency", row=fastest, rivals=_rivals(fastest, known, LATENCY)),
        Advice(aim="Highest throughput", row=most, rivals=_rivals(most, known, THROUGHPUT), by=THROUGHPUT),
    ]
    measured = dict.fromkeys(name for row in known for name in row.metrics)
    for objective in objectives:
        if objective.metric not in measured:
            raise OptionError(
                f"--objective: no case has {objective.metric!r}", remedy=did_you_mean(objective.metric, measured)
            )
    return [*found, *(_advise_within_bound(known, objective) for objective in objectives)]


def _rows_with_both_metrics(table: Sequence[Row]) -> list[Row]:
    return [row for row in table if {LATENCY, THROUGHPUT} <= row.metrics.keys() and _point(row, THROUGHPUT) > 0]


def _advise_within_bound(known: Sequence[Row], objective: Objective) -> Advice:
    """The highest throughput among the cases whose whole interval keeps the bound."""
    bound = format_value(objective.bound, known[0].metrics.get(objective.metric, known[0].metrics[LATENCY]).unit)
    aim = f"Highest throughput with {_short_name(objective.metric)} {objective.relation} {bound}"
    measured = [row for row in known if objective.metric in row.metrics]
    meeting = [row for row in measured if _holds(row.metrics[objective.metric].estimate, objective)]
    if meeting:
        best = max(meeting, key=lambda row: _point(row, THROUGHPUT))
        rivals = _rivals(best, meeting, THROUGHPUT)
        return Advice(aim=aim, row=best, rivals=rivals, by=THROUGHPUT, metric=objective.metric)
    upward = objective.relation.startswith(">")
    ordered = sorted(measured, key=lambda row: _point(row, objective.metric), reverse=upward)
    return Advice(aim=aim, row=None, near=ordered[0] if ordered else None, metric=objective.metric)


def _holds(estimate: Estimate, objective: Objective) -> bool:
    """Whether the end of the interval that lies nearer to the bound keeps it, too."""
    if objective.relation.startswith("<"):
        worst = estimate.point if estimate.high is None else estimate.high
        return worst < objective.bound or (objective.relation == "<=" and worst == objective.bound)
    worst = estimate.point if estimate.low is None else estimate.low
    return worst > objective.bound or (objective.relation == ">=" and worst == objective.bound)


def _rivals(best: Row, known: Sequence[Row], metric: str) -> tuple[Row, ...]:
    """The cases that are not told from the best one, as `benchwright compare` would judge two runs, nearest first."""
    others = [row for row in known if row is not best and not _is_worse(row, best, metric)]
    return tuple(sorted(others, key=lambda row: abs(_point(row, metric) - _point(best, metric))))


def _is_worse(row: Row, best: Row, metric: str) -> bool:
    judged = compare(_rounds(best, metric), _rounds(row, metric), better=_BETTER[metric], allowance=ALLOWANCE)
    if judged.verdict is not Verdict.WORSE:
        return False
    doubted = notes.is_unreliable(row.results) or notes.is_unreliable(best.results)
    return not doubted or doubt.withstands_noise(metric, judged.verdict, judged.ratio)


def _rounds(row: Row, metric: str) -> list[Estimate]:
    return [m.estimate for r in row.ok if (m := r.metric(metric))] or [row.metrics[metric].estimate]


def _point(row: Row, metric: str) -> float:
    return row.metrics[metric].estimate.point


def _value(row: Row, metric: str) -> str:
    found = row.metrics[metric]
    return format_value(found.estimate.point, found.unit)


def _short_name(metric: str) -> str:
    return _WORDS.get(metric, metric.removeprefix("latency_"))


def _name(row: Row) -> str:
    return printable(row.short)


def _format_with_interval(metric: Metric) -> str:
    """The value with its interval: the end of the interval decides whether a bound is kept, not the point."""
    estimate, unit = metric.estimate, metric.unit
    point = format_value(estimate.point, unit)
    if estimate.low is None or estimate.high is None:
        return point
    return f"{point} ({format_value(estimate.low, unit)} to {format_value(estimate.high, unit)})"


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """The indices of the points that no other beats, by ascending first value (lower and higher are better)."""
    front: list[int] = []
    best = -math.inf
    for i in sorted(range(len(points)), key=lambda i: (points[i][0], -points[i][1])):
        if points[i][1] > best:
            front.append(i)
            best = points[i][1]
    return front
