"""`benchwright findings`: changes that were found in series, and what people make of them."""

from __future__ import annotations

import sys
from contextlib import closing
from datetime import UTC, datetime

import click

from benchwright.cli.options import json_option, limit_option, print_json, smallest_option, store_option
from benchwright.records.findings import Mute, Remark, State, Threshold
from benchwright.store import open_configured_store

WHO = "BENCHWRIGHT_USER"
comment_option = click.option("--comment", default="", metavar="TEXT", help="What to add to the finding's story.")


@click.group("findings", invoke_without_command=True)
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([*(state.value for state in State), "all"]),
    help="Only these; repeatable. Default: open and acknowledged.",
)
@limit_option(50, "At most this many, the newest.")
@store_option
@json_option
@click.pass_context
def command(context: click.Context, states: tuple[str, ...], limit: int, store: str | None, as_json: bool) -> None:
    """Changes that were found in series over time: regressions, and improvements.

    Without a command, lists them. ID is a finding's id or the beginning of one. Remarks are signed with the name in
    BENCHWRIGHT_USER, else with the name of who is logged in.
    """
    context.obj = store
    if context.invoked_subcommand is not None:
        return
    from benchwright.report.findings import findings_json
    from benchwright.workflows.findings import findings

    listed = findings(state=states, limit=limit, store=store)
    if as_json:
        click.echo(findings_json(listed.found))
    else:
        listed.print()


@command.command("judge")
@click.argument("run", default="last", metavar="[RUN]")
@click.option(
    "--repo",
    default=None,
    metavar="FOLDER",
    help="The git or Mercurial repository: its commits give the order. Default: the runs themselves do.",
)
@smallest_option
@store_option
@json_option
@click.pass_context
def judge_(context: click.Context, run: str, repo: str | None, smallest: str, store: str | None, as_json: bool) -> int:
    """Look for changes in the series that RUN (default: the last) touched. Exits with 1 when something became worse."""
    from benchwright.analysis import detection
    from benchwright.records import Verdict
    from benchwright.report import findings as text
    from benchwright.report.table import emit
    from benchwright.units import parse_percent
    from benchwright.vcs.history import open_repository

    least = parse_percent(smallest, "--smallest")
    repository = open_repository(repo) if repo is not None else None
    with closing(open_configured_store(store or context.obj)) as results:
        found = detection.judge(results, results.find(run), repository=repository, smallest=least)
    if as_json:
        click.echo(text.findings_json(found))
    elif found:
        emit(sys.stdout, lambda console: text.show_list(console, found))
    else:
        click.echo("nothing new")
    return 1 if any(finding.verdict is Verdict.WORSE for finding in found) else 0


@command.command("show")
@click.argument("finding", metavar="ID")
@store_option
@json_option
@click.pass_context
def show(context: click.Context, finding: str, store: str | None, as_json: bool) -> None:
    """One finding in full: the graph of its series, the commits that may be behind it, what differs, its story."""
    from benchwright.analysis.step_findings import moments_of
    from benchwright.report import findings as text
    from benchwright.report.table import emit

    with closing(open_configured_store(store or context.obj)) as results:
        found = results.finding(finding)
        moments, index = moments_of(results, found)
    values = [moment.estimate.point for moment in moments]
    if as_json:
        click.echo(text.finding_json(found, moments))
    else:
        emit(sys.stdout, lambda console: text.show_finding(console, found, values, index))


def _add_state_command(verb: str, state: State, what: str, line: str) -> None:
    """Adds a command that puts a finding into `state`."""

    @command.command(verb, help=line)
    @click.argument("finding", metavar="ID")
    @comment_option
    @store_option
    @click.pass_context
    def change(context: click.Context, finding: str, comment: str, store: str | None) -> None:
        with closing(open_configured_store(store or context.obj)) as results:
            changed = results.update_finding(finding, _remark(what, comment), state=state)
        click.echo(f"{changed.id}: {changed.state}")


_add_state_command(
    "acknowledge", State.ACKNOWLEDGED, "acknowledged", "Say that a finding is known and being looked at."
)
_add_state_command("resolve", State.RESOLVED, "resolved", "Say that a finding was dealt with.")
_add_state_command("ignore", State.IGNORED, "ignored", "Say that a finding is as it should be, or does not matter.")
_add_state_command("reopen", State.OPEN, "reopened", "Open a finding again.")


