"""The control benchmark of a machine over time: how fast it was, as a share of what is usual there."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from benchwright.pages.shapes import ControlLine
from benchwright.records import CONTROL
from benchwright.records.machines import Quarantines
from benchwright.schema.parsing import json_mapping
from benchwright.store.archive import Archive, Columns, ListedSeries
from benchwright.store.choices import SeriesFilter

METRIC = "latency_p50"
POINTS = 3000  # the newest rounds of a part


def control_lines(archive: Archive, machine: str, held: Quarantines) -> list[ControlLine]:
    """Each part of the machine's control benchmark, of the version of it and of Python that measured last."""
    chosen = SeriesFilter(case=f"{CONTROL}*", metric=METRIC, machine=machine)
    newest: dict[str, ListedSeries] = {}
    for one in archive.series(chosen):
        before = newest.get(one.series.case)
        if before is None or before.last_at < one.last_at:
            newest[one.series.case] = one
    return [_line(archive, one, held) for _, one in sorted(newest.items())]


def _line(archive: Archive, listed: ListedSeries, held: Quarantines) -> ControlLine:
    series = listed.series
    runs = list(_runs(archive.columns(series.key, series.unit, limit=POINTS)))
    judged = [value for _, at, value in runs if held.is_judged(series.machine, at)]
    usual = statistics.median(judged or [value for _, _, value in runs])
    params = json_mapping(series.params)
    return ControlLine(
        name=series.case.removeprefix(CONTROL),
        series=series.key,
        python=str(params.get("python", "")),
        version=int(params.get("version", 0)),
        usual=usual,
        at=[at // 1000 for _, at, _ in runs],
        values=[100 * value / usual for _, _, value in runs],
        runs=[run for run, _, _ in runs],
    )


def _runs(columns: Columns) -> Iterator[tuple[str, int, float]]:
    """Of each run its id, when it began, and the typical round of it; the oldest first."""
    rounds: dict[int, list[tuple[int, float]]] = {}
    for number, at, point in zip(columns.run.tolist(), columns.at.tolist(), columns.point.tolist(), strict=True):
        if point > 0:
            rounds.setdefault(number, []).append((at, point))
    for number, found in rounds.items():
        yield columns.runs[number], min(at for at, _ in found), statistics.median(point for _, point in found)
