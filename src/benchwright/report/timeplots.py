"""The plots of one case against time: its latency, and what the monitors saw."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchwright.analysis.calls import Track, thin, track_latency
from benchwright.analysis.live_values import FOR_A_BAND, LiveValues, live_values, round_band
from benchwright.analysis.rows import Row
from benchwright.records import Timeline
from benchwright.report.axes import Axis, axis, exact, frame
from benchwright.report.svg import NUMBER_OF_COLOURS, Plot, colour, element, path, text, tips
from benchwright.units.numbers import printable

WIDTH, HEIGHT = 560.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 72.0, 26.0, 28.0, 48.0
FEW = 30
FEWEST = 5  # values of a round; fewer show nothing over time
FEWEST_PRINTED = 2  # of what a task prints, of which an epoch gives one
SLOTS = 360  # of one plot, shared by its rounds
LATE = 0.5  # of the time; a task whose first value comes later than that is drawn from there on
KEY_STEP = 30.0  # between two rounds in the key

TITLES = {
    "rss": "Memory",
    "cpu": "CPU (100 % = one core)",
    "cpu_others": "CPU taken by others",
    "steal": "CPU taken by the hypervisor",
    "psi_cpu": "Waiting for a CPU",
    "psi_memory": "Waiting for memory",
    "psi_io": "Waiting for I/O",
}


def latency_over_time(row: Row, index: int) -> Plot | None:
    """Latency against the moment a call ended: a line through the middle, a band from smallest to largest."""
    slots = max(20, SLOTS // max(1, len(row.ok)))
    tracks = [(r.round, t) for r in row.ok if (t := track_latency(r, slots))]
    return _plot(f"case-{index}-latency", "Latency over time", row, index, tracks, "s", zero=False)


def timelines(row: Row, index: int) -> list[Plot]:
    """One plot for each quantity that the monitors recorded, all rounds in it."""
    found: dict[str, list[tuple[int, Timeline]]] = {}
    for result in row.ok:
        for line in result.timelines:
            if line.seconds:
                found.setdefault(line.name, []).append((result.round, line))
    plots = []
    printed = {one.name: one for one in live_values(row)}
    for name, lines in found.items():
        slots = max(20, SLOTS // len(lines))
        tracks = [(number, thin(np.array(t.seconds), np.array(t.values), slots)) for number, t in lines]
        safe = "".join(c if c.isascii() and c.isalnum() else "-" for c in name)
        title = f"{TITLES.get(name, printable(name))} over time"
        live = printed.get(name)
        plot = _plot(f"case-{index}-{safe}", title, row, index, tracks, lines[0][1].unit, zero=live is None, live=live)
        plots += [plot] if plot else []
    return plots


def _plot(
    name: str,
    title: str,
    row: Row,
    index: int,
    tracks: Sequence[tuple[int, Track]],
    unit: str,
    *,
    zero: bool,
    live: LiveValues | None = None,
) -> Plot | None:
    if max((t.points for _, t in tracks), default=0) < (FEWEST if live is None else FEWEST_PRINTED):
        return None
    late = live is not None and live.begin > LATE * live.end  # the start would leave the values no room
    across = axis((float(s) for _, t in tracks for s in t.seconds), "s", LEFT, WIDTH - RIGHT, zero=not late, log=False)
    values = [float(v) for _, t in tracks for v in (t.low.min(), t.high.max())]
    values += [live.bound] if live is not None and live.bound is not None else []
    up = axis(values, unit, HEIGHT - BOTTOM, TOP, zero=zero, log=None if live is None else False)
    body = frame(across, up, "since the clock started", title.removesuffix(" over time"))
    body += _marks_of_task(across, up, live) if live is not None else ""
    for number, track in tracks:
        shade = colour(number if len(tracks) > 1 else index)
        body += element("g", _track(across, up, number, track, unit, len(tracks)), class_=f"series {shade}")
    body += _key([number for number, _ in tracks], across.end) if len(tracks) > 1 else ""
    points, slots = sum(t.points for _, t in tracks), max(len(t.seconds) for _, t in tracks)
    marked = _describe_marks(live) if live is not None else ""
    spread = f", thinned to at most {slots} slots each: a line through the middle, a band from smallest to largest"
    return Plot(
        name=name,
        title=f"{title}: {printable(row.label)}",
        heading=title,
        description=f"{points:,} values in {len(tracks)} round{'s' * (len(tracks) > 1)}"
        + (spread if points > slots * len(tracks) else "")
        + marked,
        width=WIDTH,
        height=HEIGHT,
        body=body,
    )


def _marks_of_task(across: Axis, up: Axis, live: LiveValues) -> str:
    """What is left out as warm-up, the goal, and the band of the rounds with their middle, below the curves."""
    body = ""
    if live.left_out_until > 0:
        end = across.at(live.left_out_until)
        wide, high = end - across.start, up.start - up.end
        body += element("rect", class_="left-out", x=across.start, y=up.end, width=wide, height=high)
        body += text(across.start + 4, up.end + 12, "left out", class_="tick")
    if live.bound is not None:
        y = up.at(live.bound)
        line = element("line", class_="line", x1=across.start, x2=across.end, y1=y, y2=y)
        body += element("g", line, class_="dashed goal")
        body += text(across.end, y - 4, live.goal, class_="tick", text_anchor="end")
    if (band := round_band(live, SLOTS // 3)) is not None:
        xs = [across.at(float(s)) for s in band.seconds]
        low, middle, high_side = ([up.at(float(v)) for v in side] for side in (band.low, band.middle, band.high))
        edge = [*zip(xs, high_side, strict=True), *reversed(list(zip(xs, low, strict=True)))]
        drawn = element("path", class_="band", d=path(edge, closed=True), style="fill-opacity:0.14")
        drawn += element("path", class_="line", d=path(list(zip(xs, middle, strict=True))))
        body += element("g", drawn, class_="series all-rounds")
    return body


def _describe_marks(live: LiveValues) -> str:
    """The marks of a task's values in words."""
    said = ""
    if len(live.rounds) >= FOR_A_BAND:
        has_band = round_band(live, SLOTS // 3) is not None
        said = "; the band is the range of all rounds, the bold line their middle"
        said = said if has_band else "; without a band, as too few rounds ran at any one time"
    if live.left_out_until > 0:
        said += f"; the first {exact(live.left_out_until, 's')} are left out as warm-up"
    return said + (f"; {live.goal} was reached in {live.reached}" if live.goal else "")


def _key(numbers: Sequence[int], end: float) -> str:
    """Which colour is which round, at the top right; more than there are colours are not told apart."""
    shown = list(numbers[:NUMBER_OF_COLOURS])
    left = end - KEY_STEP * len(shown)
    more = "…" if len(numbers) > len(shown) else ""
    body = text(left - 8, 14, "round", class_="tick", text_anchor="end")
    for place, number in enumerate(shown):
        x = left + KEY_STEP * place
        line = element("line", class_="mark", x1=x, x2=x + 10, y1=10.0, y2=10.0)
        body += element("g", line, class_=colour(number))
        body += text(x + 13, 14, f"{number + 1}{more if number == shown[-1] else ''}", class_="tick")
    return element("g", body, class_="key")


def _track(across: Axis, up: Axis, number: int, track: Track, unit: str, rounds: int) -> str:
    xs = [across.at(float(s)) for s in track.seconds]
    low, middle, high = ([up.at(float(v)) for v in side] for side in (track.low, track.middle, track.high))
    body = ""
    if (track.high > track.low).any():
        band = [*zip(xs, high, strict=True), *reversed(list(zip(xs, low, strict=True)))]
        body += element(
            "path", class_="band", d=path(band, closed=True), style=f"fill-opacity:{0.04 + 0.14 / rounds:.2f}"
        )
    start = f"round {number + 1}, " if rounds > 1 else ""
    said = []
    for i, second in enumerate(track.seconds):
        spread = f"\n{exact(float(track.low[i]), unit)} to {exact(float(track.high[i]), unit)}"
        ends = spread if track.high[i] > track.low[i] else ""
        said.append(f"{start}at {float(second):.3g} s\n{exact(float(track.middle[i]), unit)}{ends}")
    points = list(zip(xs, middle, strict=True))
    body += element("path", class_="line thin", d=path(points), **tips(points, said))
    if len(points) <= FEW:  # a line of one point is none
        body += "".join(element("circle", class_="mark dot", cx=x, cy=y, r=2.0) for x, y in points)
    return body
