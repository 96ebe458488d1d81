"""Causes for the terminal: one bad commit is one entry, however many series it touched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from benchwright.analysis.change_words import format_points
from benchwright.analysis.comparison import format_percent
from benchwright.records.causes import Cause, causes_of
from benchwright.records.code import CodeLinks
from benchwright.records.findings import Finding
from benchwright.records.request_metrics import ERRORS
from benchwright.report.findings import SHORT, STYLES, change_text, indented, show_list, title
from benchwright.report.hyperlinks import print_line
from benchwright.schema.printed import envelope
from benchwright.units import format_probability
from benchwright.units.numbers import printable

if TYPE_CHECKING:
    from rich.console import Console

IN_FULL = 20  # findings of a cause


def show_causes(console: Console, causes: Sequence[Cause]) -> None:
    """Two lines for each cause: of several findings what they are in all, else the finding itself."""
    from rich.text import Text

    for cause in causes:
        if cause.findings == 1:
            show_list(console, [cause.lead])
            continue
        head = Text(f"{printable(cause.id)}  ", style="bold")
        head.append(str(cause.lead.verdict), style=STYLES.get(cause.lead.verdict, ""))
        console.print(head.append(f"  {cause_title(cause)}"), overflow="fold")
        console.print(indented(about_cause(cause), len(cause.id) + 2), overflow="fold")


def show_grouped(console: Console, findings: Sequence[Finding]) -> None:
    """The same of the causes of these findings, with nothing but these in them."""
    show_causes(console, causes_of(findings))


def show_cause(console: Console, cause: Cause, findings: Sequence[Finding], *, links: CodeLinks | None = None) -> None:
    """A cause with its findings, the largest change first; with `links` its commit leads to the forge."""
    from rich.text import Text

    show_causes(console, [cause])
    for words, leads in _code_lines(cause, links):
        print_line(console, words, leads)
    console.print()
    for finding in findings[:IN_FULL]:
        line = Text(f"  {printable(finding.id)}  ")
        line.append(str(finding.verdict), style=STYLES.get(finding.verdict, ""))
        console.print(line.append(f"  {title(finding)} · {finding.state}"), overflow="fold")
    for said in _below_cause(cause, len(findings)):
        console.print(Text(said), overflow="fold")


def cause_title(cause: Cause) -> str:
    """What changed, in how many series: `300 series of 40 cases, 3 metrics: up to 38 % slower, median 12 %`."""
    metrics = cause.metrics[0] if len(cause.metrics) == 1 else f"{len(cause.metrics)} metrics"
    cases = "1 case" if cause.cases == 1 else f"{cause.cases} cases"
    middle = abs((cause.median if cause.lead.effect.point >= 1 else 1 / cause.median) - 1)
    largest = change_text(cause.lead).partition(" [")[0]
    size = f"up to {largest}, median {format_percent(middle)}"
    if not cause.lead.has_ratio:  # the others of several metrics are told in per cent, and not here
        of_errors = f"{ERRORS} " if len(cause.metrics) > 1 else ""
        size = f"{of_errors}up to {largest}, median {format_points(1 + middle)} points"
    both = f"; {cause.worse} worse, {cause.better} better" if cause.worse and cause.better else ""
    return printable(f"{cause.series} series of {cases}, {metrics}: {size}{both}")


def about_cause(cause: Cause) -> str:
    """The details of a cause in one line: its commit, the largest change, machines, states and who has it."""
    states = ", ".join(f"{count} {state}" for state, count in sorted(cause.states.items()))
    parts = (
        commit_text(cause),
        f"largest: {title(cause.lead).partition(' [')[0]}",
        f"{len(cause.machines)} machines" if len(cause.machines) > 1 else "",
        states if len(cause.states) > 1 else str(cause.state),
        ", ".join(cause.assignees),
    )
    return printable(" · ".join(part for part in parts if part))


def commit_text(cause: Cause) -> str:
    """The commit behind a cause, with its author and how probable it is; the run it began at where none is known."""
    culprit = cause.culprit
    if culprit is None:
        return f"since run {cause.lead.run}" if cause.lead.run else ""
    author = f" ({culprit.author})" if culprit.author else ""
    named = f"commit {culprit.revision[:SHORT]} {culprit.subject}".rstrip()
    return f"{named}{author}, {format_probability(culprit.probability)} sure"


def causes_json(findings: Sequence[Finding], causes: Sequence[Cause]) -> str:
    """Findings and causes as JSON."""
    return envelope("findings", {"findings": findings, "causes": causes})


def _code_lines(cause: Cause, links: CodeLinks | None) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The commit and the range of a cause, with the words that lead to the forge."""
    if links is None:
        return
    if cause.culprit and (url := links.commit_link(cause.culprit.revision)):
        short = cause.culprit.revision[:SHORT]
        yield f"Commit {short}", [(short, url)]
    known = cause.lead.revisions
    if len(known) > 1 and (url := links.compare_link(known[0], known[-1])):
        words = f"{known[0][:SHORT]} up to {known[-1][:SHORT]}"
        yield f"Commits after {words}", [(words, url)]


def _below_cause(cause: Cause, count: int) -> Iterator[str]:
    if count > IN_FULL:
        yield f"  and {count - IN_FULL} more: benchwright findings --cause {cause.id} --state all --limit {count}"
    yield f"one alone: benchwright findings show {cause.lead.id}"
    commits = len(cause.lead.revisions) - 1  # after the last that was as before
    if cause.culprit and cause.lead.has_ratio and commits > 1:
        yield f"which commit: benchwright bisect {cause.lead.id}"
