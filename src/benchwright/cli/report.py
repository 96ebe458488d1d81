"""benchwright report"""

from __future__ import annotations

from pathlib import Path

import click

from benchwright.cli.options import json_option, opened, store_option


@click.command("report")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@store_option
@json_option
@click.option(
    "-o",
    "--output",
    default="benchwright-report.html",
    show_default=True,
    type=click.Path(path_type=Path),
    help="The file to write.",
)
@click.option("--svg", type=click.Path(path_type=Path, file_okay=False), help="Also write each plot into this folder.")
@click.option("--force", is_flag=True, help="Replace a file that Benchwright did not write.")
def command(
    runs: tuple[str, ...], store: str | None, as_json: bool, output: Path, svg: Path | None, force: bool
) -> None:
    """Write a single-file HTML report of one or more runs (default: the last). The first is the others' baseline."""
    from benchwright.report.files import find_runs
    from benchwright.report.html import check_target, write_html
    from benchwright.report.images import write_svgs
    from benchwright.store.transfer import read_runs

    check_target(output, force)
    found = [
        run for name in runs or ("last",) for run in find_runs(name, lambda: opened(store, create=False), read_runs)
    ]
    written = [write_html(found, output, force=force)]
    if svg:
        written += [path for run in found for path in write_svgs(run, svg)]
    if as_json:
        import json

        click.echo(json.dumps({"written": [str(path) for path in written]}))
    else:
        click.echo("\n".join(f"wrote {path} ({path.stat().st_size / 1024:,.0f} KiB)" for path in written))
