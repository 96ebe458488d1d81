"""`benchwright export`: runs to a file."""

from __future__ import annotations

import click

from benchwright.cli.options import opened, store_option


@click.command(
    epilog="FILE ends in .jsonl, .jsonl.gz or .parquet; - writes JSON Lines to standard output. "
    "RUN is an id, a tag, a commit, last or last~N; without one, the last run is written."
)
@click.argument("names", nargs=-1, required=True, metavar="[RUN]... FILE")
@click.option("--all", "everything", is_flag=True, help="Every run in the store.")
@click.option("--no-samples", is_flag=True, help="Leave the raw samples out.")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@store_option
def command(names: tuple[str, ...], everything: bool, no_samples: bool, force: bool, store: str | None) -> None:
    """Write runs to a file."""
    from contextlib import closing

    from benchwright.errors import OptionError
    from benchwright.store.transfer import export_runs

    *references, file = names
    if everything and references:
        raise OptionError("--all and RUN exclude each other", remedy="leave one out")
    with closing(opened(store, create=False)) as results:
        runs = list(results.run_ids()) if everything else [results.find(r) for r in references or ["last"]]
        count = export_runs(results, dict.fromkeys(runs), file, samples=not no_samples, force=force)
    click.echo(f"{file}: {count} run{'s' * (count != 1)} written", err=True)
