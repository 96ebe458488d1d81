"""A target's results over time: `benchwright.history(...)`, and what it returns."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO

from benchwright.analysis import detection, drift_detection
from benchwright.analysis.judged_metrics import Directions, headline_metrics
from benchwright.analysis.judged_results import JudgedResults, points_of_line
from benchwright.analysis.trend import JudgedSeries, JudgementContext, trend_steps
from benchwright.records import Better, Result
from benchwright.records.costs import costs_among, is_cost, is_money
from benchwright.store import Miss, Series, Store, open_configured_store
from benchwright.store.lookup import look_up
from benchwright.workflows.arguments import one_or_many, whole_number

if TYPE_CHECKING:
    import pandas

RUNS = 20  # of each series, unless more are asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetHistory:
    """The series of a target, run by run, and what was not measured: prints as tables."""

    target: str
    series: tuple[JudgedSeries, ...]
    misses: tuple[Miss, ...]

    def print(self, file: TextIO | None = None) -> None:
        """Writes a table for each series, coloured on a terminal."""
        from benchwright.report.history_text import print_history

        print_history(self.series, self.misses, file=file)

    def to_pandas(self) -> pandas.DataFrame:
        """One row for each series and run. Needs pandas."""
        from benchwright.report.data_frames import history_frame

        return history_frame(self.series)

    def __str__(self) -> str:
        from benchwright.report.table import plain_text

        return plain_text(self.print)

    def __repr__(self) -> str:
        return f"<TargetHistory {self.target}: {len(self.series)} series>"

    def _repr_html_(self) -> str:
        from benchwright.report.notebook import history_html

        return history_html(self.series, self.misses)


def history(
    target: str | os.PathLike[str] | Callable[..., Any],
    *,
    metrics: str | Sequence[str] = (),
    limit: int = RUNS,
    store: str | os.PathLike[str] | None = None,
) -> TargetHistory:
    """Tells how the results of a target changed from run to run, each judged against the one before it.

    A target is a name as in the results, a path that ends in one, a pattern with `*`, or a function that was measured.
    Without `metrics`, the usual ones. Of each series the newest `limit` runs of its main line are told.
    """
    most = whole_number(limit, "limit")
    name = _name(target)
    with closing(open_configured_store(store)) as results:
        found, misses = look_up(
            results, name, metrics=one_or_many(metrics or None, ()), runs=most, usual=_usual_metrics
        )
        results_of = cache(lambda run: results.run(run, samples=False).results)
        quarantines = JudgedResults(results)
        judged = tuple(_judge_series(results, one, results_of, most, quarantines) for one in found)
    return TargetHistory(target=name, series=judged, misses=tuple(misses))


def _usual_metrics(directions: Directions) -> list[str]:
    """The headlines, and what the work costs."""
    return [*headline_metrics(directions), *(name for name in costs_among(directions) if is_money(name))]


def _judge_series(
    results: Store,
    series: Series,
    results_of: Callable[[str], Sequence[Result]],
    most: int,
    quarantines: JudgedResults,
) -> JudgedSeries:
    whole = _read_whole(results, series)
    better = Better(series.better) if series.better else None
    judging = JudgementContext(
        metric=series.metric,
        better=better,
        results=results_of,
        unit=series.unit,
        is_held=lambda point: quarantines.is_held(series.machine, point.started_at),
    )
    return JudgedSeries(
        key=series.key,
        case=series.case,
        params=series.params,
        metric=series.metric,
        unit=series.unit,
        better=series.better,
        machine=series.machine,
        steps=tuple(trend_steps(points_of_line(whole.points), judging, most=most)),
        # What drifts behind a cost is the metric that counts the work, and that is told.
        drifts=() if is_cost(series.metric) else tuple(drift_detection.drifts_in(results, whole)),
    )


def _read_whole(results: Store, series: Series) -> Series:
    """The series with so many points as changes are looked for in: in the newest alone its main line may be missing."""
    known = results.history(series.case, metrics=[series.metric], limit=max(detection.POINTS, len(series.points)))
    return next((one for one in known if (one.key, one.unit) == (series.key, series.unit)), series)


def _name(target: str | os.PathLike[str] | Callable[..., Any]) -> str:
    if isinstance(target, str | os.PathLike):
        return os.fspath(target)
    from benchwright.workflows.invocation import name_of

    return name_of(target)
