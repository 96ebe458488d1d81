"""The plot of a speed-up against the number of processes, with the line that nothing would lie below if nothing were
lost, and the table that stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchwright.analysis.rows import Row
from benchwright.analysis.speedup import (
    SpeedUp,
    SpeedUpPoint,
    count_processes,
    find_speedups,
    format_share,
    format_times,
)
from benchwright.records import Estimate
from benchwright.records.processes import EXPOSED, TITLES
from benchwright.report.axes import Axis, axis, exact, frame
from benchwright.report.svg import Plot, colour, element, path, text

WIDTH, HEIGHT = 560.0, 340.0
LEFT, RIGHT, TOP, BOTTOM = 72.0, 26.0, 28.0, 48.0


def speedup_plots(table: Sequence[Row]) -> list[Plot]:
    """One plot for each group of cases that differ in their number of processes alone."""
    return [_plot(speedup, number) for number, speedup in enumerate(find_speedups(table))]


def _plot(speedup: SpeedUp, number: int) -> Plot:
    points = [point for point in speedup.points if point.speedup]
    most = points[-1].processes
    across = axis([0.0, float(most)], "", LEFT, WIDTH - RIGHT, zero=True)
    heights = [value for point in points for value in _span(point.speedup)]
    up = axis([*heights, most / speedup.base], "", HEIGHT - BOTTOM, TOP, zero=True)
    body = frame(across, up, "processes", f"speed-up against {count_processes(speedup.base)}", name_across=False)
    for point in points:
        x = across.at(point.processes)
        body += element("line", class_="axis", x1=x, x2=x, y1=up.start, y2=up.start + 4)
        body += text(x, up.start + 18, str(point.processes), class_="tick", text_anchor="middle")
    ends = [(across.at(n), up.at(n / speedup.base)) for n in (speedup.base, most)]
    body += element("path", class_="axis", d=path(ends), fill="none", stroke_dasharray="5 4")
    body += text(ends[1][0] - 8, ends[1][1] + 2, "nothing lost", class_="point-label", text_anchor="end")
    drawn = [(across.at(point.processes), up.at(point.speedup.point)) for point in points if point.speedup]
    inner = element("path", class_="line", d=path(drawn))
    inner += "".join(_mark(speedup, point, across, up) for point in points)
    body += element("g", inner, class_=f"series {colour(number)}")
    return Plot(
        name=f"speedup-{number}",
        title=speedup.title,
        heading=speedup.title,
        description="Each mark is a number of processes with the interval of its speed-up; the dashes are what it "
        "would be if nothing were lost.",
        width=WIDTH,
        height=HEIGHT,
        body=body,
    )


def _mark(speedup: SpeedUp, point: SpeedUpPoint, across: Axis, up: Axis) -> str:
    assert point.speedup is not None, "chosen so"
    x, y = across.at(point.processes), up.at(point.speedup.point)
    said = f"{count_processes(point.processes)}\n{speedup.metric} {exact(point.value.estimate.point, point.value.unit)}"
    said += f"\nspeed-up {format_times(point.speedup)}\nefficiency {format_share(point.efficiency)}"
    if point.communication:
        said += f"\n{TITLES[EXPOSED]} {point.communication.point:.1f} %"
    body = ""
    if point.speedup.low is not None and point.speedup.high is not None:
        ends = up.at(point.speedup.low), up.at(point.speedup.high)
        body += element("line", class_="whisker", x1=x, x2=x, y1=ends[0], y2=ends[1])
    return body + element(
        "circle", class_="mark point", cx=x, cy=y, r=4.0, tabindex="0", role="img",
        aria_label=said.replace("\n", ", "), data_tip=said,
    )  # fmt: skip


def _span(estimate: Estimate | None) -> tuple[float, ...]:
    if estimate is None:
        return ()
    return tuple(value for value in (estimate.low, estimate.point, estimate.high) if value is not None)
