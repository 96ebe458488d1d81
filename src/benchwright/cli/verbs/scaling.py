"""`benchwright scaling`: which of a run's configurations to choose."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import click

from benchwright.cli.options import json_option, opened, store_option


@click.command()
@click.argument("run", default="last")
@click.option("--objective", metavar="'p99<20ms'", help="Also the highest throughput of those that keep this bound.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Draw it: a .png, .svg or .pdf file.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@store_option
@json_option
def command(
    run: str, objective: str | None, output: Path | None, force: bool, store: str | None, as_json: bool
) -> None:
    """Throughput against latency of RUN's cases (default: the last), and which of them to choose for what."""
    from benchwright.analysis.rows import rows
    from benchwright.analysis.scaling import advice, cautions
    from benchwright.exchange.named_runs import find_runs
    from benchwright.report.ascii import spelled
    from benchwright.report.terminal import scatter
    from benchwright.store.files.transfer import read_runs
    from benchwright.workflows import arguments

    bound = arguments.objective(objective) if objective else None
    if output is not None:
        from benchwright.report.picture import check_picture, write_scaling

        check_picture(output, force)
    (found,) = find_runs(run, lambda: opened(store, create=False), read_runs)[:1]
    table = rows(found)
    chosen, doubts = advice(table, bound), cautions(table)
    if output is not None:
        write_scaling(
            table, output, latency=bound.metric if bound and bound.metric.startswith("latency") else "latency_p50"
        )
    if as_json:
        named = [
            {
                "for": a.aim,
                "case": a.row and a.row.label,
                "rivals": [r.label for r in a.rivals],
                "told_apart": a.row is not None and not a.rivals,
            }
            for a in chosen
        ]
        told = {"run": found.id, "advice": named, "cautions": doubts, "picture": output and str(output)}
        click.echo(json.dumps(told, indent=2))
        return
    drawn = scatter(table, shutil.get_terminal_size().columns if sys.stdout.isatty() else 100)
    said = (
        "\n".join(map(str, chosen)) or "One case, or none with a latency and a throughput: there is nothing to choose."
    )
    parts = [drawn, "\n".join(doubts), said, f"wrote {output}" if output else ""]
    click.echo(spelled(sys.stdout, "\n\n".join(part for part in parts if part)))
