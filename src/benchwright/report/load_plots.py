"""The plots of a sweep of users or rates: throughput against latency with its knee, and goodput against the rate."""

from __future__ import annotations

from collections.abc import Sequence

from benchwright.analysis.knee import RATE, Sweep, SweepPoint, describe_knee, find_knee, sweeps
from benchwright.analysis.rows import Row
from benchwright.records import Estimate
from benchwright.records.request_metrics import GOODPUT
from benchwright.report.axes import Axis, axis, exact, frame
from benchwright.report.svg import Plot, colour, element, path, text, tips
from benchwright.units.numbers import printable

WIDTH, HEIGHT = 560.0, 340.0
LEFT, RIGHT, TOP, BOTTOM = 72.0, 26.0, 28.0, 48.0
RING = 9.0  # around the knee
_NEAR = 15.0  # labels nearer than this would cover one another
_BEYOND = 2.5  # times the highest throughput: so far intervals are drawn


def load_plots(table: Sequence[Row]) -> list[Plot]:
    """The plots of every sweep of a table."""
    found: list[Plot] = []
    for number, sweep in enumerate(sweeps(table)):
        drawn = (_curve(sweep, number), _goodput(sweep, number))
        found += [plot for plot in drawn if plot]
    return found


def _curve(sweep: Sweep, number: int) -> Plot:
    points = sweep.points
    knee = find_knee(sweep)
    across = axis((v for p in points for v in _span(p.latency)), "s", LEFT, WIDTH - RIGHT)
    top = _BEYOND * max(p.throughput.point for p in points)  # an interval of two rounds may be ten times as long
    reached = [v for p in points for v in _span(p.throughput)]
    up = axis((min(v, top) for v in reached), "/s", HEIGHT - BOTTOM, TOP, zero=True)
    body = frame(across, up, "median latency", "throughput")
    places = [(across.at(p.latency.point), up.at(p.throughput.point)) for p in points]
    body += element("path", class_="line", d=path(places))
    labels: list[tuple[float, float]] = []
    for point, (x, y) in zip(points, places, strict=True):
        is_knee = point is knee.point
        body += _mark(across, up, sweep, point, is_knee=is_knee)
        words = f"{sweep.load_text(point)}{', knee' if is_knee else ''}"
        if is_knee or all(abs(x - a) > 60 or abs(y - b) > _NEAR for a, b in labels):
            labels.append((x, y))
            turned = x > WIDTH - 130
            body += text(
                x - 12 if turned else x + 12,
                y + (-10 if is_knee else 16),
                words,
                class_="point-label",
                text_anchor="end" if turned else None,
            )
    return Plot(
        name=f"load-{number}",
        title=f"Throughput against latency{_of(sweep)}",
        heading=f"Throughput against latency{_of(sweep)}",
        description=f"{describe_knee(sweep)}. Each mark is a case with its intervals, joined in order of load"
        f"{'; some reach beyond the frame' * (max(reached) > top)}.",
        width=WIDTH,
        height=HEIGHT,
        body=element("g", body, class_=f"{colour(number)}"),
    )


def _mark(across: Axis, up: Axis, sweep: Sweep, point: SweepPoint, *, is_knee: bool) -> str:
    x, y = across.at(point.latency.point), up.at(point.throughput.point)
    said = f"{sweep.load_text(point)}{', the knee' if is_knee else ''}\n"
    said += f"throughput {_words(point.throughput, '/s')}\nmedian latency {_words(point.latency, 's')}"
    body = ""
    if point.latency.low is not None and point.latency.high is not None:
        ends = across.at(point.latency.low), across.at(point.latency.high)
        body += element("line", class_="whisker", x1=ends[0], x2=ends[1], y1=y, y2=y)
    if point.throughput.low is not None and point.throughput.high is not None:
        ends = up.at(point.throughput.low), up.at(min(point.throughput.high, up.high))
        body += element("line", class_="whisker", x1=x, x2=x, y1=ends[0], y2=ends[1])
    body += element("circle", class_="knee", cx=x, cy=y, r=RING) if is_knee else ""
    body += element(
        "circle", class_="mark point", cx=x, cy=y, r=4.0, tabindex="0", role="img",
        aria_label=said.replace("\n", ", "), data_tip=said,
    )  # fmt: skip
    return element("g", body, class_=f"series {colour(point.place)}", data_series=str(point.place))


def _goodput(sweep: Sweep, number: int) -> Plot | None:
    """What succeeded, and what kept its objectives as well, against the rate that was asked for."""
    known = [(point, good.estimate) for point in sweep.points if (good := point.metric(GOODPUT))]
    if sweep.kind != RATE or len(known) < 2:
        return None
    across = axis((point.load for point, _ in known), "/s", LEFT, WIDTH - RIGHT, zero=True)
    high = max(value for point, good in known for value in (point.throughput.point, good.point))
    up = axis((0.0, 1.3 * high), "/s", HEIGHT - BOTTOM, TOP, zero=True)  # the key stands above the lines
    body = frame(across, up, "rate asked for", "requests")
    lines = {
        "succeeded": [(point, point.throughput) for point, _ in known],
        "kept every objective": known,
    }
    for place, (words, line) in enumerate(lines.items()):
        drawn = [(across.at(point.load), up.at(value.point)) for point, value in line]
        said = [f"asked for {sweep.load_text(point)}\n{words} {_words(value, '/s')}" for point, value in line]
        inner = element("path", class_="line", d=path(drawn), **tips(drawn, said))
        inner += "".join(element("circle", class_="mark dot", cx=x, cy=y, r=3.0) for x, y in drawn)
        body += element("g", inner, class_=f"series {colour(place)}")
        body += _key(place, words)
    bounds = ", ".join(dict.fromkeys(_objectives(sweep)))
    return Plot(
        name=f"goodput-{number}",
        title=f"Goodput against rate{_of(sweep)}",
        heading=f"Goodput against rate{_of(sweep)}",
        description=f"Requests a second that succeeded, and those that kept {bounds} as well.",
        width=WIDTH,
        height=HEIGHT,
        body=body,
    )


def _objectives(sweep: Sweep) -> list[str]:
    from benchwright.units.objectives import describe

    return [describe(bound) for point in sweep.points for bound in point.row.case.load.objectives]


def _key(place: int, words: str) -> str:
    y = TOP + 12 + 18 * place
    line = element("line", class_="mark", x1=LEFT + 14, x2=LEFT + 30, y1=y - 4, y2=y - 4)
    return element("g", line, class_=colour(place)) + text(LEFT + 36, y, words, class_="point-label")


def _of(sweep: Sweep) -> str:
    return f" of {printable(sweep.label)}" if sweep.label else ""


def _words(estimate: Estimate, unit: str) -> str:
    if estimate.low is None or estimate.high is None:
        return exact(estimate.point, unit)
    return f"{exact(estimate.point, unit)} [{exact(estimate.low, unit)}, {exact(estimate.high, unit)}]"


def _span(estimate: Estimate) -> tuple[float, ...]:
    return tuple(v for v in (estimate.low, estimate.point, estimate.high) if v is not None and v > 0)
