"""Findings for the terminal: a list of them, and one in full with the graph of its series."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from benchwright.analysis.change_words import describe_points
from benchwright.analysis.comparison import WORDS, format_percent
from benchwright.records import Estimate, Verdict
from benchwright.records.code import CodeLinks
from benchwright.records.findings import Finding, Remark, Suspect
from benchwright.report import drifts, reasons
from benchwright.report.ascii import emit_text
from benchwright.report.hyperlinks import print_line
from benchwright.report.table import emit
from benchwright.schema.parsing import json_mapping
from benchwright.schema.printed import envelope
from benchwright.units import format_number, format_probability
from benchwright.units.numbers import cell, instant, printable, scale_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.padding import Padding

    from benchwright.records.causes import Cause

STYLES = {Verdict.WORSE: "red", Verdict.BETTER: "green"}
SHORT = 10  # digits of a commit
NAMED = 5  # suspects, and differences of a kind
_MARGIN = 12  # of the graph, for the numbers at its left


def print_findings(
    findings: Sequence[Finding], *, causes: Sequence[Cause] = (), suspected: int = 0, file: TextIO | None = None
) -> None:
    """Prints the causes where there are any, else the findings, and below them how many are only `suspected`."""
    from benchwright.report.causes import show_causes

    out = file or sys.stdout
    if causes:
        emit(out, lambda console: show_causes(console, causes))
    elif findings:
        emit(out, lambda console: show_list(console, findings))
    if any(cause.findings > 1 for cause in causes):
        total = sum(cause.findings for cause in causes)
        count = "1 cause" if len(causes) == 1 else f"{len(causes)} causes"
        emit_text(out, f"{count}, {total} findings; each of them: benchwright findings --each\n")
    for line in below_findings(findings, suspected):
        emit_text(out, f"{line}\n")


def below_findings(findings: Sequence[Finding], suspected: int) -> Iterator[str]:
    """The lines below a list of findings: that it is empty, and how many suspected changes it leaves out."""
    if not findings:
        yield "no findings; benchwright findings judge looks for some"
    if suspected:
        count = "1 change is" if suspected == 1 else f"{suspected} changes are"
        yield f"{count} suspected and not reported yet: benchwright findings --state suspected"


def show_list(console: Console, findings: Sequence[Finding]) -> None:
    """One line for each finding, and a second for what tells more."""
    from rich.text import Text

    for finding in findings:
        head = Text(f"{printable(finding.id)}  ", style="bold")
        head.append(str(finding.verdict), style=STYLES.get(finding.verdict, ""))
        console.print(head.append(f"  {title(finding)}"), overflow="fold")
        console.print(indented(about(finding), len(finding.id) + 2), overflow="fold")


def indented(words: str, wide: int) -> Padding:
    """A line that begins below its heading, as do the lines in which it goes on where a terminal is narrow."""
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(words, style="dim"), (0, 0, 0, wide), expand=False)


def show_finding(
    console: Console, finding: Finding, values: Sequence[float], index: int | None, *, links: CodeLinks | None = None
) -> None:
    """A finding in full; `values` are its series, of which the one at `index` is the first after the change.

    With `links` commits, their range, requests and authors lead to the pages of the forge.
    """
    from rich.text import Text

    show_list(console, [finding])
    console.print()
    if index is not None:
        drawn = graph(values, index, finding, width=min(console.width, 100))
        console.print(Text(drawn), overflow="fold")
        console.print()
    last = f"Series {finding.series}"  # what `findings mute` takes
    for line, leads in _culprits(finding, links):
        print_line(console, line, leads)
    for line in (*reasons.reason_lines(finding.why), *_story(finding.remarks), last):
        print_line(console, line)


def title(finding: Finding) -> str:
    """What changed, and by how much: `encode batch_size=8  latency_p50 12 % slower [11 %, 14 %]`."""
    params = " ".join(f"{name}={value}" for name, value in json_mapping(finding.params).items())
    return printable(f"{f'{finding.case} {params}'.strip()}  {finding.metric} {change_text(finding)}")


def change_text(finding: Finding, effect: Estimate | None = None) -> str:
    """The size of the change, or of another in its unit, with its interval, in words: `12 % slower [11 %, 14 %]`.

    It says as well whether the change is a drift.
    """
    return _size_text(finding, effect or finding.effect) + (drifts.length_text(finding.drift) if finding.drift else "")


def _size_text(finding: Finding, effect: Estimate) -> str:
    if not finding.has_ratio:
        return describe_points(effect)
    above, below, times = WORDS.get(finding.unit, ("higher", "lower", "high"))
    if effect.point >= 2:
        return f"{effect.point:.3g} times as {times}"
    sign = 1 if effect.point >= 1 else -1
    size = f"{format_percent(abs(effect.point - 1))} {above if sign > 0 else below}"
    if effect.low is None or effect.high is None:
        return size
    ends = sorted(sign * (end - 1) for end in (effect.low, effect.high))
    return f"{size} [{format_percent(ends[0])}, {format_percent(ends[1])}]"


def graph(values: Sequence[float], index: int, finding: Finding, *, width: int = 80, height: int = 9) -> str:
    """The series as characters: a star for each run, lines for the levels, and a mark where the change is."""
    if finding.drift:
        return drifts.graph(values, index - 1, finding, width=width, height=height)
    room = max(10, width - _MARGIN - 3)
    start = max(0, min(index - room // 2, len(values) - room))
    shown, place = list(values[start : start + room]), index - start
    low, high = min(*shown, finding.before.point, finding.after.point), max(*shown, finding.before.point)
    high = max(high, finding.after.point)
    grid = [[" "] * (len(shown) + 1) for _ in range(height)]
    for column in range(len(shown)):
        level = finding.before.point if column < place else finding.after.point
        grid[drifts.graph_row(level, low, high, height)][column + (column >= place)] = "─"
    for line in grid:
        line[place] = "│"
    for column, value in enumerate(shown):
        grid[drifts.graph_row(value, low, high, height)][column + (column >= place)] = "*"
    scale = scale_of([low, high], finding.unit)
    ends = {0: high, height - 1: low}
    labels = [f"{format_number(ends[i] / scale.factor)} {scale.unit}" if i in ends else "" for i in range(height)]
    lines = [f"{label:>{_MARGIN}} {''.join(line)}".rstrip() for label, line in zip(labels, grid, strict=True)]
    lines.append(f"{' ' * (_MARGIN + 1 + place)}^ run {printable(finding.run)}")
    return "\n".join(lines)


def findings_json(findings: Sequence[Finding]) -> str:
    """Findings as JSON."""
    return envelope("findings", {"findings": findings})


def finding_json(finding: Finding, moments: Sequence[Any]) -> str:
    """One finding with the values of its series as JSON."""
    return envelope("finding-series", {"finding": finding, "series": moments})


def about(finding: Finding) -> str:
    """The details of a finding in one line: both levels, how sure it is, since when, its state and who has it."""
    scale = scale_of([finding.before.point, finding.after.point], finding.unit)
    levels = f"{cell(finding.before, scale)} to {cell(finding.after, scale)} {scale.unit}".rstrip()
    sure = "" if finding.confidence is None else f"{format_probability(finding.confidence)} sure"
    who = f"{finding.state}, {finding.assignee}" if finding.assignee else str(finding.state)
    since = f"since {_range(finding)}" if finding.revisions else f"since run {finding.run}"
    if finding.drift:
        levels += drifts.steps_text(finding.drift)
        since = f"{drifts.slope_text(finding.drift)} · {drifts.since_text(finding, finding.drift)}"
    return printable(" · ".join(part for part in (levels, sure, since, who) if part))


def _range(finding: Finding) -> str:
    first, last = finding.revisions[0][:SHORT], finding.revisions[-1][:SHORT]
    return first if len(finding.revisions) == 1 else f"{first}..{last}"


def _culprits(finding: Finding, links: CodeLinks | None) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The lines about commits, each with its words that lead somewhere and the addresses."""
    count = len(finding.revisions) - 1
    if finding.drift:
        for number, line in enumerate(drifts.part_lines(finding)):
            yield line, _range_link(finding, links) if line.startswith("Commits after") or not number else []
        return
    if count < 1:
        return
    first, last = finding.revisions[0][:SHORT], finding.revisions[-1][:SHORT]
    yield f"Commits after {first} up to {last}: {count}", _range_link(finding, links)
    for suspect in finding.suspects[:NAMED]:
        author = f" ({suspect.author})" if suspect.author else ""
        sure = f"{format_probability(suspect.probability):>11}"
        size = f", against its parent {change_text(finding, suspect.effect)}" if suspect.effect else ""
        line = f"{sure}  {suspect.revision[:SHORT]}  {suspect.subject}{author}{size}".rstrip()
        number = links.request_of(suspect.pull_request, suspect.subject) if links else 0
        request = f"  {links.request_word} {number}" if links and number and links.request_link(number) else ""
        yield f"{line}{request}", _suspect_links(suspect, number, request.strip(), links)
    if count > 1 and finding.has_ratio:
        yield f"  which one: benchwright bisect {finding.id}", []


def _range_link(finding: Finding, links: CodeLinks | None) -> list[tuple[str, str]]:
    if links is None or len(finding.revisions) < 2:
        return []
    first, last = finding.revisions[0], finding.revisions[-1]
    return [(f"{first[:SHORT]} up to {last[:SHORT]}", links.compare_link(first, last))]


def _suspect_links(suspect: Suspect, number: int, request: str, links: CodeLinks | None) -> list[tuple[str, str]]:
    if links is None:
        return []
    found = [(suspect.revision[:SHORT], links.commit_link(suspect.revision))]
    if suspect.author:
        found.append((suspect.author, links.author_link(suspect.author)))
    return [*found, (request, links.request_link(number))]


def _story(remarks: Sequence[Remark]) -> Iterator[str]:
    if remarks:
        yield "Story"
    for remark in remarks:
        yield f"  {instant(remark.at)}  {remark.who or '-'}  {remark.what}{': ' if remark.text else ''}{remark.text}"
