"""Goals as pictures: the share of rounds that had reached one, over time, with its band."""

from __future__ import annotations

from benchwright.analysis.goals import GoalRounds, goal_rounds
from benchwright.analysis.rows import Row
from benchwright.records.goals import TIME
from benchwright.report.axes import Axis, axis, exact, frame
from benchwright.report.svg import Plot, colour, element, path, text, tips
from benchwright.stats.survival import SurvivalStep, survival_curve
from benchwright.units.numbers import printable

WIDTH, HEIGHT = 560.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 72.0, 26.0, 28.0, 48.0
FEWEST = 3  # rounds; fewer show no share


def goal_curves(row: Row, index: int) -> list[Plot]:
    """A plot for each goal of a case that enough rounds were looking for."""
    return [
        _plot(found, row, index)
        for found in goal_rounds(row.results).values()
        if found.kind == TIME and len(found.rounds) >= FEWEST and found.reached
    ]


def _plot(found: GoalRounds, row: Row, index: int) -> Plot:
    steps = survival_curve(found.rounds)
    end = max(one.at for one in found.rounds)
    across = axis([0.0, end], "s", LEFT, WIDTH - RIGHT, zero=True)
    up = Axis(low=0.0, high=100.0, start=HEIGHT - BOTTOM, end=TOP, unit="%")
    title = f"Rounds that reached {printable(found.when)}"
    body = frame(across, up, "since the command was started", title)
    body += element("g", _curve(across, up, steps, found, end), class_=f"series {colour(index)}")
    never = len(found.rounds) - found.reached
    beside = f"; {never} never got there, each marked where its round ended" if never else ""
    return Plot(
        name=f"case-{index}-goal-{''.join(c if c.isascii() and c.isalnum() else '-' for c in found.goal)}",
        title=f"{title}: {printable(row.label)}",
        heading=title,
        description=f"{found.counted} got there{beside}; Kaplan and Meier's curve with its 95 % band",
        width=WIDTH,
        height=HEIGHT,
        body=body,
    )


def _curve(across: Axis, up: Axis, steps: list[SurvivalStep], found: GoalRounds, end: float) -> str:
    """The share as stairs, its band below, and a mark for each round that ended without getting there."""
    ats = [step.at for step in steps]
    shares = [100.0 * (1.0 - step.left) for step in steps]
    lows = [100.0 * (1.0 - (step.high if step.high is not None else step.left)) for step in steps]
    highs = [100.0 * (1.0 - (step.low if step.low is not None else step.left)) for step in steps]
    top, base = (_stairs(across, up, ats, side, end) for side in (highs, lows))
    body = element("path", class_="band", d=path([*top, *reversed(base)], closed=True), style="fill-opacity:0.16")
    points = _stairs(across, up, ats, shares, end)
    said = [
        f"after {exact(at, found.unit)}\n{share:.0f} % [{low:.0f} %, {high:.0f} %]"
        for at, share, low, high in zip(ats, shares, lows, highs, strict=True)
    ]
    corners = [(across.at(at), up.at(share)) for at, share in zip(ats, shares, strict=True)]
    body += element("path", class_="line", d=path(points), **tips(corners, said))
    for one in found.rounds:
        if not one.reached:
            share = max((share for at, share in zip(ats, shares, strict=True) if at <= one.at), default=0.0)
            body += text(across.at(one.at), up.at(share) + 4, "+", class_="tick", text_anchor="middle")
    return body


def _stairs(across: Axis, up: Axis, ats: list[float], shares: list[float], end: float) -> list[tuple[float, float]]:
    """Corners of a curve that rises at each instant and stays level between, from nothing at the start to the end."""
    points, before = [(across.at(0.0), up.at(0.0))], 0.0
    for at, share in zip(ats, shares, strict=True):
        points += [(across.at(at), up.at(before)), (across.at(at), up.at(share))]
        before = share
    return [*points, (across.at(end), up.at(before))]
