"""A run that several machines measured, with a column for each: on a terminal, in Markdown and in HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchwright.analysis.machine_columns import CaseByMachine, MachineColumns
from benchwright.report.columns import SHOWN
from benchwright.report.markdown import markdown_table
from benchwright.report.markup import column_head, escape, number_cell, row_head, tag
from benchwright.units.numbers import cell, line_up, printable, scale_of

if TYPE_CHECKING:
    from rich.console import Console

MISSING = "-"  # where a machine did not measure the case
CAPTION = "The chief metric of each case on every machine, rounds combined"


def show_machines(console: Console, found: MachineColumns) -> None:
    """Prints the table where it fits, otherwise lines of their own for each case."""
    from rich import box
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 0, 0, 1))
    for head in ("case", "metric", *found.machines):
        drawn.add_column(Text(printable(head)), no_wrap=True, justify="left" if head in ("case", "metric") else "right")
    lines = [(printable(line.case), *_cells(line)) for line in found.lines]
    columns = [line_up([line[place] for line in lines]) for place in range(2, 2 + len(found.machines))]
    for number, line in enumerate(lines):
        drawn.add_row(*(Text(text) for text in (*line[:2], *(column[number] for column in columns))))
    endless = console.options.update(max_width=100_000)
    if Measurement.get(console, endless, drawn).maximum <= console.width:
        console.print(drawn, crop=False)
    else:
        for name, metric, *values in lines:
            console.print(Text(name, style="bold").append(f"  {metric}"), overflow="fold")
            for machine, value in zip(found.machines, values, strict=True):
                console.print(Text(f"  {printable(machine)}  {value}"), overflow="fold")
    console.print()


def machines_markdown(found: MachineColumns) -> str:
    """The same as a GitHub table."""
    body = [[line.case, *_cells(line)] for line in found.lines]
    return markdown_table(["case", "metric", *found.machines], body, [False, False, *(True for _ in found.machines)])


def machines_html(found: MachineColumns) -> str:
    """The same for the HTML report."""
    head = column_head("case") + column_head("metric")
    head += "".join(column_head(machine, number=True) for machine in found.machines)
    body = ""
    for line in found.lines:
        metric, *values = _cells(line)
        cells = "".join(
            number_cell(escape(value), machine) for machine, value in zip(found.machines, values, strict=True)
        )
        body += tag("tr", row_head(line.case) + tag("td", escape(metric), data_label="metric") + cells)
    inner = f"<table><caption>{CAPTION}.</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return tag("div", inner, class_="scroll results", tabindex="0", role="region", aria_label="By machine")


def _cells(line: CaseByMachine) -> list[str]:
    """The metric with the one unit that all numbers of the line have, and the cell of each machine."""
    points = [metric for metric in line.metrics if metric is not None]
    if not points:
        return ["", *(row.status if row else MISSING for row in line.rows)]
    scale = scale_of((metric.estimate.point for metric in points), points[0].unit)
    cells = [
        str(cell(metric.estimate, scale)) if metric else row.status if row else MISSING
        for metric, row in zip(line.metrics, line.rows, strict=True)
    ]
    return [scale.heading(SHOWN.get(line.metric, line.metric)), *cells]
