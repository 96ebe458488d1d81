"""The goals of a task file, read strictly: `accuracy_95 = { when = "accuracy >= 0.95", epochs = "epoch" }`.

Also the phases of a task, `input = "input_time"`, which are told as operators are; and what a metric leaves out at the
beginning: `skip = 10`, `skip = "30s"`, `skip = "20%"`, or `steady = true`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchwright.errors import DecodeError, OptionError, did_you_mean
from benchwright.records.goals import AMOUNTS, REACHED, metric_name
from benchwright.targets.tasks.definition import OWN_VALUES, Pattern, Skip, TaskGoal, TaskMetric
from benchwright.units import parse_quantity

_NAME = re.compile(r"[A-Za-z0-9_.]+")
_WHEN = re.compile(r"\s*([A-Za-z_]\w*)\s*(>=|<=|>|<)\s*(\S+?)\s*")
_WARMUP = "_warmup"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalTable:
    """The keys of a goal in a task file."""

    when: str
    hold: int = 1
    steps: str = ""
    epochs: str = ""


def warmup_name(metric: str) -> str:
    """The name of the metric that tells how long the part lasted that another metric leaves out."""
    return f"{metric}{_WARMUP}"


def read_goals(
    where: str, tables: Mapping[str, GoalTable], patterns: Sequence[Pattern], metrics: Sequence[TaskMetric]
) -> tuple[TaskGoal, ...]:
    """The goals of a task; what is wrong with one is a `DecodeError` that names its place."""
    goals = tuple(_goal(f"{where}.goals.{name}", name, table, patterns, metrics) for name, table in tables.items())
    _refuse_double_names(where, goals, metrics)
    return goals


def _goal(
    place: str, name: str, table: GoalTable, patterns: Sequence[Pattern], metrics: Sequence[TaskMetric]
) -> TaskGoal:
    if not _NAME.fullmatch(name):
        raise DecodeError(f"{place}: a goal is named with letters, digits, _ and .")
    found = _WHEN.fullmatch(table.when)
    if found is None:
        remedy = 'write a name, one of >= > <= < and a number: "accuracy >= 0.95"'
        raise DecodeError(f"{place}.when: {table.when!r} is not a goal", remedy=remedy)
    if table.hold < 1:
        raise DecodeError(f"{place}.hold: {table.hold} is not a number of values in a row", remedy="1 or more")
    pattern, series = _source(f"{place}.when", found[1], patterns, metrics)
    for key, group in (("steps", table.steps), ("epochs", table.epochs)):
        if group and group != OWN_VALUES and group not in pattern.series:
            remedy = (
                f"capture it in the pattern that captures {found[1]!r}, so that both are of one line; "
                f'or "{OWN_VALUES}" counts the values of {found[1]!r}'
            )
            raise DecodeError(f"{place}.{key}: the pattern of {found[1]!r} has no group {group!r}", remedy=remedy)
    return TaskGoal(
        name=name,
        when=f"{found[1]} {found[2]} {found[3]}",
        series=series,
        relation=found[2],
        bound=_bound(f"{place}.when", found[3]),
        hold=table.hold,
        steps=table.steps,
        epochs=table.epochs,
    )


def _source(place: str, name: str, patterns: Sequence[Pattern], metrics: Sequence[TaskMetric]) -> tuple[Pattern, str]:
    """The pattern and the series of the values that a goal is about: a named group, or those of a metric."""
    known = {group: pattern for pattern in patterns for group in pattern.series}
    series = name if name in known else next((metric.series for metric in metrics if metric.name == name), "")
    if series not in known or (not known[series].series[series] and "." in series):
        names = [*(group for group in known if "." not in group), *(metric.name for metric in metrics)]
        if series in known:
            raise DecodeError(f"{place}: the pattern of {name!r} captures nothing", remedy="write a group: (\\S+)")
        remedy = did_you_mean(name, names) if names else "write a pattern that captures it"
        raise DecodeError(f"{place}: nothing captures {name!r}", remedy=remedy)
    return known[series], series


def _bound(place: str, text: str) -> float:
    try:
        bound = float(text)
    except ValueError:
        bound = math.nan
    if not math.isfinite(bound):
        raise DecodeError(f"{place}: {text!r} is not a number", remedy="write it as the command prints it: 0.95")
    return bound


def _refuse_double_names(where: str, goals: Sequence[TaskGoal], metrics: Sequence[TaskMetric]) -> None:
    """Refuses a metric with a name that a goal or a metric's warm-up has already."""
    taken = {metric_name(kind, goal.name): f"the goal {goal.name!r}" for goal in goals for kind in (*AMOUNTS, REACHED)}
    taken |= {warmup_name(one.name): f"the warm-up of {one.name!r}" for one in metrics if one.leaves_out}
    for metric in metrics:
        if metric.name in taken:
            raise DecodeError(
                f"{where}.metrics.{metric.name}: {taken[metric.name]} has a metric of this name",
                remedy="give it another name",
            )


def read_phases(where: str, phases: Mapping[str, str], patterns: Sequence[Pattern]) -> dict[str, str]:
    """The parts of a task's work, each with the group that captures its seconds."""
    known = [group for pattern in patterns for group in pattern.series if "." not in group]
    for name, group in phases.items():
        if group not in known:
            remedy = did_you_mean(group, known) if known else "write a pattern that captures its seconds"
            raise DecodeError(f"{where}.phases.{name}: no pattern has a group {group!r}", remedy=remedy)
    return dict(phases)


def read_skip(place: str, skip: int | str, *, steady: bool, how: str, of_hits: bool) -> Skip | None:
    """What a metric leaves out, or None; refuses what cannot be."""
    if not skip and not steady:
        return None
    if of_hits:
        raise DecodeError(f"{place}: {how!r} counts hits and leaves none out", remedy="leave out skip and steady")
    if skip and steady:
        raise DecodeError(f"{place}: has skip and steady", remedy="give one of the two")
    if steady:
        return None
    if isinstance(skip, int):
        if skip < 0:
            raise DecodeError(f"{place}.skip: {skip} is below zero")
        return Skip(amount=skip, unit="", text=f"{skip}")
    return _skip_text(f"{place}.skip", skip)


def _skip_text(place: str, text: str) -> Skip:
    try:
        if text.strip().endswith("%"):
            share = float(text.strip()[:-1]) / 100.0
            if not 0.0 < share < 1.0:
                raise DecodeError(f"{place}: {text!r} leaves out nothing or everything")
            return Skip(amount=share, unit="%", text=repr(text))
        return Skip(amount=parse_quantity(text, "s", bare=False), unit="s", text=repr(text))
    except (OptionError, ValueError):
        remedy = 'write a number of values: 10; a time: "30s"; or a share of the values: "20%"'
        raise DecodeError(f"{place}: {text!r} is no part of a series", remedy=remedy) from None
