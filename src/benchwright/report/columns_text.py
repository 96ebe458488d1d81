"""Several runs against one, for the terminal, for Markdown and as JSON: a column for each."""

from __future__ import annotations

import string
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from benchwright.analysis.comparison import FALSE_RATE, ComparedMetric, ComparedRow, notes_of
from benchwright.analysis.geomeans import GeometricMean
from benchwright.analysis.several_sides import AlignedLine, describe_control
from benchwright.records import Run
from benchwright.report.comparison_text import STYLES, describe_means, summary
from benchwright.report.markdown import escape_markdown, markdown_table
from benchwright.report.table import UNLIMITED, emit
from benchwright.schema.printed import envelope
from benchwright.units.numbers import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

LETTERS = string.ascii_uppercase  # what columns are called
MOST = len(LETTERS)  # runs of one table
Judged = Sequence[tuple[Run, Sequence[ComparedRow], Sequence[GeometricMean]]]  # of each run but the baseline


def print_columns(
    lines: Sequence[AlignedLine],
    judged: Judged,
    baseline: Run,
    *,
    smallest: float,
    file: TextIO | None = None,
    width: int | None = None,
) -> None:
    """Prints the table where it fits, otherwise lines of their own for each metric; below it what holds for all."""
    emit(file or sys.stdout, lambda console: _show(console, lines, judged, baseline, smallest), width=width)


def columns_markdown(lines: Sequence[AlignedLine], judged: Judged, baseline: Run, *, smallest: float) -> str:
    """The table as a GitHub table."""
    heads = ["case", "metric", *LETTERS[: len(judged) + 1]]
    body = [[line.case, line.metric, _first(line), *map(_cell_text, line.columns)] for line in lines]
    table = markdown_table(heads, body, [False, False, *[True] * (len(judged) + 1)])
    said = "\n".join(f"- {escape_markdown(one)}" for one in _said(judged, baseline))
    notes = "\n".join(f"- {escape_markdown(one)}" for one in _notes(judged))
    return "\n\n".join(part for part in (table, said, notes, _rules(judged, smallest)) if part) + "\n"


def columns_json(judged: Judged, baseline: Run, *, smallest: float, across: Sequence[str] = ()) -> str:
    """The comparisons as JSON, every estimate with its interval."""
    sides = [{"after": run.id, "cases": rows, "means": means} for run, rows, means in judged]
    document = {"before": baseline.id, "across": list(across), "smallest": smallest, "false_rate": FALSE_RATE}
    return envelope("comparisons", {**document, "sides": sides})


def _show(console: Console, lines: Sequence[AlignedLine], judged: Judged, baseline: Run, smallest: float) -> None:
    from rich.measure import Measurement
    from rich.text import Text

    drawn = _table(lines, len(judged))
    if drawn.row_count:
        wide = Measurement.get(console, console.options.update(max_width=UNLIMITED), drawn).maximum
        if wide <= console.width:
            console.print(drawn, crop=False)
        else:
            _show_stacked(console, lines)
        console.print()
    for note in _notes(judged):
        console.print(Text(printable(note), style="yellow"), overflow="fold")
    for said in _said(judged, baseline):
        console.print(Text(printable(said), style="bold" if said[1:2] == " " else ""), overflow="fold")
    console.print(Text(printable(_rules(judged, smallest)), style="dim"), overflow="fold")


def _table(lines: Sequence[AlignedLine], columns: int) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 0, 0, 1))
    for head in ("case", "metric"):
        drawn.add_column(head, no_wrap=True)
    for letter in LETTERS[: columns + 1]:
        drawn.add_column(letter, no_wrap=True, justify="right")
    before = ""
    for line in lines:
        name = line.case if line.case != before else ""
        before = line.case
        cells = [_styled(one) for one in line.columns]
        drawn.add_row(Text(printable(name)), Text(printable(line.metric)), Text(printable(_first(line))), *cells)
    return drawn


def _show_stacked(console: Console, lines: Sequence[AlignedLine]) -> None:
    from rich.text import Text

    before = ""
    for line in lines:
        if line.case != before:
            console.print(Text(printable(line.case), style="bold"), overflow="fold")
            before = line.case
        console.print(Text(f"  {printable(line.metric)}: A {printable(_first(line))}"), overflow="fold")
        for letter, one in zip(LETTERS[1:], line.columns, strict=False):
            console.print(Text(f"    {letter} ").append_text(_styled(one)), overflow="fold")


def _styled(one: ComparedMetric | None) -> Text:
    from rich.text import Text

    return Text(printable(_cell_text(one)), style=STYLES[one.verdict] if one else "dim")


def _first(line: AlignedLine) -> str:
    return next((one.before_text for one in line.columns if one), "-")


def _cell_text(one: ComparedMetric | None) -> str:
    if one is None:
        return "not in both"
    ratio = f" ×{one.ratio.point:.3f}" if one.ratio else ""
    return f"{one.after_text}{ratio} {one.verdict}"


def _said(judged: Judged, baseline: Run) -> list[str]:
    """What each letter stands for and what became of it, with the means of its ratios."""
    found = [f"A {baseline.id}: the baseline"]
    for letter, (run, rows, means) in zip(LETTERS[1:], judged, strict=False):
        found.append(f"{letter} {run.id}: {summary(rows)}")
        found += [f"  {line}" for line in describe_means(means)]
    return found


def _notes(judged: Judged) -> list[str]:
    """The notes of every column with its letter; those that hold for all once."""
    told = [notes_of(rows) for _, rows, _ in judged]
    everywhere = [note for note in told[0] if all(note in others for others in told)]
    lettered = zip(LETTERS[1:], told, strict=False)
    return everywhere + [f"{letter}: {one}" for letter, said in lettered for one in said if one not in everywhere]


def _rules(judged: Judged, smallest: float) -> str:
    count = sum(len(row.metrics) for _, rows, _ in judged for row in rows)
    return f"A change below {100 * smallest:.3g} % counts as none. {describe_control(count, len(judged))}"
