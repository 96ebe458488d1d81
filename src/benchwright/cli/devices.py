"""`benchwright devices`: what is connected."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from benchwright.cli.options import json_option

if TYPE_CHECKING:
    from benchwright.devices import About


@click.command()
@click.option("--platform", default="android", show_default=True, help="android, or host for this machine.")
@json_option
def command(*, platform: str, as_json: bool) -> None:
    """List the devices that programs can be measured on.

    With --json: one object for each, with `kind`, `name`, `hash`, `abi` and `os`.
    """
    from benchwright.devices.listing import connected, unready

    found = connected(platform)
    if as_json:
        click.echo(json.dumps([_described(about) for about in found], ensure_ascii=False))
        return
    for about in found:
        battery = f"  battery {about.facts['battery']} %" if "battery" in about.facts else ""
        click.echo(f"{about.serial}  {about.name}  {about.abi}  {about.os}{battery}")
    for serial, state, remedy in unready(platform):
        click.echo(f"{serial}  cannot be used: {state}\n  {remedy}")
    if not found:
        click.echo(f"no device of platform {platform} can be used now", err=True)


def _described(about: About) -> dict[str, str]:
    return {
        "kind": about.name,
        "name": str(about.facts.get("model", about.name)),
        "hash": about.serial,
        "abi": about.abi,
        "os": about.os,
    }
