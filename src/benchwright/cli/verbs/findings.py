"""`benchwright findings`: changes that were found in series, and what people make of them."""

from __future__ import annotations

import sys
from contextlib import closing

import click

from benchwright import config
from benchwright.cli.options import json_option, limit_option, now, print_json, smallest_option, store_option, who
from benchwright.cli.verbs import findings_forge, findings_rules
from benchwright.cli.verbs.findings_forge import projects_of
from benchwright.records.causes import PREFIX
from benchwright.records.findings import Finding, State, Triage
from benchwright.store import open_configured_store

MOST = 100_000  # findings of a cause
comment_option = click.option("--comment", default="", metavar="TEXT", help="What to add to the finding's story.")
only_option = click.option(
    "--only",
    multiple=True,
    metavar="NAME=VALUE",
    help="Only findings with this verdict, suite, machine, metric, branch, tag or assignee; repeatable.",
)


@click.group("findings", invoke_without_command=True)
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([*(state.value for state in State), "all"]),
    help="Only these; repeatable. Default: open and acknowledged.",
)
@limit_option(50, "At most this many, the newest.")
@click.option("--each", is_flag=True, help="List each finding. Default: findings of one commit are one entry.")
@click.option("--cause", default="", metavar="CAUSE", help="List each finding of this cause.")
@only_option
@store_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    states: tuple[str, ...],
    limit: int,
    each: bool,
    cause: str,
    only: tuple[str, ...],
    store: str | None,
    as_json: bool,
) -> None:
    """Changes that were found in series over time: regressions, and improvements.

    Without a command, lists them; findings that one commit may be behind are one cause. ID is a finding's id or a
    cause's, or the beginning of one. Remarks are signed with the name in BENCHWRIGHT_USER, else with the name of who is
    logged in.
    """
    context.obj = store
    if context.invoked_subcommand is not None:
        return
    from benchwright.report.causes import causes_json
    from benchwright.workflows.findings import findings

    listed = findings(state=states, limit=limit, each=each, cause=cause, only=only, store=store)
    if as_json:
        click.echo(causes_json(listed.found, listed.causes))
    else:
        listed.print()


command.add_command(findings_forge.comment, "comment")
command.add_command(findings_forge.issue, "issue")
command.add_command(findings_rules.mute, "mute")
command.add_command(findings_rules.threshold, "threshold")
command.add_command(findings_rules.rules, "rules")


@command.command("judge")
@click.argument("run", default=None, required=False, metavar="[RUN]")
@click.option("--all", "everything", is_flag=True, help="All of them: what has arrived and is not judged yet.")
@click.option("--anew", "again", is_flag=True, help="With --all: also what was judged before.")
@click.option("--no-notify", is_flag=True, help="With --all: tell nobody of what is found.")
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
def judge_(
    context: click.Context,
    run: str | None,
    everything: bool,
    again: bool,
    no_notify: bool,
    repo: str | None,
    smallest: str,
    store: str | None,
    as_json: bool,
) -> int:
    """Look for changes in the series that RUN (default: the last) touched. Exits with 1 when something became worse.

    With --all, in everything that has arrived in the store and was not judged yet, whoever sent it; a server does the
    same by itself. [notify] in benchwright.toml says who is told of what it finds.
    """
    from benchwright.analysis import detection
    from benchwright.analysis.judged_results import branch_beside
    from benchwright.cli.judge_all import judge_all
    from benchwright.errors import OptionError
    from benchwright.records import Verdict
    from benchwright.report import findings as text
    from benchwright.report.causes import show_grouped
    from benchwright.report.table import emit
    from benchwright.units import parse_percent
    from benchwright.vcs.history import open_repository
    from benchwright.workflows.machines import hold_unhealthy

    least = parse_percent(smallest, "--smallest")
    repository = open_repository(repo) if repo is not None else None
    if run is not None and everything:
        raise OptionError(f"--all judges every run, {run} among them", remedy="leave out the run, or --all")
    if (again or no_notify) and not everything:
        flag = "--anew" if again else "--no-notify"
        raise OptionError(f"{flag} goes with --all", remedy=f"give --all, or leave out {flag}")
    url, beside = store or context.obj, ""
    with closing(open_configured_store(url)) as results:
        if everything:
            notified = "" if no_notify else config.store_url(url)
            found = judge_all(results, repository, least, again=again, notified=notified)
        else:
            name = results.find(run or "last")
            hold_unhealthy(results)
            found = detection.judge(results, name, repository=repository, smallest=least)
            beside = "" if found else branch_beside(results, name)
            if mark_judged := getattr(results, "mark_judged", None):
                mark_judged(name)
    if as_json:
        click.echo(text.findings_json(found))
    elif found:
        emit(sys.stdout, lambda console: show_grouped(console, found))
    else:
        click.echo("nothing new")
    if beside:
        told = f"note: {name} is on the branch {beside}, and the main line alone is judged; what the branch did: "
        click.echo(f"{told}benchwright compare {name} --against main", err=True)
    return 1 if any(finding.verdict is Verdict.WORSE for finding in found) else 0


