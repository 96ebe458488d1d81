"""`benchwright export`: runs to a file, ours or another tool's."""

from __future__ import annotations

import click

from benchwright import plugins
from benchwright.cli.options import force_option, store_option
from benchwright.errors import UserError
from benchwright.store import open_configured_store

OURS = ("jsonl", "jsonl.gz", "parquet")


@click.command(
    epilog="FILE ends in .jsonl, .jsonl.gz or .parquet unless --format is given; - writes to standard output, JSON "
    "Lines unless --format says otherwise. RUN is an id, a tag, a commit, last, last~N or last~N:TARGET; without one, "
    "the last run is written. A format of another tool holds one run."
)
@click.argument("names", nargs=-1, required=True, metavar="[RUN]... FILE")
@click.option(
    "--format",
    metavar="NAME",
    default="",
    help=f"The format: {', '.join(OURS)}; or as another tool reads them: "
    f"{', '.join(plugins.BUILTIN['exporters'])}. Default: what the file's ending says.",
)
@click.option("--all", "everything", is_flag=True, help="All of them: every run in the store.")
@click.option("--no-samples", is_flag=True, help="Leave the raw samples out.")
@force_option
@store_option
def command(
    names: tuple[str, ...], format: str, everything: bool, no_samples: bool, force: bool, store: str | None
) -> int:
    """Write runs to a file. With `--all`, runs that are damaged are named and left out; then the exit code is 1."""
    from contextlib import closing

    from benchwright.errors import OptionError
    from benchwright.store.files.transfer import export_runs, export_text

    *references, file = names
    left_out: list[str] = []

    def skip(run: str, error: UserError) -> None:
        left_out.append(run)
        click.echo(f"benchwright: run {run} is left out: {error.message}", err=True)

    if everything and references:
        raise OptionError("--all and RUN exclude each other", remedy="leave one out")
    with closing(open_configured_store(store)) as results:
        runs = list(results.run_ids()) if everything else [results.find(r) for r in references or ["last"]]
        if not format or format in OURS:
            count = export_runs(
                results,
                dict.fromkeys(runs),
                file,
                samples=not no_samples,
                force=force,
                kind=format,
                skipped=skip if everything else None,
            )
        else:
            from benchwright import exchange
            from benchwright.analysis.judged_results import JudgedResults

            if len(runs) != 1:
                raise OptionError(f"--format {format} holds one run, not {len(runs)}", remedy="name one")
            run = results.run(runs[0], samples=False)
            judged = JudgedResults(results).of_run(run)  # there is no place for a mark in these formats
            if held := len(run.results) - len(judged.results):
                click.echo(f"benchwright: {held} results that were measured in quarantine are left out", err=True)
            count = export_text(exchange.export_run(judged, format), file, force=force)
    told = f", {len(left_out)} damaged and left out" if left_out else ""
    click.echo(f"{file}: {count} run{'s' * (count != 1)} written{told}", err=True)
    return int(bool(left_out))
