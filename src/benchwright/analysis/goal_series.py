"""Series of goals, as changes are looked for in them.

A run in which a round never reached its goal has no time that stands beside those of other runs: the mean of the rounds
that did would be too good. So it has no place in the series of the time, the steps and the epochs. That the goal is not
reached any more shows in a series of its own, the share of rounds that got there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchwright.analysis.timeline import Moment, timeline
from benchwright.records.goals import AMOUNTS, REACHED, is_reached_share, metric_name
from benchwright.store import Point, Series

ALL = 100.0  # per cent
LEAST = 1.0  # per cent: stands for a share of nothing, which has no ratio


def moments_of_series(
    series: Series, beside: Sequence[Series], points: Sequence[Point], order: Sequence[str]
) -> list[Moment]:
    """The moments of a series that changes are looked for in, made of these of its points.

    `beside` are the series of the same cases, in which the share of rounds that reached a goal is found.
    """
    if is_reached_share(series.metric, series.unit):
        return [
            replace(moment, estimate=replace(moment.estimate, point=max(LEAST, moment.estimate.point)))
            for moment in timeline(points, order=order)
        ]
    missed = _missed_runs(series, beside)
    return timeline([point for point in points if point.run not in missed] if missed else points, order=order)


def _missed_runs(series: Series, beside: Sequence[Series]) -> set[str]:
    """The runs in which a round never reached the goal that a series is about; none for any other series."""
    goals = {one.metric.removeprefix(f"{REACHED}_"): one for one in beside if _is_of_same_case(series, one)}
    for goal, shares in goals.items():
        if series.metric in [metric_name(kind, goal) for kind in AMOUNTS]:
            return {point.run for point in shares.points if point.estimate.point < ALL}
    return set()


def _is_of_same_case(series: Series, other: Series) -> bool:
    same = (series.case, series.params, series.machine) == (other.case, other.params, other.machine)
    return same and is_reached_share(other.metric, other.unit)
