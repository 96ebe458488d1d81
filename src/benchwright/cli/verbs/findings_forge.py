"""`benchwright findings issue` and `comment`: findings as text, for their story and for the forge."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from benchwright.cli.options import json_option, now, print_json, store_option, who
from benchwright.records.findings import Remark, Triage
from benchwright.store import open_configured_store

if TYPE_CHECKING:
    from benchwright.store import Store
    from benchwright.vcs.forges import Projects
    from benchwright.workflows.forge_issues import IssueDesk


@click.command()
@click.argument("finding", metavar="ID")
@click.argument("text", metavar="[TEXT]", default="")
@click.option(
    "--pull-request",
    "request",
    metavar="NUMBER",
    help="The pull or merge request: its number, or `auto`, here the one of the probable commit. Comment there.",
)
@click.option("--send", is_flag=True, help="Send it to the forge; without, it is printed.")
@store_option
@json_option
@click.pass_context
def comment(
    context: click.Context, finding: str, text: str, request: str | None, send: bool, store: str | None, as_json: bool
) -> None:
    """Add TEXT to a finding's story; or write the finding as a comment for a pull request.

    --send needs a token: `token` in [project] of benchwright.toml, else GITHUB_TOKEN, GITLAB_TOKEN or GITEA_TOKEN. A
    comment that is there already is not made twice.
    """
    if request is not None:
        _comment_on_request(store or context.obj, finding, request, text, send=send, as_json=as_json)
        return
    if send or not text:
        raise click.UsageError("give TEXT for the story, or --pull-request NUMBER")
    with closing(open_configured_store(store or context.obj)) as results:
        changed = results.triage_findings([finding], Triage(comment=text), who=who(), at=now())
    if as_json:
        print_json("findings", {"findings": changed})
        return
    for one in changed:
        click.echo(f"{one.id}: {len(one.remarks)} remarks")


def _comment_on_request(store: str | None, finding: str, request: str, text: str, *, send: bool, as_json: bool) -> None:
    from benchwright.errors import OptionError
    from benchwright.workflows.forge_issues import COMMENTED, findings_meant, note_entry

    if text:
        raise click.UsageError("TEXT is for the story; a comment on a pull request says what was found")
    with closing(open_configured_store(store)) as results:
        found, identity = findings_meant(results, finding)
        desk = _desk(store, results)
        number = _request_number(request) if request != "auto" else desk.request_of(found[0])
        if not number:
            raise OptionError(f"no pull request is known of {identity}", remedy="name it: --pull-request NUMBER")
        told = {"finding": identity, "pull_request": number, "text": desk.comment(found, identity)}
        if not send:
            if as_json:
                print_json("finding-comment", {**told, "url": "", "made": False})
            else:
                click.echo(told["text"], nl=False)
            return
        entry = desk.comment_on(number, found, identity)
        note_entry(results, found, new_remark(COMMENTED, entry.url))
    if as_json:
        print_json("finding-comment", {**told, "url": entry.url, "made": entry.made})
        return
    click.echo(f"{entry.url or 'the comment'}{'' if entry.made else ' was there already'}")


def _request_number(text: str) -> int:
    from benchwright.errors import OptionError
    from benchwright.units import whole_number

    number = whole_number(text.lstrip("#!"))
    if number is None or not 0 < number < 10**9:
        raise OptionError(f"--pull-request {text!r} is not a number", remedy="for example --pull-request 12")
    return number


@click.command()
@click.argument("finding", metavar="ID")
@click.option("--open", "browse", is_flag=True, help="Open it in your browser: the forge's form, filled in.")
@click.option("--send", is_flag=True, help="Send it to the forge; no browser is needed.")
@store_option
@json_option
@click.pass_context
def issue(context: click.Context, finding: str, browse: bool, send: bool, store: str | None, as_json: bool) -> None:
    """Write a finding as an issue: its text, and the address of the forge's form with everything filled in.

    --send needs a token: `token` in [project] of benchwright.toml, else GITHUB_TOKEN, GITLAB_TOKEN or GITEA_TOKEN. An
    issue that is there already is not opened twice.
    """
    from benchwright.errors import OptionError
    from benchwright.workflows.forge_issues import ISSUE, findings_meant, note_entry

    if browse and send:
        raise click.UsageError("--open shows the form, --send needs none: give one of them")
    with closing(open_configured_store(store or context.obj)) as results:
        found, identity = findings_meant(results, finding)
        desk = _desk(store or context.obj, results)
        written = desk.write(found, identity)
        entry = desk.open_issue(found, identity) if send else None
        if entry is not None:
            note_entry(results, found, new_remark(ISSUE, entry.url))
    if browse and not written.form:
        raise OptionError("the forge has no form that can be filled in", remedy="copy the text, or use --send")
    if browse and click.launch(written.form) != 0:  # there is no browser here
        click.echo(written.form)
    if as_json:
        data = {"finding": identity, "title": written.title, "text": written.text, "form": written.form}
        opened = {"url": entry.url, "opened": entry.made} if entry else {"url": "", "opened": False}
        print_json("finding-issue", {**data, "shortened": written.shortened, **opened})
    elif entry is not None:
        click.echo(f"{entry.url or 'the issue'}{'' if entry.made else ' was there already'}")
    elif not browse:
        click.echo(f"{written.title}\n\n{written.text}", nl=False)
        if written.form:
            click.echo(f"\n{written.form}")


def _desk(store: str | None, results: Store) -> IssueDesk:
    from benchwright import config
    from benchwright.workflows.forge_issues import IssueDesk, TakesClaims

    claims = results if isinstance(results, TakesClaims) else None
    return IssueDesk(projects=projects_of(store), link=config.load().notify.link, claims=claims)


def projects_of(store: str | None) -> Projects:
    """The projects that are configured here, for the results of a store."""
    from benchwright import config
    from benchwright.vcs.forges import load_projects

    return load_projects(config.store_url(store))


def new_remark(what: str, text: str) -> Remark:
    """A line of a finding's story, signed and dated."""
    return Remark(at=now(), who=who(), what=what, text=text)
