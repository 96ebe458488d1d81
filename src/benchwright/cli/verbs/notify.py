"""`benchwright notify`: tell people of findings, and try whether that works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from benchwright.cli.options import json_option, print_json, store_option
from benchwright.store import open_configured_store

if TYPE_CHECKING:
    from benchwright.notify import MessageDelivery
    from benchwright.notify.targets import TellsTargets


class _NotifyGroup(click.Group):
    """A group in which a word that is no command is a finding, for `send`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = args[0] in self.commands or args[0].startswith("-")
        return super().resolve_command(ctx, args if known else ["send", *args])


@click.group("notify", cls=_NotifyGroup)
def command() -> None:
    """Tell people of findings: webhooks, GitHub, GitLab, Slack, e-mail and more.

    `benchwright notify FINDING` is short for `benchwright notify send FINDING`. Targets are those of [notify] in
    benchwright.toml, and those of the store's server. With --store https://... the server tells its own, for which the
    token needs the scope admin.
    """


@command.command("send")
@click.argument("findings", nargs=-1, metavar="[FINDING]...")
@click.option(
    "--to", multiple=True, metavar="URL", help="Where to: this target in place of the configured ones. Repeatable."
)
@click.option("--again", is_flag=True, help="Also tell targets that were told of it before.")
@store_option
@json_option
def send(findings: tuple[str, ...], to: tuple[str, ...], again: bool, store: str | None, as_json: bool) -> int:
    """Tell targets of findings; without one, of what could not be told before. Exit code 1 when it fails again."""
    from contextlib import closing
    from dataclasses import replace

    from benchwright import config
    from benchwright.errors import OptionError
    from benchwright.notify import DeliveryOutcome, all_targets, open_notifier
    from benchwright.notify.targets import TellsTargets, findings_to_tell

    settings = config.load().notify
    settings = replace(settings, targets=to) if to else settings
    with closing(open_configured_store(store)) as results:
        server = results if isinstance(results, TellsTargets) and not to else None
        if server is not None:
            settings = replace(settings, targets=_not_served(settings.targets, server))
        targets = all_targets(settings, None if to else results)
        if not targets and server is None:
            raise OptionError(
                "there is nobody to notify", remedy="name targets in [notify] of benchwright.toml, or --to URL"
            )
        told = []
        if targets:
            meant = [one for reference in findings for one in findings_to_tell(results, reference)]
            notifier = open_notifier(config.store_url(store), settings, kept=not to)
            told += notifier.tell(meant, results, asked=True, again=again)
        if server is not None:
            told += _tell_served(server, findings, again=again, is_alone=not targets)
    _print(told, as_json)
    return 1 if any(one.outcome in (DeliveryOutcome.FAILED, DeliveryOutcome.LATER) for one in told) else 0


@command.command("list")
@store_option
@json_option
def list_(store: str | None, as_json: bool) -> None:
    """Show who is told of what, and how often that would have been in the last 90 days. No secret is shown."""
    from contextlib import closing
    from dataclasses import asdict

    from benchwright import config
    from benchwright.analysis.rule_preview import preview_target, recent_findings
    from benchwright.notify import all_targets
    from benchwright.notify.addresses import mask_address
    from benchwright.notify.targets import TellsTargets, wants
    from benchwright.units.numbers import printable

    with closing(open_configured_store(store)) as results:
        recent = recent_findings(results)
        targets = all_targets(config.load().notify, results)
        previews = [preview_target(recent, lambda finding, one=one: wants(one, finding)) for one in targets]  # type: ignore[misc]
        told: list[dict[str, Any]] = [
            {
                "address": mask_address(one.address),
                "verdicts": one.verdicts,
                "cases": one.cases,
                "smallest": one.smallest,
                "kept": bool(one.id),
                "server": False,
                "preview": asdict(preview),
            }
            for one, preview in zip(targets, previews, strict=True)
        ]
        if isinstance(results, TellsTargets):
            told += _served(results)
    if as_json:
        print_json("notify-targets", told)
        return
    for one in told:
        least = f" from {100 * one['smallest']:g} %" if one["smallest"] else ""
        file = "the server's benchwright.toml" if one["server"] else "benchwright.toml"
        what = f"{' and '.join(one['verdicts'])}{least} in {one['cases']}"
        click.echo(printable(f"{one['address']}  {what}{'' if one['kept'] else f'  ({file})'}"))
        click.echo(printable(f"  {one['preview']['sentence']}"))
    if not told:
        click.echo("nobody is told of findings; name targets in [notify] of benchwright.toml")


