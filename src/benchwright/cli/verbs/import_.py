"""`benchwright import`: runs from files that export wrote, and from files of other tools."""

from __future__ import annotations

import click

from benchwright import plugins
from benchwright.cli.options import json_option, print_json, store_option
from benchwright.store import open_configured_store

OURS = "benchwright"


@click.command(
    epilog="Each run is one transaction. A line that cannot be read stops the import with its place; the runs before "
    "it stay, and importing again adds only what is missing. - reads standard input: JSON Lines unless --format is "
    "given. Files that export wrote are known by their endings (.jsonl, .jsonl.gz, .parquet), those of other tools by "
    "their content; for asv, LoadGen and aiperf a folder may be named."
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--format",
    metavar="NAME",
    default="",
    help=f"The format: {OURS}, {', '.join(plugins.BUILTIN['importers'])}. Default: it is recognised.",
)
@store_option
@json_option
def command(files: tuple[str, ...], format: str, store: str | None, as_json: bool) -> None:
    """Add the runs in files to the store."""
    from contextlib import closing

    from benchwright import exchange
    from benchwright.exchange.importers.source_file import is_of_other_tool
    from benchwright.store.files import transfer

    done = []
    with closing(open_configured_store(store, create=True)) as results:
        for file in files:
            ours = format == OURS or (not format and transfer.is_ours(file) and not is_of_other_tool(file))
            if ours:
                outcome = transfer.import_runs(results, file)
            else:
                outcome = transfer.add_all(results, exchange.read_runs(file, format=format))
            done.append({"file": file, "added": outcome.added, "present": outcome.present})
            if not as_json:
                click.echo(f"{file}: {len(outcome.added)} added, {len(outcome.present)} there already")
    if as_json:
        print_json("import", done)
