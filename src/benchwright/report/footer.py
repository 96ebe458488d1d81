"""The lines below a run's table: warnings, failures, the instrument, and where to look next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchwright.analysis import notes
from benchwright.analysis.goals import describe_goals, describe_left_out
from benchwright.analysis.leases import describe_leases
from benchwright.analysis.machine_columns import describe_instances
from benchwright.analysis.price_changes import describe_bases
from benchwright.analysis.request_failures import describe_requests
from benchwright.analysis.rows import Row
from benchwright.records import Run
from benchwright.report import answers
from benchwright.units.numbers import printable

if TYPE_CHECKING:
    from rich.console import Console

LOG_LINES = 10


def show_footer(console: Console, run: Run, table: Sequence[Row], next_steps: str, *, saved: bool = False) -> None:
    """Prints what a reader must know before trusting the numbers above; of a saved run, what shows more of it."""
    if missing := notes.describe_missing_results(run):
        console.print()
        _line(console, missing, "red")
    for noted in notes.warnings(table):
        _show_warning(console, noted, len(table))
    for failed in notes.failures(table):
        _show_failure(console, failed, f" (all: benchwright show {run.id} --worker-log)" if saved else "")
    console.print()
    for said in (_about_intervals(table), notes.describe_means(table), describe_bases(table)):
        if said:
            _line(console, said, "dim")
    for place, said in enumerate(describe_requests(table)):
        _line(console, said, "red" if place else "")
    for kept in notes.objectives(table):
        _line(console, f"Objective {kept}", "green" if kept.met else "red")
    for said in describe_goals(table):
        _line(console, f"Goal of {said}", "yellow")
    for said in describe_left_out(table):
        _line(console, f"Warm-up of {said}", "dim")
    for said in notes.rates(table):
        _line(console, f"Rate of {said}")
    for said in answers.summary(table):
        _line(console, said)
    if stated := notes.describe_instrument(run.results):
        colours = {"trustworthy": "dim", "invalid": "red"}
        colour = next((colour for word, colour in colours.items() if stated.startswith(word)), "yellow")
        _line(console, f"Instrument: {stated}", colour)
    for said in (*describe_instances(table), *describe_leases(run.results), *notes.list_files(run.results)):
        _line(console, said)
    if next_steps:
        _line(console, next_steps, "dim")


def next_steps(run: Run, *, saved: str = "", flags: str = "") -> str:
    """What to type next: `saved` says where the run is kept, `flags` what finds it there again."""
    kept = f" saved in {saved}" if saved else ""
    found = f"{run.id}{f' {flags}' if flags else ''}"
    if notes.is_try(run):
        where = f"The try is{kept or ' kept'}: benchwright show {found}"
        return f"Nothing was measured, so this does not count as a run. {where}"
    return f"Run {run.id}{kept}. More: benchwright show {found} --plot, benchwright report {found}"


def _about_intervals(table: Sequence[Row]) -> str:
    levels = [m.estimate.confidence for row in table for m in row.metrics.values() if m.estimate.low is not None]
    if not levels:
        return ""
    if max(levels) < 0.01:
        return "± and [low, high]: from too few values to say how sure they are"
    weak = sum(level < 0.945 for level in levels)
    rounds = {row.rounds for row in table}
    over = f" of the typical process, {rounds.pop()} rounds a case" if len(rounds) == 1 and rounds != {1} else ""
    said = f"± and [low, high]: {100 * max(levels):.0f} % intervals{over}"
    return said + (
        f"; {weak} of {len(levels)} reach{'es' * (weak == 1)} less: too few independent calls (benchwright show --json)"
        if weak
        else ""
    )


def _show_warning(console: Console, noted: notes.WarningKind, cases: int) -> None:
    times = f" ({noted.count} times)" if noted.count > 1 else ""
    where = "" if len(noted.cases) == cases else f" [{notes.list_some(noted.cases)}]"
    console.print()
    _line(console, f"Warning {noted.code}{times}: {noted.text}{where}", "yellow")
    if noted.remedy:
        _line(console, f"  {noted.remedy}")


def _show_failure(console: Console, failed: notes.FailureGroup, more: str) -> None:
    console.print()
    _line(console, f"{failed.case}: {notes.describe_failure(failed)}", "red")
    if failed.failure.remedy:
        _line(console, f"  {failed.failure.remedy}")
    tail = failed.failure.log_tail.splitlines()
    if len(tail) > LOG_LINES:
        _line(console, f"  log, last {LOG_LINES} of {len(tail)} lines kept{more}:", "dim")
    elif tail:
        _line(console, "  log:", "dim")
    for line in tail[-LOG_LINES:]:
        _line(console, f"  | {line}", "dim")


def _line(console: Console, text: str, style: str = "") -> None:
    from rich.text import Text

    console.print(Text(printable(text, lines=True), style=style), overflow="fold", soft_wrap=False)
