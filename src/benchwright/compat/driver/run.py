"""What the older driver's flags ask for, run through our own runner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from benchwright.compat.driver import printed
from benchwright.errors import OptionError, StoreError
from benchwright.events import Listener, nobody
from benchwright.execution.session import Plan
from benchwright.records import Load, Run, Scalar
from benchwright.targets import sources
from benchwright.targets.sources import Request
from benchwright.targets.tasks import reader
from benchwright.workflows.run import command_line, measure

TEMPLATE = "task_config_template.cfg"
OURS = "tasks.toml"
_FLAGS = ("num_gpus", "epochs", "kvstore", "dtype")  # that are parameters of a task of our own form


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverRequest:
    """The flags of the driver, and of the runner beside it. None: the flag was not given."""

    task_name: str
    num_gpus: int | None = None
    epochs: int | None = None
    kvstore: str | None = None
    dtype: str | None = None
    task_file: str | None = None
    metrics_policy: str | None = None  # the section that has the patterns, when it is not the task's own
    command: str | None = None  # a shell line instead of the section's
    timeout: float | None = None


def log_name(task: str) -> str:
    """The file in the present folder that gets all that the task prints."""
    return f"{task.replace('/', '_')}.log"


def drive(
    asked: DriverRequest,
    *,
    store: str | None = None,
    save: bool = True,
    listener: Listener = nobody,
    tell: Callable[[StoreError], None] = lambda error: None,
) -> Run:
    """Runs the task once and returns the run, also when it could be measured but not kept: `tell` hears why.

    What a task had printed before it was stopped is in the run that is returned, not in the one that is kept.
    """
    request, log = _request(asked), Path(log_name(asked.task_name))
    _refuse_several(request)
    printed.empty_log(log)
    try:
        plan = Plan(command=command_line())
        run = measure(request, plan, rounds=1, store=store, save=save, listener=listener).record
    except StoreError as error:
        if not isinstance(error.measured, Run):
            raise
        tell(error)
        run = error.measured
    return replace(run, results=tuple(printed.add_printed_metrics(result, log) for result in run.results))


def _refuse_several(request: Request) -> None:
    """The result file has room for one value of each metric."""
    cases = sources.plan(request)
    if len(cases) == 1:
        return
    several = [name for name in cases[0].params if len({str(case.params.get(name)) for case in cases}) > 1]
    flags = "".join(f" or with --{name.replace('_', '-')}" for name in several if name in _FLAGS)
    raise OptionError(
        f"{request.targets[0]} has several values for {', '.join(several)}, and the result file has room for one",
        remedy=f"choose one in the task file{flags}, or use `benchwright run {request.targets[0]} --rounds 1`",
    )


def _request(asked: DriverRequest) -> Request:
    file = _file(asked)
    given = {name: getattr(asked, name) for name in _FLAGS}
    params: dict[str, tuple[Scalar, ...]] = {name: (value,) for name, value in given.items() if value is not None}
    options: dict[str, Scalar] = {"log": log_name(asked.task_name)}
    if asked.command:
        if file.suffix not in reader.OLDER:
            raise OptionError(
                "--command-to-execute: a task of this form has its own command", remedy="give the task parameters"
            )
        options["command"] = asked.command
    section = asked.metrics_policy or asked.task_name
    return Request(targets=[f"{file}::{section}"], params=params, options=options, load=Load(timeout=asked.timeout))


def _file(asked: DriverRequest) -> Path:
    if asked.task_file:
        return Path(asked.task_file)
    ours = Path(OURS)
    return ours if ours.is_file() and not Path(TEMPLATE).is_file() else Path(TEMPLATE)
