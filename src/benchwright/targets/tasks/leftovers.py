"""What a task's patterns leave out of a saved log: hits without a number, unused groups, lines without a hit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchwright.targets.tasks.definition import Pattern, Task
from benchwright.worker.tasks.aggregates import OF_HITS, canonical
from benchwright.worker.tasks.lines import LONGEST, Lines
from benchwright.worker.tasks.numbers import NotANumberError, NotFiniteError, parse_number
from benchwright.worker.tasks.scanner import MOST_SECONDS, TooSlowError, compile_expression, limit_cpu_time

MOST_SHOWN = 5  # hits of one series
MOST_READ = 64 << 20  # bytes of a log: it is gone through line by line, which takes longer than finding values
_READ = 1 << 20
_WIDEST = 100  # characters of a line


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedHit:
    """A hit that gave no value: where, the line, and why."""

    series: str
    line: int  # from 1
    text: str
    why: str


@dataclass(slots=True, kw_only=True)
class Leftovers:
    """All that was left out of a log, and how much was looked at."""

    lines: int = 0
    without_hit: int = 0
    long: int = 0  # lines whose end was not looked at
    hits: list[UnusedHit] = field(default_factory=list)  # the first of each series
    counts: dict[str, int] = field(default_factory=dict)  # all hits without a value, by series
    groups: tuple[str, ...] = ()  # captured, and used by no metric
    given_up: list[str] = field(default_factory=list)  # expressions that took too long
    is_whole: bool = True  # false: the log is longer than what was looked through

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "lines": self.lines,
            "lines_without_hit": self.without_hit,
            "long_lines": self.long,
            "hits": [{"series": h.series, "line": h.line, "text": h.text, "why": h.why} for h in self.hits],
            "hit_counts": dict(self.counts),
            "unused_groups": list(self.groups),
            "given_up": list(self.given_up),
            "whole_log": self.is_whole,
        }

    def as_lines(self) -> list[str]:
        """The same for people, a line for each thing; nothing where nothing was left out."""
        found = []
        for series, count in self.counts.items():
            shown = [hit for hit in self.hits if hit.series == series]
            found.append(f"{_count(count, 'hit')} of {series.removeprefix('metrics.')} gave no value:")
            found += [f"  line {hit.line:,}: {hit.text}  ({hit.why})" for hit in shown]
            found += [f"  and {count - len(shown):,} more"] * (count > len(shown))
        if self.groups:
            found.append(f"captured and used by no metric: {', '.join(self.groups)}")
        found += [f"{text!r} was given up: more than {MOST_SECONDS:g} s for one block" for text in self.given_up]
        if self.long:
            found.append(f"{_count(self.long, 'line')}: what lies beyond {LONGEST} bytes")
        if self.without_hit:
            found.append(f"{self.without_hit:,} of {_count(self.lines, 'line')} hold nothing that a pattern looks for")
        if not self.is_whole:
            found.append(
                f"what lies beyond the first {MOST_READ >> 20} MiB of the log was not gone through for this list"
            )
        return found


def find_leftovers(task: Task, log: Path) -> Leftovers:
    """Goes through a log line by line. Hits that reach over lines, of the older form, are not among what is listed."""
    goals = {name for goal in task.goals for name in (goal.series, goal.steps, goal.epochs)}
    used = {metric.series for metric in task.metrics} | goals | set(task.phases.values())
    of_numbers = {m.series for m in task.metrics if canonical(m.compute) not in OF_HITS} | goals
    unused = [name for pattern in task.patterns for name in pattern.series if name not in used]
    found = Leftovers(groups=tuple(dict.fromkeys(unused)))
    searched = [(p, compile_expression(p.text)) for p in task.patterns if used & p.series.keys()]
    for block in _blocks(log, found):
        lines = block.decode("utf-8", "replace").split("\n")[:-1]
        is_hit = [False] * len(lines)
        for pattern, expression in list(searched):
            try:
                with limit_cpu_time():
                    _search(pattern, expression, lines, is_hit, found, of_numbers)
            except TooSlowError:
                searched = [one for one in searched if one[0] is not pattern]
                found.given_up.append(pattern.text)
        found.without_hit += is_hit.count(False)
        found.lines += len(lines)
    found.hits.sort(key=lambda hit: hit.line)
    return found


def _search(
    pattern: Pattern,
    expression: re.Pattern[str],
    lines: list[str],
    is_hit: list[bool],
    found: Leftovers,
    of_numbers: set[str],
) -> None:
    for place, line in enumerate(lines):
        for match in expression.finditer(line):
            is_hit[place] = True
            for series, group in pattern.series.items():
                if series in of_numbers and (captured := match[group]):
                    _check_number(series, captured, line, found.lines + place + 1, found)


def _check_number(series: str, captured: str, line: str, number: int, found: Leftovers) -> None:
    try:
        parse_number(captured)
    except (NotANumberError, NotFiniteError) as error:
        before = found.counts.get(series, 0)
        found.counts[series] = before + 1
        if before < MOST_SHOWN:
            text = line.strip()
            shown = text if len(text) <= _WIDEST else f"{text[:_WIDEST]} ..."
            found.hits.append(UnusedHit(series=series, line=number, text=shown, why=str(error)))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _blocks(log: Path, found: Leftovers) -> Iterator[bytes]:
    lines, left = Lines(), MOST_READ
    with log.open("rb") as stream:
        while left > 0 and (data := stream.read(min(_READ, left))):
            left -= len(data)
            if block := lines.feed(data):
                yield block
        found.is_whole = not stream.read(1)
    if block := lines.finish():
        yield block
    found.long = lines.cut
