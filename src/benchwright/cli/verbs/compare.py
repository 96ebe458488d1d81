"""benchwright compare"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from benchwright.cli.gate import CONDITIONS, GateRequest, gate_options, open_gate
from benchwright.cli.options import json_option, opened, store_option
from benchwright.errors import OptionError


@click.command("compare", epilog=CONDITIONS)
@click.argument("before", default="", metavar="[A]")
@click.argument("after", default="", metavar="[B]")
@store_option
@json_option
@click.option("--markdown", is_flag=True, help="Print a GitHub table.")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Judge this metric; may be repeated.")
@click.option(
    "--smallest", default="1%", show_default=True, metavar="PERCENT", help="A change below this counts as none."
)
@click.option(
    "--against",
    metavar="WHAT",
    help="A gate for one run: a run, a tag, a commit, a file, a branch of the repository, or `history`: the runs "
    "before it.",
)
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
    met, with 2 when the question was wrong.
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
