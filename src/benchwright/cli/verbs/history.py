"""`benchwright history`: a target's results over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from benchwright.cli.options import json_option, limit_option, print_json, store_option

if TYPE_CHECKING:
    from benchwright.workflows.history import TargetHistory


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
    help="The metric to judge; repeatable. Default: the median, the throughput, the wall time of what is called once, "
    "what the target reports, and what its work costs.",
)
@limit_option(20, "At most this many, the newest; runs of each series.")
@store_option
@json_option
def command(target: str, metrics: tuple[str, ...], limit: int, store: str | None, as_json: bool) -> None:
    """How TARGET's results changed from run to run."""
    from benchwright.workflows.history import history

    found = history(target, metrics=metrics, limit=limit, store=store)
    if as_json:
        print_json("history", _document(found))
    else:
        found.print()


def _document(found: TargetHistory) -> dict[str, Any]:
    from dataclasses import asdict

    from benchwright import schema
    from benchwright.schema.parsing import json_mapping

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
                "runs": [asdict(step) for step in series.steps],
                "drifts": [{name: schema.encode(getattr(one, name)) for name in shown} for one in series.drifts],
            }
            for series in found.series
        ],
        "misses": [{**asdict(miss), "params": json_mapping(miss.params)} for miss in found.misses],
    }
