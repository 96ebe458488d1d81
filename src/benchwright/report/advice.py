"""Which of a run's cases to choose: for latency, for throughput, and for throughput under a bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchwright.errors import OptionError, did_you_mean
from benchwright.records import Estimate, Objective
from benchwright.report.numbers import printable
from benchwright.report.rows import Row
from benchwright.units import format_value

LATENCY, THROUGHPUT = "latency_p50", "throughput"
_WORDS = {"latency_p50": "median latency"}
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One recommendation: what for, which case, and the others that the intervals do not tell from it."""

    aim: str
    row: Row | None  # None: no case meets the bound
    rivals: tuple[Row, ...] = ()
    near: Row | None = None  # the case that comes closest to a bound that none meets
    metric: str = LATENCY

    def __str__(self) -> str:
        if self.row is None:
            said = f"{self.aim}: no case"
            if self.near is not None:
                value = self.near.metrics[self.metric]
                point = format_value(value.estimate.point, value.unit)
                said += f"; closest is {_name(self.near)} with {_short(self.metric)} {point}"
            return said
        shown = [f"{_short(m)} {_value(self.row, m)}" for m in dict.fromkeys((LATENCY, self.metric, THROUGHPUT))]
        said = f"{self.aim}: {_name(self.row)} ({', '.join(shown)})"
        if self.rivals:
            more = f" and {len(self.rivals) - _MOST_NAMED} more" if len(self.rivals) > _MOST_NAMED else ""
            named = ", ".join(map(_name, self.rivals[:_MOST_NAMED]))
            said += f"; not told apart from it: {named}{more}"
        return said


def advice(table: Sequence[Row], objective: Objective | None = None) -> list[Advice]:
    """Recommendations among the cases that have both numbers; none where there is nothing to choose from."""
    known = [row for row in table if {LATENCY, THROUGHPUT} <= row.metrics.keys() and _point(row, THROUGHPUT) > 0]
    if len(known) < 2:
        return []
    fastest = min(known, key=lambda row: _point(row, LATENCY))
    most = max(known, key=lambda row: _point(row, THROUGHPUT))
    found = [
        Advice(aim="Lowest latency", row=fastest, rivals=_rivals(fastest, known, LATENCY)),
        Advice(aim="Highest throughput", row=most, rivals=_rivals(most, known, THROUGHPUT)),
    ]
    if objective is None:
        return found
    measured = dict.fromkeys(name for row in known for name in row.metrics)
    if objective.metric not in measured:
        raise OptionError(
            f"--objective: no case has {objective.metric!r}", remedy=did_you_mean(objective.metric, measured)
        )
    return [*found, _within(known, objective)]


def _within(known: Sequence[Row], objective: Objective) -> Advice:
    """The highest throughput among the cases whose whole interval keeps the bound."""
    bound = format_value(objective.bound, known[0].metrics.get(objective.metric, known[0].metrics[LATENCY]).unit)
    aim = f"Highest throughput with {_short(objective.metric)} {objective.relation} {bound}"
    measured = [row for row in known if objective.metric in row.metrics]
    meeting = [row for row in measured if _holds(row.metrics[objective.metric].estimate, objective)]
    if meeting:
        best = max(meeting, key=lambda row: _point(row, THROUGHPUT))
        rivals = _rivals(best, meeting, THROUGHPUT)
        return Advice(aim=aim, row=best, rivals=rivals, metric=objective.metric)
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
    """Cases whose interval overlaps the best one's."""
    low, high = _ends(best.metrics[metric].estimate)
    others = [(row, *_ends(row.metrics[metric].estimate)) for row in known if row is not best]
    return tuple(row for row, a, b in others if a <= high and b >= low)


def _ends(estimate: Estimate) -> tuple[float, float]:
    point = estimate.point
    return point if estimate.low is None else estimate.low, point if estimate.high is None else estimate.high


def _point(row: Row, metric: str) -> float:
    return row.metrics[metric].estimate.point


def _value(row: Row, metric: str) -> str:
    found = row.metrics[metric]
    return format_value(found.estimate.point, found.unit)


def _short(metric: str) -> str:
    return _WORDS.get(metric, metric.removeprefix("latency_"))


def _name(row: Row) -> str:
    return printable(row.short)
