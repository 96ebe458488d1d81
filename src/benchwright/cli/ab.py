"""`benchwright ab`: control against treatment, in interleaved pairs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from benchwright.cli.options import json_option, store_option
from benchwright.cli.targets import target_options


@click.command("ab")
@target_options
@click.option("--repo", default=".", show_default=True, metavar="FOLDER", help="The git or Mercurial repository.")
@click.option("--control", default="main", show_default=True, metavar="REV", help="What to measure against.")
@click.option("--treatment", default="HEAD", show_default=True, metavar="REV", help="What may have changed something.")
@click.option("--build", default="", metavar="COMMAND", help="Run in each revision's own copy and environment.")
@click.option("--build-timeout", default="1h", show_default=True, metavar="SECONDS", help="End a build after so long.")
@click.option("--rebuild", is_flag=True, help="Build again what was built before.")
@click.option("--control-dir", metavar="FOLDER", help="The control is this folder as it is.")
@click.option("--treatment-dir", metavar="FOLDER", help="The treatment is this folder as it is.")
@click.option("--control-python", metavar="FILE", help="The control is measured with this interpreter.")
@click.option("--treatment-python", metavar="FILE", help="The treatment is measured with this interpreter.")
@click.option("--metric", default="", metavar="NAME", help="What to judge. Default: latency_p50, if a case has it.")
@click.option("--smallest", default="1%", show_default=True, metavar="SHARE", help="Smaller changes count as none.")
@click.option("--false-alarms", default="1%", show_default=True, metavar="SHARE", help="How often chance may win.")
@click.option("--pairs", type=click.IntRange(min=1), default=40, show_default=True, help="At most, per case and look.")
@click.option("--no-verify", is_flag=True, help="Name a change after one look, without a second one.")
@click.option("--seed", type=int, help="Of the order inside the pairs. Default: another one each time.")
@click.option("--no-save", is_flag=True, help="Do not keep the runs in the store.")
@click.option("--markdown", is_flag=True, help="Print a GitHub table.")
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Also draw the pairs: .png, .svg or .pdf.")
@store_option
@json_option
def command(**given: Any) -> int:
    """Set the treatment against the control: build both, measure each TARGET in pairs of fresh processes next to each
    other until it is decided, and say for each case whether it became worse or better, with an interval.

    Exit code 1 when a case became worse or could not be measured, or a side could not be built.
    """
    from benchwright import api
    from benchwright.cli.progress import Progress
    from benchwright.cli.targets import cpus_of, request_of
    from benchwright.report import ab

    picture = Path(given["output"]) if given["output"] else None
    if picture:
        from benchwright.report.picture import check_picture

        check_picture(picture, force=True)
    names = ("repo", "control", "treatment", "build", "rebuild", "metric", "pairs", "seed", "store")
    sides = ("control_dir", "treatment_dir", "control_python", "treatment_python")
    with Progress(sys.stderr) as progress:
        trial = api.duel(
            request_of(given),
            **{name: given[name] for name in names},
            **{name: given[name] or "" for name in sides},
            build_timeout=_seconds(given["build_timeout"]),
            smallest=_share(given["smallest"], "--smallest"),
            false_alarms=_share(given["false_alarms"], "--false-alarms"),
            verify=not given["no_verify"],
            save=not given["no_save"],
            listener=progress,
            cpus=cpus_of(given),
            command=api.command_line(),
        )
    if picture and trial.rows:
        from benchwright.report.ab_picture import write_trial

        write_trial(trial, picture)
    if given["as_json"]:
        click.echo(ab.trial_json(trial))
    elif given["markdown"]:
        from benchwright.report.spelling import emit_text

        emit_text(sys.stdout, ab.trial_markdown(trial))
    else:
        ab.print_trial(trial, saved=not given["no_save"])
    return 130 if trial.interrupted else int(not trial.ok)


def _seconds(text: str) -> float:
    from benchwright import asking

    return asking.positive(text, "s", "--build-timeout")


def _share(text: str, flag: str) -> float:
    from benchwright.errors import OptionError
    from benchwright.units import parse_quantity

    share = parse_quantity(text, "%", what=flag) / 100
    if not 0 < share < 1:
        raise OptionError(f"{flag}: {text} is not between 0 and 100 %", remedy=f"write {flag} 1%")
    return share
