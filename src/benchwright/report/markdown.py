"""Markdown for GitHub: a table, then the notes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchwright.analysis import notes
from benchwright.analysis.leases import describe_leases
from benchwright.analysis.machine_columns import describe_instances, instance_columns, machine_columns
from benchwright.analysis.price_changes import describe_bases
from benchwright.analysis.request_failures import describe_requests
from benchwright.analysis.rows import Row, rows, show_scalar
from benchwright.records import Run
from benchwright.report import answers
from benchwright.report.case_names import params_in_columns
from benchwright.report.columns import columns
from benchwright.units.numbers import printable
from benchwright.vcs.forges import Projects

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#!$&@])")


def run_markdown(run: Run, projects: Projects | None = None) -> str:
    """The run as a GitHub table with warnings, failures and the instrument below it.

    Its commit leads to the forge that the run names, or that `projects` configure.
    """
    table = rows(run)
    names, found = params_in_columns(table), columns(table)
    head = ["case", *names, *(c.heading for c in found), "rounds", "status"]
    body = [
        [
            row.name if names else row.label,
            *(show_scalar(row.params[n]) if n in row.params else "" for n in names),
            *(str(c.cells[i]) if c.cells[i] else "" for c in found),
            str(row.rounds),
            row.status,
        ]
        for i, row in enumerate(table)
    ]
    right = [False, *(False for _ in names), *(True for _ in found), True, False]
    tables = [*_by_machine(table), markdown_table(head, body, right), *_speedups(table)]
    parts = [*tables, *_notes(run, projects or Projects())]
    return "\n\n".join(parts) + "\n"


def _speedups(table: Sequence[Row]) -> list[str]:
    """Tables of speed-up and efficiency, where cases differ in their number of processes."""
    from benchwright.analysis.speedup import find_speedups
    from benchwright.report.speedup_text import speedup_cells

    found = []
    for speedup in find_speedups(table):
        head, body = speedup_cells(speedup)
        found += [escape_markdown(speedup.title), markdown_table(head, body, [True, True, *(False for _ in head[2:])])]
    return found


def _by_machine(table: Sequence[Row]) -> list[str]:
    """Tables with a column for each machine or cloud instance, where several measured the same cases."""
    from benchwright.report.machine_table import machines_markdown

    by_machine = machine_columns(table)
    return [machines_markdown(found) for found in ([by_machine] if by_machine else []) + instance_columns(table)]


def markdown_table(head: Sequence[str], body: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """A GitHub table; every cell is escaped."""
    lines = [
        "| " + " | ".join(map(escape_markdown, head)) + " |",
        "| " + " | ".join("---:" if r else "---" for r in right) + " |",
    ]
    lines += ["| " + " | ".join(map(escape_markdown, line)) + " |" for line in body]
    return "\n".join(lines)


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is, on one line, naming nobody and running nothing."""
    return _SPECIAL.sub(r"\\\1", printable(text))


def _notes(run: Run, projects: Projects) -> list[str]:
    table = rows(run)
    parts = [f"**{escape_markdown(missing)}**"] if (missing := notes.describe_missing_results(run)) else []
    if warned := notes.warnings(table):
        parts.append(
            "\n".join(
                f"- **{escape_markdown(w.code)}** (×{w.count}): {escape_markdown(w.text)} {escape_markdown(w.remedy)}"
                for w in warned
            )
        )
    for failed in notes.failures(table):
        said = f"**{escape_markdown(failed.case)}**: {escape_markdown(notes.describe_failure(failed))}"
        parts.append(f"{said} {escape_markdown(failed.failure.remedy)}".rstrip())
        if failed.failure.log_tail:
            parts.append(_fence(failed.failure.log_tail))
    parts += [escape_markdown(said) for said in (notes.describe_means(table), describe_bases(table)) if said]
    if asked := describe_requests(table):
        head, *kinds = (escape_markdown(said.strip()) for said in asked)
        parts += ["\n".join([head, *(["", *(f"- {kind}" for kind in kinds)] if kinds else [])])]
    parts += [escape_markdown(f"Objective {kept}") for kept in notes.objectives(table)]
    parts += [escape_markdown(f"Rate of {said}") for said in notes.rates(table)]
    parts += [escape_markdown(said) for said in answers.summary(table)]
    if stated := notes.describe_instrument(run.results):
        parts.append(f"Instrument: {escape_markdown(stated)}")
    parts += [escape_markdown(said) for said in describe_instances(table)]
    if leased := describe_leases(run.results):
        parts.append(
            "\n".join([f"{escape_markdown(leased[0])}:", "", *(f"- {escape_markdown(one)}" for one in leased[1:])])
        )
    if run.id:
        from benchwright.report.code_text import commit_markdown

        told = [f"Run {escape_markdown(run.id)}", f"benchwright {escape_markdown(run.harness)}"]
        parts.append(", ".join([*told, commit] if (commit := commit_markdown(run, projects)) else told))
    return parts


def _fence(text: str) -> str:
    longest = max((len(m) for m in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{printable(text, lines=True).rstrip()}\n{fence}"
