"""benchwright operators"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from benchwright.cli.options import json_option, opened, store_option


@click.command("operators")
@click.argument("run", default="last", metavar="[RUN]")
@click.argument("after", default="", metavar="[RUN]")
@click.option("--case", default="", metavar="WORDS", help="Only cases with these words in their name.")
@click.option(
    "--by",
    type=click.Choice(["both", "kind", "node"]),
    default="both",
    show_default=True,
    help="Lines for kinds of operators, for nodes, or for kinds and then nodes.",
)
@click.option("--top", type=click.IntRange(min=0), default=20, show_default=True, help="Lines a case; 0: all.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Draw it: a .svg, .html or .png file.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option(
    "--smallest", default="1%", show_default=True, metavar="PERCENT", help="A change of the latency below this is none."
)
@store_option
@json_option
def command(
    run: str,
    after: str,
    case: str,
    by: str,
    top: int,
    output: Path | None,
    force: bool,
    smallest: str,
    store: str | None,
    as_json: bool,
) -> int:
    """Where the time of a model goes: the operators of RUN (default: the last), recorded with `run --operators`.

    With two runs, what changed from the first to the second, and which operators are behind a change of the latency.
    Exits with 1 when the latency became worse.
    """
    from benchwright.analysis import operator_changes
    from benchwright.errors import OptionError
    from benchwright.exchange.named_runs import find_run
    from benchwright.report import operator_picture, operator_text
    from benchwright.report.table import emit
    from benchwright.store.files.transfer import read_runs
    from benchwright.units import parse_percent

    if after and (output or by != "both"):
        raise OptionError("two runs are compared node by node, in text", remedy="leave out --output and --by")
    least = parse_percent(smallest, "--smallest")
    if output is not None:
        operator_picture.check_output(output, force)
    runs = [
        find_run(name, lambda: opened(store, create=False), read_runs, samples=False) for name in (run, after) if name
    ]
    known = [operator_text.cases_of(found, case) for found in runs]
    if after:
        changed = operator_changes.changed(runs[0], runs[1], smallest=least, case=case)
        operator_changes.check_in_common(changed)
        if as_json:
            click.echo(operator_text.changes_json(runs[0], runs[1], changed, smallest=least))
        else:
            emit(sys.stdout, lambda console: operator_text.show_changes(console, changed, top=top))
        return 1 if operator_changes.became_worse(changed) else 0
    if output is not None:
        operator_picture.write(known[0], output)
    if as_json:
        click.echo(operator_text.run_json(runs[0], known[0], by=by, top=top))
    else:
        wrote = f"wrote {output}" if output else ""
        emit(sys.stdout, lambda console: operator_text.show_cases(console, known[0], by=by, top=top, last=wrote))
    return 0
