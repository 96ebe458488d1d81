"""`benchwright check`: a gate for any CI."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchwright.cli.options import json_option, opened, store_option

if TYPE_CHECKING:
    from benchwright.analysis.gate import Gate
    from benchwright.execution.noise.calibration import Calibration

SUMMARY = "GITHUB_STEP_SUMMARY"  # where GitHub Actions takes Markdown for the page of a run


@click.command(
    "check",
    epilog="Conditions of --fail-on: failed (a case without numbers), missing (a case that only the other side has), "
    "worse, worse>2% (surely worse, and by more), METRIC>5% (the same of one metric: memory, latency, p99, throughput, "
    "or any other), unclear. What is muted passes, and thresholds count: see benchwright findings.",
)
@click.argument("run", default="last", metavar="[RUN]")
@click.option(
    "--against",
    required=True,
    metavar="WHAT",
    help="A run, a tag, a commit, a file, a branch of the repository, or `history`: the runs before it.",
)
@click.option(
    "--fail-on",
    "fail_on",
    multiple=True,
    metavar="CONDITION",
    help="What closes the gate; repeatable. Default: failed and worse.",
)
@click.option("--smallest", default="1%", show_default=True, metavar="PERCENT", help="A change below this is none.")
@click.option("--repo", default=".", show_default=True, metavar="DIR", help="Where branches are looked up.")
@click.option("--markdown", is_flag=True, help="Print Markdown, fit for a comment on a pull request.")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write JUnit XML to this file.")
@click.option("--github", is_flag=True, help="Print annotations for GitHub Actions, and fill the step's summary.")
@store_option
@json_option
def command(
    *,
    run: str,
    against: str,
    fail_on: tuple[str, ...],
    smallest: str,
    repo: str,
    markdown: bool,
    junit: Path | None,
    github: bool,
    store: str | None,
    as_json: bool,
) -> int:
    """Whether RUN (default: the last) may pass: judged against another as `benchwright compare` does.

    Exits with 0 when it may, with 1 when a condition of --fail-on is met, with 2 when the question was wrong.
    """
    from benchwright.analysis import baseline, false_alarms, gate
    from benchwright.units import parse_percent

    conditions = [gate.condition(text) for text in fail_on or gate.USUAL]
    least = parse_percent(smallest, "--smallest")
    sides, rules = baseline.found(run, against, lambda: opened(store, create=False), repo=Path(repo))
    checked = gate.check(sides, conditions, smallest=least, rules=rules)
    measured = sides.measured.results
    known = false_alarms.read(lambda: opened(store, create=False), measured[0].environment if measured else None)
    _print(checked, known, markdown=markdown, as_json=as_json, github=github)
    if junit is not None:
        from benchwright.report.junit import junit_xml

        junit.write_text(junit_xml(checked), encoding="utf-8")
    return 0 if checked.ok else 1


def _print(checked: Gate, known: Calibration | None, *, markdown: bool, as_json: bool, github: bool) -> None:
    from benchwright.analysis.false_alarms import beside_rounds
    from benchwright.report import gate_text
    from benchwright.report.annotations import github_annotations
    from benchwright.report.ascii import emit_text
    from benchwright.report.table import emit

    beside = beside_rounds(known)
    if as_json:
        click.echo(gate_text.gate_json(checked, known))
    elif markdown:
        emit_text(sys.stdout, gate_text.gate_markdown(checked, beside))
    else:
        emit(sys.stdout, lambda console: gate_text.show_gate(console, checked, beside))
    if not github:
        return
    # Beside JSON they would spoil it; GitHub reads the other stream too.
    emit_text(sys.stderr if as_json else sys.stdout, github_annotations(checked))
    if summary := os.environ.get(SUMMARY):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(gate_text.gate_markdown(checked, beside))
