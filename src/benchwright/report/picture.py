"""Throughput against latency as a picture file: PNG, SVG or PDF. Needs matplotlib."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchwright.analysis.costs import CostLine, Costs
from benchwright.analysis.knee import LATENCY, find_knee, sweeps
from benchwright.analysis.rows import Row
from benchwright.analysis.scaling import pareto_front
from benchwright.analysis.speedup import SpeedUp, count_processes
from benchwright.errors import NotInstalledError, OptionError
from benchwright.records import Estimate
from benchwright.report.destination import check_target
from benchwright.units.numbers import printable, scale_of

ENDINGS = (".png", ".svg", ".pdf")
SIZE, DOTS = (8.0, 5.5), 160  # inches, and dots for each
_NAMED = 12  # points of the front that get their names


def check_picture(path: Path, force: bool) -> None:
    """Raises before anything is drawn: an unknown ending, no matplotlib, a file that is not ours to replace."""
    if path.suffix not in ENDINGS:
        raise OptionError(f"-o: {path.name} is not a picture file", remedy=f"end it in one of {', '.join(ENDINGS)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise NotInstalledError("drawing pictures", "benchwright[plot]")
    check_target(path, force or not path.exists())


def write_scaling(
    table: Sequence[Row], path: Path, *, latency: str = "latency_p50", speedups: Sequence[SpeedUp] = ()
) -> Path:
    """Draws every case with its intervals, the Pareto front joined and named; of a speed-up, that instead."""
    from matplotlib.figure import Figure

    if speedups:
        return _write_speedups(speedups, path)
    named = [row for row in table if {latency, "throughput"} <= row.metrics.keys()]
    if not named:
        raise OptionError("there is no case with a latency and a throughput to draw", remedy="choose another run")
    across = scale_of([row.metrics[latency].estimate.point for row in named], "s")
    up = scale_of([row.metrics["throughput"].estimate.point for row in named], "/s")
    figure = Figure(figsize=SIZE, dpi=DOTS, layout="constrained")
    axes = figure.add_subplot()
    points = [_mark(axes, row, latency, across.factor, up.factor) for row in named]
    front = pareto_front(points)
    axes.step(*zip(*(points[i] for i in front), strict=True), where="post", color="0.45", linewidth=1, zorder=1)
    for i in front[:_NAMED]:
        axes.annotate(printable(named[i].short), points[i], textcoords="offset points", xytext=(6, 5), fontsize=7)
    knees = _draw_sweeps(axes, table, across.factor, up.factor) if latency == LATENCY else ""
    if min(p[0] for p in points) > 0 and max(p[0] for p in points) > 4 * min(p[0] for p in points):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(across.heading("median latency" if latency == "latency_p50" else latency.removeprefix("latency_")))
    axes.set_ylabel(up.heading("throughput"))
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, linewidth=0.4, alpha=0.6)
    axes.set_title(f"Throughput against latency; the line joins the Pareto front{knees}", fontsize=9, loc="left")
    figure.savefig(path)
    return path


def _write_speedups(speedups: Sequence[SpeedUp], path: Path) -> Path:
    """Draws each speed-up against the number of processes, and the line of nothing lost."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=DOTS, layout="constrained")
    axes = figure.add_subplot()
    for one in speedups:
        known = [(point.processes, point.speedup) for point in one.points if point.speedup]
        sides = [_sides(e.point, e.low, e.high, 1.0) or [[0.0], [0.0]] for _, e in known]
        errors = [[side[i][0] for side in sides] for i in (0, 1)]
        across, up = [n for n, _ in known], [estimate.point for _, estimate in known]
        axes.errorbar(across, up, yerr=errors, marker="o", capsize=3, label=printable(f"{one.label} by {one.metric}"))
    most, base = max(p.processes for one in speedups for p in one.points), min(one.base for one in speedups)
    axes.plot([base, most], [1, most / base], color="0.45", linestyle="--", linewidth=1, label="nothing lost")
    axes.set_xticks(sorted({point.processes for one in speedups for point in one.points}))
    axes.set_xlabel("processes")
    axes.set_ylabel(f"speed-up against {count_processes(base)}")
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, linewidth=0.4, alpha=0.6)
    axes.legend(fontsize=7)
    figure.savefig(path)
    return path


