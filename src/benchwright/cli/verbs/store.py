"""`benchwright store`: what a store holds, what of it is removed, and how it is copied."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

from benchwright import config
from benchwright.cli.options import json_option, print_json, store_option
from benchwright.cli.verbs import store_send
from benchwright.errors import OptionError
from benchwright.store import open_configured_store
from benchwright.units import format_value

if TYPE_CHECKING:
    from benchwright.store.sql import SqlStore


@click.group("store")
def command() -> None:
    """Where results are kept: what a store holds, what is removed, and how to copy it."""


command.add_command(store_send.command, "send")


@command.command("info")
@store_option
@json_option
def info(store: str | None, as_json: bool) -> None:
    """Show what kind of store it is and how much it holds."""
    with closing(_database(store)) as opened_store:
        found = opened_store.info()
    if as_json:
        print_json("store", asdict(found))
        return
    click.echo(f"{found.place}: {found.kind} {found.server}, tables of version {found.version}")
    for name, count in found.counts.items():
        click.echo(f"  {name.removeprefix('series_'):<14}{count:>14,}")
    click.echo(f"  {format_value(found.bytes, 'B')}, of which raw samples {format_value(found.sample_bytes, 'B')}")


@command.command("prune")
@click.option("--samples-older-than", metavar="TIME", help="Fold raw samples of older runs into histograms: 90d, 12w.")
@click.option("--runs-older-than", metavar="TIME", help="Remove older runs with all their points: 2y.")
@click.option("--keep-tagged", is_flag=True, help="Runs with a tag keep everything.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and change nothing.")
@store_option
@json_option
def prune(
    *,
    samples_older_than: str | None,
    runs_older_than: str | None,
    keep_tagged: bool,
    dry_run: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Remove old samples and runs. Without a time, as [retention] in benchwright.toml says.

    Points stay when samples age out. Runs that an open or acknowledged finding names keep everything.
    """
    from benchwright.store.sql import retention

    told = config.load().retention
    if samples_older_than is not None or runs_older_than is not None:
        told = config.Retention(samples=samples_older_than or "", runs=runs_older_than or "")
    rules = retention.rules_of(replace(told, keep_tagged=told.keep_tagged or keep_tagged))
    if rules.samples is None and rules.runs is None:
        raise click.UsageError(
            "say what may be removed: --samples-older-than, --runs-older-than, or [retention] in a file"
        )
    with closing(_database(store)) as opened_store:
        found = opened_store.prune(rules, dry_run=dry_run)
    if as_json:
        print_json("store-prune", {**asdict(found), "dry_run": dry_run})
        return
    would = "would be " if dry_run else ""
    click.echo(f"{len(found.runs)} runs with {found.results} results {would}removed")
    click.echo(f"raw samples of {found.aged} other results {would}folded into histograms")
    freed = f"{format_value(found.sample_bytes, 'B')} of raw samples {would}freed"
    click.echo(freed + (f", the file is {format_value(found.given_back, 'B')} smaller" if found.given_back else ""))


@command.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@json_option
def copy(source: str, target: str, as_json: bool) -> int:
    """Add everything of the store FROM to the store TO, and compare. Exit code 1 when something differs.

    What TO holds already is left alone, so copying again adds only what is missing. Tokens are not copied.
    """
    from benchwright.store import copies, open_store

    copies.refuse_same(source, target)
    with closing(open_store(source, create=False)) as ours, closing(open_store(target)) as theirs:
        done = copies.copy(ours, theirs, _progress)
    if as_json:
        print_json("store-copy", asdict(done))
    else:
        here = done.runs - done.added - done.completed
        click.echo(f"{done.runs} runs: {done.added} added, {done.completed} completed, {here} there already")
        others = ("findings", "mutes", "thresholds", "notes", "views")
        click.echo("added: " + ", ".join(f"{getattr(done, name)} {name}" for name in others))
        click.echo("\n".join(done.differing) or f"all {done.results} results compared: the same")
    return 1 if done.differing else 0


def _database(store: str | None) -> SqlStore:
    from benchwright.store.sql import SqlStore

    found = open_configured_store(store)
    if not isinstance(found, SqlStore):
        found.close()
        raise OptionError("this store is reached through a server", remedy="name the database itself with --store")
    return found


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[Kcopying: {done} of {total} runs" if done < total else "\r\x1b[K")
        sys.stderr.flush()
