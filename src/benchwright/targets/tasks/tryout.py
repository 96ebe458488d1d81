"""A task file tried out: what its patterns find in a log that was saved."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchwright.errors import OptionError, TargetError
from benchwright.records import Metric
from benchwright.targets.tasks import definition, old_form, reader
from benchwright.targets.tasks.binding import workers_around
from benchwright.targets.tasks.definition import Task, TaskMetric
from benchwright.targets.tasks.leftovers import Leftovers, find_leftovers
from benchwright.units import format_value
from benchwright.units.numbers import printable
from benchwright.worker.tasks.aggregates import canonical
from benchwright.worker.tasks.extraction import ExtractedValues, Extractor
from benchwright.worker.tasks.goals import NOT_REACHED

_READ = 1 << 20
_NO_LOG = "every pattern and metric: no log was given to try them on (--log FILE)"
_LISTED = ("not-a-number", "long-lines")  # warnings of a run that say in short what the list of leftovers holds


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
class TriedGoal:
    """One goal on the log: whether a value kept it, the how manieth that was, and the best value."""

    goal: str
    when: str
    reached: bool
    values: int  # looked at: up to the one that kept it, or all
    best: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One task. `tried` is None when there was no log to try it on."""

    task: Task
    tried: tuple[TriedMetric, ...] | None
    warnings: tuple[str, ...] = ()
    goals: tuple[TriedGoal, ...] = ()
    leftovers: Leftovers | None = None  # what its patterns leave out of the log

    @property
    def missing(self) -> tuple[str, ...]:
        """Metrics that are not optional and would have no value, and goals that no value is about."""
        absent = (each.metric for each in self.tried or () if each.value is None and not each.optional)
        return (*absent, *(each.goal for each in self.goals if not each.values))


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFile:
    """The tasks of a file that were checked, and those that were not, with the reason of each."""

    checks: tuple[Check, ...]
    unchecked: Mapping[str, str]


def check(target: str, log: Path | None) -> CheckedFile:
    """Every task that `FILE` or `FILE::TASK` names, tried on the log. What is wrong with the file is raised."""
    text, _, name = target.partition("::")
    file = Path(text)
    if file.suffix not in reader.ENDINGS:
        raise TargetError(f"{text} is not a task file", remedy=f"known endings: {', '.join(reader.ENDINGS)}")
    try:
        tasks = reader.read(file, name)
        checks = tuple(_check_task(task, log) for task in tasks)
        return CheckedFile(checks=checks, unchecked=_find_unchecked(file, name, {task.name for task in tasks}))
    except OSError as error:
        raise OptionError(f"{error.filename}: {error.strerror}") from None


def _find_unchecked(file: Path, name: str, checked: set[str]) -> dict[str, str]:
    """The other tasks of the file, each with the reason why it was not looked at."""
    why = "another task was asked for" if name else "it has no command, only metrics"
    known = old_form.names(file) if file.suffix in reader.OLDER else [task.name for task in reader.read(file)]
    return {each: why for each in known if each not in checked}


def as_json(checked: CheckedFile) -> list[dict[str, Any]]:
    """The checks as JSON values; tasks that were not checked come last."""
    checks = checked.checks
    found: list[dict[str, Any]] = [
        {
            "task": check.task.name,
            "checked": True,
            "why": "" if check.tried is not None else _NO_LOG,
            "command": list(check.task.command),
            "parameters": [parameter.name for parameter in check.task.parameters],
            "metrics": [_row(wanted, None) for wanted in check.task.metrics]
            if check.tried is None
            else [_row(wanted, each) for wanted, each in zip(check.task.metrics, check.tried, strict=True)],
            "goals": [_goal_row(goal) for goal in check.goals],
            "missing": list(check.missing),
            "warnings": list(check.warnings),
            "left_out": check.leftovers.as_json() if check.leftovers else None,
        }
        for check in checks
    ]
    empty: dict[str, Any] = {"command": [], "parameters": [], "metrics": [], "missing": [], "warnings": []}
    for name, why in checked.unchecked.items():
        found.append({"task": name, "checked": False, "why": why, **empty, "left_out": None})
    return found


def as_text(checked: CheckedFile) -> str:
    """The checks for people: what was found, then what was left out."""
    lines: list[str] = []
    for check in checked.checks:
        lines.append(f"{check.task.where}: {len(check.task.metrics)} metrics, {len(check.task.patterns)} patterns")
        lines += [f"  {line}" for line in map(_line, check.tried or ())]
        lines += [f"  {line}" for line in map(_goal_line, check.goals)]
        lines += [f"  warning: {warning}" for warning in check.warnings]
        if check.missing:
            lines.append(f"  no value: {', '.join(check.missing)}")
        left = check.leftovers.as_lines() if check.leftovers else [_NO_LOG]
        if left:
            lines += ["  left out:", *(f"    {printable(line)}" for line in left)]
    lines += [f"{name}: not checked, {why}" for name, why in checked.unchecked.items()]
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
        warnings=tuple(warning.seen for warning in result.warnings if warning.code not in (*_LISTED, NOT_REACHED)),
        goals=tuple(
            TriedGoal(
                goal=name,
                when=watch.goal.when,
                reached=watch.outcome(0.0).reached,
                values=watch.values,
                best=watch.best,
            )
            for name, watch in extractor.goals.items()
        ),
        leftovers=find_leftovers(task, log),
    )


def _try_task(wanted: TaskMetric, extractor: Extractor, result: ExtractedValues) -> TriedMetric:
    series = extractor.fed[wanted.series].series
    found = next((metric for metric in result.metrics if metric.name == wanted.name), None)
    by_time = canonical(wanted.compute) in ("rate", "time_to_first") or (wanted.skip and wanted.skip.unit == "s")
    timeless = bool(by_time) and series.hits > 0
    return TriedMetric(
        metric=wanted.name,
        compute=wanted.compute,
        hits=series.hits,
        first=series.first if series.count else None,
        last=series.last if series.count else None,
        value=None if timeless else found,
        why="a saved log has no times; a run has" if timeless else result.absent.get(wanted.name, ""),
        optional=wanted.optional or timeless,
    )


def _row(wanted: TaskMetric, tried: TriedMetric | None) -> dict[str, Any]:
    row: dict[str, Any] = {"metric": wanted.name, "compute": wanted.compute, "unit": wanted.unit}
    if tried is None:
        return row
    value = None if tried.value is None else tried.value.estimate.point
    return {**row, "hits": tried.hits, "first": tried.first, "last": tried.last, "value": value, "why": tried.why}


def _goal_row(tried: TriedGoal) -> dict[str, Any]:
    return {
        "goal": tried.goal,
        "when": tried.when,
        "reached": tried.reached,
        "values": tried.values,
        "best": tried.best,
    }


def _goal_line(tried: TriedGoal) -> str:
    if not tried.values:
        return f"goal {tried.goal}: {tried.when}, and no value is about it"
    if tried.reached:
        return f"goal {tried.goal}: {tried.when} was reached with value {tried.values}"
    return f"goal {tried.goal}: {tried.when} was not reached in {tried.values} values, the best was {tried.best:g}"


def _line(tried: TriedMetric) -> str:
    begin = f"{tried.metric}: {tried.hits} {'hit' if tried.hits == 1 else 'hits'}"
    if tried.value is None:
        optional = " (optional)" if tried.optional else ""
        return f"{begin}, no value{optional}: {tried.why}"
    ends = "" if tried.first is None else f", first {tried.first:g}, last {tried.last:g}"
    shown = format_value(tried.value.estimate.point, tried.value.unit, 6)
    return f"{begin}{ends}, {tried.compute} {shown}"