@command.command("assign")
@click.argument("finding", metavar="ID")
@click.argument("who", metavar="WHO")
@comment_option
@store_option
@click.pass_context
def assign(context: click.Context, finding: str, who: str, comment: str, store: str | None) -> None:
    """Say who looks after a finding; '' for nobody."""
    with closing(open_configured_store(store or context.obj)) as results:
        said = f"to {who}" if who else "to nobody"
        changed = results.update_finding(
            finding, _remark("assigned", f"{said}. {comment}" if comment else said), assignee=who
        )
    click.echo(f"{changed.id}: assigned {said}")


@command.command("comment")
@click.argument("finding", metavar="ID")
@click.argument("text", metavar="TEXT")
@store_option
@click.pass_context
def comment_(context: click.Context, finding: str, text: str, store: str | None) -> None:
    """Add TEXT to a finding's story."""
    with closing(open_configured_store(store or context.obj)) as results:
        changed = results.update_finding(finding, _remark("comment", text))
    click.echo(f"{changed.id}: {len(changed.remarks)} remarks")


@command.command("mute")
@click.argument("what", metavar="CASE|SERIES")
@click.option("--reason", default="", metavar="TEXT", help="Why, for those who look later.")
@click.option("--off", is_flag=True, help="Report changes there again.")
@store_option
@click.pass_context
def mute(context: click.Context, what: str, reason: str, off: bool, store: str | None) -> None:
    """Report no change in a series, or in all series of the cases of that name; * stands for anything."""
    with closing(open_configured_store(store or context.obj)) as results:
        if off:
            click.echo(f"{what}: {'no longer muted' if results.unmute(what) else 'was not muted'}")
            return
        results.mute(Mute(what=what, who=_who(), at=_now(), reason=reason))
    click.echo(f"{what}: muted")


@command.command("threshold")
@click.argument("case", metavar="CASE")
@click.argument("smallest", metavar="PERCENT")
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME", help="The metric to judge; repeatable. Default: every metric."
)
@store_option
@click.pass_context
def threshold(context: click.Context, case: str, smallest: str, metrics: tuple[str, ...], store: str | None) -> None:
    """Report only changes of at least PERCENT (5%) for the cases of that name; `none` removes the threshold."""
    from benchwright.units import parse_percent

    least = None if smallest == "none" else parse_percent(smallest, "PERCENT")
    with closing(open_configured_store(store or context.obj)) as results:
        for metric in metrics or ("",):
            if least is None:
                gone = results.drop_threshold(case, metric)
                click.echo(f"{case}: {'the threshold is removed' if gone else 'there was no threshold'}")
            else:
                results.set_threshold(Threshold(case=case, metric=metric, smallest=least))
                of = f"of {metric} " if metric else ""
                click.echo(f"{case}: changes {of}below {100 * least:g} % are not reported")


@command.command("rules")
@store_option
@json_option
@click.pass_context
def rules(context: click.Context, store: str | None, as_json: bool) -> None:
    """List what is muted, and the thresholds."""
    from benchwright.units.numbers import printable

    with closing(open_configured_store(store or context.obj)) as results:
        mutes, thresholds = results.mutes(), results.thresholds()
    if as_json:
        print_json("finding-rules", {"mutes": mutes, "thresholds": thresholds})
        return
    for one in mutes:
        click.echo(printable(f"muted  {one.what}  {one.who} {one.at[:10]} {one.reason}".rstrip()))
    for bound in thresholds:
        click.echo(printable(f"from {100 * bound.smallest:g} %  {bound.case}  {bound.metric or 'every metric'}"))
    if not mutes and not thresholds:
        click.echo("nothing is muted, and there are no thresholds")


def _remark(what: str, text: str) -> Remark:
    return Remark(at=_now(), who=_who(), what=what, text=text)


def _who() -> str:
    import getpass
    import os

    if named := os.environ.get(WHO):
        return named
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container whose user has no name
        return f"user {os.getuid()}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
