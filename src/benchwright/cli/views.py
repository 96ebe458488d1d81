"""What verbs show of a run: its table and exit code at the end of `run`, and the views scaling and operators."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from benchwright import config, schema
from benchwright.cli.options import F, only_one, smallest_option
from benchwright.records import Run, is_sound
from benchwright.store import open_configured_store
from benchwright.system.masking import mask_url


def scaling_options(function: F) -> F:
    """Adds `--objective`, `--metric` and `--kind`, which only the view of the scaling has."""
    for option in (
        click.option(
            "--kind",
            type=click.Choice(["strong", "weak"]),
            help="Kind of scaling: strong, all processes together do the same work; weak, each does as much as one "
            "alone. Default: what the task says.",
        ),
        click.option(
            "--metric",
            "metrics",
            multiple=True,
            metavar="NAME",
            help="The metric to judge; of a speed-up, the one that says how fast it is.",
        ),
        click.option(
            "--objective",
            "objectives",
            multiple=True,
            metavar="'p99<20ms'",
            help="A bound that must hold: also the highest throughput of the cases that keep it. Repeatable.",
        ),
    ):
        function = option(function)
    return function


def operator_options(function: F) -> F:
    """Adds `--case`, `--by`, `--top` and `--smallest`, which only the view of the operators has."""
    for option in (
        smallest_option,
        click.option("--top", type=click.IntRange(min=0), default=20, show_default=True, help="Lines a case; 0: all."),
        click.option(
            "--by",
            type=click.Choice(["both", "kind", "node"]),
            default="both",
            show_default=True,
            help="Lines for kinds of operators, for nodes, or for kinds and then nodes.",
        ),
        click.option("--case", default="", metavar="WORDS", help="Only cases with these words in their name."),
    ):
        function = option(function)
    return function


def show_scaling(
    run: str,
    *,
    objectives: Sequence[str],
    metrics: Sequence[str],
    kind: str | None,
    output: Path | None,
    force: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Prints throughput against latency of the run's cases, speed-ups by processes, and what to choose for what."""
    from benchwright.analysis.rows import rows
    from benchwright.analysis.scaling import advice, cautions
    from benchwright.analysis.speedup import find_speedups
    from benchwright.errors import OptionError
    from benchwright.exchange.named_runs import find_runs
    from benchwright.report.ascii import spell
    from benchwright.report.terminal import scaling_json, scaling_text
    from benchwright.store.files.transfer import read_runs
    from benchwright.workflows import arguments

    bounds = [arguments.objective(text) for text in objectives]
    if output is not None:
        from benchwright.report.picture import check_picture, write_scaling

        check_picture(output, force)
    (found,) = find_runs(run, lambda: open_configured_store(store), read_runs)[:1]
    table = rows(found)
    chosen, doubts = advice(table, bounds), cautions(table)
    faster = find_speedups(table, metric=only_one(metrics, "--metric", "a speed-up is by one metric"), kind=kind or "")
    if not faster and (metrics or kind):
        raise OptionError(
            f"{'--metric' if metrics else '--kind'} is for a speed-up, and no cases of {found.id} differ in processes",
            remedy="measure with --processes 1,2,4",
        )
    if output is not None:
        latency = next((bound.metric for bound in bounds if bound.metric.startswith("latency")), "latency_p50")
        write_scaling(table, output, latency=latency, speedups=faster)
    if as_json:
        click.echo(scaling_json(found, chosen, doubts, speedups=faster, picture=output))
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 100
    told = scaling_text(table, chosen, doubts, speedups=faster, picture=output, width=width)
    click.echo(spell(sys.stdout, told))


def show_operators(
    run: str,
    after: str,
    *,
    case: str,
    by: str,
    top: int,
    output: Path | None,
    force: bool,
    smallest: str,
    store: str | None,
    as_json: bool,
) -> int:
    """Prints where the time of a model goes, or with two runs what changed; returns 1 when the latency became worse."""
    from benchwright.analysis import operator_changes
    from benchwright.errors import OptionError
    from benchwright.exchange.named_runs import find_run
    from benchwright.records.quarantine_marks import is_marked
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
        find_run(name, lambda: open_configured_store(store), read_runs, samples=False) for name in (run, after) if name
    ]
    known = [operator_text.cases_of(found, case) for found in runs]
    if after:
        changed = operator_changes.compare_operators(runs[0], runs[1], smallest=least, case=case)
        operator_changes.check_in_common(changed)
        if as_json:
            click.echo(operator_text.changes_json(runs[0], runs[1], changed, smallest=least))
        else:
            emit(sys.stdout, lambda console: operator_text.show_changes(console, changed, top=top))
        if any(is_marked(result) for found in runs for result in found.results):
            click.echo("note: a run was measured in quarantine: what changed is not judged", err=True)
            return 0
        return 1 if operator_changes.became_worse(changed) else 0
    if output is not None:
        operator_picture.write_operators(known[0], output)
    if as_json:
        click.echo(operator_text.run_json(runs[0], known[0], by=by, top=top))
    else:
        wrote = f"wrote {output}" if output else ""
        emit(sys.stdout, lambda console: operator_text.show_cases(console, known[0], by=by, top=top, last=wrote))
    return 0


def show_outcome(run: Run, *, as_json: bool, save: bool, store: str | None, report: str | None) -> None:
    """Shows the table of a run, or all of it as JSON; writes the report when one was asked for."""
    if as_json:
        click.echo(schema.dumps(run, indent=2))
    else:
        from benchwright.report.footer import next_steps
        from benchwright.report.table import print_run
        from benchwright.store import find_place

        flags = f"--store {shlex.quote(mask_url(store))}" if store else ""
        saved = find_place(config.store_url(store)) if save else ""
        print_run(run, next_steps=next_steps(run, saved=saved, flags=flags) if save else "", saved=save)
    if report:
        from benchwright.report.html import write_html
        from benchwright.vcs.forges import load_projects

        write_html([run], Path(report), flag="--report", projects=load_projects(config.store_url(store)))
        if not as_json:
            click.echo(f"report: {report}")


def exit_code(run: Run) -> int:
    """0 when every case was measured and every objective met; 130 when interrupted or cancelled; else 1."""
    from benchwright.execution.instrument import OBJECTIVE_MISSED

    if any(r.error is not None and r.error.kind in ("interrupted", "cancelled") for r in run.results):
        return 130
    failed = not all(map(is_sound, run.results))
    missed = any(w.code == OBJECTIVE_MISSED for r in run.results for w in r.warnings)
    return 1 if failed or missed else 0
