"""A task file tried out: what its patterns find in a log that was saved."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchwright.errors import OptionError, TargetError
from benchwright.records import Metric
from benchwright.targets.tasks import definition, reader
from benchwright.targets.tasks.binding import workers_around
from benchwright.targets.tasks.definition import Task, TaskMetric
from benchwright.units import format_value
from benchwright.worker.tasks.aggregates import canonical
from benchwright.worker.tasks.extraction import ExtractedValues, Extractor

_READ = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedMetric:
    """One metric on the log: hits, the first and the last value, what the computation gives or why it does not."""

    metric: str
    compute: str
    hits: int
    first: float | None
    last: float | None
    value: Metric | None
    why: str
    optional: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One task. `tried` is None when there was no log to try it on."""

    task: Task
    tried: tuple[TriedMetric, ...] | None
    warnings: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Metrics that are not optional and would have no value."""
        return tuple(each.metric for each in self.tried or () if each.value is None and not each.optional)


def check(target: str, log: Path | None) -> list[Check]:
    """Every task that `FILE` or `FILE::TASK` names, tried on the log. What is wrong with the file is raised."""
    text, _, name = target.partition("::")
    file = Path(text)
    if file.suffix not in reader.ENDINGS:
        raise TargetError(f"{text} is not a task file", remedy=f"known endings: {', '.join(reader.ENDINGS)}")
    try:
        tasks = reader.read(file, name)
        return [_check_task(task, log) for task in tasks]
    except OSError as error:
        raise OptionError(f"{error.filename}: {error.strerror}") from None


def as_json(checks: Sequence[Check]) -> list[dict[str, Any]]:
    """The checks as JSON values."""
    return [
        {
            "task": check.task.name,
            "command": list(check.task.command),
            "parameters": [parameter.name for parameter in check.task.parameters],
            "metrics": [_row(wanted, None) for wanted in check.task.metrics]
            if check.tried is None
            else [_row(wanted, each) for wanted, each in zip(check.task.metrics, check.tried, strict=True)],
            "missing": list(check.missing),
            "warnings": list(check.warnings),
        }
        for check in checks
    ]


def as_text(checks: Sequence[Check]) -> str:
    """The checks for people."""
    lines: list[str] = []
    for check in checks:
        lines.append(f"{check.task.where}: {len(check.task.metrics)} metrics, {len(check.task.patterns)} patterns")
        lines += [f"  {line}" for line in map(_line, check.tried or ())]
        lines += [f"  warning: {warning}" for warning in check.warnings]
        if check.missing:
            lines.append(f"  no value: {', '.join(check.missing)}")
    return "\n".join(lines)


def _check_task(task: Task, log: Path | None) -> Check:
    workers = task.workers if isinstance(task.workers, int) else 1
    workers = workers or workers_around(os.environ)
    definition.check_workers(task, workers)
    if log is None:
        return Check(task=task, tried=None)
    extractor = Extractor(task, workers=workers)
    with log.open("rb") as stream:
        while data := stream.read(_READ):
            extractor.feed(data)
    extractor.finish()
    result = extractor.result()
    return Check(
        task=task,
        tried=tuple(_try_task(wanted, extractor, result) for wanted in task.metrics),
        warnings=tuple(warning.seen for warning in result.warnings),
    )


def _try_task(wanted: TaskMetric, extractor: Extractor, result: ExtractedValues) -> TriedMetric:
    series = extractor.fed[wanted.series].series
    found = next((metric for metric in result.metrics if metric.name == wanted.name), None)
    timeless = canonical(wanted.compute) == "rate" and series.hits > 1
    return TriedMetric(
        metric=wanted.name,
        compute=wanted.compute,
        hits=series.hits,
        first=series.first if series.count else None,
        last=series.last if series.count else None,
        value=found,
        why="a saved log has no times; a run has" if timeless else result.absent.get(wanted.name, ""),
        optional=wanted.optional or timeless,
    )


def _row(wanted: TaskMetric, tried: TriedMetric | None) -> dict[str, Any]:
    row: dict[str, Any] = {"metric": wanted.name, "compute": wanted.compute, "unit": wanted.unit}
    if tried is None:
        return row
    value = None if tried.value is None else tried.value.estimate.point
    return {**row, "hits": tried.hits, "first": tried.first, "last": tried.last, "value": value, "why": tried.why}


def _line(tried: TriedMetric) -> str:
    begin = f"{tried.metric}: "
    if tried.value is None:
        optional = " (optional)" if tried.optional else ""
        return f"{begin}{tried.hits} hits, no value{optional}: {tried.why}"
    ends = "" if tried.first is None else f", first {tried.first:g}, last {tried.last:g}"
    shown = format_value(tried.value.estimate.point, tried.value.unit, 6)
    return f"{begin}{tried.hits} hits{ends}, {tried.compute} {shown}"