def _draw_sweeps(axes: Any, table: Sequence[Row], across: float, up: float) -> str:
    """Joins the cases of each sweep in order of load and rings its knee; returns what the title says of it."""
    found = sweeps(table)
    for sweep in found:
        places = [(point.latency.point / across, point.throughput.point / up) for point in sweep.points]
        axes.plot(*zip(*places, strict=True), color="0.75", linewidth=1, linestyle="--", zorder=0)
        at = find_knee(sweep).point
        x, y = at.latency.point / across, at.throughput.point / up
        axes.plot([x], [y], "o", markersize=13, markerfacecolor="none", markeredgecolor="0.2", linestyle="none")
    return ", dashes each sweep; the ring is its knee, the largest throughput over latency" if found else ""


def write_costs(found: Costs, path: Path) -> Path:
    """Draws the cost of every line against its median latency or time, the Pareto front joined and named."""
    from matplotlib.figure import Figure

    shown = [line for line, one in zip(found.lines, found.standings, strict=True) if one is not None]
    if not shown:
        raise OptionError("there is no case with a cost and a latency to draw", remedy="choose other runs")
    times = [line.times(found.time)[-1] for line in shown]
    across = scale_of([time.point for time in times], "s")
    figure = Figure(figsize=SIZE, dpi=DOTS, layout="constrained")
    axes = figure.add_subplot()
    points = [_point(axes, time, line.cost, across.factor, 1.0) for time, line in zip(times, shown, strict=True)]
    front = pareto_front([(x, -y) for x, y in points])
    axes.step(*zip(*(points[i] for i in front), strict=True), where="post", color="0.45", linewidth=1, zorder=1)
    middle = (min(x for x, _ in points) + max(x for x, _ in points)) / 2
    cases = {line.row.label for line in shown}
    named = range(len(shown)) if len(shown) <= _NAMED else front[:_NAMED]
    for i in named:
        machine = f"{shown[i].price.name or shown[i].run}, {shown[i].price.market.value}"
        label = printable(machine if len(cases) == 1 else f"{shown[i].label}, {shown[i].price.market.value}")
        is_right = points[i][0] > middle  # a label that would leave the picture stands before it
        side: dict[str, Any] = {"xytext": (-6, 5), "ha": "right"} if is_right else {"xytext": (6, 5)}
        axes.annotate(label, points[i], textcoords="offset points", fontsize=7, **side)
    axes.set_xlabel(across.heading(found.time_words))
    axes.set_ylabel(f"cost of {shown[0].work.words} ({shown[0].price.currency or 'no currency'})")
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, linewidth=0.4, alpha=0.6)
    axes.set_title(f"Cost against {found.time_words}; the line joins the Pareto front", fontsize=9, loc="left")
    figure.supxlabel(_basis(shown), fontsize=6, x=0.01, ha="left")
    figure.savefig(path)
    return path


def _basis(shown: Sequence[CostLine]) -> str:
    """Of which days the prices are, which a picture that is passed on must say itself."""
    days = sorted({line.price.fetched_at or "no date that is known" for line in shown})
    what_if = "; what if: not measured on these shapes" if any(line.is_what_if for line in shown) else ""
    share = ", ".join(f"{100 * one:.3g}%" for one in sorted({line.utilisation for line in shown}))
    return printable(f"Prices of {', '.join(days[:3])}; machines that work {share} of their time{what_if}")


def _mark(axes: Any, row: Row, latency: str, across: float, up: float) -> tuple[float, float]:
    return _point(axes, row.metrics[latency].estimate, row.metrics["throughput"].estimate, across, up)


def _point(axes: Any, x: Estimate, y: Estimate, across: float, up: float) -> tuple[float, float]:
    axes.errorbar(
        x.point / across,
        y.point / up,
        xerr=_sides(x.point, x.low, x.high, across),
        yerr=_sides(y.point, y.low, y.high, up),
        fmt="o",
        markersize=4,
        elinewidth=0.8,
        capsize=2,
    )
    return x.point / across, y.point / up


def _sides(point: float, low: float | None, high: float | None, factor: float) -> list[list[float]] | None:
    if low is None or high is None:
        return None
    return [[max(0.0, point - low) / factor], [max(0.0, high - point) / factor]]
