"""The history of a target for the terminal: a table for each series, and what was not measured."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TextIO

from benchwright.analysis.notes import IN_QUARANTINE
from benchwright.analysis.trend import JudgedSeries, TrendStep, sparkline
from benchwright.records import Status
from benchwright.records.findings import Finding
from benchwright.records.request_metrics import is_share_of_failures
from benchwright.report.drifts import since_text, slope_text, steps_text
from benchwright.report.findings import STYLES, change_text
from benchwright.report.table import emit
from benchwright.schema.parsing import json_mapping
from benchwright.units.numbers import cell, line_up, printable, scale_of, scale_of_estimates

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

NO_VALUE = "no run has a value of its own"  # those of `ab` and `bisect` hold several revisions


class MissedResult(Protocol):
    """A result that is not ok, as a store hands it out."""

    @property
    def run(self) -> str: ...
    @property
    def round(self) -> int: ...
    @property
    def params(self) -> str: ...
    @property
    def started_at(self) -> str: ...
    @property
    def status(self) -> Status: ...
    @property
    def revision(self) -> str: ...
    @property
    def reason(self) -> str: ...


def print_history(
    series: Sequence[JudgedSeries], misses: Sequence[MissedResult], *, file: TextIO | None = None
) -> None:
    """Prints a table and a sparkline for each series, its drifts below, and at the end what was not measured."""
    emit(file or sys.stdout, lambda console: _show(console, series, misses))


def series_heading(series: JudgedSeries, *, with_machine: bool) -> tuple[str, str]:
    """The case, and what tells the series from others of that case."""
    machine = f"machine {series.machine[:8]}" if with_machine else ""
    better = f"({series.better} is better)" if series.better else ""
    told = (params_text(series.params), machine, series.metric, better)
    return printable(series.case), " ".join(part for part in told if part)


def series_columns(series: JudgedSeries) -> list[list[str]]:
    """The columns of the table of one series, the heads first."""
    rows = series.steps
    scale = scale_of_estimates((row.estimate for row in rows), series.unit)
    cells = [cell(row.estimate, scale) for row in rows]
    in_points = is_share_of_failures(series.metric, series.unit)
    return [
        ["started (UTC)", *(_date(row.started_at) for row in rows)],
        ["run", *(row.run for row in rows)],
        ["revision", *(row.revision[:10] or "-" for row in rows)],
        ["rounds", *(str(row.rounds) for row in rows)],
        [scale.heading(series.metric), *line_up([one.point for one in cells])],
        ["", *(one.interval for one in cells)],
        ["change", *(_change(row, in_points=in_points) for row in rows)],
    ]


def word_beside(step: TrendStep) -> str:
    """What stands beside a run: its verdict where it changed, or that it was measured in quarantine."""
    if step.is_held:
        return IN_QUARANTINE
    if step.price_change is not None and step.change_at_one_price is not None:
        return f"the price {step.price_change:+.1%}, at one price {step.change_at_one_price:+.1%}"
    return str(step.verdict) if step.verdict in STYLES else ""


def price_lines(series: JudgedSeries) -> list[str]:
    """What the costs of a series rest on, with the run from which on each price holds."""
    found = []
    last = ""
    for step in series.steps:
        if step.price and step.price != last:
            found.append(printable(f"from {step.run} on it rests on {step.price}"))
            last = step.price
    return found


def drift_text(finding: Finding) -> str:
    """A drift in words: what no two neighbouring runs show."""
    if finding.drift is None:
        return ""
    scale = scale_of([finding.before.point, finding.after.point], finding.unit)
    levels = f"{cell(finding.before, scale)} to {cell(finding.after, scale)} {scale.unit}".rstrip()
    levels += steps_text(finding.drift)
    return printable(
        f"{change_text(finding)}: {levels}, {slope_text(finding.drift)}, {since_text(finding, finding.drift)}"
    )


def miss_text(miss: MissedResult) -> str:
    """Describes when and where a value is missing, and why."""
    reason = (miss.reason.strip().splitlines() or [""])[0][:100]
    parts = (
        _date(miss.started_at),
        miss.run,
        miss.revision[:10] or "-",
        params_text(miss.params),
        f"round {miss.round + 1}",
    )
    return printable(f"{'  '.join(parts)}  {miss.status}{': ' if reason else ''}{reason}")


def params_text(text: str) -> str:
    """The parameters of a series, `batch_size=8 workers=2`."""
    return printable(" ".join(f"{name}={value}" for name, value in json_mapping(text).items()))


def has_machines(series: Sequence[JudgedSeries]) -> bool:
    """Whether more than one machine measured, so that it must be told."""
    return len({one.machine for one in series}) > 1


def _show(console: Console, series: Sequence[JudgedSeries], misses: Sequence[MissedResult]) -> None:
    from rich.text import Text

    blocks = [_block(one, with_machine=has_machines(series)) for one in series]
    if misses:
        blocks.append([Text("Not measured", style="bold"), *(Text(f"  {miss_text(miss)}") for miss in misses)])
    for i, block in enumerate(blocks):
        for line in [Text(), *block] if i else block:
            said = Text(line.plain) if console.no_color else line  # bold would still be written
            console.print(said, no_wrap=True, overflow="ignore", crop=False)  # a terminal folds what is too long


def _block(series: JudgedSeries, *, with_machine: bool) -> list[Text]:
    from rich.text import Text

    case, told = series_heading(series, with_machine=with_machine)
    heading = Text(case, style="bold").append(f" {told}", style="not bold")
    drifts = [
        Text("  ").append(str(one.verdict), style=STYLES.get(one.verdict, "")).append(f"  {drift_text(one)}")
        for one in series.drifts
    ]
    return [heading, *_lines(series), *(Text(f"  {said}", style="dim") for said in price_lines(series)), *drifts]


def _lines(series: JudgedSeries) -> list[Text]:
    """The table of one series, and its sparkline."""
    from rich.text import Text

    rows = series.steps
    if not rows:
        return [Text(f"  {NO_VALUE}")]
    columns = series_columns(series)
    widths = [max(map(len, column)) for column in columns]
    lines = []
    words = ["", *map(word_beside, rows)]
    for index, word in enumerate(words):
        texts = (column[index].ljust(width) for column, width in zip(columns, widths, strict=True))
        line = f"  {'  '.join(texts)}"
        if word:
            lines.append(Text(f"{line}  ").append(word, style=STYLES.get(rows[index - 1].verdict, "dim")))
        else:
            lines.append(Text(line.rstrip()))
    return [*lines, Text("  " + sparkline([row.estimate.point for row in rows]))]


def _date(instant: str) -> str:
    return instant[:16].replace("T", " ")


def _change(row: TrendStep, *, in_points: bool) -> str:
    if row.change is None:
        return "-"
    return f"{100 * row.change:+.2g} points" if in_points else f"{row.change:+.1%}"
