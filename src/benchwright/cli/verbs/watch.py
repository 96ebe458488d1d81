"""`benchwright watch`: every new commit of a repository is built, measured and judged."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchwright.cli.configured_targets import TargetCommand
from benchwright.cli.options import json_option, smallest_option, store_option
from benchwright.cli.targets import build_options, target_options

if TYPE_CHECKING:
    from benchwright.workflows.ab.run import BuildSpec
    from benchwright.workflows.watch.settings import Watched


@click.command("watch", cls=TargetCommand)
@target_options
@build_options
@click.option(
    "--interval", default="60", show_default=True, metavar="SECONDS", help="How often to look for new commits."
)
@click.option("--once", is_flag=True, help="End after one pass: what is new is measured.")
@click.option("--remote", default="origin", show_default=True, help="Where to fetch from; '' for this repository only.")
@click.option("--branch", default="", help="The branch to follow. Default: the one that is checked out.")
@click.option("--since", default="", metavar="REV", help="At the first start, begin after REV. Default: at the newest.")
@click.option("--step", type=click.IntRange(min=1), default=1, show_default=True, help="Measure every N-th commit.")
@click.option(
    "--catch-up",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Of many new commits, measure N. Default: all.",
)
@click.option(
    "--backfill",
    type=click.IntRange(min=0),
    default=16,
    show_default=True,
    metavar="N",
    help="Measure up to N commits of a gap in which a change was found.",
)
@click.option(
    "--pairs",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    metavar="N",
    help="Pairs at most: both sides of a suspected change are measured again before anybody is told. 0: they are not.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    metavar="N",
    help="Fresh processes per case, interleaved. Default: 5, 1 if called once.",
)
@smallest_option
@click.option(
    "--commit-file", metavar="FILE", help="Keeps the last commit that was finished; the first start reads it."
)
@click.option("--status-file", metavar="FILE", help="Stops at the next check when this file holds 0.")
@click.option(
    "--if-away",
    type=click.Choice(["wait", "others"]),
    default="wait",
    show_default=True,
    help="Of several hosts one that does not answer: wait for it, or measure its cases on the others meanwhile.",
)
@click.option("--same-host", is_flag=True, help="Take turns with every other watch on this machine.")
@store_option
@json_option
def command(**given: Any) -> int:
    """Follow a branch: build each new commit, measure each TARGET, and judge what was measured of all commits so far.

    A TARGET is a file of yours, used for every commit, or a path from the root of the repository, as each commit has
    it; without one, those of [run] in benchwright.toml. What was done is in a journal below .benchwright/watch, so that
    a watch that is stopped or killed goes on where it was. Ctrl-C, SIGTERM or SIGHUP ends it after the present commit;
    a second one ends it at once. `benchwright findings` shows what was found, `benchwright bisect` names the culprit.

    With --once, exit code 1 when a commit could not be built or measured, or something became worse.
    """
    from benchwright.cli.progress import ProgressLine
    from benchwright.cli.targets import build_specs_there
    from benchwright.workflows import arguments
    from benchwright.workflows.watch import loop
    from benchwright.workflows.watch.commit_report import CommitReport, report_json, report_text

    shown = report_json if given["as_json"] else report_text
    interval = None if given["once"] else arguments.positive(given["interval"], "s", "--interval")
    with build_specs_there(given) as makings, ProgressLine(sys.stderr) as progress:

        def tell(report: CommitReport) -> None:
            progress.clear()
            click.echo(shown(report))
            sys.stdout.flush()

        ok = loop.watch(_watch_settings(given, makings), interval=interval, listener=progress, tell=tell)
    return 0 if ok or interval is not None else 1


def _watch_settings(given: Mapping[str, Any], makings: Sequence[BuildSpec]) -> Watched:
    from benchwright.cli.targets import cpus_of, request_of
    from benchwright.units import parse_percent
    from benchwright.workflows import invocation
    from benchwright.workflows.watch.commits import FollowedBranch
    from benchwright.workflows.watch.settings import Watched

    build = makings[0]
    commit_file, status_file = (Path(given[name]) if given[name] else None for name in ("commit_file", "status_file"))
    return Watched(
        repo=build.repo,
        request=request_of(given),
        following=FollowedBranch(
            remote=given["remote"],
            branch=given["branch"],
            since=given["since"],
            step=given["step"],
            catch_up=given["catch_up"],
            commit_file=commit_file,
        ),
        build=build.command,
        build_timeout=build.timeout,
        rebuild=build.again,
        surroundings=build.surroundings,
        targets_from=build.targets_from,
        rounds=given["rounds"],
        smallest=parse_percent(given["smallest"], "--smallest", zero=False),
        backfill=given["backfill"],
        pairs=given["pairs"],
        cpus=cpus_of(given),
        status_file=status_file,
        same_host=given["same_host"],
        store=given["store"],
        command=invocation.command_line(),
        host=build.host,
        others=[making.host for making in makings[1:] if making.host is not None],
        falls_back=given["if_away"] == "others",
    )
