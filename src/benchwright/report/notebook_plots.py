"""Pictures beside the tables of a notebook: changes with their intervals, and a series run by run."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from benchwright.analysis.trend import JudgedSeries
from benchwright.records import Estimate, Verdict
from benchwright.report.axes import axis, bottom, exact, frame
from benchwright.report.markup import escape
from benchwright.report.svg import Plot, drawing, element, path, text
from benchwright.units.numbers import printable

WIDTH, HEIGHT = 560.0, 240.0
LINE = 34.0  # drawing units for each change
TOP, BOTTOM, LEFT, RIGHT = 24.0, 48.0, 72.0, 26.0
MOST = 40  # changes in one picture, the first ones
LONGEST = 78  # characters of a label
WIDEST = 100.0  # times: a ratio beyond it lies on the edge
COLOURS = {Verdict.WORSE: "c6", Verdict.BETTER: "c2", Verdict.SAME: "c0", Verdict.UNCLEAR: "c7"}

Change = tuple[str, Estimate, Verdict]


def image_of(plot: Plot | None) -> str:
    """The plot as an image that stands alone, with its description for who cannot see it; "" where there is none."""
    if plot is None:
        return ""
    encoded = base64.b64encode(drawing(plot, standalone=True).encode()).decode()
    about = escape(f"{plot.title}. {plot.description}")
    return f'<img alt="{about}" width="{plot.width:g}" src="data:image/svg+xml;base64,{encoded}">'


def draw_ratios(changes: Sequence[Change], words: str) -> Plot | None:
    """A line for each change as a ratio, with its interval; 1 is no change. None where nothing was compared."""
    shown = [change for change in changes if change[1].point > 0][:MOST]
    if not shown:
        return None
    ends = [_clamp(value) for _, ratio, _ in shown for value in (ratio.low, ratio.point, ratio.high) if value]
    across = axis([*ends, 1.0, 0.99, 1.01], "", 12.0, WIDTH - RIGHT)
    height = TOP + LINE * len(shown) + BOTTOM
    body = bottom(across, height - BOTTOM, words, top=TOP - 10)
    one = across.at(1.0)
    body += element("line", class_="knee", x1=one, x2=one, y1=TOP - 10, y2=height - BOTTOM)
    for place, change in enumerate(shown):
        body += _change(change, across.at, TOP + LINE * (place + 1) - 8)
    return Plot(
        name="changes",
        title="Changes",
        description=f"Each change as a ratio, {words}, with its interval; the dashed line is no change.",
        width=WIDTH,
        height=height,
        body=body,
    )


def draw_history(series: JudgedSeries) -> Plot | None:
    """The values of a series from run to run, with their intervals; None of fewer than two runs."""
    steps = series.steps
    if len(steps) < 2:
        return None
    values = [end for step in steps for end in (step.estimate.point, step.estimate.low, step.estimate.high)]
    up = axis([value for value in values if value is not None], series.unit, HEIGHT - BOTTOM, TOP)
    across = axis(range(1, len(steps) + 1), "", LEFT, WIDTH - RIGHT, log=False)
    body = frame(across, up, "runs, the oldest first", series.metric, name_across=False)
    places = [(across.at(number), up.at(step.estimate.point)) for number, step in enumerate(steps, 1)]
    inside = element("path", class_="line", d=path(places))
    for (x, y), step in zip(places, steps, strict=True):
        low, high = step.estimate.low, step.estimate.high
        if low is not None and high is not None:
            inside += element("line", class_="whisker", x1=x, x2=x, y1=up.at(low), y2=up.at(high))
        said = f"{step.run}: {exact(step.estimate.point, series.unit)}"
        inside += element("circle", element("title", escape(printable(said))), class_="point", cx=x, cy=y, r=3)
    return Plot(
        name="history",
        title=f"{series.case}: {series.metric}",
        description=f"{len(steps)} runs, the oldest first, each with its interval.",
        width=WIDTH,
        height=HEIGHT,
        body=body + element("g", inside, class_="c0"),
    )


def _change(change: Change, at: object, y: float) -> str:
    label, ratio, verdict = change
    assert callable(at)
    inside = ""
    if ratio.low is not None and ratio.high is not None:
        ends = (at(_clamp(ratio.low)), at(_clamp(ratio.high)))
        inside += element("line", class_="whisker", x1=ends[0], x2=ends[1], y1=y, y2=y)
    inside += element("circle", class_="point", cx=at(_clamp(ratio.point)), cy=y, r=4)
    shown = label if len(label) <= LONGEST else f"...{label[3 - LONGEST :]}"
    inside += text(14.0, y - 9, f"{shown}: {verdict}", class_="strip-label")
    return element("g", inside, class_=COLOURS[verdict])


def _clamp(ratio: float | None) -> float:
    return min(max(ratio or 0.0, 1 / WIDEST), WIDEST)
