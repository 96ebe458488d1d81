"""`benchwright prices`: what machines cost, from one's own file and from imported lists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchwright import schema
from benchwright.cli.options import json_option, print_json

if TYPE_CHECKING:
    from benchwright.records.prices import Price

_SHOWN = 40  # lines of a list, unless all are asked for


@click.group("prices")
def command() -> None:
    """What machines cost: your own `prices.yaml`, and lists that were imported.

    A price says of what, where, on which market, in which currency, from which source and of which day.
    """


@command.command("list")
@click.argument("words", nargs=-1)
@click.option("--all", "whole", is_flag=True, help="All of them: every price, not the first forty.")
@json_option
def list_(words: tuple[str, ...], whole: bool, as_json: bool) -> None:
    """Show the prices that are known, your own first; with WORDS, those that hold all of them."""
    from benchwright.prices import shelf

    found = [price for price in shelf.open_book().all() if all(word.lower() in _line(price).lower() for word in words)]
    if as_json:
        print_json("prices", [schema.encode(price) for price in found])
        return
    shown = found if whole else found[:_SHOWN]
    for price in shown:
        click.echo(_line(price))
    if len(shown) < len(found):
        click.echo(f"and {len(found) - len(shown)} more: name words to look for, or --all")
    elif not found:
        click.echo("no price is known; write prices.yaml, or `benchwright prices import` a list")


@command.command("show")
@click.argument("price")
@json_option
def show(price: str, as_json: bool) -> None:
    """Show what `run --price PRICE` would take: an amount, a machine of yours, or PROVIDER/SHAPE[@REGION][:MARKET]."""
    from benchwright.prices import shelf

    found = shelf.find_price(price, what="PRICE")
    if as_json:
        print_json("price", schema.encode(found))
        return
    click.echo(_line(found))


@command.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--provider", default="", metavar="NAME", help="Whose prices a table holds that does not say so: aws.")
@click.option("--day", default="", metavar="YYYY-MM-DD", help="The day of the prices, where the list has no date.")
@click.option(
    "--as", "name", default="", metavar="NAME", help="What the list is called here. Default: the file's name."
)
@json_option
def import_(file: Path, provider: str, day: str, name: str, as_json: bool) -> None:
    """Keep the prices of a list: a vendor's, libcloud's pricing.json, SkyPilot's or gpuhunt's table.

    A list of the same name is replaced.
    """
    from benchwright.prices import shelf
    from benchwright.prices.lists import read_list

    found = read_list(file, provider=provider.lower(), day=day)
    kept = name or file.stem
    shelf.keep_list(kept, found.prices)
    if as_json:
        told = {"name": kept, "form": found.form, "prices": len(found.prices), "unknown": found.unknown}
        print_json("price-list", told)
        return
    unknown = f"; {found.unknown} entries without an amount were left out" if found.unknown else ""
    click.echo(f"{kept}: {len(found.prices)} prices of {found.form}{unknown}")


@command.command("forget")
@click.argument("name")
def forget(name: str) -> None:
    """Remove an imported list."""
    from benchwright.prices import shelf

    shelf.remove_list(name)
    click.echo(f"{name} is forgotten")


def _line(price: Price) -> str:
    amount = f"{price.amount:.6g} {price.currency}/{price.per}".replace(" /", "/")
    from benchwright.units.numbers import printable

    return printable(f"{amount:>22}  {price.basis}" + (f"  ({price.source})" if price.source else ""))
