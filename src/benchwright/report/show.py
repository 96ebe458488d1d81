"""`benchwright show`: a run in the form that was asked for."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

from benchwright import schema
from benchwright.analysis.requests import has_requests
from benchwright.analysis.rows import rows
from benchwright.errors import OptionError
from benchwright.records import Result, Run
from benchwright.report.ascii import emit_text
from benchwright.report.csv import run_csv, samples_csv
from benchwright.report.markdown import run_markdown
from benchwright.report.table import print_run, width_of
from benchwright.report.terminal import plots
from benchwright.units.numbers import instant, printable
from benchwright.vcs.forges import Projects


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowRequest:
    """What to show: `form` is table, csv, markdown or json; the flags add to it or narrow it."""

    form: str = "table"
    plot: bool = False
    samples: bool = False
    log: bool = False
    around: float | None = None  # seconds since time zero: the requests then, in place of the slowest


def show(run: Run, wanted: ShowRequest, file: TextIO | None = None, *, projects: Projects | None = None) -> None:
    """Writes the run to `file`, standard output by default."""
    out = file or sys.stdout
    if wanted.around is not None and not has_requests(run.results):
        remedy = "--around is about requests to a served model whose samples were kept"
        raise OptionError("the run holds no requests", remedy=remedy)
    if wanted.form != "table" and (wanted.plot or wanted.log):
        flag = "--plot" if wanted.plot else "--worker-log"
        raise OptionError(
            f"{flag} draws text and cannot be part of {wanted.form}", remedy=f"leave out {flag} or the format"
        )
    if wanted.form == "json":
        out.write(schema.dumps(run, indent=2) + "\n")
    elif wanted.form == "markdown":
        emit_text(out, run_markdown(run, projects))
    elif wanted.samples:
        emit_text(out, samples_csv(run))
    elif wanted.form == "csv":
        emit_text(out, run_csv(run))
    elif wanted.log:
        emit_text(out, "\n".join(_logs(run)) + "\n")
    else:
        repeat = f" Repeat: {shlex.join(run.command)}" if run.command else ""
        print_run(run, file=out, next_steps=f"Run {run.id}, {instant(run.started_at)}.{repeat}", saved=True)
        if run.race is not None:
            _print_race(run, out, plot=wanted.plot)
        elif wanted.plot:
            drawn = plots(rows(run), width_of(out), wanted.around)
            emit_text(out, "\n" + (drawn or "no calls were kept to draw") + "\n")


def _print_race(run: Run, out: TextIO, *, plot: bool) -> None:
    from benchwright.analysis.races import tell_race  # brings numpy, which no other run needs to be shown
    from benchwright.report.race_text import print_race

    story = tell_race(run)
    assert story is not None
    out.write("\n")
    print_race(story, file=out, plot=plot)


def _logs(run: Run) -> Iterator[str]:
    labels = {result.id: row.label for row in rows(run) for result in row.results}
    for result in run.results:
        yield f"--- {printable(labels[result.id])}, round {result.round + 1}: {result.status}"
        yield printable(_log(result), lines=True).rstrip() or "(nothing was written)"


def _log(result: Result) -> str:
    """The end of the log that the record itself holds: a run may come from anyone, so no file it names is read."""
    return result.log_tail or (result.error.log_tail if result.error else "")
