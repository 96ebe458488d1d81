"""What several verbs share: options, options that were renamed, who uses them; and the command whose flags an older
system reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

from benchwright import config

F = TypeVar("F", bound=Callable[..., Any])
COMMAND = "benchwright.command"  # in the context of `run`: what followed `--`


def store_option(function: F) -> F:
    """Adds `--store URL`, passed on as `store`; give it to `open_configured_store`."""
    return click.option(
        "--store",
        metavar="URL",
        default=None,
        help="Where results are kept: a file, a database URL or a server's address. Default: BENCHWRIGHT_STORE, "
        f"then benchwright.toml, then {config.DEFAULT_STORE}.",
    )(function)


def json_option(function: F) -> F:
    """Adds `--json`, passed on as `as_json`."""
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
        "--smallest",
        default="1%",
        show_default=True,
        metavar="PERCENT",
        help="Changes smaller than this are not reported as changes.",
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


def picture_option(what: str) -> Callable[[F], F]:
    """Adds `-o FILE`, the path of a picture; `what` says what it shows, and in which formats."""
    path = click.Path(path_type=Path)
    return click.option("-o", "--output", type=path, metavar="FILE", help=f"The file to write: {what}")


def limit_option(default: int, help: str) -> Callable[[F], F]:
    """Adds `--limit N`: how many lines a list has at most."""
    kind = click.IntRange(min=1)
    return click.option("--limit", type=kind, default=default, show_default=True, metavar="N", help=help)


def pair_seed_option(function: F) -> F:
    """Adds `--seed N`, from which the order inside the pairs is drawn."""
    text = "Seed of what is drawn at random: the order inside the pairs. Default: a new one each time."
    return click.option("--seed", type=int, metavar="N", help=text)(function)


def force_option(function: F) -> F:
    """Adds `--force`, which lets a file be replaced."""
    return click.option("--force", is_flag=True, help="Replace what is there.")(function)


class OlderCommand(click.Command):
    """A command whose flags are an older system's: click hands every word on, and reads nothing but `--help`."""

    def __init__(self, *args: Any, flags: str, is_help: Callable[[list[str]], bool], **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self._flags, self._is_help = flags, is_help

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self._is_help(args):
            return super().parse_args(ctx, ["--help"])
        ctx.args = list(args)
        return ctx.args

    def get_help(self, ctx: click.Context) -> str:
        return f"{super().get_help(ctx)}\n\n{import_module(self._flags).help_text().rstrip()}"


def asks_for_help(args: list[str]) -> bool:
    """Whether a word of the command line asks for help."""
    return "--help" in args or "-h" in args


def who() -> str:
    """Who does something here: BENCHWRIGHT_USER, or whoever is logged in."""
    import getpass
    import os

    if named := os.environ.get("BENCHWRIGHT_USER"):
        return named
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container whose user has no name
        return f"user {os.getuid()}"


def now() -> str:
    """This second, as stories are dated."""
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat(timespec="seconds")
