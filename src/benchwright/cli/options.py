"""Options that several verbs share, in the same words, and options that were renamed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


class RenamedOption(click.Option):
    """An option that scripts may also call by its names of `before`, which no help shows."""

    def __init__(self, *arguments: Any, before: Sequence[str], **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.before = tuple(before)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Lets the parser know the names of before too."""
        shown = self.opts
        self.opts = [*shown, *self.before]
        try:
            super().add_to_parser(parser, ctx)
        finally:
            self.opts = shown


def smallest_option(function: F) -> F:
    """`--smallest PERCENT`, passed on as the text that was typed."""
    return click.option(
        "--smallest", default="1%", show_default=True, metavar="PERCENT", help="Smaller changes count as none."
    )(function)


def markdown_option(function: F) -> F:
    """`--markdown`."""
    return click.option("--markdown", is_flag=True, help="Print Markdown, fit for a comment on a pull request.")(
        function
    )


def only_one(values: Sequence[str], flag: str, why: str) -> str:
    """The only value of a flag that other verbs let people repeat; "" where it was not given."""
    if len(values) > 1:
        from benchwright.errors import OptionError

        raise OptionError(f"{flag} was given {len(values)} times: {why}", remedy=f"give one {flag}")
    return values[0] if values else ""


def print_json(kind: str, data: object, *, indent: int | None = 2) -> None:
    """Prints what `--json` asks for: the data in the envelope that every verb has, see `benchwright.schema.printed`."""
    from benchwright.schema.printed import envelope

    click.echo(envelope(kind, data, indent=indent))


def opened(store: str | None, *, create: bool = True) -> Store:
    """The store that the flag, the environment or the configuration names; verbs that only read pass `create=False`."""
    from benchwright.store import open_store

    return open_store(config.store_url(store), create=create)
