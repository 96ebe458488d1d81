"""`benchwright tasks`: look at a task file before it runs for hours."""

from __future__ import annotations

from pathlib import Path

import click

from benchwright.cli.options import json_option, print_json


@click.group("tasks")
def command() -> None:
    """Task files: commands, and patterns for what they print."""


@command.command("check")
@click.argument("target", metavar="FILE[::TASK]")
@click.option("--log", metavar="FILE", help="A saved log to try the patterns on.")
@json_option
def check(target: str, log: str | None, as_json: bool) -> int:
    """Check a task file, and with --log what its patterns find in a saved log, and what they leave out.

    Exit code 1 when a metric that is not optional would have no value, 2 when the file is wrong.
    """
    from benchwright.targets.tasks import tryout

    checked = tryout.check(target, None if log is None else Path(log))
    if as_json:
        print_json("task-check", tryout.as_json(checked))
    else:
        click.echo(tryout.as_text(checked))
    return 1 if any(each.missing for each in checked.checks) else 0
