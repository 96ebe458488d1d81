"""The report's plots as SVG files of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchwright.analysis.rows import Row, rows
from benchwright.records import Run
from benchwright.report.operator_picture import case_icicle
from benchwright.report.plots import distribution, percentiles, tradeoff
from benchwright.report.svg import Plot, drawing
from benchwright.report.timeplots import latency_over_time, timelines


def overview_plots(table: Sequence[Row]) -> list[Plot]:
    """The plots over all cases that have something to show."""
    drawn = [
        tradeoff(table, "latency_p50", "median latency"),
        tradeoff(table, "latency_p99", "p99 latency"),
        distribution(table),
        percentiles(table),
    ]
    return [plot for plot in drawn if plot]


def case_plots(row: Row, index: int) -> list[Plot]:
    """The plots of one case: against time, and of its operators."""
    found = [latency_over_time(row, index), *timelines(row, index), case_icicle(row, index)]
    return [plot for plot in found if plot]


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
