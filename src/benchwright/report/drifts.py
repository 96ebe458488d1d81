"""Drifts for the terminal and for messages: how steep, since when, how much each part carries, and their graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from benchwright.analysis.comparison import WORDS, format_percent
from benchwright.records.findings import Drift, Finding, Part
from benchwright.units import format_number
from benchwright.units.numbers import printable, scale_of

_SHORT = 10  # digits of a commit
_MARGIN = 12  # of the graph, for the numbers at its left


def length_text(drift: Drift) -> str:
    """How long it took, after its size: `, a drift over 60 runs`."""
    return f", a drift over {drift.length} runs"


def slope_text(drift: Drift) -> str:
    """How steep it is: `0.44 % a run [0.41 %, 0.47 %]`, with a sign where it falls."""
    slope = drift.slope
    ends = (
        ""
        if slope.low is None or slope.high is None
        else f" [{format_percent(slope.low)}, {format_percent(slope.high)}]"
    )
    return f"{format_percent(slope.point)} a run{ends}"


def since_text(finding: Finding, drift: Drift) -> str:
    """From where to where: `since commit abc, still going on` or `from run r1 to run r2`."""
    known = finding.revisions
    first, last = (f"commit {known[0][:_SHORT]}", f"commit {known[-1][:_SHORT]}") if len(known) > 1 else ("", "")
    first, last = first or f"run {drift.first}", last or f"run {drift.last}"
    return f"since {first}, still going on" if drift.ongoing else f"from {first} to {last}"


def steps_text(drift: Drift) -> str:
    """The steps that the levels of a drift leave out: ` (without 2 steps on it)`; "" where there are none."""
    return f" (without {drift.steps} step{'s' * (drift.steps > 1)} on it)" if drift.steps else ""


def part_lines(finding: Finding) -> Iterator[str]:
    """The commits of a drift, and how much each part of them carries, where that can be told."""
    drift = finding.drift
    if drift is None:
        return
    yield f"Begins between run {drift.earliest or drift.first} and run {drift.latest or drift.first}"
    if len(finding.revisions) > 1:
        first, last = finding.revisions[0][:_SHORT], finding.revisions[-1][:_SHORT]
        yield f"Commits after {first} up to {last}: {len(finding.revisions) - 1}"
    if not drift.parts:
        yield "Because of the noise, it is not known how much each part of it carries"
        return
    yield "How much each part of it carries"
    for part in drift.parts:
        yield f"  {_size(part, finding.unit)}  {_where(part)}"


def graph(values: Sequence[float], start: int, finding: Finding, *, width: int = 80, height: int = 9) -> str:
    """The series as characters: a star for each run, or for the mean of several, and the level and slope in lines."""
    drift = finding.drift
    if drift is None:
        raise ValueError("a step has no slope to draw")
    room = max(10, width - _MARGIN - 3)
    per = -(-len(values) // room)  # runs in a column
    end = min(start + drift.length, len(values) - 1)
    model = [_level(finding, place, start, end) for place in range(len(values))]
    columns = [(values[i : i + per], model[i : i + per]) for i in range(0, len(values), per)]
    stars, lines = ([fmean(side) for side in sides] for sides in zip(*columns, strict=True))
    low, high = min(*stars, *lines), max(*stars, *lines)
    grid = [[" "] * len(columns) for _ in range(height)]
    for column, (star, line) in enumerate(zip(stars, lines, strict=True)):
        grid[graph_row(line, low, high, height)][column] = "─"
        grid[graph_row(star, low, high, height)][column] = "*"
    scale = scale_of([low, high], finding.unit)
    ends = {0: high, height - 1: low}
    labels = [f"{format_number(ends[i] / scale.factor)} {scale.unit}" if i in ends else "" for i in range(height)]
    drawn = [f"{label:>{_MARGIN}} {''.join(line)}".rstrip() for label, line in zip(labels, grid, strict=True)]
    several = f"; a column is {per} runs" if per > 1 else ""
    drawn.append(f"{' ' * (_MARGIN + 1 + start // per)}^ begins at run {printable(drift.first)}{several}")
    return "\n".join(drawn)


def _level(finding: Finding, place: int, start: int, end: int) -> float:
    """The level at a run, as the drift has it; steps beside it are left out."""
    way = min(max((place - start) / max(1, end - start), 0.0), 1.0)
    return float(finding.before.point * finding.effect.point**way)


def _size(part: Part, unit: str) -> str:
    above, below, _ = WORDS.get(unit, ("higher", "lower", "high"))
    effect = part.effect
    size = f"{format_percent(abs(effect.point - 1))} {above if effect.point >= 1 else below}"
    if effect.low is None or effect.high is None:
        return size
    sign = 1 if effect.point >= 1 else -1
    low, high = sorted(sign * (end - 1) for end in (effect.low, effect.high))
    return f"{size} [{format_percent(low)}, {format_percent(high)}]"


def _where(part: Part) -> str:
    if part.revisions:
        first, last = (revision[:_SHORT] for revision in part.revisions)
        commits = "the commits" if part.commits < 1 else f"{part.commits} commit{'s' * (part.commits > 1)}"
        return f"{commits} after {first} up to {last}"
    return f"runs after {part.runs[0]} up to {part.runs[-1]}"


def graph_row(value: float, low: float, high: float, height: int) -> int:
    """The line of a graph, from 0 at the top, in which a value lies."""
    return height // 2 if high == low else round((high - value) / (high - low) * (height - 1))
