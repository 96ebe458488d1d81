"""`benchwright compare`: two runs against each other, or a gate for one run."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from benchwright.cli.gate import AGAINST, CONDITIONS, GateRequest, gate_options, open_gate
from benchwright.cli.options import json_option, markdown_option, smallest_option, store_option
from benchwright.errors import OptionError


@click.command("compare", epilog=CONDITIONS)
@click.argument("before", default="", metavar="[A]")
@click.argument("after", default="", metavar="[B]")
@store_option
@json_option
@markdown_option
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="The metric to judge; repeatable.")
@smallest_option
@click.option("--against", metavar="WHAT", help=AGAINST)
@gate_options
def command(
    *,
    before: str,
    after: str,
    store: str | None,
    as_json: bool,
    markdown: bool,
    metrics: tuple[str, ...],
    smallest: str,
    against: str | None,
    fail_on: tuple[str, ...],
    repo: str | None,
    junit: Path | None,
    github: bool,
) -> int:
    """B against A: two runs, revisions or files. Exits with 1 when something became worse.

    `last~1:TARGET` is the run before the last that measured TARGET. Files of other tools are read as `import` does.

    `compare [RUN] --against WHAT` is a gate: whether RUN (default: the last) may pass. So is `compare A B` with
    --fail-on, --junit or --github: whether B may. It exits with 0 when it may, with 1 when a condition of --fail-on is
    met, with 2 when the request is wrong.
    """
    if against is None and not after:
        raise OptionError(
            f"nothing to compare {before or 'the last run'} with",
            remedy="name two runs, A and B, or one and --against WHAT",
        )
    if against is not None and after:
        raise OptionError(
            f"--against {against} is a third side beside {before} and {after}",
            remedy=f"write compare {before} {after}, or compare {after} --against {against}",
        )
    if against is None and not (fail_on or junit or github):
        if repo is not None:
            raise OptionError("--repo is where a gate looks up branches", remedy="add --against, or leave out --repo")
        return _compare(before, after, store, as_json=as_json, markdown=markdown, metrics=metrics, smallest=smallest)
    if metrics:
        raise OptionError("--metric does not narrow a gate", remedy=f"write --fail-on '{metrics[0]}>5%'")
    return open_gate(
        GateRequest(
            run=after or before or "last",
            against=against or before,
            fail_on=fail_on,
            smallest=smallest,
            repo=repo,
            markdown=markdown,
            junit=junit,
            github=github,
            store=store,
            as_json=as_json,
        )
    )


def _compare(
    before: str,
    after: str,
    store: str | None,
    *,
    as_json: bool,
    markdown: bool,
    metrics: tuple[str, ...],
    smallest: str,
) -> int:
    from benchwright.records import Verdict
    from benchwright.report import comparison_text
    from benchwright.report.ascii import emit_text
    from benchwright.units import parse_percent
    from benchwright.workflows.comparison import compare

    least = parse_percent(smallest, "--smallest")
    found = compare(before, after, metrics=metrics, smallest=least, store=store)
    sides = (found.rows, found.control, found.treatment)
    if as_json:
        click.echo(comparison_text.comparison_json(*sides, smallest=least, calibration=found.calibration))
    elif markdown and not found.is_same:
        emit_text(sys.stdout, comparison_text.comparison_markdown(*sides, smallest=least, beside=found.beside))
    else:
        found.print()
    return 1 if found.verdict is Verdict.WORSE else 0
