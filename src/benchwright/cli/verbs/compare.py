"""`benchwright compare`: runs against the first of them, or a gate for one run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchwright import config
from benchwright.cli.gate import AGAINST, CONDITIONS, GateRequest, gate_options, open_gate
from benchwright.cli.options import json_option, markdown_option, smallest_option, store_option
from benchwright.errors import OptionError

if TYPE_CHECKING:
    from benchwright.records import Run


@click.command("compare", epilog=CONDITIONS)
@click.argument("before", default="", metavar="[A]")
@click.argument("after", default="", metavar="[B]")
@click.argument("others", nargs=-1, metavar="[C]...")
@store_option
@json_option
@markdown_option
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="The metric to judge; repeatable.")
@smallest_option
@click.option(
    "--across",
    default="",
    metavar="NAME,NAME",
    help="Parameters in which paired cases may differ: lr,batch_size. With A alone, its own cases among each other.",
)
@click.option("--against", metavar="WHAT", help=AGAINST)
@gate_options
def command(
    *,
    before: str,
    after: str,
    others: tuple[str, ...],
    store: str | None,
    as_json: bool,
    markdown: bool,
    metrics: tuple[str, ...],
    smallest: str,
    across: str,
    against: str | None,
    fail_on: tuple[str, ...],
    repo: str | None,
    junit: Path | None,
    github: bool,
) -> int:
    """B against A: two runs, revisions or files. Exits with 1 when something became worse.

    `compare A B C ...` judges each of the others against A, with a column each; all columns are judged together.

    `compare [RUN] machine:A machine:B ...` compares machines that measured the same run (default: the last).

    `compare A B --across lr,batch_size` pairs cases that are equal but for these parameters; `compare A --across lr`
    does so within one run, against the first of them.

    `last~1:TARGET` is the run before the last that measured TARGET. Files of other tools are read as `import` does.

    `compare [RUN] --against WHAT` is a gate: whether RUN (default: the last) may pass. So is `compare A B` with
    --fail-on, --junit or --github: whether B may. It exits with 0 when it may, with 1 when a condition of --fail-on is
    met, with 2 when the request is wrong.
    """
    if across and (against is not None or fail_on or junit is not None or github):
        raise OptionError("a gate compares equal cases", remedy="leave out --across, or the options of a gate")
    if against is None and not after and not across:
        raise OptionError(
            f"nothing to compare {before or 'the last run'} with",
            remedy="name two runs, A and B, or one and --against WHAT",
        )
    if against is not None and after:
        raise OptionError(
            f"--against {against} is a third side beside {before} and {after}",
            remedy=f"write compare {before} {after}, or compare {after} --against {against}",
        )
    is_gate = against is not None or bool(fail_on) or junit is not None or github
    if others and is_gate:
        raise OptionError("a gate has two sides", remedy=f"write compare {before} {after}, once for each of the others")
    if not is_gate:
        if repo is not None:
            raise OptionError("--repo is where a gate looks up branches", remedy="add --against, or leave out --repo")
        from benchwright.workflows.comparison import sides_by_machine

        sides = sides_by_machine([before or "last", after or before or "last", *others], store)
        if len(sides) > 2:
            return _compare_several(
                sides, store, as_json=as_json, markdown=markdown, metrics=metrics, smallest=smallest, across=across
            )
        first, second = sides
        return _compare(
            first,
            second,
            store,
            as_json=as_json,
            markdown=markdown,
            metrics=metrics,
            smallest=smallest,
            across=across,
        )
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
    before: str | Run,
    after: str | Run,
    store: str | None,
    *,
    as_json: bool,
    markdown: bool,
    metrics: tuple[str, ...],
    smallest: str,
    across: str,
) -> int:
    from benchwright.records import Verdict
    from benchwright.report import comparison_text
    from benchwright.report.ascii import emit_text
    from benchwright.units import parse_percent
    from benchwright.vcs.forges import load_projects
    from benchwright.workflows.comparison import compare

    least = parse_percent(smallest, "--smallest")
    found = compare(before, after, metrics=metrics, smallest=least, across=across, store=store)
    sides = (found.rows, found.control, found.treatment)
    if as_json:
        click.echo(
            comparison_text.comparison_json(
                *sides, smallest=least, calibration=found.calibration, means=found.means, across=found.across
            )
        )
    elif markdown and not found.is_same:
        projects = load_projects(config.store_url(store))
        written = comparison_text.comparison_markdown(
            *sides, smallest=least, beside=found.beside, means=found.means, projects=projects, across=found.across
        )
        emit_text(sys.stdout, written)
    else:
        found.print()
    return 1 if found.verdict is Verdict.WORSE else 0


def _compare_several(
    sides: Sequence[str | Run],
    store: str | None,
    *,
    as_json: bool,
    markdown: bool,
    metrics: tuple[str, ...],
    smallest: str,
    across: str,
) -> int:
    from benchwright.records import Verdict
    from benchwright.report import columns_text
    from benchwright.report.ascii import emit_text
    from benchwright.units import parse_percent
    from benchwright.workflows.comparison import compare_several

    if len(sides) > columns_text.MOST:
        raise OptionError(f"{len(sides)} runs are more than one table holds", remedy=f"at most {columns_text.MOST}")
    least = parse_percent(smallest, "--smallest")
    found = compare_several(*sides, metrics=metrics, smallest=least, across=across, store=store)
    if as_json:
        click.echo(
            columns_text.columns_json(found.judged, found.baseline, smallest=least, across=found.columns[0].across)
        )
    elif markdown:
        written = columns_text.columns_markdown(found.lines, found.judged, found.baseline, smallest=least)
        emit_text(sys.stdout, written)
    else:
        found.print()
    return 1 if found.verdict is Verdict.WORSE else 0
