"""benchwright show"""

from __future__ import annotations

import click

from benchwright.cli.options import json_option, opened, store_option

# format -> the module whose `document(run)` writes it
_OLDER = {
    "perfzero": "benchwright.compat.perfzero.export",
    "harness": "benchwright.compat.harness.export",
}


@click.command("show")
@click.argument("run", default="last", metavar="[RUN]")
@store_option
@json_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "markdown", "json", "perfzero", "harness"]),
    help="Print in this format; the last two are those of older systems.",
)
@click.option("--plot", is_flag=True, help="Draw the distributions below the table.")
@click.option("--samples", is_flag=True, help="Every recorded call, in CSV; with JSON, the document holds them.")
@click.option("--log", is_flag=True, help="Print what the workers wrote.")
def command(run: str, store: str | None, as_json: bool, form: str | None, plot: bool, samples: bool, log: bool) -> None:
    """One run in full. RUN is `last`, `last~1`, `last~1:TARGET`, an id or its beginning, a tag, a commit, or a file."""
    from benchwright.errors import OptionError
    from benchwright.exchange.named_runs import find_run
    from benchwright.report.show import Wanted, show
    from benchwright.store.files.transfer import read_runs

    if as_json and form not in (None, "json"):
        raise OptionError(f"--json and --format {form} ask for two formats", remedy="leave one of them out")
    form = "json" if as_json else form
    if form in _OLDER and (plot or samples or log):
        raise OptionError(f"--format {form} prints summaries alone", remedy="leave out --plot, --samples and --log")
    wanted = samples or form in (None, "harness")
    found = find_run(run, lambda: opened(store, create=False), read_runs, samples=wanted)
    if form in _OLDER:
        from importlib import import_module

        click.echo(import_module(_OLDER[form]).document(found))
        return
    show(found, Wanted(form=form or "table", plot=plot, samples=samples, log=log))
