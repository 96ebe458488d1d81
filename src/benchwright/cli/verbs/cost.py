"""`benchwright cost`: what measured work costs on each machine, cloud and market."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import click

from benchwright.cli.options import force_option, json_option, picture_option, print_json, store_option
from benchwright.store import open_configured_store


@click.command("cost")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option(
    "--price",
    metavar="PRICE",
    default="",
    help="What the machine costs: 0.34USD/h, a machine of your prices.yaml, aws/c7i.large@eu-central-1[:spot]. "
    "Default: what each run was priced with, or the shape of its cloud instance.",
)
@click.option(
    "--price-of",
    "prices",
    multiple=True,
    metavar="NAME=PRICE",
    help="What the machine NAME costs. A run stands for the machine that measured it. Repeatable.",
)
@click.option(
    "--market",
    "markets",
    metavar="NAME[,NAME]",
    default="",
    help="The same shapes on other markets too: on-demand, spot, reserved-1y, reserved-3y.",
)
@click.option("--work", default="", metavar="METRIC", help="The metric that is the work, a rate or a time of one run.")
@click.option("--per", type=click.FloatRange(min=0, min_open=True), metavar="N", help="How many items a cost is of.")
@click.option(
    "--objective",
    "objectives",
    multiple=True,
    metavar="'p99<20ms'",
    help="A bound that must hold: only cases that keep it are compared. Repeatable.",
)
@click.option("--utilisation", default="", metavar="60%", help="The share of its time that a machine works.")
@picture_option("cost against latency, .png, .svg or .pdf.")
@force_option
@store_option
@json_option
def command(
    runs: tuple[str, ...],
    price: str,
    prices: tuple[str, ...],
    markets: str,
    work: str,
    per: float | None,
    objectives: tuple[str, ...],
    utilisation: str,
    output: Path | None,
    force: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Compare what the work of RUNs (default: the last) costs, the cheapest first.

    The cost of a million items follows from the throughput or the rate that a benchmark reports, that of one run from
    its time. Intervals are those of the measurements; the price, its market and its day stand below.
    """
    from benchwright.errors import OptionError
    from benchwright.exchange.named_runs import find_run
    from benchwright.report import cost_text
    from benchwright.report.table import emit
    from benchwright.store.files.transfer import read_runs
    from benchwright.units import parse_percent
    from benchwright.workflows import arguments
    from benchwright.workflows.costs import CostRequest, find_costs

    if per is not None and not math.isfinite(per):
        raise OptionError(f"--per: {per} is not a number of items", remedy="write --per 1000")
    request = CostRequest(
        price=arguments.price(price),
        prices=prices,
        markets=arguments.markets(markets),
        work=work,
        count=per,
        objectives=[arguments.objective(text) for text in objectives],
        utilisation=parse_percent(utilisation, "--utilisation", zero=False) if utilisation else 1.0,
    )
    if output is not None:
        from benchwright.report.picture import check_picture

        check_picture(output, force)
    named = {
        name: find_run(name, lambda: open_configured_store(store), read_runs, samples=False)
        for name in runs or ("last",)
    }
    found = find_costs(named, request)
    if output is not None:
        from benchwright.report.picture import write_costs

        write_costs(found, output)
    if as_json:
        print_json("cost", {**cost_text.costs_data(found), "picture": output and str(output)})
        return
    emit(sys.stdout, lambda console: cost_text.show_costs(console, found))
    if output is not None:
        click.echo(f"wrote {output}")
