"""The terminal table: as wide as it needs in a pipe, as wide as fits on a terminal, never cut off.

When a terminal is too narrow the distribution goes first, then the intervals beyond the two main ones, and then each
case gets lines of its own. Requests to served models have more numbers than fit on a line with all their intervals:
their table is never wider than a usual terminal, what all cases share stands above it, headings take several lines.
"""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TextIO

from benchwright.analysis.rows import Row, rows, show_scalar
from benchwright.records import Run, Status
from benchwright.records.processes import PROCESSES
from benchwright.report.ascii import emit_text, takes_unicode
from benchwright.report.case_names import name_cases, name_shared, params_in_columns
from benchwright.report.columns import Column, columns, is_served
from benchwright.report.sparkline import sparkline_of
from benchwright.units.numbers import cell, line_up, printable, scale_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

UNLIMITED = 100_000
USUAL_WIDTH = 120  # of a terminal; as wide as tables of served models are in a pipe
ALWAYS_WITH_INTERVAL = ("ttft_p50", "latency_p50", "throughput", "max_rate")
STYLES = {Status.OK: "green", Status.SKIPPED: "yellow"}


def print_run(
    run: Run, *, file: TextIO | None = None, next_steps: str = "", saved: bool = False, width: int | None = None
) -> None:
    """Prints the table of a run and the notes below it; `next_steps` is the last line. `saved`: `show` finds it."""
    target = file or sys.stdout
    emit(target, lambda console: _show(console, run, next_steps, saved), width=width)


def run_text(run: Run, *, next_steps: str = "", width: int | None = None) -> str:
    """Returns the table of a run as plain text."""
    return plain_text(lambda file: print_run(run, file=file, next_steps=next_steps, width=width))


def plain_text(show: Callable[[TextIO], None]) -> str:
    """What `show` writes to a file, for whoever prints it."""
    out = io.StringIO()
    show(out)
    return out.getvalue()


def emit(file: TextIO, show: Callable[[Console], None], *, width: int | None = None) -> None:
    """Lets `show` write to a console on `file`: coloured on a terminal, plain and unwrapped elsewhere.

    Where the encoding lacks a sign, its ASCII spelling is written; where it lacks a letter, its escape.
    """
    from rich.console import Console

    wide = Console(file=file, highlight=False)
    if wide.is_terminal and takes_unicode(file):
        show(wide if width is None else Console(file=file, highlight=False, width=width))
        return
    text = io.StringIO()
    show(Console(file=text, width=width or (wide.width if wide.is_terminal else UNLIMITED), color_system=None))
    emit_text(file, "".join(line.rstrip() + "\n" for line in text.getvalue().splitlines()))


def width_of(file: TextIO) -> int:
    """How wide plots on `file` should be."""
    return shutil.get_terminal_size().columns if file.isatty() else 80


def _show(console: Console, run: Run, next_steps: str, saved: bool) -> None:
    from benchwright.report.footer import show_footer

    table = rows(run)
    if not table:
        console.print("no results: nothing was measured", markup=False)
    else:
        _show_machines(console, table)
        show_rows(console, table)
        _show_operators(console, run, table, saved=saved)
        _show_speedups(console, table)
    show_footer(console, run, table, next_steps, saved=saved)


def _show_machines(console: Console, table: Sequence[Row]) -> None:
    """A column for each machine, where several measured the same cases; and for each cloud instance of a shape."""
    if any(row.machine for row in table) or any("instance" in result.environment.system for result in table[0].results):
        from benchwright.analysis.machine_columns import instance_columns, machine_columns
        from benchwright.report.machine_table import show_machines

        by_machine = machine_columns(table)
        for found in ([by_machine] if by_machine else []) + instance_columns(table):
            show_machines(console, found)


def _show_operators(console: Console, run: Run, table: Sequence[Row], *, saved: bool) -> None:
    if not any(result.operators for row in table for result in row.results):
        return
    from benchwright.analysis.operators import recorded_operators
    from benchwright.report.operator_text import IN_SHORT, show_cases

    more = (
        f"All operators, and a picture: benchwright show {run.id} --operators --top 0 -o operators.svg" if saved else ""
    )
    console.print()
    show_cases(console, [found for row in table if (found := recorded_operators(row))], top=IN_SHORT, last=more)


