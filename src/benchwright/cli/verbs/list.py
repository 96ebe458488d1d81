"""`benchwright list`: the cases that targets give, or the runs in the store."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import click

from benchwright.cli.options import json_option, limit_option, store_option

BACKUP = "restore this one from a backup of the store, if there is one"


@runtime_checkable
class KnowsHeld(Protocol):
    """A store that says which runs were measured in quarantine: a database."""

    def held_results(self, runs: Sequence[str]) -> Mapping[str, int]:
        """How many results of each of these runs were measured in quarantine."""
        ...


@click.command("list")
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option(
    "--runtime",
    metavar="A,B",
    default="",
    help="Runtimes to measure on: cases are planned for them. Default: the first installed that loads it.",
)
@click.option(
    "--environment",
    metavar="own|here|FILE",
    help="The packages to measure with: of an asv project, what its newest commit offers, built anew (own), or what is "
    "installed here. Default: own.",
)
@limit_option(20, "At most this many, the newest; runs.")
@click.option(
    "--all", "tries", is_flag=True, help="All of them: also tries that were refused before anything was measured."
)
@store_option
@json_option
def command(
    targets: tuple[str, ...],
    runtime: str,
    environment: str | None,
    limit: int,
    tries: bool,
    store: str | None,
    as_json: bool,
) -> int:
    """What could be run: the cases of each TARGET, which may be a module or a package as well.

    Without a target: the runs that were added to the store last, the newest first. Exit code 1 when one of them is
    damaged; it is named, and the others are listed.
    """
    rows = _cases(targets, runtime, environment) if targets else _runs(store, limit, tries)
    damaged = [] if targets else [row for row in rows if row["damaged"]]
    if as_json:
        from benchwright.schema.printed import envelope

        _write(envelope("cases" if targets else "runs", rows) + "\n")
    elif targets:
        _write_lines(_case_lines(rows))
    elif rows:
        _write_lines(map(_run_line, rows))
    else:
        click.echo("no runs yet: benchwright run TARGET makes one", err=True)
    for row in damaged:
        click.echo(f"benchwright: {row['damaged']}\n  the other runs are listed; {BACKUP}", err=True)
    return int(bool(damaged))


def _write_lines(lines: Iterable[str]) -> None:
    """Writes each text as one line, whatever its names hold: names in a store may come from others."""
    from benchwright.units.numbers import printable

    _write("".join(f"{printable(line)}\n" for line in lines))


def _write(text: str) -> None:
    """Writes to a reader that may close the pipe early; click would call that a failure."""
    from benchwright.report.ascii import emit_text

    try:
        emit_text(sys.stdout, text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _cases(targets: tuple[str, ...], runtime: str, environment: str | None) -> list[dict[str, Any]]:
    from benchwright.errors import OptionError
    from benchwright.targets.asv.config import is_config
    from benchwright.targets.sources import ImportTimes, Request, list_cases

    names = tuple(name for name in runtime.split(",") if name)
    request = Request(targets=targets, runtimes=names, listener=_echo_note, fetching=False)
    if any(map(is_config, targets)):
        from benchwright.workflows.asv_runs import list_project

        pairs, broken = list_project(request, ImportTimes(_echo_note).hear, environment or "")
    elif environment:
        raise OptionError(
            "--environment is of asv projects", remedy="leave it out: targets are listed as they are here"
        )
    else:
        pairs, broken = list_cases(request)
    for module, reason in broken:
        click.echo(f"benchwright: {module} is left out: {reason}", err=True)
    return [
        {
            "name": case.name,
            "params": dict(case.params),
            "version": case.version,
            **({"summary": about.summary} if about.summary else {}),
            **({"class": about.owner, "class_summary": about.owner_summary} if about.owner else {}),
        }
        for case, about in pairs
    ]


def _echo_note(event: Any) -> None:
    from benchwright.events import Noted

    if isinstance(event, Noted):
        click.echo(f"benchwright: {event.text}", err=True)


def _runs(store: str | None, limit: int, tries: bool) -> list[dict[str, Any]]:
    from benchwright import config, schema
    from benchwright.store import open_configured_store

    if store is None and config.store_url() == config.DEFAULT_STORE and not Path(config.DEFAULT_STORE).exists():
        return []  # nothing was asked for by name, and nothing was measured here yet
    results = open_configured_store(store)
    try:
        rows: list[dict[str, Any]] = [schema.encode(run) for run in results.runs(limit=limit, tries=tries)]
        if isinstance(results, KnowsHeld):
            held = results.held_results([row["id"] for row in rows])
            rows = [{**row, "held": held.get(row["id"], 0)} for row in rows]
    finally:
        results.close()
    return _with_leases(rows)


def _with_leases(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The runs with what machines of clouds cost that were leased for them, by currency, as the ledger here says."""
    from datetime import UTC, datetime

    from benchwright.cloud.ledger import CloudLedger, ledger_path

    if not ledger_path().exists():
        return rows
    costs: dict[str, dict[str, float]] = {}
    for machine in CloudLedger().machines():
        cost = machine.cost(datetime.now(UTC))
        if machine.order.run and cost.amount is not None:
            of_run = costs.setdefault(machine.order.run, {})
            of_run[cost.currency] = of_run.get(cost.currency, 0.0) + cost.amount
    return [{**row, "leased": costs[row["id"]]} if row["id"] in costs else row for row in rows]


def _case_lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yields a line for each case; a class and its summary stand once, above its methods."""
    last = ""
    for row in rows:
        owner = row.get("class", "")
        if owner and owner != last:
            yield f"{owner}: {row['class_summary']}" if row["class_summary"] else f"{owner}:"
        last = owner
        params = " ".join(f"{name}={value}" for name, value in row["params"].items())
        summary = f"  # {row['summary']}" if owner and row.get("summary") else ""
        yield f"{'  ' if owner else ''}{row['name']}  {params}{summary}"


def _run_line(row: dict[str, Any]) -> str:
    if row["damaged"]:
        return f"{row['id']}  {row['started_at'][:19]}  damaged"
    failed = f"  {row['failed']} failed" if row["failed"] else ""
    tags = f"  [{', '.join(row['tags'])}]" if row["tags"] else ""
    revision = f"  {row['revision']['id'][:10]}" if row["revision"] else ""
    cases = ", ".join(row["cases"])
    results = "1 result" if row["results"] == 1 else f"{row['results']} results"
    if row["results"] < row["planned"]:  # cut off, or still being measured
        results = f"{row['results']} of {row['planned']} results"
    held = f"  {row['held']} in quarantine" if row.get("held") else ""
    paid = "".join(f"  {amount:.3g} {currency}" for currency, amount in row.get("leased", {}).items())
    return f"{row['id']}  {row['started_at'][:19]}  {results}{failed}{held}{paid}{revision}{tags}  {cases}"
