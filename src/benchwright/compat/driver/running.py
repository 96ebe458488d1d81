"""What the older driver's flags ask for, run through our own runner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchwright import api
from benchwright.errors import OptionError, StoreError
from benchwright.events import Listener, nobody
from benchwright.records import Load, Run, Scalar
from benchwright.sources import Request
from benchwright.tasks import reading

TEMPLATE = "task_config_template.cfg"
OURS = "tasks.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
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
    asked: Asked,
    *,
    store: str | None = None,
    save: bool = True,
    listener: Listener = nobody,
    tell: Callable[[StoreError], None] = lambda error: None,
) -> Run:
    """Runs the task once and returns the run, also when it could be measured but not kept: `tell` hears why."""
    try:
        measured = api.measure(
            _request(asked), rounds=1, store=store, save=save, listener=listener, command=api.command_line()
        )
    except StoreError as error:
        if not isinstance(error.measured, Run):
            raise
        tell(error)
        return error.measured
    return measured.record


def _request(asked: Asked) -> Request:
    file = _file(asked)
    flags = {"num_gpus": asked.num_gpus, "epochs": asked.epochs, "kvstore": asked.kvstore, "dtype": asked.dtype}
    params: dict[str, tuple[Scalar, ...]] = {name: (value,) for name, value in flags.items() if value is not None}
    options: dict[str, Scalar] = {"log": log_name(asked.task_name)}
    if asked.command:
        if file.suffix not in reading.OLDER:
            raise OptionError(
                "--command-to-execute: a task of this form has its own command", remedy="give the task parameters"
            )
        options["command"] = asked.command
    section = asked.metrics_policy or asked.task_name
    return Request(targets=[f"{file}::{section}"], params=params, options=options, load=Load(timeout=asked.timeout))


def _file(asked: Asked) -> Path:
    if asked.task_file:
        return Path(asked.task_file)
    ours = Path(OURS)
    return ours if ours.is_file() and not Path(TEMPLATE).is_file() else Path(TEMPLATE)
