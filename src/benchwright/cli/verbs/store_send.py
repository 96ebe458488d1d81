"""`benchwright store send`: sends the results that wait for a server."""

from __future__ import annotations

import click

from benchwright.cli.options import json_option, only_one, print_json


@click.command()
@click.argument("url", required=False)
@click.option(
    "--to",
    "servers",
    multiple=True,
    metavar="URL",
    help="Where to: a server that takes it in the place of the one at URL; only one.",
)
@click.option("--refused", is_flag=True, help="Also send what a server refused before.")
@json_option
def command(url: str | None, servers: tuple[str, ...], refused: bool, as_json: bool) -> int:
    """Send what waits on this machine for the server at URL, or for every server: results that it could not take when
    they were measured. Exit code 1 when something still waits or was refused.
    """
    from benchwright.errors import OptionError
    from benchwright.store.remote import sender

    to = only_one(servers, "--to", "what waits is sent to one server") or None
    if to and not url:
        raise OptionError("--to needs the server that it stands for", remedy="benchwright store send URL --to OTHER")
    sent = sender.send_waiting(url, to=to, refused=refused)
    if as_json:
        print_json("store-send", sent)
    else:
        for each in sent:
            click.echo(f"{each.server}: {each.sent} sent, {each.refused} refused, {each.waiting} waiting")
        if not sent:
            click.echo("nothing waits")
    return 1 if any(each.refused or each.waiting for each in sent) else 0
