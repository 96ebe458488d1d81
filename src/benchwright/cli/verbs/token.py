"""`benchwright token`: who may use a server, and what they may do there."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from benchwright.cli.options import json_option, print_json, store_option
from benchwright.store import open_configured_store

if TYPE_CHECKING:
    from benchwright.store.sql import SqlStore

SCOPES = ("read", "triage", "write", "admin", "agent")


@click.group("token")
def command() -> None:
    """Tokens of a server. They are kept in its store, hashed: give the same --store that the server has."""


@command.command("create")
@click.argument("name", metavar="NAME")
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default="read",
    show_default=True,
    help="What the token allows; each scope includes those before it, but agent is for agents of the lab alone.",
)
@click.option(
    "--expires", metavar="TIME", default="", help="How long the token is valid, such as 90d. Default: for ever."
)
@store_option
@json_option
def create(name: str, scope: str, expires: str, store: str | None, as_json: bool) -> None:
    """Make a token for NAME, a person or a machine, and print it. It is shown this once."""
    from benchwright.units import parse_expiry

    until = parse_expiry(expires, "--expires")
    with closing(_database(store, create=True)) as results:
        token = results.token_add(_check_name(name), scope, expires_at=until)
    if as_json:
        print_json("token", {"name": name, "scope": scope, "expires_at": until, "token": token})
    else:
        click.echo(token)


@command.command("list")
@store_option
@json_option
def list_(store: str | None, as_json: bool) -> None:
    """Show who has a token; the tokens themselves are kept nowhere."""
    from benchwright.units.numbers import printable

    with closing(_database(store)) as results:
        tokens = results.tokens()
    if as_json:
        words = ("name", "scope", "made_at", "expires_at", "used_at")
        print_json("tokens", [{word: getattr(token, word) for word in words} for token in tokens])
        return
    for token in tokens:
        until = f"until {token.expires_at[:10]}" if token.expires_at else "for ever"
        used = f"used {token.used_at[:16]}" if token.used_at else "never used"
        click.echo(printable(f"{token.name}  {token.scope}  {until}  {used}"))
    if not tokens:
        click.echo("no tokens; benchwright token create NAME makes one")


@command.command("revoke")
@click.argument("name", metavar="NAME")
@store_option
def revoke(name: str, store: str | None) -> None:
    """Revoke NAME's token, from the next request on."""
    from benchwright.errors import OptionError, did_you_mean

    with closing(_database(store)) as results:
        if not results.token_drop(name):
            known = [token.name for token in results.tokens()]
            raise OptionError(f"there is no token {name!r}", remedy=did_you_mean(name, known))
    click.echo(f"{name}: revoked")


def _database(store: str | None, *, create: bool = False) -> SqlStore:
    """Opens the database itself: tokens are made where the server's database can be reached, not over HTTP."""
    from benchwright import config
    from benchwright.errors import OptionError
    from benchwright.store.sql import SqlStore

    if config.store_url(store).startswith(("http://", "https://")):
        raise OptionError(
            "tokens are made on the server's machine", remedy="give --store the file or database that the server has"
        )
    found = open_configured_store(store, create=create)
    assert isinstance(found, SqlStore)
    return found


def _check_name(name: str) -> str:
    from benchwright.errors import OptionError

    if not name.strip() or not name.isprintable() or len(name) > 100:
        raise OptionError(f"{name!r} cannot be a token's name", remedy="use up to 100 printable characters")
    return name
