"""`benchwright bisect`: the commit behind a change."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchwright.cli.options import json_option, only_one, pair_seed_option, picture_option, store_option
from benchwright.cli.targets import build_options, cloud_options, target_options

if TYPE_CHECKING:
    from benchwright.workflows.bisect.run import Range
    from benchwright.workflows.bisect.search import BisectionTerms


@click.command("bisect")
@target_options
@click.option("--good", default="", metavar="REV", help="The last revision that was as before.")
@click.option("--bad", default="", metavar="REV", help="A later revision that shows the change.")
@click.option("--finding", default="", metavar="ID", help="A finding, when targets are named too.")
@click.option("--case", default="", metavar="WORDS", help="Only cases with these words in their name: one is bisected.")
@build_options
@cloud_options
@click.option(
    "--confidence",
    default="98%",
    show_default=True,
    metavar="PERCENT",
    help="How sure an answer must be: end when one commit is the culprit with this probability.",
)
@click.option(
    "--most-runs", type=click.IntRange(min=2), default=200, show_default=True, help="End after this many runs."
)
@click.option("--all", "every", is_flag=True, help="All of them: go on to the next culprit when one is named.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="The metric to judge; only one. Default: the first that compare judges.",
)
@pair_seed_option
@click.option("--no-save", is_flag=True, help="Keep nothing in the store; use nothing that is there either.")
@picture_option("a picture of the search, .png, .svg or .pdf.")
@store_option
@json_option
def command(**given: Any) -> int:
    """Find the commit behind a change, despite noise, and say how sure that is.

    With one argument and no --good and --bad, it is the id of a finding, whose range, case and suspects are known.
    Otherwise TARGET is what to measure between --good and --bad. A bisection that was cut off goes on where it was.
    It ends with pairs of the commit and its own parent, which tell the size of its change.

    Exit code 1 when no commit is sure enough.
    """
    from benchwright.cli.progress import ProgressLine
    from benchwright.cli.targets import build_spec_there, cpus_of, request_of
    from benchwright.execution.session import Plan
    from benchwright.report import bisection
    from benchwright.report.ascii import spell
    from benchwright.workflows.bisect.run import seek
    from benchwright.workflows.invocation import command_line

    asked = _range(given)
    picture: Path | None = given["output"]
    if picture:
        from benchwright.report.picture import check_picture

        check_picture(picture, force=True)
    with build_spec_there(given) as making, ProgressLine(sys.stderr) as progress:
        found = seek(
            asked,
            request_of(given),
            _terms(given),
            making,
            store=given["store"],
            save=not given["no_save"],
            listener=progress,
            plan=Plan(cpus=cpus_of(given), command=command_line()),
        )
    if picture:
        from benchwright.report.bisection import write_bisected

        write_bisected(found, picture)
    click.echo(
        bisection.bisected_json(found) if given["as_json"] else spell(sys.stdout, bisection.bisected_text(found))
    )
    return 130 if found.interrupted else int(not found.sure)


def _range(given: dict[str, Any]) -> Range:
    """Returns the range to search; the only argument is a finding where no range is given."""
    from benchwright.workflows.bisect.run import Range

    finding = given["finding"]
    if not finding and not (given["good"] or given["bad"]) and len(given["targets"]) == 1:
        (finding,) = given["targets"]
        given["targets"] = ()
    return Range(finding=finding, good=given["good"], bad=given["bad"], case=given["case"])


def _terms(given: dict[str, Any]) -> BisectionTerms:
    from benchwright.units import parse_percent
    from benchwright.workflows.ab.run import fresh_seed
    from benchwright.workflows.bisect.search import BisectionTerms

    return BisectionTerms(
        confidence=parse_percent(given["confidence"], "--confidence", zero=False),
        most_runs=given["most_runs"],
        metric=only_one(given["metrics"], "--metric", "a bisection judges one metric"),
        every=given["every"],
        seed=fresh_seed() if given["seed"] is None else given["seed"],
    )
