"""A series with the place where it changed: as a row of bars in text, or as PNG where matplotlib is installed."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from benchwright.analysis.trend import sparkline
from benchwright.units.numbers import printable, scale_of

WIDEST = 60  # bars
SIZE, DOTS = (7.0, 3.0), 120  # inches, and dots for each


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPicture:
    """The values of a series, oldest first, one for each run, and the first of them that is after the change."""

    values: tuple[float, ...]
    change: int
    title: str
    unit: str = ""
    until: int = 0  # of a drift: the first value at the new level, or the newest; 0: the change is a step


def sketch(trace: SeriesPicture) -> str:
    """The values around the change as bars, `│` where it is: `▁▁▂▁│▆▇▆`; of a drift, all of them without a mark."""
    if trace.until:
        per = -(-len(trace.values) // WIDEST)
        return sparkline([fmean(trace.values[i : i + per]) for i in range(0, len(trace.values), per)])
    start = max(0, min(trace.change - WIDEST // 2, len(trace.values) - WIDEST))
    bars = sparkline(trace.values[start : start + WIDEST])
    place = trace.change - start
    return f"{bars[:place]}│{bars[place:]}"


def png(trace: SeriesPicture) -> bytes:
    """The same as a picture, with the level on both sides; b"" where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return b""
    from matplotlib.figure import Figure

    scale = scale_of(trace.values, trace.unit)
    values = [value / scale.factor for value in trace.values]
    figure = Figure(figsize=SIZE, dpi=DOTS, layout="constrained")
    axes = figure.add_subplot()
    axes.plot(values, "o-", color="0.55", markersize=3, linewidth=0.8)
    if trace.until:
        _draw_slope(axes, values, trace)
    else:
        axes.axvline(trace.change - 0.5, color="tab:red", linewidth=1.2)
    for begin, side in ((0, values[: trace.change]), (trace.change, values[trace.change :])):
        if side and not trace.until:
            level = sorted(side)[len(side) // 2]
            axes.hlines(level, begin - 0.4, begin + len(side) - 0.6, color="tab:blue", linewidth=1.4)
    # A sign of mathematics in a name is not one, and the font has no others than these.
    title = printable(trace.title).replace("$", r"\$").encode("latin-1", "replace").decode("latin-1")
    axes.set_title(title, fontsize=9, loc="left")
    axes.set_xlabel("run")
    axes.set_ylabel(scale.unit)
    axes.grid(visible=True, linewidth=0.4, alpha=0.6)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    return drawn.getvalue()


def _draw_slope(axes: Any, values: Sequence[float], trace: SeriesPicture) -> None:
    """The level before, the slope, and the level after, from the values next to its ends."""
    start, end = trace.change - 1, trace.until
    near = [sorted(values[max(0, place - 4) : place + 5]) for place in (start, end)]
    before, after = (side[len(side) // 2] for side in near)
    axes.plot([0, start, end, len(values) - 1], [before, before, after, after], color="tab:red", linewidth=1.6)
