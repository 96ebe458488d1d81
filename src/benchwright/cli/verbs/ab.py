"""`benchwright ab`: control against treatment, in interleaved pairs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchwright.cli.configured_targets import TargetCommand
from benchwright.cli.options import (
    json_option,
    markdown_option,
    only_one,
    pair_seed_option,
    picture_option,
    smallest_option,
    store_option,
)
from benchwright.cli.targets import build_options, cloud_options, target_options
from benchwright.store import open_configured_store

if TYPE_CHECKING:
    from benchwright.execution.noise.calibration import Calibration
    from benchwright.records.trials import AbRules
    from benchwright.workflows.ab.run import SideRequest


@click.command("ab", cls=TargetCommand)
@target_options
@build_options
@cloud_options
@click.option(
    "--control", default="", metavar="REV", help="What to measure against. Default: main or master; in hg, default."
)
@click.option(
    "--treatment", default="", metavar="REV", help="What may have changed something. Default: what is checked out."
)
@click.option("--control-dir", metavar="FOLDER", help="The control is this folder as it is.")
@click.option("--treatment-dir", metavar="FOLDER", help="The treatment is this folder as it is.")
@click.option("--control-python", metavar="FILE", help="The control is measured with this interpreter.")
@click.option("--treatment-python", metavar="FILE", help="The treatment is measured with this interpreter.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="The metric to judge; only one. Default: latency_p50, wall_time of what is called once.",
)
@smallest_option
@click.option(
    "--false-alarms",
    default="1%",
    show_default=True,
    metavar="PERCENT",
    help="How often chance alone may be called a change.",
)
@click.option(
    "--pairs",
    type=click.IntRange(min=1),
    default=40,
    show_default=True,
    metavar="N",
    help="Pairs at most: per case and look.",
)
@click.option("--no-verify", is_flag=True, help="Name a change after one look, without a second one.")
@pair_seed_option
@click.option("--no-save", is_flag=True, help="Keep nothing in the store.")
@markdown_option
@picture_option("a picture of the pairs, .png, .svg or .pdf.")
@store_option
@json_option
def command(**given: Any) -> int:
    """Set the treatment against the control: build both, measure each TARGET in pairs of fresh processes next to each
    other until it is decided, and say for each case whether it became worse or better, with an interval. Without a
    TARGET, those of [run] in benchwright.toml, as the two sides have them.

    Exit code 1 when a case became worse or could not be measured, or a side could not be built. How often this machine
    gives a false alarm, `benchwright env --calibrate` finds out; what it found is quoted here.
    """
    from benchwright.cli.progress import ProgressLine
    from benchwright.cli.targets import build_spec_there, cpus_of, request_of
    from benchwright.report import ab

    picture: Path | None = given["output"]
    if picture:
        from benchwright.report.picture import check_picture

        check_picture(picture, force=True)
    from benchwright.analysis.false_alarms import describe_for_ab
    from benchwright.execution.session import Plan
    from benchwright.workflows.ab.run import run_ab
    from benchwright.workflows.invocation import command_line

    with build_spec_there(given) as making, ProgressLine(sys.stderr) as progress:
        trial = run_ab(
            request_of(given),
            _side(given, "control"),
            _side(given, "treatment"),
            _rules(given),
            making,
            store=given["store"],
            save=not given["no_save"],
            listener=progress,
            plan=Plan(cpus=cpus_of(given), command=command_line()),
        )
    if picture and trial.rows:
        from benchwright.report.ab_picture import write_trial

        write_trial(trial, picture)
    here = bool(trial.rows) and not trial.machine
    known = _calibration(given) if here else None  # what is known is known of this machine
    beside = describe_for_ab(known) if here else ""
    if given["as_json"]:
        click.echo(ab.trial_json(trial, calibration=known))
    elif given["markdown"]:
        from benchwright.report.ascii import emit_text

        emit_text(sys.stdout, ab.trial_markdown(trial, beside=beside))
    else:
        ab.print_trial(trial, saved=not given["no_save"], beside=beside)
    return 130 if trial.interrupted else int(not trial.ok)


def _calibration(given: Mapping[str, Any]) -> Calibration | None:
    from benchwright.analysis import false_alarms
    from benchwright.machine import environment

    return false_alarms.read_calibration(lambda: open_configured_store(given["store"]), environment.collect())


def _side(given: Mapping[str, Any], name: str) -> SideRequest:
    from benchwright.workflows.ab.run import SideRequest

    return SideRequest(revision=given[name], folder=given[f"{name}_dir"] or "", python=given[f"{name}_python"] or "")


def _rules(given: Mapping[str, Any]) -> AbRules:
    from benchwright.records.trials import AbRules
    from benchwright.units import parse_percent
    from benchwright.workflows.ab.run import fresh_seed

    return AbRules(
        smallest=parse_percent(given["smallest"], "--smallest", zero=False),
        false_alarms=parse_percent(given["false_alarms"], "--false-alarms", zero=False),
        pairs=given["pairs"],
        metric=only_one(given["metrics"], "--metric", "a trial judges one metric"),
        seed=fresh_seed() if given["seed"] is None else given["seed"],
        verify=not given["no_verify"],
    )
