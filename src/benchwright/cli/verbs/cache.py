"""`benchwright cache`: fetched models; which are damaged, and which can be removed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from benchwright import config
from benchwright.cli.options import RenamedOption, json_option, print_json
from benchwright.units import format_value, parse_quantity

if TYPE_CHECKING:
    from benchwright.fetch.cache import Cache
    from benchwright.fetch.cache_shelf import CachedContent

F = TypeVar("F", bound=Callable[..., Any])


def cache_option(function: F) -> F:
    """Adds `--cache DIR`, passed on as `folder`."""
    return click.option(
        "--cache",
        "folder",
        metavar="DIR",
        default=None,
        help="The cache's folder. Default: BENCHWRIGHT_CACHE, then `cache` in benchwright.toml, then "
        "`benchwright` in the user's cache folder.",
    )(function)


@click.group("cache")
def command() -> None:
    """Models and other files that were fetched, kept by their content."""


@command.command("list")
@cache_option
@json_option
def list_(folder: str | None, as_json: bool) -> None:
    """Show what is kept, the most recently used first."""
    cache = _open_cache(folder)
    entries = cache.entries()
    if as_json:
        _print_json("cache", cache, entries)
        return
    for entry in entries:
        click.echo(_format_entry(cache, entry))
    click.echo(f"{_format_total(entries)} in {cache.root}")


@command.command("verify")
@click.option("--repair", is_flag=True, help="Remove what is damaged; it is fetched again when it is wanted.")
@cache_option
@json_option
def verify(repair: bool, folder: str | None, as_json: bool) -> int:
    """Read every byte and compare it with its digest. Exit code 1 when something is damaged."""
    from benchwright.fetch import cache_upkeep

    cache = _open_cache(folder)
    looked = [*cache_upkeep.verify(cache, repair=repair)]
    damages = [damage for _, damage in looked if damage]
    if as_json:
        listed = [{"sha256": each.sha256, "path": each.path, "reason": each.reason} for each in damages]
        page = {"root": str(cache.root), "checked": len(looked), "damaged": listed, "repaired": repair}
        print_json("cache-check", page)
        return 1 if damages else 0
    for damage in damages:
        click.echo(f"damaged: {damage.path}: {damage.reason}")
    remedy = "removed" if repair else "remove it with: benchwright cache verify --repair"
    click.echo(f"{len(looked)} checked, {f'{len(damages)} damaged; {remedy}' if damages else 'all sound'}")
    return 1 if damages else 0


@command.command("prune")
@click.option("--older-than", metavar="TIME", help="Remove what was not used for this long: 30d, 12h.")
@click.option("--larger-than", metavar="SIZE", help="Remove what is larger: 500MB.")
@click.option(
    "--leave",
    cls=RenamedOption,
    before=["--keep"],
    metavar="SIZE",
    help="Remove what was used longest ago, until this much is left: 10GB.",
)
@click.option("--all", "everything", is_flag=True, help="All of them: remove everything.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and change nothing.")
@cache_option
@json_option
def prune(
    *,
    older_than: str | None,
    larger_than: str | None,
    leave: str | None,
    everything: bool,
    dry_run: bool,
    folder: str | None,
    as_json: bool,
) -> None:
    """Remove files that are no longer wanted. Not while something measures with it."""
    from benchwright.fetch import cache_upkeep

    limits = cache_upkeep.CacheLimits(
        older_than=_amount(older_than, "s", "--older-than"),
        larger_than=_amount(larger_than, "B", "--larger-than"),
        keep=_amount(leave, "B", "--leave"),
        everything=everything,
    )
    if limits == cache_upkeep.CacheLimits():
        raise click.UsageError("say what may be removed: --older-than, --larger-than, --leave or --all")
    cache = _open_cache(folder)
    lines = {entry.sha256: _format_entry(cache, entry) for entry in cache.entries()}
    gone = cache_upkeep.prune(cache, limits, dry_run=dry_run)
    if as_json:
        _print_json("cache-prune", cache, gone, dry_run=dry_run)
        return
    for entry in gone:
        click.echo(lines.get(entry.sha256, entry.sha256))
    click.echo(f"{_format_total(gone)} {'would be removed' if dry_run else 'removed'}")


def _open_cache(folder: str | None) -> Cache:
    from benchwright.fetch.cache import Cache

    return Cache(config.cache_folder(folder))


def _amount(text: str | None, unit: str, flag: str) -> float | None:
    if text is None:
        return None
    amount = parse_quantity(text, unit, what=flag)
    if amount < 0:
        raise click.UsageError(f"{flag}: {text} is below zero")
    return amount


def _format_entry(cache: Cache, entry: CachedContent) -> str:
    used = _when(cache.shelf.last_used(entry.sha256)).strftime("%Y-%m-%d %H:%M")
    size = format_value(entry.size, "B")
    return f"{entry.sha256[:12]}  {size:>9}  used {used}  {', '.join(entry.names)}  from {entry.source}"


def _format_total(entries: list[CachedContent]) -> str:
    files = f"{len(entries)} entr{'y' if len(entries) == 1 else 'ies'}"
    return f"{files}, {format_value(sum(entry.size for entry in entries), 'B')}"


def _print_json(kind: str, cache: Cache, entries: list[CachedContent], **more: bool) -> None:
    listed = [
        {
            "sha256": entry.sha256,
            "md5": entry.md5,
            "size": entry.size,
            "names": [*entry.names],
            "folder": entry.folder,
            "source": entry.source,
            "added": _when(entry.added).isoformat(timespec="seconds"),
            "used": _when(cache.shelf.last_used(entry.sha256)).isoformat(timespec="seconds"),
        }
        for entry in entries
    ]
    page = {"root": str(cache.root), "size": sum(entry.size for entry in entries), "entries": listed, **more}
    print_json(kind, page)


def _when(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
