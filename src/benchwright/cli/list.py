"""`benchwright list`: the cases that targets give, or the runs in the store."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from benchwright.cli.options import json_option, store_option


@click.command("list")
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--runtime", metavar="NAME,...", default="", help="Runtimes to plan for, instead of the default one.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many runs to list.")
@store_option
@json_option
def command(targets: tuple[str, ...], runtime: str, limit: int, store: str | None, as_json: bool) -> None:
    """What could be run: the cases of each TARGET. Without a target: the newest runs in the store."""
    rows = _cases(targets, runtime) if targets else _runs(store, limit)
    if as_json:
        _write(json.dumps(rows, indent=2) + "\n")
    elif rows:
        _write("".join(f"{_case_line(row) if targets else _run_line(row)}\n" for row in rows))
    else:
        click.echo("no runs yet: benchwright run TARGET makes one", err=True)


def _write(text: str) -> None:
    """Writes to a reader that may go when it has seen enough; click would call that a failure."""
    from benchwright.report.spelling import emit_text

    try:
        emit_text(sys.stdout, text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _cases(targets: tuple[str, ...], runtime: str) -> list[dict[str, Any]]:
    from benchwright.sources import Request, plan

    names = tuple(name for name in runtime.split(",") if name)
    cases = plan(Request(targets=targets, runtimes=names))
    return [{"name": case.name, "params": dict(case.params), "version": case.version} for case in cases]


def _runs(store: str | None, limit: int) -> list[dict[str, Any]]:
    from benchwright import config, schema
    from benchwright.cli.options import opened

    if store is None and config.store_url() == config.DEFAULT_STORE and not Path(config.DEFAULT_STORE).exists():
        return []  # nothing was asked for by name, and nothing was measured here yet
    kept = opened(store, create=False)
    try:
        rows: list[dict[str, Any]] = [schema.encode(run) for run in kept.runs(limit=limit)]
    finally:
        kept.close()
    return rows


def _case_line(row: dict[str, Any]) -> str:
    params = " ".join(f"{name}={value}" for name, value in row["params"].items())
    return f"{row['name']}  {params}"


def _run_line(row: dict[str, Any]) -> str:
    failed = f"  {row['failed']} failed" if row["failed"] else ""
    tags = f"  [{', '.join(row['tags'])}]" if row["tags"] else ""
    revision = f"  {row['revision']['id'][:10]}" if row["revision"] else ""
    cases = ", ".join(row["cases"])
    results = "1 result" if row["results"] == 1 else f"{row['results']} results"
    return f"{row['id']}  {row['started_at'][:19]}  {results}{failed}{revision}{tags}  {cases}"
