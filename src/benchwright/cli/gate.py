"""The gate of `benchwright compare`, which `benchwright check` opens too: its options, its output, its exit code."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchwright.cli.options import F
from benchwright.store import open_configured_store

if TYPE_CHECKING:
    from benchwright.analysis.gate import Gate
    from benchwright.execution.noise.calibration import Calibration
    from benchwright.records import Run

SUMMARY = "GITHUB_STEP_SUMMARY"  # where GitHub Actions takes Markdown for the page of a run
CONDITIONS = (
    "Conditions of --fail-on: failed (a case without numbers), missing (a case that only the other side has), worse, "
    "worse>2% (surely worse, and by more), METRIC>5% (the same of one metric: memory, latency, p99, throughput, or any "
    "other), unclear. What is muted passes, and thresholds count: see benchwright findings."
)
AGAINST = (
    "What the gate judges one run against: a run, a tag, a commit, a file, a branch of the repository, or `history`, "
    "the runs before it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRequest:
    """One request to a gate: which run, against what, what closes it, and how to print the answer."""

    run: str
    against: str
    fail_on: tuple[str, ...]
    smallest: str
    repo: str | None
    markdown: bool
    junit: Path | None
    github: bool
    store: str | None
    as_json: bool


def gate_options(function: F) -> F:
    """Adds the options that `compare` and `check` share: `fail_on`, `repo`, `junit` and `github`."""
    for option in (
        click.option(
            "--github", is_flag=True, help="Print annotations for GitHub Actions, and fill the step's summary."
        ),
        click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write JUnit XML to this file."),
        click.option(
            "--repo",
            metavar="FOLDER",
            help="The git or Mercurial repository: branches are looked up there. Default: this folder.",
        ),
        click.option(
            "--fail-on",
            "fail_on",
            multiple=True,
            metavar="CONDITION",
            help="What closes the gate; repeatable. Default: failed and worse.",
        ),
    ):
        function = option(function)
    return function


def open_gate(asked: GateRequest) -> int:
    """Judges the run, prints the answer, and returns the exit code: 0 when the run may pass, else 1."""
    from benchwright.analysis import baseline, false_alarms, gate
    from benchwright.units import parse_percent

    conditions = [gate.parse_condition(text) for text in asked.fail_on or gate.USUAL]
    least = parse_percent(asked.smallest, "--smallest")
    sides, rules = baseline.find_sides(
        asked.run, asked.against, lambda: open_configured_store(asked.store), repo=Path(asked.repo or ".")
    )
    checked = gate.check(sides, conditions, smallest=least, rules=rules)
    measured = sides.measured.results
    known = false_alarms.read_calibration(
        lambda: open_configured_store(asked.store), measured[0].environment if measured else None
    )
    _print(checked, known, asked, sides.measured)
    if asked.junit is not None:
        from benchwright.report.gate_text import junit_xml

        asked.junit.write_text(junit_xml(checked), encoding="utf-8")
    return 0 if checked.ok else 1


def _print(checked: Gate, known: Calibration | None, asked: GateRequest, run: Run) -> None:
    from benchwright.analysis.false_alarms import describe_for_comparison
    from benchwright.report import gate_text
    from benchwright.report.ascii import emit_text
    from benchwright.report.gate_text import github_annotations
    from benchwright.report.table import emit

    beside = describe_for_comparison(known)
    if asked.as_json:
        click.echo(gate_text.gate_json(checked, known))
    elif asked.markdown:
        emit_text(sys.stdout, gate_text.gate_markdown(checked, beside, _code_of(run, asked)))
    else:
        emit(sys.stdout, lambda console: gate_text.show_gate(console, checked, beside))
    if not asked.github:
        return
    # Beside JSON they would spoil it; GitHub reads the other stream too.
    emit_text(sys.stderr if asked.as_json else sys.stdout, github_annotations(checked))
    if summary := os.environ.get(SUMMARY):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(gate_text.gate_markdown(checked, beside, _code_of(run, asked)))


def _code_of(run: Run, asked: GateRequest) -> str:
    """The commit of the run as Markdown, which leads to the forge where that is known."""
    from benchwright import config
    from benchwright.report.code_text import commit_markdown
    from benchwright.vcs.forges import load_projects

    told = commit_markdown(run, load_projects(config.store_url(asked.store)))
    return f"{told[0].upper()}{told[1:]}" if told else ""
