"""What `benchwright run` shows at its end, and its exit code."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from benchwright import config, schema
from benchwright.records import Run, Status
from benchwright.system.masking import mask_url


def show(run: Run, *, as_json: bool, save: bool, store: str | None, report: str | None) -> None:
    """The table, or the whole run as JSON; the report when it was asked for."""
    if as_json:
        click.echo(schema.dumps(run, indent=2))
    else:
        from benchwright.report.footer import next_steps
        from benchwright.report.table import print_run

        flags = f"--store {shlex.quote(mask_url(store))}" if store else ""
        saved = _place_of(config.store_url(store)) if save else ""
        print_run(run, next_steps=next_steps(run, saved=saved, flags=flags) if save else "", saved=save)
    if report:
        from benchwright.report.html import write_html

        write_html([run], Path(report), flag="--report")
        if not as_json:
            click.echo(f"report: {report}")


def _place_of(url: str) -> str:
    """Where the run is now: a server may have been away."""
    if not url.startswith(("http://", "https://")):
        return mask_url(url)
    from benchwright.store.remote import pending

    return pending.place_of(url)


def exit_code(run: Run) -> int:
    """0 when every case was measured and every objective met; 130 when interrupted; else 1."""
    from benchwright.execution.instrument import OBJECTIVE_MISSED

    if any(r.error is not None and r.error.kind == "interrupted" for r in run.results):
        return 130
    failed = any(r.status is not Status.OK for r in run.results)
    missed = any(w.code == OBJECTIVE_MISSED for r in run.results for w in r.warnings)
    return 1 if failed or missed else 0
