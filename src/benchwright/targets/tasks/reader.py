"""Task files of both forms; the ending of a file tells which. Our own is TOML: strict, every mistake has its place."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchwright import schema
from benchwright.errors import DecodeError, OptionError, TargetError, did_you_mean
from benchwright.records import Better, Scalar, Value
from benchwright.records.processes import KINDS, PROCESSES
from benchwright.schema import parsing
from benchwright.targets.tasks import old_form
from benchwright.targets.tasks.definition import (
    DAY,
    MEASURED,
    SEED,
    Parameter,
    Pattern,
    Task,
    TaskMetric,
    compile_pattern,
    fill_parameters,
)
from benchwright.targets.tasks.goal_tables import GoalTable, read_goals, read_phases, read_skip
from benchwright.targets.tasks.launchers import PLACE, read_launcher
from benchwright.units import parse_quantity
from benchwright.worker.tasks import aggregates

TOML = (".toml",)
OLDER = (".cfg", ".ini")
ENDINGS = TOML + OLDER
_OF_HITS = {"count": "1", "rate": "/s", "time_to_first": "s"}  # computations of hits, and their units
_BASES = ("s", "B", "/s")
_KINDS: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool}
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class _MetricTable:
    """The keys of a metric in a task file. `series` is the group that gives its values; else the one of its name."""

    pattern: str = ""
    series: str = ""
    compute: str = "last"
    unit: str = ""
    better: Better | None = None
    least: int | float | str | None = None
    most: int | float | str | None = None
    optional: bool = False
    skip: int | str = 0
    steady: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _ParameterTable:
    """The keys of a parameter in a task file."""

    type: str = ""
    default: str | int | float | bool | None = None
    values: tuple[str | int | float | bool, ...] = ()
    choices: tuple[str | int | float | bool, ...] = ()
    least: float | None = None
    most: float | None = None
    help: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _TaskTable:
    """The keys of a task in a task file."""

    command: str | list[Value]
    directory: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Value] = field(default_factory=dict)
    patterns: tuple[str, ...] = ()
    metrics: Mapping[str, _MetricTable] = field(default_factory=dict)
    goals: Mapping[str, GoalTable] = field(default_factory=dict)
    phases: Mapping[str, str] = field(default_factory=dict)
    timeout: int | float | str = DAY
    interval: int | float | str = 1.0
    num_gpus: int | str = 0
    workers: int | str = 0
    launcher: str | list[Value] = ""
    scaling: str = ""
    help: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    tasks: Mapping[str, Value]


def read(file: Path, name: str = "") -> list[Task]:
    """The task `name` of the file, or all that can be run; what is wrong is a `DecodeError` or a `TargetError`."""
    if file.suffix in OLDER:
        return old_form.read(file, name)
    tasks = _read_toml(file)
    if not name:
        return tasks
    found = [task for task in tasks if task.name == name]
    if not found:
        remedy = did_you_mean(name, [task.name for task in tasks])
        raise TargetError(f"{file.name} has no task {name!r}", remedy=remedy)
    return found


def _read_toml(file: Path) -> list[Task]:
    data = parsing.toml_file(file, where=file.name)
    whole = schema.decode(_File, data, where=file.name)
    if not whole.tasks:
        raise DecodeError(f"{file.name}: holds no task", remedy="write [tasks.NAME] with a command")
    return [_task(file, name, content) for name, content in whole.tasks.items()]


def _task(file: Path, name: str, content: Value) -> Task:
    where = f"{file.name}: tasks.{name}"
    table = schema.decode(_TaskTable, content, where=where)
    command, launcher = _command(where, table.command), _launcher(where, table.launcher)
    parameters = tuple(_parameter(f"{where}.parameters", key, value) for key, value in table.parameters.items())
    parameters = _with_processes(parameters, f"{where}.parameters", (*command, *launcher, *table.environment.values()))
    declared = {parameter.name for parameter in parameters}
    patterns = _patterns(where, table)
    metrics = tuple(_metric(where, patterns, key, metric) for key, metric in table.metrics.items())
    task = Task(
        name=name,
        file=file,
        command=command,
        directory=str(file.parent / table.directory),
        environment=table.environment,
        parameters=parameters,
        patterns=patterns,
        metrics=metrics,
        goals=read_goals(where, table.goals, patterns, metrics),
        phases=read_phases(where, table.phases, patterns),
        timeout=_quantity(table.timeout, "s", f"{where}.timeout"),
        interval=_quantity(table.interval, "s", f"{where}.interval"),
        num_gpus=_count(where, "num_gpus", table.num_gpus, declared),
        workers=_count(where, "workers", table.workers, declared) or (PLACE if launcher else 0),
        launcher=launcher,
        scaling=_scaling(where, table.scaling),
    )
    sample: dict[str, Scalar] = dict.fromkeys([*declared, SEED], "1")
    counts = (str(task.num_gpus), str(task.workers))
    texts = (*task.launcher, *task.command, task.directory, *task.environment.values(), *counts)
    with _at(where):
        for text in texts:
            fill_parameters(text, sample, name)
    return task


def _command(where: str, command: str | list[Value]) -> tuple[str, ...]:
    """A list as it is; text is split into words as a shell would, and nothing else a shell does happens to it."""
    try:
        words = shlex.split(command) if isinstance(command, str) else command
    except ValueError as error:
        raise DecodeError(f"{where}.command: {error}") from None
    if not words or not words[0]:
        raise DecodeError(f"{where}.command: is empty")
    return schema.decode(tuple[str, ...], [*words], where=f"{where}.command")


def _launcher(where: str, given: str | list[Value]) -> tuple[str, ...]:
    place = f"{where}.launcher"
    if not given:
        return ()
    with _at(place):
        return read_launcher(
            given if isinstance(given, str) else list(schema.decode(tuple[str, ...], given, where=place)), place
        )


def _with_processes(parameters: tuple[Parameter, ...], where: str, texts: tuple[str, ...]) -> tuple[Parameter, ...]:
    """The parameters, with the number of processes where a text asks for it and the task does not declare it."""
    declared = {parameter.name: parameter for parameter in parameters}
    if PROCESSES in declared:
        if declared[PROCESSES].kind is not int:
            raise DecodeError(f"{where}.{PROCESSES}: is not a whole number", remedy=f"write {PROCESSES} = [1, 2, 4]")
        return parameters
    if not any(PLACE in text for text in texts):
        return parameters
    return (*parameters, Parameter(name=PROCESSES, kind=int, values=(1,), least=1))


def _scaling(where: str, given: str) -> str:
    if given and given not in KINDS:
        raise DecodeError(f"{where}.scaling: unknown kind {given!r}", remedy=did_you_mean(given, KINDS))
    return given


def _patterns(where: str, table: _TaskTable) -> tuple[Pattern, ...]:
    found = [_shared_pattern(f"{where}.patterns[{i}]", text) for i, text in enumerate(table.patterns)]
    names = [name for pattern in found for name in pattern.series]
    for name in names:
        if names.count(name) > 1:
            raise DecodeError(f"{where}.patterns: group {name!r} is in two patterns", remedy="give each its own name")
    for key, metric in table.metrics.items():
        if metric.pattern:
            found.append(_own_pattern(f"{where}.metrics.{key}.pattern", metric.pattern, f"metrics.{key}"))
    return tuple(found)


def _shared_pattern(where: str, text: str) -> Pattern:
    expression = compile_pattern(text, where)
    if not expression.groupindex:
        remedy = r"name what it captures: (?P<speed>\S+); a metric of that name takes the values"
        raise DecodeError(f"{where}: has no named group", remedy=remedy)
    return Pattern(text=text, series=dict(expression.groupindex))


def _own_pattern(where: str, text: str, series: str) -> Pattern:
    groups = compile_pattern(text, where).groups
    if groups > 1:
        remedy = "put it under `patterns` and name its groups, or write (?:...) for a group that captures nothing"
        raise DecodeError(f"{where}: captures {groups} groups", remedy=remedy)
    return Pattern(text=text, series={series: groups})


def _metric(where: str, patterns: tuple[Pattern, ...], name: str, table: _MetricTable) -> TaskMetric:
    place = f"{where}.metrics.{name}"
    if name in MEASURED:
        raise DecodeError(f"{place}: every run has a metric of this name", remedy=f"call it log_{name}")
    if table.pattern and table.series:
        raise DecodeError(f"{place}: has a pattern and a series", remedy="give one of the two")
    series = f"metrics.{name}" if table.pattern else table.series or name
    known = [each for pattern in patterns for each in pattern.series if "." not in each]
    if not table.pattern and series not in known:
        remedy = did_you_mean(series, known) if known else "give it a pattern"
        raise DecodeError(f"{place}: no pattern has a group {series!r}", remedy=remedy)
    with _at(f"{place}.compute"):
        how = aggregates.canonical(table.compute)
    unit, factor = (_OF_HITS[how], 1.0) if how in _OF_HITS else _base(table.unit)
    skip = read_skip(place, table.skip, steady=table.steady, how=how, of_hits=how in _OF_HITS)
    return TaskMetric(
        name=name,
        series=series,
        compute=table.compute,
        unit=unit,
        factor=factor,
        better=table.better or (Better.LOWER if how == "time_to_first" else None),
        least=_bound(table.least, unit, factor, f"{place}.least"),
        most=_bound(table.most, unit, factor, f"{place}.most"),
        optional=table.optional,
        skip=skip,
        steady=table.steady,
    )


def _base(unit: str) -> tuple[str, float]:
    """The unit that values are kept in and what one of `unit` is in it; a unit that is not known is kept."""
    if not unit:
        return "", 1.0
    for base in _BASES:
        try:
            return base, parse_quantity(f"1{unit}", base)
        except OptionError:
            continue
    return unit, 1.0


def _bound(bound: int | float | str | None, unit: str, factor: float, where: str) -> float | None:
    if bound is None:
        return None
    with _at(where):
        return parse_quantity(bound, unit, what="bound") if isinstance(bound, str) else bound * factor


def _quantity(value: int | float | str, unit: str, where: str) -> float:
    with _at(where):
        seconds = parse_quantity(value, unit) if isinstance(value, str) else float(value)
    if not seconds > 0:
        raise DecodeError(f"{where}: {value!r} is not above zero")
    return seconds


def _count(where: str, key: str, value: int | str, declared: set[str]) -> int | str:
    """A number, or text that a parameter fills; a parameter of the same name is meant when nothing is said."""
    if isinstance(value, str):
        return value
    if value < 0:
        raise DecodeError(f"{where}.{key}: {value} is below zero")
    return f"{{{key}}}" if not value and key in declared else value


def _parameter(where: str, name: str, given: Any) -> Parameter:
    place = f"{where}.{name}"
    if not _NAME.fullmatch(name):
        raise DecodeError(f"{place}: a parameter is named with letters, digits and _")
    table = given if isinstance(given, dict) else {"values" if isinstance(given, list) else "default": given}
    keys = schema.decode(_ParameterTable, table, where=place)
    if keys.values and keys.default is not None:
        raise DecodeError(f"{place}: has a default and values", remedy="give one of the two")
    values = keys.values or (() if keys.default is None else (keys.default,))
    kind = _kind(place, keys, values)
    parameter = Parameter(name=name, kind=kind, choices=keys.choices, least=keys.least, most=keys.most)
    with _at(place):
        checked = tuple(parameter.read(value, "default") for value in values)
    return Parameter(name=name, kind=kind, values=checked, choices=keys.choices, least=keys.least, most=keys.most)


def _kind(place: str, said: _ParameterTable, values: tuple[Scalar, ...]) -> type:
    if said.type:
        if said.type not in _KINDS:
            raise DecodeError(f"{place}.type: unknown type {said.type!r}", remedy=did_you_mean(said.type, _KINDS))
        return _KINDS[said.type]
    kinds = {type(value) for value in (values or said.choices)}
    if kinds == {int, float}:
        return float
    if len(kinds) != 1 or not kinds <= set(_KINDS.values()):
        raise DecodeError(f"{place}: its type is not clear", remedy='add type = "int", "float", "str" or "bool"')
    return kinds.pop()


class _at:  # noqa: N801 - reads as a word: with _at(place)
    """Turns an `OptionError` into a `DecodeError` with the place."""

    def __init__(self, where: str) -> None:
        self._where = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OptionError):
            raise DecodeError(f"{self._where}: {error.message}", remedy=error.remedy) from None
