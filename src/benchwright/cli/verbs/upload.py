"""`benchwright upload`: a run and its files to a store, again if need be."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from benchwright.cli.options import json_option, print_json, store_option
from benchwright.store import open_configured_store
from benchwright.system.masking import mask_url

if TYPE_CHECKING:
    from benchwright.exchange.uploads.folders import FileSent
    from benchwright.records import Run


@click.command()
@click.argument("run")
@click.option("--to", multiple=True, metavar="URL", help="Where to: s3://, gs://, file://, a path, ... Repeatable.")
@store_option
@json_option
def command(run: str, to: tuple[str, ...], store: str | None, as_json: bool) -> int:
    """Send RUN, as a JSON document, and the files its results left to each URL.

    Without --to, a run of `benchwright perfzero` is sent again to where its own flags said. What is there already and
    equal is not sent again. Exit code 1 when something could not be sent.
    """
    from benchwright.errors import OptionError
    from benchwright.exchange.named_runs import find_run
    from benchwright.exchange.uploads import stores
    from benchwright.store.files.transfer import read_runs

    for url in to:
        stores.check(url)
    record = find_run(run, lambda: open_configured_store(store), read_runs)
    if not to and not _was_made_by_perfzero(record):
        raise OptionError(f"run {record.id} does not say where it goes", remedy=f"benchwright upload {run} --to URL")
    sent, failures, left = _send_to_each(record, to) if to else _send_again(record)
    repeat = _repeat_command(run, left, store) if failures else ""
    if as_json:
        print_json("upload", {"run": record.id, "sent": sent, "failures": failures, "repeat": repeat})
    else:
        for address in sent:
            click.echo(address)
        for failure in failures:
            click.echo(f"benchwright: {failure}", err=True)
        if repeat:
            click.echo(f"to repeat it: {repeat}", err=True)
    return 1 if failures else 0


def _was_made_by_perfzero(run: Run) -> bool:
    from benchwright.compat.perfzero.uploads import COMMAND

    return run.command[:2] == COMMAND


def _send_to_each(run: Run, urls: tuple[str, ...]) -> tuple[list[str], list[str], list[str]]:
    """Sends the run to each address; returns what arrived, what did not, and the addresses that failed."""
    from benchwright.exchange.uploads.runs import lost_files, send_run

    sent: list[str] = []
    failures = lost_files(run)
    left = [*urls] if failures else []
    for url in urls:
        delivery = send_run(run, url, listener=_draw)
        _draw()
        sent += delivery.sent
        failures += delivery.failures
        if delivery.failures and url not in left:
            left.append(url)
    return sent, failures, left


def _send_again(run: Run) -> tuple[list[str], list[str], list[str]]:
    from benchwright.compat.perfzero.uploads import repeat

    delivery = repeat(run)
    return [*delivery.sent], [*delivery.failures], []


def _repeat_command(run: str, urls: Sequence[str], store: str | None) -> str:
    """Returns the command that repeats this upload, without the secrets that an address may hold."""
    words = ["benchwright", "upload", run]
    for url in urls:
        words += ["--to", mask_url(url)]
    return shlex.join([*words, *(["--store", mask_url(store)] if store else [])])


def _draw(progress: FileSent | None = None) -> None:
    """Draws the progress as one line on a terminal, or clears it; writes nothing to a pipe."""
    if sys.stderr.isatty():
        text = f"[{progress.done}/{progress.total}] {progress.name}" if progress else ""
        sys.stderr.write(f"\r\033[K{text[: shutil.get_terminal_size().columns - 1]}")
        sys.stderr.flush()
