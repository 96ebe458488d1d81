"""`benchwright show`: one run in full, or a view of it."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from benchwright.cli.options import RenamedOption, force_option, json_option, picture_option, store_option
from benchwright.cli.views import operator_options, scaling_options, show_operators, show_scaling
from benchwright.errors import OptionError
from benchwright.store import open_configured_store
from benchwright.units import parse_quantity

# format -> the module whose `document(run)` writes it
_OLDER = {
    "perfzero": "benchwright.compat.perfzero.export",
    "harness": "benchwright.compat.harness.outcome",
}
# view -> the parameters that it alone takes, beside RUN, --store and --json; "" is the run in full
_TAKEN = {
    "": ("form", "plot", "around", "samples", "log"),
    "scaling": ("objectives", "metrics", "kind", "output", "force"),
    "operators": ("after", "case", "by", "top", "smallest", "output", "force"),
}


@click.command("show")
@click.argument("run", default="last", metavar="[RUN]")
@click.argument("after", default="", metavar="[RUN]")
@store_option
@json_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "markdown", "json", "perfzero", "harness"]),
    metavar="NAME",
    help="The format: csv, markdown, json; or that of an older system: perfzero, harness. Default: a table.",
)
@click.option(
    "--plot", is_flag=True, help="Draw it below the table: distributions; values over time; of a race, its front."
)
@click.option(
    "--around",
    metavar="SECONDS",
    help="Draw a served model's requests around this instant of the load in place of the slowest; implies --plot.",
)
@click.option(
    "--raw-samples",
    "samples",
    cls=RenamedOption,
    before=["--samples"],
    is_flag=True,
    help="Every recorded call, in CSV; with JSON, the document holds them.",
)
@click.option(
    "--worker-log", "log", cls=RenamedOption, before=["--log"], is_flag=True, help="Print what the workers wrote."
)
@click.option("--scaling", is_flag=True, help="Throughput against latency: which configuration to choose.")
@scaling_options
@click.option("--operators", is_flag=True, help="Where a model's time goes; with two runs, what changed.")
@operator_options
@picture_option("a picture of the view, .png or .svg, .pdf with --scaling, .html with --operators.")
@force_option
@click.pass_context
def command(context: click.Context, /, run: str, store: str | None, as_json: bool, **given: Any) -> int:
    """One run in full. RUN is `last`, `last~1`, `last~1:TARGET`, an id or its beginning, a tag, a commit, or a file.

    With --scaling, throughput against latency of RUN's cases, speed-up against their number of processes, and which of
    them to choose for what; --objective, --metric and --kind belong to it. With --operators, where the time of a model
    goes, recorded with `run --operators`; --case, --by, --top and --smallest belong to it. With two runs, --operators
    says which operators are behind a change of the latency, and exits with 1 when the latency became worse.
    """
    view = _choose_view(context, given)
    taken = {name: given[name] for name in _TAKEN[view]}
    if view == "scaling":
        show_scaling(run, store=store, as_json=as_json, **taken)
        return 0
    if view == "operators":
        return show_operators(run, store=store, as_json=as_json, **taken)
    _show_run(run, store, as_json=as_json, **taken)
    return 0


def _choose_view(context: click.Context, given: dict[str, Any]) -> str:
    """Returns the view that was asked for; refuses a flag of another view, since it would do nothing."""
    if given["scaling"] and given["operators"]:
        raise OptionError("--scaling and --operators are two views", remedy="leave one of them out")
    view = "scaling" if given["scaling"] else "operators" if given["operators"] else ""
    for name in (name for names in _TAKEN.values() for name in names if name not in _TAKEN[view]):
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        (parameter,) = (p for p in context.command.params if p.name == name)
        flag = f"a second run ({given[name]})" if name == "after" else parameter.opts[-1]
        homes = " or ".join(f"--{home}" for home, names in _TAKEN.items() if home and name in names)
        if homes:
            raise OptionError(f"{flag} belongs to {homes}", remedy=f"add {homes}, or leave it out")
        raise OptionError(f"{flag} does not belong to --{view}", remedy=f"leave out {flag} or --{view}")
    return view


def _show_run(
    run: str,
    store: str | None,
    *,
    as_json: bool,
    form: str | None,
    plot: bool,
    around: str | None,
    samples: bool,
    log: bool,
) -> None:
    from benchwright.exchange.named_runs import find_run
    from benchwright.report.show import ShowRequest, show
    from benchwright.store.files.transfer import read_runs

    if as_json and form not in (None, "json"):
        raise OptionError(f"--json and --format {form} ask for two formats", remedy="leave one of them out")
    form = "json" if as_json else form
    instant = None if around is None else parse_quantity(around, "s", what="--around")
    plot = plot or instant is not None
    if form in _OLDER and (plot or samples or log):
        raise OptionError(
            f"--format {form} prints summaries alone", remedy="leave out --plot, --raw-samples and --worker-log"
        )
    wanted = samples or form in (None, "harness")
    found = find_run(run, lambda: open_configured_store(store), read_runs, samples=wanted)
    if form in _OLDER:
        from importlib import import_module

        click.echo(import_module(_OLDER[form]).document(found))
        return
    from benchwright import config
    from benchwright.vcs.forges import load_projects

    shape = ShowRequest(form=form or "table", plot=plot, around=instant, samples=samples, log=log)
    show(found, shape, projects=load_projects(config.store_url(store)) if form == "markdown" else None)