@command.command("show")
@click.argument("finding", metavar="ID")
@store_option
@json_option
@click.pass_context
def show(context: click.Context, finding: str, store: str | None, as_json: bool) -> None:
    """One finding in full: the graph of its series, the commits that may be behind it, what differs, its story.

    Of a cause: what its findings are in all, and the largest of them.
    """
    from benchwright.analysis.step_findings import moments_of
    from benchwright.report import findings as text
    from benchwright.report.table import emit

    if finding.startswith(PREFIX):
        _show_cause(store or context.obj, finding, as_json=as_json)
        return
    with closing(open_configured_store(store or context.obj)) as results:
        found = results.finding(finding)
        moments, index = moments_of(results, found)
    values = [moment.estimate.point for moment in moments]
    links = projects_of(store or context.obj).links(found.repository)
    if as_json:
        click.echo(text.finding_json(found, moments))
    else:
        emit(sys.stdout, lambda console: text.show_finding(console, found, values, index, links=links))


def _show_cause(store: str | None, cause: str, *, as_json: bool) -> None:
    from benchwright.records.causes import by_size, causes_of, head_of
    from benchwright.report.causes import causes_json, show_cause
    from benchwright.report.table import emit

    with closing(open_configured_store(store)) as results:
        known = results.findings(cause=cause, limit=MOST)
    found = sorted(known, key=lambda one: by_size(head_of(one)))
    (whole,) = causes_of(found)
    if as_json:
        click.echo(causes_json(found, [whole]))
    else:
        links = projects_of(store).links(whole.lead.repository)
        emit(sys.stdout, lambda console: show_cause(console, whole, found, links=links))


def _triage(
    store: str | None, meant: tuple[str, ...], wish: Triage, done: str, only: tuple[str, ...], *, as_json: bool
) -> None:
    """Does what is wished with findings and causes, and says what was done with each that was named."""
    from benchwright.workflows.triage import chosen_of, read_choice

    with closing(open_configured_store(store)) as results:
        before = {name: None if name.startswith(PREFIX) else results.finding(name) for name in meant}
        named = chosen_of(results, meant, wish, read_choice(results, only)) if only else meant
        changed = results.triage_findings(named, wish, who=who(), at=now()) if named else []
    if as_json:
        print_json("findings", {"findings": changed})
        return
    for name, finding in before.items():
        if finding is not None:
            click.echo(f"{finding.id}: {done}")
            continue
        count = sum(one.cause.startswith(name) for one in changed)
        click.echo(f"{name}: {'1 finding' if count == 1 else f'{count} findings'} {done}")


def _add_state_command(verb: str, state: State, line: str) -> None:
    """Adds a command that puts findings into `state`."""

    @command.command(verb, help=f"{line} Of a cause, all findings that it is for.")
    @click.argument("findings", metavar="ID...", nargs=-1, required=True)
    @only_option
    @comment_option
    @store_option
    @json_option
    @click.pass_context
    def change(
        context: click.Context,
        findings: tuple[str, ...],
        only: tuple[str, ...],
        comment: str,
        store: str | None,
        as_json: bool,
    ) -> None:
        wish = Triage(state=state, comment=comment)
        _triage(store or context.obj, findings, wish, str(state), only, as_json=as_json)


_add_state_command("acknowledge", State.ACKNOWLEDGED, "Say that a finding is known and being looked at.")
_add_state_command("resolve", State.RESOLVED, "Say that a finding is fixed.")
_add_state_command("ignore", State.IGNORED, "Say that a finding is as it should be, or does not matter.")
_add_state_command("reopen", State.OPEN, "Open a finding again.")


@command.command("assign")
@click.argument("finding", metavar="ID")
@click.argument("assignee", metavar="WHO")
@only_option
@comment_option
@store_option
@json_option
@click.pass_context
def assign(
    context: click.Context,
    finding: str,
    assignee: str,
    only: tuple[str, ...],
    comment: str,
    store: str | None,
    as_json: bool,
) -> None:
    """Set the assignee of a finding, or of all findings of a cause; '' for nobody."""
    said = f"assigned to {assignee}" if assignee else "assigned to nobody"
    _triage(store or context.obj, (finding,), Triage(assignee=assignee, comment=comment), said, only, as_json=as_json)


@command.command("split")
@click.argument("findings", metavar="ID...", nargs=-1, required=True)
@comment_option
@store_option
@json_option
@click.pass_context
def split(context: click.Context, findings: tuple[str, ...], comment: str, store: str | None, as_json: bool) -> None:
    """Take findings out of their cause, into one of their own: another commit is behind them."""
    with closing(open_configured_store(store or context.obj)) as results:
        moved = results.split_findings(findings, who=who(), at=now(), comment=comment)
    _print_moved(moved, as_json=as_json)


@command.command("join")
@click.argument("cause", metavar="ID")
@click.argument("findings", metavar="ID...", nargs=-1, required=True)
@comment_option
@store_option
@json_option
@click.pass_context
def join(
    context: click.Context, cause: str, findings: tuple[str, ...], comment: str, store: str | None, as_json: bool
) -> None:
    """Give findings, or all of a cause, the cause of the first ID: the same commit is behind them."""
    with closing(open_configured_store(store or context.obj)) as results:
        moved = results.join_findings([cause, *findings], who=who(), at=now(), comment=comment)
    _print_moved(moved, as_json=as_json)


def _print_moved(moved: list[Finding], *, as_json: bool) -> None:
    if as_json:
        print_json("findings", {"findings": moved})
        return
    for finding in moved:
        click.echo(f"{finding.id}: now of {finding.cause}")
    if not moved:
        click.echo("nothing changed")
