"""A task with its parameters filled in: what is started, where, and with what around it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchwright.errors import OptionError
from benchwright.records import Scalar
from benchwright.targets.tasks import overrides
from benchwright.targets.tasks.definition import WORKERS_VARIABLE, Ready, Task, check_workers, fill_parameters

SHELL = "/bin/sh"


def bind(task: Task, params: Mapping[str, Scalar], around: Mapping[str, str], *, command: str = "") -> Ready:
    """What to start for these parameters, in an environment like `around`. `command` replaces an older task's own."""
    ready = _older(task, params, around, command) if task.older else _ours(task, params, around)
    check_workers(task, ready.workers)
    return ready


def _ours(task: Task, params: Mapping[str, Scalar], around: Mapping[str, str]) -> Ready:
    own = {name: fill_parameters(value, params, task.where) for name, value in task.environment.items()}
    environment = {"PYTHONUNBUFFERED": "1", **around, **own}  # a line counts when it is printed, not when it is flushed
    said = _whole(fill_parameters(str(task.workers), params, task.where), f"{task.where}: workers")
    return Ready(
        argv=tuple(fill_parameters(word, params, task.where) for word in task.command),
        directory=Path(fill_parameters(task.directory, params, task.where)),
        environment=environment,
        num_gpus=_whole(fill_parameters(str(task.num_gpus), params, task.where), f"{task.where}: num_gpus"),
        workers=said or workers_around(environment),
    )


def _older(task: Task, params: Mapping[str, Scalar], around: Mapping[str, str], command: str) -> Ready:
    """A line for a shell, as the older driver gave it one: its commands may be compound, `cd X && bash Y`."""
    line = command or "".join(task.command)
    if not line:
        raise OptionError(f"{task.where} has no command", remedy="it only holds metrics; name a command to run")
    line, warnings = overrides.rewrite_command(line, params)
    gpus = params.get("num_gpus", task.num_gpus)
    assert isinstance(gpus, int), "the older form has no placeholders"
    environment = {"PYTHONUNBUFFERED": "1", **around}
    return Ready(
        argv=(SHELL, "-c", line),
        directory=Path.cwd(),
        environment=environment,
        num_gpus=max(0, gpus),
        workers=workers_around(environment),
        warnings=tuple(warnings),
    )


def workers_around(environment: Mapping[str, str]) -> int:
    """How many workers the environment says there are; 0 when it does not say."""
    return _whole(environment.get(WORKERS_VARIABLE, "") or "0", WORKERS_VARIABLE)


def _whole(text: str, what: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise OptionError(f"{what}: {text!r} is not a whole number of 0 or more")
    return number
