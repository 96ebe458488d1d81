"""Speed-ups on the page of a run: records, and how they are made of its cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchwright.analysis.rows import Row
from benchwright.analysis.speedup import SpeedUp, advise_processes, find_speedups, warn_of_speedup
from benchwright.records import Estimate

_MOST = 20  # speed-ups of one run
_POINTS = 100  # of one


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedUpMark:
    """One number of processes."""

    processes: int
    result: str  # the first of its case
    value: Estimate
    speedup: Estimate | None
    efficiency: Estimate | None  # a share
    communication: Estimate | None  # percent of the time lost to it, where a profiler told it


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedUpLine:
    """Cases of a task that differ in nothing but their number of processes."""

    label: str
    kind: str  # strong, weak, or "" where nobody said
    metric: str
    unit: str
    base: int  # the number of processes that all are compared with
    title: str
    points: Sequence[SpeedUpMark]  # in order of processes
    advice: Sequence[str]
    cautions: Sequence[str]


def speedup_lines(table: Sequence[Row]) -> list[SpeedUpLine]:
    """The speed-ups of a run's cases."""
    return [_line(one) for one in find_speedups(table)[:_MOST]]


def _line(one: SpeedUp) -> SpeedUpLine:
    return SpeedUpLine(
        label=one.label,
        kind=one.kind,
        metric=one.metric,
        unit=one.points[0].value.unit,
        base=one.base,
        title=one.title,
        points=[
            SpeedUpMark(
                processes=point.processes,
                result=point.row.results[0].id,
                value=point.value.estimate,
                speedup=point.speedup,
                efficiency=point.efficiency,
                communication=point.communication,
            )
            for point in one.points[:_POINTS]
        ],
        advice=advise_processes(one),
        cautions=warn_of_speedup(one),
    )
