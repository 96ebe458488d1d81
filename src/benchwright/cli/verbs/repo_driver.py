"""`benchwright repo-driver`: the command line of FAI-PEP's repo_driver.py."""

from __future__ import annotations

import sys

import click

from benchwright.cli.options import OlderCommand, asks_for_help


@click.command(
    cls=OlderCommand,
    flags="benchwright.compat.harness.driver_flags",
    is_help=asks_for_help,
    options_metavar="--framework NAME --platforms A,B --exec_dir DIR --repo_dir DIR [FLAGS]... [FLAGS OF harness]...",
)
@click.pass_context
def command(context: click.Context) -> int:
    """FAI-PEP's repo_driver.py with all of its flags: builds commits, and runs the harness with each.

    \b
    benchwright repo-driver --framework caffe2 --platforms host --repo_dir pytorch --exec_dir builds \\
        --frameworks_dir specifications/frameworks --branch main --commit_file finished --regression --interval 60 \\
        -b spec.json --model_cache cache --local_reporter reports

    Every flag that is not listed here goes to `benchwright harness`. Without --interval, --regression or --ab_testing
    the working copy is built as it is and measured once.

    Exit code 1 when a commit could not be built or measured; 2 when the request or a spec is wrong.
    """
    from benchwright.cli.progress import ProgressLine
    from benchwright.compat.harness.repository import main

    return main(context.args, lambda: ProgressLine(sys.stderr))
