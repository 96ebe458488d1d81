"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from benchwright import config

if TYPE_CHECKING:
    from benchwright.store import Store

F = TypeVar("F", bound=Callable[..., Any])


def store_option(function: F) -> F:
    """`--store URL`, passed on as `store`; give it to `opened`."""
    return click.option(
        "--store",
        metavar="URL",
        default=None,
        help="Where results are kept: a file, a database URL or a server's address. Default: BENCHWRIGHT_STORE, "
        f"then benchwright.toml, then {config.DEFAULT_STORE}.",
    )(function)


def json_option(function: F) -> F:
    """`--json`, passed on as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(function)


def print_json(kind: str, data: object, *, indent: int | None = 2) -> None:
    """Prints what `--json` asks for: the data in the envelope that every verb has, see `benchwright.schema.printed`."""
    from benchwright.schema.printed import envelope

    click.echo(envelope(kind, data, indent=indent))


def opened(store: str | None, *, create: bool = True) -> Store:
    """The store that the flag, the environment or the configuration names; verbs that only read pass `create=False`."""
    from benchwright.store import open_store

    return open_store(config.store_url(store), create=create)
