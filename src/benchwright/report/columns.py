"""Which metrics a table shows, and their cells, the same in the terminal, in Markdown and in HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchwright.analysis.judged_metrics import directions_of, judged_metrics
from benchwright.analysis.rows import Row
from benchwright.execution.pricing import COST, THROUGHPUT
from benchwright.records import Better, Metric
from benchwright.records.costs import (
    AT_MAX_RATE,
    ENERGY_PER_ITEM,
    PER_EPOCH,
    PER_MILLION,
    PER_RUN,
    PER_TOKENS,
    TITLES,
)
from benchwright.records.goals import is_reached_share
from benchwright.records.request_metrics import ERRORS, are_of_requests, is_of_requests, shown_metrics, words_of
from benchwright.units.numbers import NumberText, Scale, cell, scale_of_estimates

# metric -> heading, in the order of the table; a metric that no row has gets no column.
SHOWN = {
    "latency_p50": "median latency",
    "latency_p99": "p99",
    "throughput": "throughput",
    "max_rate": "max rate",
    **{name: TITLES[name] for name in (PER_MILLION, AT_MAX_RATE, PER_TOKENS, PER_EPOCH, PER_RUN, ENERGY_PER_ITEM)},
    "rss_peak": "peak memory",
}

MOST_OWN = 6  # columns that benchmarks report of themselves, those that are judged first; `show` has them all


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One metric down the table: a heading with the unit, and a cell for each row (None: the row has no number)."""

    metric: str
    title: str
    better: Better | None
    scale: Scale
    cells: tuple[NumberText | None, ...]

    @property
    def heading(self) -> str:
        """Returns the heading of the column: its title and unit."""
        return self.scale.heading(self.title)


def columns(table: Sequence[Row]) -> list[Column]:
    """The columns that at least one row can fill, each in one unit from top to bottom."""
    known = directions_of(metric for row in table for metric in row.metrics.values())
    usual = SHOWN
    if served := is_served(table):  # before the others
        of_requests = {name: words.title if (words := words_of(name)) else name for name in shown_metrics(known)}
        usual = {**of_requests, **{name: SHOWN[name] for name in SHOWN if not is_of_requests(name)}}
    judged = [name for name in judged_metrics(known) if name not in usual and name != "wall_time"]
    # Of requests there is always more of the same, such as the mean gap, and all that another tool told: `show` has it.
    reported = [*judged, *_names_reported(table)]
    if served:
        reported = [name for name in reported if name not in usual and not is_of_requests(name)]
    own = list(dict.fromkeys(name for name in reported if not _is_always_reached(name, table)))[:MOST_OWN]
    names = {"wall_time": "wall time", **dict.fromkeys(own), **usual, COST: _cost_title(table)}
    found = (_column(metric, title or metric, table) for metric, title in names.items() if _says(metric, table))
    return [column for column in found if column]


def is_served(table: Sequence[Row]) -> bool:
    """Whether a table has requests to served models, of which there is more to show than of other calls."""
    return any(are_of_requests(row.metrics) for row in table)


def _says(metric: str, table: Sequence[Row]) -> bool:
    """Whether a metric says anything of what was measured: no errors need no column, and the memory of the process that
    sends requests, of which no direction is better, is not that of the server."""
    if metric == "rss_peak" and is_served(table):
        return any(metric in row.metrics and row.metrics[metric].better is not None for row in table)
    errors = [row.metrics[metric].estimate.point for row in table if metric == ERRORS and metric in row.metrics]
    return not errors or any(errors) or not is_served(table)


def _is_always_reached(metric: str, table: Sequence[Row]) -> bool:
    """Whether a metric is the share of rounds that reached a goal, and every round of every case did."""
    found = [row.metrics[metric] for row in table if metric in row.metrics]
    return all(is_reached_share(metric, one.unit) and one.estimate.point == 100.0 for one in found) and bool(found)


def _cost_title(table: Sequence[Row]) -> str:
    """The heading of the cost, with the metric that was priced where it is not the throughput."""
    priced = {str(by) for row in table for result in row.results if (by := result.details.get("cost_by"))}
    others = sorted(priced - {THROUGHPUT})
    return f"{SHOWN[COST]} by {' / '.join(others)}" if others else SHOWN[COST]


def _names_reported(table: Sequence[Row]) -> list[str]:
    """The metrics that benchmarks told of themselves, in the order they told them."""
    metrics = (metric for row in table for result in row.results for metric in result.metrics)
    return list(dict.fromkeys(m.name for m in metrics if m.estimate.method.startswith("reported")))


def _column(metric: str, title: str, table: Sequence[Row]) -> Column | None:
    found = [row.metrics.get(metric) for row in table]
    present = [m for m in found if m is not None]
    if not present:
        return None
    if len({m.unit for m in present}) > 1:  # machines that are paid in several currencies
        cells = tuple(_with_unit(m) if m else None for m in found)
        return Column(
            metric=metric, title=title, better=present[0].better, scale=Scale(factor=1.0, unit=""), cells=cells
        )
    scale = scale_of_estimates((m.estimate for m in present), present[0].unit)
    cells = tuple(cell(m.estimate, scale) if m else None for m in found)
    return Column(metric=metric, title=title, better=present[0].better, scale=scale, cells=cells)


def _with_unit(metric: Metric) -> NumberText:
    number = cell(metric.estimate, Scale(factor=1.0, unit=""))
    return NumberText(point=number.point, interval=f"{number.interval} {metric.unit}".strip())
