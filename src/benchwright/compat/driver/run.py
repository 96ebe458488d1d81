"""What the older driver's flags ask for, run through our own runner; and what a stopped task had printed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from benchwright.errors import OptionError, StoreError, UserError
from benchwright.events import Listener, nobody
from benchwright.execution.session import Plan
from benchwright.records import Load, Result, Run, Scalar, Status
from benchwright.targets import sources
from benchwright.targets.sources import Request
from benchwright.targets.tasks import binding, reader
from benchwright.worker.tasks.extraction import ExtractedValues, Extractor
from benchwright.workflows.invocation import command_line
from benchwright.workflows.run import measure

TEMPLATE = "task_config_template.cfg"
OURS = "tasks.toml"
_FLAGS = ("num_gpus", "epochs", "kvstore", "dtype")  # that are parameters of a task of our own form
_READ = 1 << 20


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
    """Returns the name of the file in the present folder that gets all that the task prints."""
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
    empty_log(log)
    try:
        plan = Plan(command=command_line())
        run = measure(request, plan, rounds=1, store=store, save=save, listener=listener).record
    except StoreError as error:
        if not isinstance(error.measured, Run):
            raise
        tell(error)
        run = error.measured
    return replace(run, results=tuple(add_printed_metrics(result, log) for result in run.results))


def _refuse_several(request: Request) -> None:
    """Refuses several cases: the result file has room for one value of each metric."""
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


def empty_log(log: Path) -> None:
    """Empties the log of an earlier run: nothing of it may be found in the log of this one."""
    try:
        if log.is_file():
            os.truncate(log, 0)
    except OSError as error:
        raise OptionError(f"{log} cannot be written: {error.strerror}", remedy="check its owner and mode") from None


def add_printed_metrics(result: Result, log: Path) -> Result:
    """Returns the result with the metrics in the log, when its worker was stopped before it could report them.

    The log does not say when a line came: a metric that needs the times is left out, and there are no timelines.
    """
    if result.status is Status.OK or "log" in result.details:
        return result
    try:
        if not log.is_file() or not log.stat().st_size:  # it never began: not even a count of 0 is known
            return result
        found = _extract_metrics(result, log)
    except (UserError, OSError):  # the task's file was changed meanwhile, or is gone
        return result
    return replace(result, metrics=(*result.metrics, *found.metrics), details={**result.details, **found.details})


def _extract_metrics(result: Result, log: Path) -> ExtractedValues:
    file, _, name = result.case.target.uri.rpartition("::")
    task = reader.read(Path(file), name)[0]
    params = {key: value for key, value in result.case.params.items() if key != "runtime"}
    command = str(result.case.target.options.get("command", ""))
    extractor = Extractor(task, workers=binding.bind(task, params, dict(os.environ), command=command).workers)
    with log.open("rb") as stream:
        while data := stream.read(_READ):
            extractor.feed(data)
    extractor.finish()
    return extractor.result()
