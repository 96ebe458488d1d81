"""The records of a task file, whichever form it was written in, and how a task is made ready to run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchwright.errors import DecodeError, OptionError, did_you_mean
from benchwright.records import Better, ResultWarning, Scalar
from benchwright.records.processes import PROCESSES
from benchwright.worker.tasks import aggregates, scanner

DAY = 86_400.0
BACKSTOP = 15.0  # seconds after a task's own timeout at which its worker is given up, too
WORKERS_VARIABLE = "DEEPLEARNING_WORKERS_COUNT"
# What is measured beside every task, so no metric of a task can have such a name.
MEASURED = frozenset(
    (
        "context_switches",
        "context_switches_involuntary",
        "cost_per_million",
        "cpu",
        "cpu_others",
        "energy",
        "gpu_energy",
        "gpu_memory_peak",
        "gpu_memory_used_peak",
        "gpu_utilisation",
        "io_read",
        "io_write",
        "load_time",
        "page_faults",
        "page_faults_major",
        "power",
        "psi_cpu",
        "psi_io",
        "psi_memory",
        "rss_mean",
        "rss_peak",
        "steal",
        "threads",
        "vms_peak",
        "wall_time",
    )
)
SEED = "seed"  # a placeholder of its own where no parameter has this name: another number in each round
OWN_VALUES = "values"  # in a goal's `steps` or `epochs`: the number of values that the goal itself has seen
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A value that whoever runs the task may choose."""

    name: str
    kind: type  # bool, int, float or str
    values: tuple[Scalar, ...] = ()  # the default, or several: a dimension; none: it must be given
    choices: tuple[Scalar, ...] = ()
    least: float | None = None
    most: float | None = None

    def read(self, value: Scalar, where: str) -> Scalar:
        """The value in the parameter's own type; an `OptionError` says why it cannot be."""
        if self.kind is str:
            value = str(value)
        elif self.kind is float and type(value) is int:
            value = float(value)
        if type(value) is not self.kind:
            raise OptionError(f"{where}: parameter {self.name}={value!r} is not {_KINDS[self.kind]}")
        if self.choices and value not in self.choices:
            shown = ", ".join(map(str, self.choices))
            raise OptionError(
                f"{where}: parameter {self.name}={value!r} is not a choice", remedy=f"choose from: {shown}"
            )
        if isinstance(value, int | float):
            low, high = self.least, self.most
            if (low is not None and value < low) or (high is not None and value > high):
                bounds = [
                    f"at least {low:g}" if low is not None else "",
                    f"at most {high:g}" if high is not None else "",
                ]
                raise OptionError(
                    f"{where}: parameter {self.name}={value!r}", remedy=" and ".join(filter(None, bounds))
                )
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """An expression, and the series that its groups feed: the group's number (0: the whole hit) for each name."""

    text: str
    series: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """How much is left out at the beginning of a series."""

    amount: float
    unit: str  # "": values, "s": seconds since the command was started, "%": a share of the values, 0 to 1
    text: str  # as the task says it


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGoal:
    """A bound that a value of a series is to keep at some time: how long does it take until it does?"""

    name: str
    when: str  # "accuracy >= 0.95"
    series: str
    relation: str
    bound: float
    hold: int = 1  # values in a row
    steps: str = ""  # the group of the same pattern that tells the step; `OWN_VALUES`; "": nothing does
    epochs: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskMetric:
    """A metric: a computation over a series. Bounds and values become base units times `factor`."""

    name: str
    series: str
    compute: str = "last"
    unit: str = ""
    factor: float = 1.0
    better: Better | None = None
    least: float | None = None
    most: float | None = None
    optional: bool = False
    skip: Skip | None = None
    steady: bool = False  # only the part counts in which the level does not change any more

    @property
    def leaves_out(self) -> bool:
        """Whether a part of the values does not count."""
        return self.steady or self.skip is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A command and what its output means."""

    name: str
    file: Path
    command: tuple[str, ...] = ()  # none: only metrics, for a command given elsewhere
    older: bool = False  # the one item of `command` is a line for a shell, and hits may span lines
    directory: str = ""  # relative to the present folder in the older form, to the file in ours
    environment: Mapping[str, str] = field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    metrics: tuple[TaskMetric, ...] = ()
    goals: tuple[TaskGoal, ...] = ()
    phases: Mapping[str, str] = field(default_factory=dict)  # a part of the work -> the series of its seconds
    timeout: float = DAY
    interval: float = 1.0  # seconds between two looks at the GPUs
    num_gpus: int | str = 0  # a number, or text with a placeholder
    workers: int | str = 0
    launcher: tuple[str, ...] = ()  # stands before the command and starts several processes of it
    scaling: str = ""  # strong: the work is the same for any number of processes; weak: each process has as much

    @property
    def where(self) -> str:
        """The task's place for messages."""
        return f"{self.file.name}::{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyCommand:
    """The command of a task with every placeholder filled in, ready to be started."""

    argv: tuple[str, ...]
    directory: Path
    environment: Mapping[str, str]
    num_gpus: int
    workers: int
    warnings: tuple[ResultWarning, ...] = ()


def recorded_name(name: str) -> str:
    """The name under which a metric of the older form is recorded: its own, unless something we measure has it."""
    return f"log.{name}" if name in MEASURED else name


def choose_values(task: Task, given: Mapping[str, Sequence[Scalar]]) -> dict[str, tuple[Scalar, ...]]:
    """For every parameter the values to run with: what is given, or what the task says."""
    known = {parameter.name: parameter for parameter in task.parameters}
    for name in given:
        if name not in known:
            remedy = did_you_mean(name, known) if known else "the task declares no parameter"
            if name == PROCESSES:
                remedy = 'add launcher = "torchrun" or "mpirun" to the task, or {processes} to its command'
            raise OptionError(f"{task.where} takes no parameter {name!r}", remedy=remedy)
    found: dict[str, tuple[Scalar, ...]] = {}
    for name, parameter in known.items():
        values = tuple(parameter.read(value, task.where) for value in given.get(name, parameter.values))
        if not values and not task.older:
            raise OptionError(f"{task.where} needs a value for {name!r}", remedy=f"add --param {name}=VALUE")
        if values:
            found[name] = values
    return found


def fill_parameters(text: str, params: Mapping[str, Scalar], where: str) -> str:
    """The text with each `{name}` replaced by that parameter's value; `{{` is a bracket."""

    def value(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        if match[1] not in params:
            raise OptionError(f"{where}: there is no parameter {match[1]!r}", remedy=did_you_mean(match[1], params))
        chosen = params[match[1]]
        return str(chosen).lower() if isinstance(chosen, bool) else str(chosen)

    return _PLACEHOLDER.sub(value, text)


def check_workers(task: Task, workers: int) -> None:
    """Refuses a computation over workers when nobody said how many there are, before the command has run for hours."""
    for metric in task.metrics:
        if workers < 1 and aggregates.canonical(metric.compute) in aggregates.NEEDS_WORKERS:
            error = aggregates.no_workers(metric.compute)
            raise OptionError(f"{task.where}: metric {metric.name!r}: {error.message}", remedy=error.remedy)


_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def compile_pattern(text: str, where: str) -> re.Pattern[str]:
    """The expression, or a `DecodeError` that says what is wrong with it."""
    try:
        return scanner.compile_expression(text)
    except re.error as error:
        raise DecodeError(f"{where}: {text!r} is not a regular expression: {error}") from None
