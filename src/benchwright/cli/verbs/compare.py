"""benchwright compare"""

from __future__ import annotations

import sys

import click

from benchwright.cli.options import json_option, opened, store_option


@click.command("compare")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@store_option
@json_option
@click.option("--markdown", is_flag=True, help="Print a GitHub table.")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Judge this metric; may be repeated.")
@click.option(
    "--smallest", default="1%", show_default=True, metavar="PERCENT", help="A change below this counts as none."
)
def command(
    before: str, after: str, store: str | None, as_json: bool, markdown: bool, metrics: tuple[str, ...], smallest: str
) -> int:
    """B against A: two runs, revisions or files. Exits with 1 when something became worse.

    `last~1:TARGET` is the run before the last that measured TARGET. Files of other tools are read as `import` does.
    """
    from benchwright.analysis import comparison, false_alarms
    from benchwright.exchange.named_runs import find_run
    from benchwright.records import Verdict
    from benchwright.report import comparison_text
    from benchwright.report.ascii import emit_text
    from benchwright.store.files.transfer import read_runs
    from benchwright.units import parse_percent
    from benchwright.units.numbers import printable

    least = parse_percent(smallest, "--smallest")
    a, b = (find_run(name, lambda: opened(store, create=False), read_runs, samples=False) for name in (before, after))
    if a.id == b.id and not as_json:
        click.echo(f"{printable(a.id)} is the same run on both sides: nothing can have changed")
        return 0
    compared = comparison.compare_runs(a, b, smallest=least, metrics=metrics)
    comparison.check_in_common(compared)
    known = false_alarms.read(lambda: opened(store, create=False), b.results[0].environment if b.results else None)
    beside = false_alarms.beside_rounds(known) if known else ""
    if as_json:
        click.echo(comparison_text.comparison_json(compared, a, b, smallest=least, calibration=known))
    elif markdown:
        emit_text(sys.stdout, comparison_text.comparison_markdown(compared, a, b, smallest=least, beside=beside))
    else:
        comparison_text.print_comparison(compared, a, b, smallest=least, beside=beside)
    return 1 if comparison.worst(compared) is Verdict.WORSE else 0
