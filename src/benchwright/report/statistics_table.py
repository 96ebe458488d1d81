"""The table of plain figures that pytest-benchmark shows: smallest, largest, mean and the like, in one unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from benchwright.analysis.rows import Row
from benchwright.exchange.exporters.pytest_benchmark import stats_of
from benchwright.units.numbers import printable

if TYPE_CHECKING:
    from rich.console import Console

TIMES = ("min", "max", "mean", "stddev", "median", "iqr")
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def show_statistics(console: Console, table: Sequence[Row], columns: Sequence[str], *, unit: str = "") -> None:
    """Prints a line for each case that has samples; `unit` is that of the times, "" for one that fits."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = [(row, stats_of(row.ok)) for row in table if any(result.samples for result in row.ok)]
    if not shown:
        return
    unit = unit or _fitting_unit([figures["median"] for _, figures in shown])
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 0, 0, 1))
    drawn.add_column(f"name (times in {unit})", no_wrap=True)
    for name in columns:
        drawn.add_column(name, justify="right", no_wrap=True)
    for row, figures in shown:
        drawn.add_row(Text(printable(row.label)), *(Text(_cell(name, figures[name], unit)) for name in columns))
    console.print(drawn, crop=False)


def _cell(name: str, value: Any, unit: str) -> str:
    if name in TIMES:
        return f"{value / UNITS[unit]:,.4f}"
    return f"{value:,.1f}" if name == "ops" else str(value)


def _fitting_unit(seconds: Sequence[float]) -> str:
    """That of the smallest: in a larger one it would be shown as nothing."""
    return next((unit for unit, size in UNITS.items() if min(seconds) < 1000 * size), "s")
