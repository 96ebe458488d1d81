"""The plots of a run: distribution, percentiles, throughput against latency over all cases, and those of one case."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchwright.analysis.calls import WeightedLatencies, calls
from benchwright.analysis.rows import Row, rows, show_scalar
from benchwright.analysis.scaling import pareto_front
from benchwright.records import Better, Estimate, Run
from benchwright.records.costs import PER_MILLION
from benchwright.report.axes import Axis, axis, bottom, exact, frame
from benchwright.report.goal_plots import goal_curves
from benchwright.report.load_plots import load_plots
from benchwright.report.operator_picture import case_icicle
from benchwright.report.request_plots import request_plots
from benchwright.report.speedup_plot import speedup_plots
from benchwright.report.svg import Plot, colour, drawing, element, path, text, tips
from benchwright.report.timeplots import latency_over_time, timelines
from benchwright.units.numbers import printable

WIDTH, HEIGHT = 560.0, 340.0
LEFT, RIGHT, TOP, BOTTOM = 72.0, 26.0, 28.0, 48.0
BINS = 72
LEVELS = 96
STRIP = 58.0
TOP_LABELS = 8
CORNERS: dict[int, list[tuple[float, float]]] = {
    1: [(-1, -1), (1, -1), (1, 1), (-1, 1)],
    2: [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
    3: [(0, -1.2), (1.2, 1), (-1.2, 1)],
}

Indexed = tuple[int, Row, WeightedLatencies]
FEWEST_CALLS = 5  # that have percentiles; of fewer, such as the rounds of a training, the distribution shows each


def distribution(table: Sequence[Row]) -> Plot | None:
    """A histogram strip for each case on one axis, with its median, 99th percentile and longest call."""
    known = _rows_with_calls(table)
    if not known:
        return None
    height = TOP + STRIP * len(known) + BOTTOM
    across = axis(_ends(known), "s", 12.0, WIDTH - RIGHT)
    body = bottom(across, height - BOTTOM, "latency of a call", top=TOP - 10)
    for k, (i, row, found) in enumerate(known):
        body += _strip(across, TOP + STRIP * (k + 1) - 6, i, row, found)
    return Plot(
        name="distribution",
        title="Latency distribution",
        description="How many calls took how long; marks at the median, the 99th percentile and the longest call.",
        width=WIDTH,
        height=height,
        body=body,
    )


def percentiles(table: Sequence[Row]) -> Plot | None:
    """Latency against the percentile, on an axis that gives each further nine the same room."""
    known = [(i, row, found) for i, row, found in _rows_with_calls(table) if found.total >= FEWEST_CALLS]
    if not known:
        return None
    most = max(found.total for _, _, found in known)
    up = axis(_ends(known), "s", HEIGHT - BOTTOM, TOP)
    across = Axis(low=0.0, high=math.log10(most) * 1.03, start=LEFT, end=WIDTH - RIGHT, unit="")
    body = frame(across, up, "share of calls at or below", "latency", name_across=False)
    for nines, words in _nines(most):
        x = across.at(nines)
        body += element("line", class_="grid", x1=x, x2=x, y1=TOP, y2=HEIGHT - BOTTOM)
        close = "tick minor" if nines == 0 else "tick"  # a narrow page has no room for it beside its neighbour
        body += text(x, HEIGHT - BOTTOM + 18, words, class_=close, text_anchor="middle")
    for i, row, found in known:
        body += _percentile_line(across, up, i, row, found)
    return Plot(
        name="percentiles",
        title="Latency by percentile",
        description="What a share of all calls stays at or below; bars are the intervals of p50, p90 and p99.",
        width=WIDTH,
        height=HEIGHT,
        body=body,
    )


def tradeoff(table: Sequence[Row], latency: str = "latency_p50", words: str = "median latency") -> Plot | None:
    """Throughput against latency; the cases that no other beats in both are joined."""
    return _draw_tradeoff(
        table,
        ("throughput", "throughput", "/s"),
        (latency, words),
        f"tradeoff-{latency.replace('_', '-')}",
        "both faster and higher in throughput",
    )


def cost_tradeoff(table: Sequence[Row]) -> Plot | None:
    """Cost against latency; the cases that no other beats in both are joined. Of several currencies that of most."""
    units = Counter(row.metrics[PER_MILLION].unit for row in table if PER_MILLION in row.metrics)
    if not units:
        return None
    unit = units.most_common(1)[0][0]
    shown = f"cost per million ({unit})" if unit else "cost per million"
    return _draw_tradeoff(
        table, (PER_MILLION, shown, unit), ("latency_p50", "median latency"), "cost", "both faster and cheaper"
    )


def _draw_tradeoff(
    table: Sequence[Row], upward: tuple[str, str, str], latency: tuple[str, str], name: str, beaten: str
) -> Plot | None:
    """A metric against a latency, each with its words; `beaten` says what no case on the front is beaten in."""
    (metric, title, unit), (time, words) = upward, latency
    known = [
        (i, row)
        for i, row in enumerate(table)
        if {time, metric} <= row.metrics.keys() and row.metrics[metric].unit == unit
    ]
    points = [(i, row, row.metrics[time].estimate, row.metrics[metric].estimate) for i, row in known]
    points = [p for p in points if p[2].point > 0 and p[3].point > 0]
    if len(points) < 2:
        return None
    across = axis((v for p in points for v in _span(p[2])), "s", LEFT, WIDTH - RIGHT)
    up = axis((v for p in points for v in _span(p[3])), unit if metric != PER_MILLION else "", HEIGHT - BOTTOM, TOP)
    sign = -1 if points[0][1].metrics[metric].better is Better.LOWER else 1
    front = pareto_front([(p[2].point, sign * p[3].point) for p in points])
    body = frame(across, up, words, title)
    places = [(across.at(points[k][2].point), up.at(points[k][3].point)) for k in front]
    steps = [q for a, b in itertools.pairwise(places) for q in (a, (b[0], a[1]))] + places[-1:]
    body += element("path", class_="front", d=path(steps)) if len(steps) > 1 else ""
    for k, (i, row, x, y) in enumerate(points):
        body += _case_mark(across, up, i, row, (x, y), (title, unit), on_front=k in front)
    body += _front_labels(places, [printable(_few_words(points[k][1])) for k in front])
    heading = title.partition(" (")[0].capitalize()
    return Plot(
        name=name,
        title=f"{heading} against {words}",
        description=f"One mark for each case with its intervals. Filled marks are the Pareto front: no other case is "
        f"{beaten}.",
        width=WIDTH,
        height=HEIGHT,
        body=body,
    )


# ---- distribution ----


def _strip(across: Axis, base: float, i: int, row: Row, found: WeightedLatencies) -> str:
    places = np.linspace(across.start, across.end, BINS + 1)
    edges = np.array([_value_at(across, x) for x in places])
    counts = found.count_in_bins(edges)
    tall = (STRIP - 24) / max(1, int(counts.max()))
    tops = [base - float(c) * tall for c in counts]
    filled = [k for k, c in enumerate(counts) if c]
    outline = [(float(places[filled[0]]), base)]
    for k in range(filled[0], filled[-1] + 1):
        outline += [(float(places[k]), tops[k]), (float(places[k + 1]), tops[k])]
    outline.append((float(places[filled[-1] + 1]), base))
    middles = [(float(places[k] + places[k + 1]) / 2, tops[k]) for k in filled]
    label = printable(row.short)
    said = [
        f"{label}\n{exact(edges[k], 's')} to {exact(edges[k + 1], 's')}\n{found.describe_count(int(counts[k]))}"
        for k in filled
    ]
    body = text(across.start, base - STRIP + 16, label, class_="strip-label")
    body += element("path", class_="area", d=path(outline, closed=True), **tips(middles, said))
    median, high = (float(q) for q in found.quantiles(np.array([0.5, 0.99])))
    for value, words, length in ((median, "median", 14.0), (high, "p99", 9.0)):
        x = across.at(value)
        body += element(
            "line",
            class_="mark",
            x1=x,
            x2=x,
            y1=base + 2,
            y2=base - length,
            data_tip=f"{label}\n{words} {exact(value, 's')}",
        )
    longest = found.longest
    body += element(
        "circle",
        class_="mark dot",
        cx=across.at(longest),
        cy=base - 2,
        r=2.5,
        data_tip=f"{label}\nlongest {exact(longest, 's')}",
    )
    return element("g", body, class_=f"series {colour(i)}", data_series=str(i))


def _value_at(across: Axis, place: float) -> float:
    share = (place - across.start) / (across.end - across.start)
    if across.log:
        return float(across.low * (across.high / across.low) ** share)
    return float(across.low + share * (across.high - across.low))


# ---- percentiles ----


def _nines(total: int) -> list[tuple[float, str]]:
    known = [(0.0, "0 %"), (math.log10(2), "50 %"), (1.0, "90 %")]
    known += [(float(n), f"{100 * (1 - 10.0**-n):.{n - 2}f} %") for n in range(2, 10)]
    return [(x, words) for x, words in known if x <= math.log10(total) + 1e-9]


def _percentile_line(across: Axis, up: Axis, i: int, row: Row, found: WeightedLatencies) -> str:
    nines = np.linspace(0.0, math.log10(found.total), LEVELS)
    levels = 1 - 10.0**-nines
    levels[0], levels[-1] = 0.0, 1.0
    values = found.quantiles(levels)
    points = [(across.at(float(n)), up.at(float(v))) for n, v in zip(nines, values, strict=True)]
    label = printable(row.short)
    said = [f"{label}\n{_level(float(p))} {exact(float(v), 's')}" for p, v in zip(levels, values, strict=True)]
    body = element("path", class_="line", d=path(points), **tips(points, said))
    for name, n in (("p50", math.log10(2)), ("p90", 1.0), ("p99", 2.0)):
        metric = row.metrics.get(f"latency_{name}")
        if metric and metric.estimate.low is not None and n <= math.log10(found.total):
            body += _whisker_up(across.at(n), up, metric.estimate, f"{label}\n{name}", "s")
    return element("g", body, class_=f"series {colour(i)}", data_series=str(i))


def _level(share: float) -> str:
    if share in (0.0, 1.0):
        return "smallest" if share == 0 else "longest"
    return f"p{100 * share:.{max(1, math.ceil(-math.log10(1 - share)))}f}"


# ---- throughput against latency ----


def _case_mark(
    across: Axis,
    up: Axis,
    i: int,
    row: Row,
    values: tuple[Estimate, Estimate],
    upward: tuple[str, str],
    *,
    on_front: bool,
) -> str:
    (x, y), (title, unit) = values, upward
    at = (across.at(x.point), up.at(y.point))
    said = f"{printable(row.short)}\nlatency {_interval(x, 's')}\n{title.partition(' (')[0]} {_interval(y, unit)}"
    said += "\non the Pareto front" if on_front else ""
    body = _whisker_up(at[0], up, y, "", unit) if y.low is not None else ""
    if x.low is not None and x.high is not None:
        body += element("line", class_="whisker", x1=across.at(x.low), x2=across.at(x.high), y1=at[1], y2=at[1])
    body += element(
        "path", class_="mark point" + ("" if on_front else " hollow"), d=_shape(i, *at), tabindex="0", role="img",
        aria_label=said.replace("\n", ", "), data_tip=said,
    )  # fmt: skip
    return element("g", body, class_=f"series {colour(i)}", data_series=str(i))


def _shape(i: int, x: float, y: float) -> str:
    """Circle, square, diamond, triangle: told apart without colour."""
    r = 5.0
    if i % 4 == 0:
        return f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0Z"
    return path([(x + a * (r - 0.6), y + b * (r - 0.6)) for a, b in CORNERS[i % 4]], closed=True)


def _front_labels(places: Sequence[tuple[float, float]], labels: Sequence[str]) -> str:
    """Names beside the marks of the front, left out where they would cover one another."""
    drawn: list[tuple[float, float, float]] = []
    body = ""
    for (x, y), label in list(zip(places, labels, strict=True))[:TOP_LABELS]:
        wide = 6.4 * len(label)
        turned = x + 10 + wide > WIDTH
        left = x - 10 - wide if turned else x + 10
        if left < LEFT or any(abs(y - b) < 13 and left < c + d and c < left + wide for c, b, d in drawn):
            continue
        drawn.append((left, y, wide))
        body += text(
            x - 10 if turned else left, y - 6, label, class_="point-label", text_anchor="end" if turned else None
        )
    return body


def _few_words(row: Row) -> str:
    return " ".join(show_scalar(v) for v in row.params.values()) or row.name


# ---- shared ----


def _rows_with_calls(table: Sequence[Row]) -> list[Indexed]:
    return [(i, row, found) for i, row in enumerate(table) if (found := calls(row.ok))]


def _ends(known: Sequence[Indexed]) -> list[float]:
    return [max(v, 1e-9) for _, _, found in known for v in (found.shortest, found.longest)]


def _span(estimate: Estimate) -> tuple[float, ...]:
    return tuple(v for v in (estimate.low, estimate.point, estimate.high) if v is not None and v > 0)


def _interval(estimate: Estimate, unit: str) -> str:
    if estimate.low is None or estimate.high is None:
        return exact(estimate.point, unit)
    return f"{exact(estimate.point, unit)} [{exact(estimate.low, unit)}, {exact(estimate.high, unit)}]"


def _whisker_up(x: float, up: Axis, estimate: Estimate, words: str, unit: str) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    y1, y2 = up.at(estimate.low), up.at(estimate.high)
    bar = path([(x - 3, y1), (x + 3, y1), (x, y1), (x, y2), (x - 3, y2), (x + 3, y2)])
    return element("path", class_="whisker", d=bar, data_tip=f"{words} {_interval(estimate, unit)}" if words else None)


# ---- all plots of a run, and as SVG files of their own ----


def overview_plots(table: Sequence[Row]) -> list[Plot]:
    """The plots over all cases that have something to show."""
    swept = load_plots(table)
    drawn = [
        *speedup_plots(table),
        *swept,
        *([] if swept else [tradeoff(table, "latency_p50", "median latency")]),  # the same marks, joined another way
        tradeoff(table, "latency_p99", "p99 latency"),
        cost_tradeoff(table),
        distribution(table),
        percentiles(table),
    ]
    return [plot for plot in drawn if plot]


def case_plots(row: Row, index: int) -> list[Plot]:
    """The plots of one case: of its requests, against time, and of its operators."""
    requests = request_plots(row, index)
    # Of requests, what a round had over time is in one plot already; several rounds are told apart in those below.
    again = [] if requests and len(row.ok) == 1 else [latency_over_time(row, index), *timelines(row, index)]
    return [plot for plot in (*goal_curves(row, index), *requests, *again, case_icicle(row, index)) if plot]


def write_svgs(run: Run, folder: Path) -> list[Path]:
    """Writes every plot of a run into `folder`, which is made when absent; the names start with the run's id."""
    table = rows(run)
    plots = overview_plots(table) + [plot for i, row in enumerate(table) for plot in case_plots(row, i)]
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for plot in plots:
        path = folder / f"{_safe(run.id)}-{plot.name}.svg"
        path.write_text(drawing(plot, standalone=True) + "\n", encoding="utf-8")
        written.append(path)
    return written


def _safe(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name) or "run"
