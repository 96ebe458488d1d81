"""Speed-up against the number of processes, in a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchwright.analysis.speedup import (
    SpeedUp,
    SpeedUpPoint,
    advise_processes,
    format_percent,
    format_share,
    format_times,
    steps_of,
    warn_of_speedup,
)
from benchwright.records import Estimate
from benchwright.records.processes import EXPOSED, TITLES
from benchwright.units.numbers import cell, printable, scale_of

ROOM = 40  # characters of the longest bar
IDEAL = "│"  # where the bar would end if nothing were lost


def speedup_text(found: Sequence[SpeedUp], width: int = 80, *, advised: bool = True) -> str:
    """A table with a bar for each number of processes; `advised` adds what to know and which number to choose."""
    return "\n\n".join(_one(speedup, width, advised=advised) for speedup in found)


def _one(speedup: SpeedUp, width: int, *, advised: bool) -> str:
    heads, lines = speedup_cells(speedup)
    widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
    room = max(8, min(ROOM, width - sum(widths) - 2 * len(widths) - 2))
    top = max(max(_ideal(speedup, p), p.speedup.point if p.speedup else 0.0) for p in speedup.points)
    written = [printable(speedup.title), f"  {_row(heads, widths)}  {IDEAL} = nothing lost"]
    for point, line in zip(speedup.points, lines, strict=True):
        written.append(f"  {_row(line, widths)}  {_bar(speedup, point, top, room)}".rstrip())
    if advised:
        written += [*map(printable, warn_of_speedup(speedup)), *map(printable, advise_processes(speedup))]
    return "\n".join(written)


def speedup_cells(speedup: SpeedUp) -> tuple[list[str], list[list[str]]]:
    """The heads and the lines of a table: processes, metric, speed-up, efficiency, communication."""
    points = speedup.points
    scale = scale_of([point.value.estimate.point for point in points], points[0].value.unit)
    heads = ["processes", scale.heading(speedup.metric), "speed-up", "efficiency"]
    lines = [
        [
            str(point.processes),
            str(cell(point.value.estimate, scale)),
            format_times(point.speedup),
            format_share(point.efficiency),
        ]
        for point in points
    ]
    if any(point.communication for point in points):
        heads.append(TITLES[EXPOSED])
        for point, line in zip(points, lines, strict=True):
            line.append(format_percent(point.communication))
    return heads, lines


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(
        text.rjust(room) if i < 2 else text.ljust(room)
        for i, (text, room) in enumerate(zip(cells, widths, strict=True))
    )


def _bar(speedup: SpeedUp, point: SpeedUpPoint, top: float, room: int) -> str:
    if point.speedup is None:
        return ""
    length = round(point.speedup.point / top * room)
    end = round(_ideal(speedup, point) / top * room)
    drawn = list("█" * length + " " * max(0, end + 1 - length))
    if end >= length:
        drawn[end] = IDEAL
    return "".join(drawn)


def _ideal(speedup: SpeedUp, point: SpeedUpPoint) -> float:
    return point.processes / speedup.base


def speedup_json(found: Sequence[SpeedUp]) -> list[dict[str, Any]]:
    """The same as JSON: shares as shares, of the time lost to communication too."""
    return [
        {
            "of": one.label,
            "kind": one.kind,
            "metric": one.metric,
            "unit": one.points[0].value.unit,
            "against": one.base,
            "points": [_point_json(point) for point in one.points],
            "steps": [
                {
                    "from": step.before,
                    "to": step.after,
                    "gained": _estimate_json(step.gained),
                    "worth_it": step.is_worth_it,
                }
                for step in steps_of(one)
            ],
            "cautions": warn_of_speedup(one),
            "advice": advise_processes(one),
        }
        for one in found
    ]


def _point_json(point: SpeedUpPoint) -> dict[str, Any]:
    told = point.communication
    return {
        "processes": point.processes,
        "case": point.row.label,
        "value": _estimate_json(point.value.estimate),
        "speedup": _estimate_json(point.speedup),
        "efficiency": _estimate_json(point.efficiency),
        "communication": _estimate_json(told, 0.01),
    }


def _estimate_json(estimate: Estimate | None, factor: float = 1.0) -> dict[str, float | None] | None:
    if estimate is None:
        return None
    low, high = (None if end is None else end * factor for end in (estimate.low, estimate.high))
    return {"point": estimate.point * factor, "low": low, "high": high}
