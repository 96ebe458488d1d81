"""`benchwright history`: a target's results over time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from benchwright.cli.options import json_option, opened, print_json, store_option
from benchwright.records import Better, Result, Verdict
from benchwright.schema.parsing import json_mapping

if TYPE_CHECKING:
    from benchwright.analysis.trend import Step
    from benchwright.records.findings import Finding
    from benchwright.store import Miss, Series

_COLOURS = {Verdict.BETTER: "green", Verdict.WORSE: "red"}


@click.command(
    epilog="TARGET is a name as in the results (model.onnx, bench.py::encode), a path that ends in one, or a pattern "
    "with *. Two neighbouring runs are judged by their rounds, as `benchwright compare` judges one metric."
)
@click.argument("target")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Default: the median, the throughput, the wall time of what is called once, and what the target reports. "
    "Repeatable.",
)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Newest runs per series.")
@store_option
@json_option
def command(target: str, metrics: tuple[str, ...], limit: int, store: str | None, as_json: bool) -> None:
    """How TARGET's results changed from run to run."""
    from contextlib import closing
    from functools import cache

    from benchwright.analysis import drift_detection
    from benchwright.analysis.judged_metrics import headline_metrics
    from benchwright.report.ascii import spelled
    from benchwright.store.lookup import look_up

    with closing(opened(store, create=False)) as results:
        found, misses = look_up(results, target, metrics=metrics, runs=limit, usual=headline_metrics)
        results_of = cache(lambda run: results.run(run, samples=False).results)
        tables = [(series, _steps(series, results_of, limit)) for series in found]
        drifts = [drift_detection.seen_in(results, series) for series in found]
    if as_json:
        print_json("history", _document(tables, misses, drifts))
        return
    several = len({series.machine for series in found}) > 1
    blocks = [
        [_heading(series, with_machine=several), *_lines(series, rows), *map(_drift_line, drifting)]
        for (series, rows), drifting in zip(tables, drifts, strict=True)
    ]
    if misses:
        blocks.append([click.style("Not measured", bold=True), *map(_miss_line, misses)])
    text = "\n\n".join("\n".join(block) for block in blocks)
    click.echo(spelled(sys.stdout, text), color=_colour())


def _steps(series: Series, results_of: Callable[[str], Sequence[Result]], limit: int) -> list[Step]:
    from benchwright.analysis.trend import Judging, steps

    better = Better(series.better) if series.better else None
    return steps(
        series.points, Judging(metric=series.metric, better=better, results=results_of, unit=series.unit), most=limit
    )


def _heading(series: Series, *, with_machine: bool) -> str:
    from benchwright.units.numbers import printable

    machine = f"machine {series.machine[:8]}" if with_machine else ""
    better = f"({series.better} is better)" if series.better else ""
    return " ".join(
        part
        for part in (
            click.style(printable(series.case), bold=True),
            _params(series.params),
            machine,
            series.metric,
            better,
        )
        if part
    )


def _lines(series: Series, rows: list[Step]) -> list[str]:
    """The table of one series, and its sparkline."""
    from benchwright.analysis.trend import sparkline
    from benchwright.units.numbers import cell, line_up, scale_of

    if not rows:
        return ["  no run has a value"]
    scale = scale_of((row.estimate.point for row in rows), series.unit)
    cells = [cell(row.estimate, scale) for row in rows]
    columns = [
        ["started (UTC)", *(_date(row.started_at) for row in rows)],
        ["run", *(row.run for row in rows)],
        ["revision", *(row.revision[:10] or "-" for row in rows)],
        ["rounds", *(str(row.rounds) for row in rows)],
        [scale.heading(series.metric), *line_up([one.point for one in cells])],
        ["", *(one.interval for one in cells)],
        ["change", *(_change(row) for row in rows)],
    ]
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for index, verdict in enumerate([None, *(row.verdict for row in rows)]):
        texts = (column[index].ljust(width) for column, width in zip(columns, widths, strict=True))
        line = f"  {'  '.join(texts)}"
        lines.append(f"{line}  {click.style(verdict, fg=_COLOURS[verdict])}" if verdict in _COLOURS else line.rstrip())
    return [*lines, "  " + sparkline([row.estimate.point for row in rows])]


def _drift_line(finding: Finding) -> str:
    """A drift below the table: what no two neighbouring runs show."""
    from benchwright.report.drifts import beside_text, since_text, slope_text
    from benchwright.report.findings import change_text
    from benchwright.units.numbers import cell, printable, scale_of

    if finding.drift is None:
        return ""
    scale = scale_of([finding.before.point, finding.after.point], finding.unit)
    levels = f"{cell(finding.before, scale)} to {cell(finding.after, scale)} {scale.unit}".rstrip()
    levels += beside_text(finding.drift)
    told = f"{change_text(finding)}: {levels}, {slope_text(finding.drift)}, {since_text(finding, finding.drift)}"
    return f"  {click.style(finding.verdict, fg=_COLOURS.get(finding.verdict))}  {printable(told)}"


def _params(text: str) -> str:
    from benchwright.units.numbers import printable

    return printable(" ".join(f"{name}={value}" for name, value in json_mapping(text).items()))


def _date(instant: str) -> str:
    return instant[:16].replace("T", " ")


def _change(row: Step) -> str:
    return "-" if row.change is None else f"{row.change:+.1%}"


def _miss_line(miss: Miss) -> str:
    from benchwright.units.numbers import printable

    reason = (miss.reason.strip().splitlines() or [""])[0][:100]
    parts = (
        _date(miss.started_at),
        miss.run,
        miss.revision[:10] or "-",
        _params(miss.params),
        f"round {miss.round + 1}",
    )
    return printable(f"  {'  '.join(parts)}  {miss.status}{': ' if reason else ''}{reason}")


def _colour() -> bool | None:
    """None leaves it to click: colour on a terminal, none in a pipe."""
    import os

    return False if os.environ.get("NO_COLOR") else None


def _document(
    tables: list[tuple[Series, list[Step]]], misses: list[Miss], drifts: list[list[Finding]]
) -> dict[str, Any]:
    from dataclasses import asdict

    from benchwright import schema

    shown = ("verdict", "before", "after", "effect", "confidence", "drift")
    return {
        "series": [
            {
                "key": series.key,
                "case": series.case,
                "params": json_mapping(series.params),
                "metric": series.metric,
                "unit": series.unit,
                "better": series.better or None,
                "machine": series.machine,
                "runs": [asdict(row) for row in rows],
                "drifts": [{name: schema.encode(getattr(one, name)) for name in shown} for one in drifting],
            }
            for (series, rows), drifting in zip(tables, drifts, strict=True)
        ],
        "misses": [{**asdict(miss), "params": json_mapping(miss.params)} for miss in misses],
    }
