"""A series with the place where it changed: as a row of bars in text, or as PNG where matplotlib is installed."""

from __future__ import annotations

import importlib.util
import io
from dataclasses import dataclass

from benchwright.report.numbers import printable, scale_of
from benchwright.report.trend import sparkline

WIDEST = 60  # bars
SIZE, DOTS = (7.0, 3.0), 120  # inches, and dots for each


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The values of a series, oldest first, one for each run, and the first of them that is after the change."""

    values: tuple[float, ...]
    change: int
    title: str
    unit: str = ""


def sketch(trace: Trace) -> str:
    """The values around the change as bars, `│` where it is: `▁▁▂▁│▆▇▆`."""
    start = max(0, min(trace.change - WIDEST // 2, len(trace.values) - WIDEST))
    bars = sparkline(trace.values[start : start + WIDEST])
    place = trace.change - start
    return f"{bars[:place]}│{bars[place:]}"


def png(trace: Trace) -> bytes:
    """The same as a picture, with the level on both sides; b"" where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return b""
    from matplotlib.figure import Figure

    scale = scale_of(trace.values, trace.unit)
    values = [value / scale.factor for value in trace.values]
    figure = Figure(figsize=SIZE, dpi=DOTS, layout="constrained")
    axes = figure.add_subplot()
    axes.plot(values, "o-", color="0.55", markersize=3, linewidth=0.8)
    axes.axvline(trace.change - 0.5, color="tab:red", linewidth=1.2)
    for begin, side in ((0, values[: trace.change]), (trace.change, values[trace.change :])):
        if side:
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
