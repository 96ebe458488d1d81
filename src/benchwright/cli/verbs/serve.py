"""`benchwright serve`: the dashboard and the JSON API of a store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from benchwright import config
from benchwright.cli.options import RenamedOption, json_option, print_json, store_option
from benchwright.system.addresses import http_host
from benchwright.system.masking import mask_url


@click.command("serve")
@click.option(
    "--address",
    cls=RenamedOption,
    before=["--host"],
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="The address to listen on; 0.0.0.0 for all.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="The port; 0 takes a free one."
)
@store_option
@click.option("--require-token", is_flag=True, help="Let nobody in without a token, not even to read.")
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="HOST",
    help="A name under which people reach it, behind a proxy. Repeatable; with one, other names are refused, "
    "and changes need a token.",
)
@click.option(
    "--public-url",
    metavar="URL",
    help="The address at which browsers reach it, behind a proxy; the sign-in provider sends people back there. "
    "Default: public_url of [server] in benchwright.toml.",
)
@click.option(
    "--artifacts",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where files of results are kept. Default: `artifacts` beside the store's file.",
)
@click.option(
    "--log-requests",
    cls=RenamedOption,
    before=["--log"],
    is_flag=True,
    help="Print a line for each request: method, path, status, milliseconds.",
)
@click.option(
    "--server-processes",
    "processes",
    cls=RenamedOption,
    before=["--processes", "--workers"],  # of `run` these are what a launcher starts, and threads that issue calls
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes that answer requests.",
)
@click.option("--no-judge", is_flag=True, help="Do not judge the results that arrive.")
@json_option
def command(
    address: str,
    port: int,
    store: str | None,
    require_token: bool,
    names: tuple[str, ...],
    public_url: str | None,
    artifacts: Path | None,
    log_requests: bool,
    processes: int,
    no_judge: bool,
    as_json: bool,
) -> int:
    """Show a store's results to browsers and take results from elsewhere, until Ctrl-C.

    On this machine alone, whoever reaches the server may do everything. With another --address everyone may read, and
    changes need a token (benchwright token create); with --require-token, reading needs one too. [server.sign_in] in
    benchwright.toml lets people sign in at an OpenID Connect provider.

    Results that arrive are judged by a process of its own, and [notify] in benchwright.toml says who is told of what
    that finds.

    Once a day it removes what is too old by the rules of [retention] in benchwright.toml.
    """

    try:
        from benchwright.server.process import serve
        from benchwright.server.process_group import serve_with
        from benchwright.server.settings import (
            ServerSettings,
            artifacts_of,
            control_period_of,
            public_url_of,
            sign_in_of,
        )
        from benchwright.store.sql.retention import rules_of
        from benchwright.store.sqlite_file import database_file
        from benchwright.vcs.forges import load_projects
    except ModuleNotFoundError as error:
        from benchwright.errors import NotInstalledError

        if (error.name or "").startswith("benchwright"):
            raise
        raise NotInstalledError(f"{error.name}, which the server needs,", "'benchwright[server]'") from None

    url, configured = config.store_url(store), config.load()
    public = public_url_of(public_url if public_url is not None else configured.server.public_url)
    known = {name.lower().rstrip("."): None for name in (*names, *filter(None, [http_host(public)]))}
    new = url.partition("://")[0] in ("sqlite", url) and not database_file(url).exists()
    settings = ServerSettings(
        store_url=url,
        host=address,
        require_token=require_token,
        names=tuple(known),
        artifacts=(artifacts or artifacts_of(url)).absolute(),
        log=log_requests,
        retention=rules_of(configured.retention),
        judges=not no_judge,
        notify=configured.notify,
        public_url=public,
        sign_in=sign_in_of(replace(configured.server, public_url=public), host=address, require_token=require_token),
        projects=load_projects(url),
        lab_control=control_period_of(configured.machines),
    )

    def ready(base: str) -> None:
        shown = mask_url(url)
        if as_json:
            print_json("server", {"address": base, "store": shown}, indent=None)
        else:
            click.echo(f"{base}  (store: {shown})")
        if new:
            click.echo("the store is new and empty: benchwright run TARGET fills it", err=True)
        if not settings.on_loopback:
            who = "a token is needed to read" if require_token else "everyone who reaches it can read"
            click.echo(
                f"listening on {address}: {who}; put a proxy with TLS in front of it, or tokens are sent unencrypted",
                err=True,
            )

    if processes == 1:
        serve(settings, port=port, ready=ready)
    else:
        serve_with(settings, processes, port=port, ready=ready)
    return 0
