"""`benchwright devices`: the devices that are connected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchwright.cli.options import json_option, print_json

if TYPE_CHECKING:
    from benchwright.machine.devices import DeviceFacts


@click.command()
@click.option("--platform", metavar="NAME", help="Only android, or only host, which is this machine. Default: both.")
@json_option
def command(*, platform: str | None, as_json: bool) -> None:
    """List the devices that programs can be measured on.

    With --json: in `data` one object for each, with `kind`, `name`, `hash`, `abi` and `os`.
    """
    from benchwright.errors import NotInstalledError
    from benchwright.machine.devices.listing import find_devices, find_unready

    found = {each: find_devices(each) for each in ([platform] if platform else ["host"])}
    if not platform:
        try:
            found["android"] = find_devices("android")
        except NotInstalledError as error:
            click.echo(f"no phones: {error}", err=True)
    if as_json:
        print_json("devices", [_describe_device(about) for each in found.values() for about in each])
        return
    for each, devices in found.items():
        for about in devices:
            battery = f"  battery {about.facts['battery']} %" if "battery" in about.facts else ""
            click.echo(f"{about.serial}  {about.name}  {about.abi}  {about.os}{battery}")
        for serial, state, remedy in find_unready(each):
            click.echo(f"{serial}  cannot be used: {state}\n  {remedy}")
        if not devices:
            click.echo(f"no device of platform {each} can be used now", err=True)


def _describe_device(about: DeviceFacts) -> dict[str, str]:
    return {
        "kind": about.name,
        "name": str(about.facts.get("model", about.name)),
        "hash": about.serial,
        "abi": about.abi,
        "os": about.os,
    }
