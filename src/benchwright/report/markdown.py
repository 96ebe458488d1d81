"""Markdown for GitHub: a table, then the notes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchwright.analysis import notes
from benchwright.analysis.rows import param_names, rows, show_scalar
from benchwright.records import Run
from benchwright.report import answers
from benchwright.report.columns import columns
from benchwright.units.numbers import printable

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#!$&@])")


def run_markdown(run: Run) -> str:
    """The run as a GitHub table with warnings, failures and the instrument below it."""
    table = rows(run)
    names, found = param_names(table), columns(table)
    head = ["case", *names, *(c.heading for c in found), "rounds", "status"]
    body = [
        [
            row.name,
            *(show_scalar(row.params[n]) if n in row.params else "" for n in names),
            *(str(c.cells[i]) if c.cells[i] else "" for c in found),
            str(row.rounds),
            row.status,
        ]
        for i, row in enumerate(table)
    ]
    right = [False, *(False for _ in names), *(True for _ in found), True, False]
    parts = [markdown_table(head, body, right), *_notes(run)]
    return "\n\n".join(parts) + "\n"


def markdown_table(head: Sequence[str], body: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """A GitHub table; every cell is escaped."""
    lines = [
        "| " + " | ".join(map(escaped, head)) + " |",
        "| " + " | ".join("---:" if r else "---" for r in right) + " |",
    ]
    lines += ["| " + " | ".join(map(escaped, line)) + " |" for line in body]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line, naming nobody and running nothing."""
    return _SPECIAL.sub(r"\\\1", printable(text))


def _notes(run: Run) -> list[str]:
    table = rows(run)
    parts = [f"**{escaped(missing)}**"] if (missing := notes.describe_missing_results(run)) else []
    if warned := notes.warnings(table):
        parts.append(
            "\n".join(f"- **{escaped(w.code)}** (×{w.count}): {escaped(w.text)} {escaped(w.remedy)}" for w in warned)
        )
    for failed in notes.failures(table):
        said = f"**{escaped(failed.case)}**: {escaped(notes.describe_failure(failed))}"
        parts.append(f"{said} {escaped(failed.failure.remedy)}".rstrip())
        if failed.failure.log_tail:
            parts.append(_fenced(failed.failure.log_tail))
    if said := notes.describe_means(table):
        parts.append(escaped(said))
    parts += [escaped(f"Objective {kept}") for kept in notes.objectives(table)]
    parts += [escaped(f"Rate of {said}") for said in notes.rates(table)]
    parts += [escaped(said) for said in answers.summary(table)]
    if stated := notes.describe_instrument(run.results):
        parts.append(f"Instrument: {escaped(stated)}")
    if run.id:
        parts.append(f"Run {escaped(run.id)}, benchwright {escaped(run.harness)}")
    return parts


def _fenced(text: str) -> str:
    longest = max((len(m) for m in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{printable(text, lines=True).rstrip()}\n{fence}"