def _show_speedups(console: Console, table: Sequence[Row]) -> None:
    """Speed-up and efficiency, where cases differ in their number of processes."""
    if any(PROCESSES in row.params for row in table):
        from benchwright.analysis.speedup import find_speedups
        from benchwright.report.speedup_text import speedup_text

        if found := find_speedups(table):
            console.print()
            width = USUAL_WIDTH if console.width == UNLIMITED else console.width
            console.print(speedup_text(found, width), markup=False, soft_wrap=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """How much a table shows; the layouts are tried from the fullest to the tightest."""

    sparks: bool = False
    intervals: bool = False  # beside every number, or beside the main ones alone
    bare: bool = False  # no interval at all
    tight: bool = False  # one space between columns
    above: bool = False  # what all cases share stands above the table
    wrapped: bool = False  # headings take as many lines as keep them as narrow as the numbers


LAYOUTS = (_Layout(sparks=True, intervals=True), _Layout(intervals=True), _Layout(), _Layout(tight=True, above=True))
SERVED_LAYOUTS = (
    *(replace(layout, above=True, wrapped=True) for layout in LAYOUTS[:3]),
    _Layout(bare=True, above=True, wrapped=True),
    _Layout(bare=True, tight=True, above=True, wrapped=True),
)


def show_rows(console: Console, table: Sequence[Row]) -> None:
    """Prints the table alone, in the fullest layout that fits."""
    from rich.measure import Measurement

    found = columns(table)
    sparks = [sparkline_of(row.ok) for row in table]
    endless = console.options.update(max_width=UNLIMITED)
    served = is_served(table)
    room = min(console.width, USUAL_WIDTH) if served and not console.is_terminal else console.width
    layouts = SERVED_LAYOUTS if served else LAYOUTS
    for layout in layouts:
        drawn = _table(table, found, sparks, layout)
        fits = Measurement.get(console, endless, drawn).maximum <= room
        if fits or (layout is layouts[-1] and console.width == UNLIMITED):
            console.print(drawn, crop=False)
            if not layout.intervals:
                why = "" if room < console.width else "narrow terminal: "
                console.print(f"{why}some intervals are left out; benchwright show --format csv has all", style="dim")
            return
    for row in table:
        _show_stacked(console, row, found)


def _table(table: Sequence[Row], found: Sequence[Column], sparks: Sequence[str], layout: _Layout) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False, padding=(0, 0, 0, 1))
    if layout.tight:
        drawn.padding = (0, 0)
    shown = _cells(table, found, sparks, layout)
    if layout.above and (shared := name_shared(table, with_params=layout.wrapped)):
        drawn.title, drawn.title_justify, drawn.title_style = Text(printable(shared)), "left", "bold"
        shown = shown[1:]
    for heading, right, _ in shown:
        drawn.add_column(Text(heading), no_wrap=True, justify="right" if right else "left", vertical="bottom")
    for i in range(len(table)):
        drawn.add_row(*(cells[i] for _, _, cells in shown))
    return drawn


def _cells(
    table: Sequence[Row], found: Sequence[Column], sparks: Sequence[str], layout: _Layout
) -> list[tuple[str, bool, list[Text]]]:
    """Each column of the table: heading, whether numbers stand in it, and its cells."""
    from rich.text import Text

    shown = [("case", False, [Text(printable(name)) for name in name_cases(table)])]
    for name in params_in_columns(table):
        numeric = all(isinstance(row.params.get(name), int | float | None) for row in table)
        values = [printable(show_scalar(row.params[name])) if name in row.params else "" for row in table]
        shown.append((printable(name), numeric, [Text(value) for value in values]))
    for column in found:
        texts = _texts(column, layout)
        heading = column.heading.replace(" (", "\n(")
        heading = _wrap(heading, max(map(len, texts))) if layout.wrapped else heading
        shown.append((heading, True, [Text(words) for words in texts]))
    if layout.sparks and any(sparks):
        shown.append(("distribution\n(min to p99)", False, [Text(spark, style="cyan") for spark in sparks]))
    if len({row.rounds for row in table}) > 1:
        shown.append(("rounds", True, [Text(str(row.rounds)) for row in table]))
    shown.append(("status", False, [_status(row, warnings=not layout.tight) for row in table]))
    return shown


def _wrap(heading: str, wide: int) -> str:
    """A heading in lines of words, each as wide as the numbers below at most, where its words allow it."""
    lines: list[str] = []
    for part in heading.split("\n"):
        lines.append("")
        for word in part.split():
            if lines[-1] and len(lines[-1]) + 1 + len(word) > wide:
                lines.append("")
            lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def _texts(column: Column, layout: _Layout) -> list[str]:
    points = line_up([c.point if c else "-" for c in column.cells])
    if layout.bare or (not layout.intervals and column.metric not in ALWAYS_WITH_INTERVAL):
        return points
    signs = [c.interval if c else "" for c in column.cells]
    ends = line_up([s.removeprefix("± ") for s in signs])
    shown = [f"± {end}" if sign.startswith("±") else end for sign, end in zip(signs, ends, strict=True)]
    wide = max(map(len, shown))
    return [f"{point} {text:<{wide}}" if wide else point for point, text in zip(points, shown, strict=True)]


def _show_stacked(console: Console, row: Row, found: Sequence[Column]) -> None:
    """One case in lines of its own. No other case stands beside it, so each number has the unit that fits it."""
    from rich.text import Text

    head = Text(printable(row.label), style="bold").append("  ").append_text(_status(row))
    console.print(head, overflow="fold")
    wide = max((len(column.title) for column in found), default=0)
    for column in found:
        if metric := row.metrics.get(column.metric):
            scale = scale_of([metric.estimate.point], metric.unit)
            shown = f"  {column.title:<{wide}}  {cell(metric.estimate, scale)} {scale.unit}"
            console.print(Text(shown.rstrip()), overflow="fold")
    if row.rounds > 1:
        console.print(Text(f"  {row.rounds} rounds"))


def _status(row: Row, *, warnings: bool = True) -> Text:
    from rich.text import Text

    worst = next((s for s in row.statuses if s not in STYLES), None) or next(iter(row.statuses))
    noted = f", {len(row.warnings)} warning{'s' * (len(row.warnings) > 1)}" if row.warnings else ""
    status = Text(row.status, style=STYLES.get(worst, "red"))
    return status.append(noted, style="yellow") if warnings else status
