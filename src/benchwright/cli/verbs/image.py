"""`benchwright image`: container images to measure in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from benchwright.cli.options import RenamedOption, json_option, print_json, store_option
from benchwright.store import open_configured_store

if TYPE_CHECKING:
    from benchwright.records import Environment


@click.group("image")
def command() -> None:
    """Container images to measure in: `benchwright run TARGET --host container:IMAGE`."""


@command.command("build")
@click.option("--from-run", metavar="RUN", help="The environment of that run: `last`, an id, a tag, a file.")
@click.option("--here", is_flag=True, help="The environment of this interpreter. The default.")
@click.option(
    "--base", default="", metavar="IMAGE", help="An image with Python. Default: python:X.Y-slim of the record."
)
@click.option(
    "--image-name",
    cls=RenamedOption,
    before=["--tag"],
    default="",
    metavar="NAME",
    help="The image's name. Default: one made from its content.",
)
@click.option("--packages", metavar="A,B", help="Install only these, as recorded, and what they need; or: none.")
@click.option("--build-arg", multiple=True, metavar="NAME=VALUE", help="A build argument, such as PIP_INDEX_URL.")
@click.option("--no-cache", is_flag=True, help="Build every step anew, on a base that is asked for again.")
@click.option(
    "--print", "only_print", is_flag=True, help="Print the file that would be written: the Dockerfile; build nothing."
)
@click.option("--write", "folder", metavar="DIR", help="Write the Dockerfile and what it copies there; build nothing.")
@store_option
@json_option
def build(**given: Any) -> None:
    """Build an image with the Python and the packages of a run, or of this interpreter, and Benchwright."""
    from benchwright.errors import OptionError
    from benchwright.execution.images import orders

    if given["from_run"] and given["here"]:
        raise OptionError("--from-run and --here name two environments", remedy="leave one of them out")
    wanted = orders.Wanted(
        base=given["base"],
        tag=given["image_name"],
        packages=orders.parse_packages(given["packages"]),
        arguments=orders.arguments(given["build_arg"], "--build-arg"),
        cache=not given["no_cache"],
    )
    environment = _environment_of_run(given["from_run"], given["store"]) if given["from_run"] else orders.here()
    if given["only_print"]:
        answer = {"dockerfile": orders.dockerfile(environment, wanted)}
    elif given["folder"]:
        answer = {"path": str(orders.write(environment, wanted, given["folder"]))}
    else:
        image = orders.build(environment, wanted)
        answer = {"name": image.name, "id": image.id}
    if given["as_json"]:
        print_json("image", answer)
    else:
        click.echo(next(iter(answer.values())).rstrip("\n"))


@command.command("list")
@json_option
def list_images(as_json: bool) -> None:
    """The images on this machine that `benchwright image build` made."""
    from benchwright.execution.images.builder import list_images
    from benchwright.units import format_value

    rows = list_images()
    if as_json:
        print_json("images", rows)
        return
    for row in rows:
        size = format_value(row.size, "B")
        click.echo(
            f"{', '.join(row.tags) or '<none>'}  {row.id[:19]}  {row.created}  {size}  benchwright {row.version}"
        )
    if not rows:
        click.echo("no images yet: benchwright image build makes one", err=True)


def _environment_of_run(reference: str, store: str | None) -> Environment:
    """Returns the environment of the first measured case of a run."""
    from benchwright.errors import OptionError
    from benchwright.exchange.named_runs import find_run
    from benchwright.store.files.transfer import read_runs

    run = find_run(reference, lambda: open_configured_store(store), read_runs, samples=False)
    for result in run.results:
        if result.environment.packages:
            return result.environment
    raise OptionError(f"{reference}: no case of this run was measured", remedy="choose one that has numbers")
