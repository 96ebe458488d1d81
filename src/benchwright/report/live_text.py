"""Values over time out of characters, for a terminal: what a task printed, one plot for each value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchwright.analysis.calls import Floats, thin
from benchwright.analysis.live_values import LiveValues, live_values, round_band
from benchwright.analysis.rows import Row
from benchwright.units import format_number
from benchwright.units.numbers import printable, scale_of

HEIGHT = 10
_BAND, _COUNTS, _LEFT_OUT, _GOAL = "·", "●", "○", "╌"


def values_over_time(row: Row, width: int) -> Iterator[str]:
    """A plot for each value that a task printed; nothing for what is no task, or printed only one of each."""
    for found in live_values(row):
        yield _draw(found, row.label, width)


def _draw(found: LiveValues, label: str, width: int) -> str:
    every = [value for _, line in found.rounds for value in line.values]
    bound = [] if found.bound is None else [found.bound]
    scale = scale_of(every, found.unit)
    low, high = min(every + bound), max(every + bound)
    ends = [format_number(high / scale.factor), format_number(low / scale.factor)]
    margin = max(map(len, ends)) + 1
    columns = max(20, min(width, 120) - margin - 2)
    grid = [[" "] * columns for _ in range(HEIGHT)]

    def line(value: float) -> int:
        share = (value - low) / (high - low) if high > low else 0.5
        return HEIGHT - 1 - round(share * (HEIGHT - 1))

    wide = found.end - found.begin  # what it took to start has no values, and would leave them no room
    if found.bound is not None:
        grid[line(found.bound)] = [_GOAL] * columns
    for second, least, middle, most in _curve(found, columns):
        place = int((second - found.begin) / wide * (columns - 1)) if wide > 0 else 0
        for y in range(line(most), line(least) + 1):
            grid[y][place] = _BAND
        grid[line(middle)][place] = _LEFT_OUT if second <= found.left_out_until else _COUNTS
    unit = f", {scale.unit}" if scale.unit and scale.unit != "1" else ""
    left = [ends[0], *[""] * (HEIGHT - 2), ends[1]]
    lines = [f"{printable(found.name)} over time: {printable(label)}{unit}"]
    lines += [f"{text:>{margin}} │{''.join(each)}".rstrip() for text, each in zip(left, grid, strict=True)]
    lines.append(" " * margin + " └" + "─" * columns)
    across = scale_of([found.end], "s")
    first, last = (f"{format_number(at / across.factor)} {across.unit}" for at in (found.begin, found.end))
    lines.append(" " * (margin + 2) + first + last.rjust(columns - len(first)))
    return "\n".join([*lines, *_key(found)])


def _curve(found: LiveValues, columns: int) -> Iterator[tuple[float, float, float, float]]:
    """Instants with the lowest, middle and highest value there: of the rounds, or of neighbours in one round."""
    band = round_band(found, columns)
    if band is not None:
        first = min(line.seconds[0] for _, line in found.rounds)
        yield from _rows(_before(found, first, float(band.seconds[0]), columns))
        yield from _rows((band.seconds, band.low, band.middle, band.high))
        return
    for _, line in found.rounds:
        track = thin(np.array(line.seconds), np.array(line.values), columns)
        yield from _rows((track.seconds, track.low, track.middle, track.high))


def _before(found: LiveValues, first: float, begin: float, columns: int) -> tuple[Floats, ...]:
    """What single rounds printed before all of them had begun to."""
    kept = [
        (second, value)
        for _, line in found.rounds
        for second, value in zip(line.seconds, line.values, strict=True)
        if first <= second < begin
    ]
    if not kept:
        return (np.array([]),) * 4
    track = thin(np.array([s for s, _ in kept]), np.array([v for _, v in kept]), columns)
    return track.seconds, track.low, track.middle, track.high


def _rows(columns: Sequence[Floats]) -> Iterator[tuple[float, float, float, float]]:
    for a, b, c, d in zip(*columns, strict=True):
        yield float(a), float(b), float(c), float(d)


def _key(found: LiveValues) -> list[str]:
    """What the signs mean, as far as they occur."""
    count = len(found.rounds)
    said = [
        f"{_COUNTS} the middle and {_BAND} the range of {count} rounds" if count > 2 else f"{_COUNTS} what was printed"
    ]
    if found.left_out_until > 0:
        said.append(f"{_LEFT_OUT} left out as warm-up")
    if found.goal:
        said.append(f"{_GOAL} {printable(found.goal)}, reached in {found.reached}")
    return ["  " + "   ".join(said)]