def _served(server: TellsTargets) -> list[dict[str, Any]]:
    """The targets of a server; none, and a word why, where it does not tell them."""
    from benchwright.errors import StoreError

    shown = ("address", "verdicts", "cases", "smallest", "preview")
    try:
        listed = server.served_targets()
    except StoreError as error:
        click.echo(f"the server does not show whom it tells: {error}", err=True)
        return []
    return [{"kept": bool(one["id"]), "server": True, **{name: one[name] for name in shown}} for one in listed]


def _not_served(targets: tuple[str, ...], server: TellsTargets) -> tuple[str, ...]:
    """The targets of the file here that the server does not tell by itself: nobody is to be told twice."""
    from benchwright.errors import StoreError
    from benchwright.notify.addresses import identity_of

    try:
        served = {one.get("identity") for one in server.served_targets()} if targets else set()
    except StoreError:  # it does not tell them to this token, and so it sends no message for it either
        return targets
    return tuple(one for one in targets if identity_of(one) not in served)


def _tell_served(
    server: TellsTargets, findings: tuple[str, ...], *, again: bool, is_alone: bool
) -> list[MessageDelivery]:
    """Has a server tell its targets; that it does not is an error only where there is nobody else to tell."""
    from benchwright import schema
    from benchwright.errors import StoreError
    from benchwright.notify import MessageDelivery

    try:
        told = server.tell_targets(findings, again=again)
    except StoreError as error:
        if is_alone:
            raise
        click.echo(f"the server did not tell its targets: {error}", err=True)
        return []
    return list(schema.decode(tuple[MessageDelivery, ...], told, where="notify-targets/send"))


@command.command("comment")
@click.argument("file", metavar="[FILE]", default="-", type=click.Path())
@click.option(
    "--pull-request",
    "request",
    default="auto",
    show_default=True,
    metavar="NUMBER",
    help="The pull or merge request: its number, or `auto`, here the one that continuous integration builds.",
)
@click.option(
    "--comment-name",
    default="comparison",
    show_default=True,
    metavar="NAME",
    help="Which comment: the one of this name is changed, and made where there is none.",
)
@json_option
def comment(file: str, request: str, comment_name: str, as_json: bool) -> int:
    """Put the Markdown of FILE, by default of standard input, into a comment on a pull or merge request.

    There is one comment of each name: the next time it is changed, and no second one is made. The repository is the one
    that GitHub Actions or GitLab CI builds, else that of [project] or of this folder. Needs a token: `token` in
    [project] of benchwright.toml, else GITHUB_TOKEN, GITLAB_TOKEN or GITEA_TOKEN.
    """
    from benchwright import config
    from benchwright.vcs.forges import load_projects
    from benchwright.workflows.request_comment import keep_comment

    text = _read_markdown(file)
    entry = keep_comment(load_projects(config.store_url()), request=request, text=text, name=comment_name)
    if as_json:
        print_json("request-comment", {"url": entry.url, "made": entry.made})
    else:
        click.echo(f"{entry.url or 'the comment'} was {'made' if entry.made else 'changed'}")
    return 0


def _read_markdown(file: str) -> str:
    from benchwright.errors import OptionError
    from benchwright.schema.parsing import SETTINGS

    try:
        with click.open_file(file, "rb") as opened:
            content: bytes = opened.read(SETTINGS)
    except OSError as error:
        raise OptionError(f"{file} cannot be read: {error.strerror}", remedy="name a file of Markdown, or -") from None
    return content.decode(errors="replace")


@command.command("test")
@click.argument("url")
@json_option
def test(url: str, as_json: bool) -> int:
    """Send a message that says that it is a test to URL. Exit code 1 when it could not be sent.

    ${NAME} in URL stands for a variable and ${file:PATH} for what a file holds: put URL in single quotes.
    """
    from benchwright.errors import UploadError
    from benchwright.notify import DeliveryOutcome, MessageDelivery, try_target
    from benchwright.notify.addresses import mask_address
    from benchwright.system.http import PassingError

    try:
        outcome, why = DeliveryOutcome.SENT, try_target(url)
    except (UploadError, PassingError) as error:
        outcome, why = DeliveryOutcome.FAILED, str(error)
    _print([MessageDelivery(target=mask_address(url), findings=(), outcome=outcome, why=why)], as_json)
    return 0 if outcome is DeliveryOutcome.SENT else 1


def _print(told: list[MessageDelivery], as_json: bool) -> None:
    from dataclasses import asdict

    if as_json:
        print_json("notifications", [asdict(one) for one in told])
        return
    for one in told:
        what = f" {', '.join(one.findings)}" if one.findings else ""
        click.echo(f"{one.target}: {one.outcome}{what}{': ' if one.why else ''}{one.why}", err=one.outcome == "failed")
    if not told:
        click.echo("there was nothing left to tell")
