"""`benchwright import`: runs from files that export wrote."""

from __future__ import annotations

import click

from benchwright.cli.options import json_option, opened, store_option


@click.command(
    epilog="Each run is one transaction. A line that cannot be read stops the import with its place; the runs before "
    "it stay, and importing again adds only what is missing. - reads JSON Lines from standard input."
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@store_option
@json_option
def command(files: tuple[str, ...], store: str | None, as_json: bool) -> None:
    """Add the runs in files (.jsonl, .jsonl.gz or .parquet) to the store."""
    import json
    from contextlib import closing

    from benchwright.store.transfer import import_runs

    done = []
    with closing(opened(store)) as results:
        for file in files:
            outcome = import_runs(results, file)
            done.append({"file": file, "added": outcome.added, "present": outcome.present})
            if not as_json:
                click.echo(f"{file}: {len(outcome.added)} added, {len(outcome.present)} there already")
    if as_json:
        click.echo(json.dumps(done))
