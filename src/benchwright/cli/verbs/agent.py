"""`benchwright agent`: offers this machine, and phones on its cables, to the lab of a server."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from benchwright.store.remote.address import ServerAddress

TOKEN = "BENCHWRIGHT_AGENT_TOKEN"  # noqa: S105 - the variable's name


@click.command("agent")
@click.option("--server", required=True, metavar="URL", help="The server to work for, such as https://bench.example/.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help=f"A file that holds a token of the scope agent. Default: what {TOKEN} holds.",
)
@click.option("--agent-name", metavar="NAME", help="What this machine is called in the lab. Default: its host name.")
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="NAME=VALUE",
    help="Something that selectors can ask for, such as team=vision. Repeatable.",
)
@click.option("--devices", is_flag=True, help="Offer the phones on this machine's cables as well.")
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    metavar="NAME",
    help="A runtime, or a program with its path, that jobs may use, and nothing else. Repeatable. Default: all.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Where the agent keeps files and results; one agent at a time. Default: in ~/.local/state/benchwright.",
)
@click.option(
    "--ca",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Trust the certificates in this file instead of the system's.",
)
@click.option("--plain-http", is_flag=True, help="Work for a server beyond this machine without https.")
@click.option("--no-cells", is_flag=True, help="Do not keep jobs from each other's files.")
@click.option("--no-self-check", is_flag=True, help="Take work however busy, hot or full this machine is.")
@click.option("--one-job", is_flag=True, help="End after one job.")
@click.option("--until-idle", is_flag=True, help="End when there is nothing to do.")
def command(
    server: str,
    token_file: Path | None,
    agent_name: str | None,
    labels: Sequence[str],
    devices: bool,
    allowed: Sequence[str],
    folder: Path | None,
    ca: Path | None,
    plain_http: bool,
    no_cells: bool,
    no_self_check: bool,
    one_job: bool,
    until_idle: bool,
) -> int:
    """Measure here what people submit to the lab of a server: benchwright run --lab.

    Ends at SIGTERM or Ctrl-C: it takes nothing more, finishes what is under way if that takes no longer than 20
    seconds, and gives back the rest; a second signal gives it back at once.
    """
    from benchwright.lab import cells
    from benchwright.lab.agent import Agent, AgentSettings
    from benchwright.lab.client import AgentClient
    from benchwright.lab.machines import PhoneFinder, this_machine
    from benchwright.machine import environment
    from benchwright.machine.fitness import SelfCheck, configured_limits

    address = _address(server, token_file, ca, plain_http=plain_http)
    name = _name(agent_name)
    place = _folder(folder, name)
    hindrance = "switched off" if no_cells else cells.why_not()
    if hindrance and not no_cells:
        _say(f"jobs are not kept from each other's files here: {hindrance}")
    here, told = environment.collect(), _labels(labels)
    offers = [this_machine(name, told, here, isolated=not hindrance)]
    finder = PhoneFinder(name, told, here) if devices else None
    settings = AgentSettings(
        name=name,
        folder=place,
        secrets=_secrets(token_file),
        allowed=tuple(allowed),
        once=one_job,
        until_idle=until_idle,
        cells=not hindrance,
        check=None if no_self_check else SelfCheck(place, configured_limits()),
    )
    client = AgentClient(address)
    try:
        _say(f"{name}: working for {address.url}")
        count = Agent(client, settings, offers, _say, find_phones=finder.find if finder is not None else None).run()
    finally:
        client.close()
    _say(f"{count} jobs delivered")
    return 0


def _say(text: str) -> None:
    from benchwright.units.numbers import printable

    sys.stderr.write(f"{printable(text)}\n")
    sys.stderr.flush()


def _address(server: str, token_file: Path | None, ca: Path | None, *, plain_http: bool) -> ServerAddress:
    from dataclasses import replace

    from benchwright.errors import OptionError
    from benchwright.store.remote import address

    token = os.environ.pop(TOKEN, "").strip()  # no job is to inherit it
    if token_file is not None:
        token = read_token(token_file)
    if not server.startswith(("http://", "https://")):
        raise OptionError(f"--server {server}: this is no address", remedy="write https://bench.example/")
    found = address.parse(server)
    os.environ.pop(address.TOKEN, None)
    if found.url.startswith("http://") and not found.is_near and not plain_http:
        raise OptionError(
            f"{found.url}: without https anybody on the way could read the token and give this machine work",
            remedy="use https://, or say --plain-http",
        )
    return replace(found, token=token or found.token, ca=str(ca) if ca else "")


def read_token(path: Path) -> str:
    """The token in a file that nobody else can read."""
    from benchwright.errors import OptionError

    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise OptionError(f"{path}: others can read the token in it", remedy=f"chmod 600 {path}")
        token = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise OptionError(f"--token-file {path}: {error}", remedy="a file with one line, the token") from None
    if not token or len(token.split()) != 1:
        raise OptionError(f"--token-file {path}: it holds no token", remedy="a file with one line, the token")
    return token


def _secrets(token_file: Path | None) -> tuple[Path, ...]:
    """The files from which a token can be read."""
    from benchwright.store.remote import address

    found = [token_file.absolute()] if token_file else []
    with contextlib.suppress(RuntimeError):  # there is no home folder
        found.append(address.token_file())
    return tuple(found)


def _name(given: str | None) -> str:
    import platform
    import re

    from benchwright.errors import OptionError

    name = given if given is not None else platform.node().partition(".")[0] or "machine"
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,79}", name):
        raise OptionError(
            f"{name!r} cannot be a machine's name", remedy="--agent-name with 1 to 80 letters, digits and . _ : -"
        )
    return name


def _folder(given: Path | None, name: str) -> Path:
    if given is not None:
        return given.absolute()
    from benchwright import config

    return config.state_folder() / "agent" / name


def _labels(given: Sequence[str]) -> dict[str, str]:
    from benchwright.errors import OptionError
    from benchwright.units.selectors import is_name

    found = {}
    for text in given:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not is_name(name) or not value.isprintable() or len(value) > 200:
            raise OptionError(f"--label {text[:60]!r} is no label", remedy="write --label team=vision")
        found[name.lower()] = value if sign else "yes"
    return found
