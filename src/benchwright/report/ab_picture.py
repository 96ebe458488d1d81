"""A trial as a picture file: every pair of every case, and the effect with its interval. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchwright.records import Verdict
from benchwright.records.trials import Trial, TrialRow
from benchwright.report.ab import headline, labels
from benchwright.report.picture import DOTS
from benchwright.units.numbers import printable

WIDTH, BASE, EACH = 8.0, 1.3, 0.9  # inches: of the picture, and its height without cases and for each
COLOURS = {Verdict.WORSE: "tab:red", Verdict.BETTER: "tab:green", Verdict.UNCLEAR: "tab:orange", Verdict.SAME: "0.4"}
_ROOM = 0.6  # of a row, for its pairs; the interval and its words are below


def write_trial(trial: Trial, path: Path) -> Path:
    """Draws one strip for each case: its pairs from first (top) to last, and below them what they say together."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, BASE + EACH * max(1, len(trial.rows))), dpi=DOTS, layout="constrained")
    axes = figure.add_subplot()
    smallest = 100 * trial.rules.smallest
    axes.axvspan(-smallest, smallest, color="0.9", zorder=0)
    axes.axvline(0.0, color="0.5", linewidth=0.8, zorder=1)
    widest = _widest(trial)
    axes.set_xlim(-1.1 * widest, 1.1 * widest)
    for place, row in enumerate(trial.rows):
        _strip(axes, row, place, widest)
    axes.set_yticks(range(len(trial.rows)), [printable(label) for label in labels(trial.rows)], fontsize=8)
    axes.set_ylim(len(trial.rows) - 0.4, -0.6)
    axes.set_xlabel(f"treatment against control, %; within ±{smallest:.3g} % counts as no change")
    axes.grid(visible=True, axis="x", linewidth=0.4, alpha=0.6)
    axes.set_title(printable(headline(trial)), fontsize=9, loc="left")
    figure.savefig(path)
    return path


def _strip(axes: Any, row: TrialRow, place: int, widest: float) -> None:
    colour = COLOURS[row.verdict]
    changes = _changes(row)
    for i, change in enumerate(changes):
        mark = "." if abs(change) <= widest else ">" if change > 0 else "<"  # beyond the picture: at its edge
        height = place - 0.4 + _ROOM * (i + 0.5) / len(changes)
        axes.plot([max(-widest, min(widest, change))], [height], mark, color=colour, alpha=0.5, markersize=3, zorder=2)
    if row.effect is None:
        return
    point, below = _percent(row.effect.point), place + 0.3
    if row.effect.low is not None and row.effect.high is not None:
        axes.plot([_percent(row.effect.low), _percent(row.effect.high)], [below] * 2, color=colour, linewidth=2)
    axes.plot([point], [below], "D", color=colour, markersize=5, zorder=3)
    words = f"{point:+.2g} % {row.verdict}"
    axes.annotate(words, (point, below), textcoords="offset points", xytext=(0, -10), ha="center", fontsize=7)


def _widest(trial: Trial) -> float:
    """How far the picture reaches on either side: all intervals, and four fifths of the pairs."""
    sizes = sorted(abs(change) for row in trial.rows for change in _changes(row))
    ends = [
        abs(_percent(end))
        for row in trial.rows
        if row.effect is not None
        for end in (row.effect.point, row.effect.low, row.effect.high)
        if end is not None
    ]
    most = sizes[4 * len(sizes) // 5] if sizes else 0.0
    return 1.1 * max([300 * trial.rules.smallest, most, *ends])


def _changes(row: TrialRow) -> list[float]:
    return [_percent(pair.ratio) for heat in row.heats for pair in heat.pairs if pair.ratio is not None]


def _percent(ratio: float) -> float:
    return 100 * (ratio - 1)
