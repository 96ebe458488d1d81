"""`benchwright notify`: tell people of findings, and try whether that works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchwright.cli.options import json_option, print_json, store_option
from benchwright.store import open_configured_store

if TYPE_CHECKING:
    from benchwright.notify import MessageDelivery


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
    benchwright.toml.
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
    from benchwright.notify import DeliveryOutcome, open_notifier

    settings = config.load().notify
    settings = replace(settings, targets=to) if to else settings
    if not settings.targets:
        raise OptionError(
            "there is nobody to notify", remedy="name targets in [notify] of benchwright.toml, or --to URL"
        )
    with closing(open_configured_store(store)) as results:
        meant = [results.finding(reference) for reference in findings]
        told = open_notifier(config.store_url(store), settings).tell(meant, results, asked=True, again=again)
    _print(told, as_json)
    return 1 if any(one.outcome in (DeliveryOutcome.FAILED, DeliveryOutcome.LATER) for one in told) else 0


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
