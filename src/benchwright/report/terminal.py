"""Plots out of block characters, for people who would rather look without leaving the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchwright.analysis.calls import Floats, WeightedLatencies, calls
from benchwright.analysis.knee import Sweep, describe_knee, find_knee, sweeps
from benchwright.analysis.requests import has_requests
from benchwright.analysis.rows import Row, rows
from benchwright.analysis.scaling import Advice, pareto_front
from benchwright.analysis.speedup import SpeedUp
from benchwright.records import Run
from benchwright.report.live_text import values_over_time
from benchwright.report.sparkline import LOG_FROM, bars
from benchwright.report.speedup_text import speedup_json, speedup_text
from benchwright.schema.printed import envelope
from benchwright.units import format_number
from benchwright.units.numbers import Scale, line_up, printable, scale_of

BARS = " ▏▎▍▌▋▊▉█"
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def sparkline(found: WeightedLatencies, width: int = 12) -> str:
    """The shape of a distribution from its smallest call to its 99th percentile, tallest bin full.

    Bins are logarithmic where the two lie far apart.
    """
    low, high = found.shortest, float(found.quantiles(np.array([0.99]))[0])
    if high <= low:
        return "█".ljust(width)
    return bars(found.count_in_bins(_edges(low, high, width)).tolist())


def plots(table: Sequence[Row], width: int = 80, around: float | None = None) -> str:
    """A histogram for each case that kept its calls, and throughput against latency when there are several.

    Of served models the slowest requests are drawn, or those `around` an instant of the load, in seconds.
    """
    parts = [part for row in table for part in _case_plots(row, width, around)]
    if len(table) > 1 and (drawn := scatter(table, width)):
        parts.append(drawn)
    parts += [describe_knee(sweep) for sweep in sweeps(table)]
    return "\n\n".join(parts)


def _case_plots(row: Row, width: int, around: float | None) -> Iterator[str]:
    """The distribution of a case's calls; of a served model those of its tokens as well, and its slowest requests.

    A task is one call a round: what it printed over time is drawn instead.
    """
    over_time = list(values_over_time(row, width))
    yield from over_time
    if not over_time and (found := calls(row.ok)):
        yield histogram(found, row.label, width)
    if has_requests(row.ok):
        from benchwright.report.request_text import token_histograms, waterfall_text

        yield from token_histograms(row, width)
        yield from waterfall_text(row, width, around)


def histogram(found: WeightedLatencies, title: str, width: int = 80, bins: int = 16, *, count: str = "") -> str:
    """Horizontal bars from the smallest call to the 99.5th percentile, and one line for everything beyond.

    `count` says in words how many values there are, where they are not calls.
    """
    low, cut = found.shortest, float(found.quantiles(np.array([0.995]))[0])
    edges = _edges(low, cut if cut > low else low + max(low, 1e-9) * 1e-3, bins)
    counts = found.count_in_bins(edges)
    beyond = found.total - int(counts.sum())
    scale = scale_of([low, cut], "s")
    labels = _edge_labels(edges, scale)
    room = max(10, width - len(labels[0]) - len(f"{found.total:,}") - 6)
    lines = [f"{printable(title)}   {count or found.describe_count(found.total)}, {scale.unit}"]
    lines += [f"  {labels[i]} {_bar(int(c), int(counts.max()), room)} {int(c):,}" for i, c in enumerate(counts)]
    if beyond:
        longest = format_number(found.longest / scale.factor)
        lines.append(f"  and {beyond:,} beyond, the longest {longest} {scale.unit}")
    return "\n".join(lines)


def scatter(table: Sequence[Row], width: int = 80, height: int = 16) -> str:
    """Throughput (up) against median latency (right), logarithmic, a letter for each case; empty without numbers."""
    named = [row for row in table if {"latency_p50", "throughput"} <= row.metrics.keys()]
    points = [(r.metrics["latency_p50"].estimate.point, r.metrics["throughput"].estimate.point, r) for r in named]
    points = [p for p in points if p[0] > 0 and p[1] > 0]
    if not points:
        return ""
    lines = ["throughput against median latency, both logarithmic; * = several cases"]
    lines += draw_points([(x, y) for x, y, _ in points], ("s", "/s"), width, height)
    front = set(pareto_front([(p[0], p[1]) for p in points]))
    marks = ["◆" if i in front else " " for i in range(len(points))]
    letters = letters_of(len(points))
    lines += [f"  {a} {m} {printable(p[2].label)}" for a, m, p in zip(letters, marks, points, strict=True)]
    if len(points) > 1:
        lines.append("  ◆ on the Pareto front: no other case is both faster and higher in throughput")
    return "\n".join(lines)


def draw_points(points: Sequence[tuple[float, float]], units: tuple[str, str], width: int, height: int) -> list[str]:
    """The lines of a plot with a letter for each point, both axes logarithmic; `units` are those of x and of y."""
    across, up = (scale_of([point[i] for point in points], unit) for i, unit in enumerate(units))
    ends = [f"{format_number(f(y for _, y in points) / up.factor)} {up.unit}" for f in (max, min)]
    margin = max(map(len, ends)) + 1
    columns = max(20, width - margin - 2)
    grid = [[" "] * columns for _ in range(height)]
    for letter, (x, y) in zip(letters_of(len(points)), points, strict=True):
        i = _place(x, [p[0] for p in points], columns)
        j = height - 1 - _place(y, [p[1] for p in points], height)
        grid[j][i] = letter if grid[j][i] == " " else "*"
    left = [ends[0], *[""] * (height - 2), ends[1]]
    lines = [f"{text:>{margin}} │{''.join(line)}" for text, line in zip(left, grid, strict=True)]
    lines.append(" " * margin + " └" + "─" * columns)
    first, last = (f"{format_number(f(x for x, _ in points) / across.factor)} {across.unit}" for f in (min, max))
    lines.append(" " * (margin + 2) + first + last.rjust(columns - len(first)))
    return lines


def _edges(low: float, high: float, bins: int) -> Floats:
    if low > 0 and high / low > LOG_FROM:
        return np.geomspace(low, high, bins + 1)
    return np.linspace(low, high, bins + 1)


def letters_of(count: int) -> list[str]:
    """A sign for each of so many points; beyond those that there are, a plus."""
    return [LETTERS[i] if i < len(LETTERS) else "+" for i in range(count)]


def _place(value: float, values: Sequence[float], size: int) -> int:
    low, high = math.log(min(values)), math.log(max(values))
    return round((math.log(value) - low) / (high - low) * (size - 1)) if high > low else size // 2


def _edge_labels(edges: Floats, scale: Scale) -> list[str]:
    steps = np.diff(edges) / scale.factor
    places = [min(12, max(0, 1 - math.floor(math.log10(step)))) for step in steps]
    return line_up([f"{edge / scale.factor:,.{n}f}" for edge, n in zip(edges, places, strict=False)])


def _bar(count: int, top: int, room: int) -> str:
    eighths = math.ceil(count / top * room * 8) if top else 0
    full, rest = divmod(eighths, 8)
    return "█" * full + (BARS[rest] if rest else "")


# ---- a run's scaling: the scatter, the doubts, and which configuration to choose ----


NOTHING = "One case, or none with a latency and a throughput or several numbers of processes: nothing to choose."


def scaling_text(
    table: Sequence[Row],
    chosen: Sequence[Advice],
    doubts: Sequence[str],
    *,
    speedups: Sequence[SpeedUp] = (),
    picture: Path | None,
    width: int,
) -> str:
    """Speed-ups by processes, the scatter of throughput against latency, the doubts and the advice."""
    faster = speedup_text(speedups, width)
    advice = "\n".join(map(str, chosen)) or ("" if faster else NOTHING)
    knees = "\n".join(describe_knee(sweep) for sweep in sweeps(table))
    parts = [faster, scatter(table, width), "\n".join(doubts), advice, knees, f"wrote {picture}" if picture else ""]
    return "\n\n".join(part for part in parts if part)


def scaling_json(
    run: Run,
    chosen: Sequence[Advice],
    doubts: Sequence[str],
    *,
    speedups: Sequence[SpeedUp] = (),
    picture: Path | None,
) -> str:
    """The advice as JSON: for each aim the case, and the rivals that cannot be told from it."""
    named = [
        {
            "for": a.aim,
            "case": a.row and a.row.label,
            "rivals": [r.label for r in a.rivals],
            "told_apart": a.row is not None and not a.rivals,
        }
        for a in chosen
    ]
    told = {
        "run": run.id,
        "advice": named,
        "cautions": doubts,
        "knees": [_knee_json(sweep) for sweep in sweeps(rows(run))],
        "speedups": speedup_json(speedups),
        "picture": picture and str(picture),
    }
    return envelope("scaling", told)


def _knee_json(sweep: Sweep) -> dict[str, Any]:
    knee = find_knee(sweep)
    return {
        "sweep": sweep.label,
        "of": sweep.kind,
        "load": knee.point.load,
        "case": knee.point.row.label,
        "inside": knee.inside,
        "rivals": [point.load for point in knee.rivals],
    }
