"""A task with its parameters filled in: what is started, where, and with what around it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchwright.errors import OptionError
from benchwright.records import ResultWarning, Scalar
from benchwright.records.processes import PROCESSES
from benchwright.targets.tasks.definition import (
    SEED,
    WORKERS_VARIABLE,
    Parameter,
    ReadyCommand,
    Task,
    check_workers,
    fill_parameters,
)
from benchwright.targets.tasks.launchers import PLACE, read_launcher, warn_of_threads

SHELL = "/bin/sh"
# parameter -> the text that a flag of the older driver rewrites: a whole value, where that driver saw one digit of it
_TEXTS = {
    "num_gpus": re.compile(r"(?<!\S)(--gpus)(\s+|=)[\d,]+(?!\S)"),
    "epochs": re.compile(r"(?<!\S)(--epochs)(\s+|=)\d+(?!\S)"),
    "kvstore": re.compile(r"(?<!\S)(--kvstore)(\s+|=)device(?!\S)"),
    "dtype": re.compile(r"(?<!\S)(--dtype)(\s+|=)float32(?!\S)"),
}
_SEEDS = 2**31  # a seed that every library takes is below
_USUAL = {"kvstore": "device", "dtype": "float32"}


def add_launcher(task: Task, launcher: str) -> Task:
    """The task with another launcher than its own, and with the number of processes as a parameter."""
    if not launcher:
        return task
    if task.older:
        raise OptionError(f"{task.where}: a command line for a shell has no launcher", remedy="write it in TOML")
    known = {parameter.name for parameter in task.parameters}
    added = () if PROCESSES in known else (Parameter(name=PROCESSES, kind=int, values=(1,), least=1),)
    words = read_launcher(launcher, "--launcher")
    return replace(task, launcher=words, parameters=(*task.parameters, *added), workers=task.workers or PLACE)


def bind(
    task: Task, params: Mapping[str, Scalar], around: Mapping[str, str], *, command: str = "", seed: int = 0
) -> ReadyCommand:
    """What to start for these parameters, in an environment like `around`. `command` replaces an older task's own.

    `seed` is the round's, which `{seed}` stands for unless the task has a parameter of that name.
    """
    if task.older:
        ready = _bind_older_form(task, params, around, command)
    else:
        ready = _bind_own_form(task, {SEED: seed % _SEEDS, **params}, around)
    check_workers(task, ready.workers)
    return ready


def _bind_own_form(task: Task, params: Mapping[str, Scalar], around: Mapping[str, str]) -> ReadyCommand:
    own = {name: fill_parameters(value, params, task.where) for name, value in task.environment.items()}
    environment = {"PYTHONUNBUFFERED": "1", **around, **own}  # a line counts when it is printed, not when it is flushed
    workers = _whole(fill_parameters(str(task.workers), params, task.where), f"{task.where}: workers")
    argv = tuple(fill_parameters(word, params, task.where) for word in (*task.launcher, *task.command))
    return ReadyCommand(
        argv=argv,
        directory=Path(fill_parameters(task.directory, params, task.where)),
        environment=environment,
        num_gpus=_whole(fill_parameters(str(task.num_gpus), params, task.where), f"{task.where}: num_gpus"),
        workers=workers or workers_around(environment),
        warnings=tuple(warn_of_threads(argv, environment)),
    )


def _bind_older_form(task: Task, params: Mapping[str, Scalar], around: Mapping[str, str], command: str) -> ReadyCommand:
    """A line for a shell, as the older driver gave it one: its commands may be compound, `cd X && bash Y`."""
    line = command or "".join(task.command)
    if not line:
        raise OptionError(f"{task.where} has no command", remedy="it only holds metrics; name a command to run")
    line, warnings = _rewrite_command(line, params)
    gpus = params.get("num_gpus", task.num_gpus)
    assert isinstance(gpus, int), "the older form has no placeholders"
    environment = {"PYTHONUNBUFFERED": "1", **around}
    return ReadyCommand(
        argv=(SHELL, "-c", line),
        directory=Path.cwd(),
        environment=environment,
        num_gpus=max(0, gpus),
        workers=workers_around(environment),
        warnings=tuple(warnings),
    )


def _rewrite_command(line: str, params: Mapping[str, Scalar]) -> tuple[str, list[ResultWarning]]:
    """The command line with the parameters in it, and a warning for each that changed nothing.

    `num_gpus` of 0 or less takes `--gpus N` out. A value is quoted: it is one word, whatever it holds.
    """
    warnings = []
    for name, text in _TEXTS.items():
        if name not in params:
            continue
        value = params[name]
        remove = name == "num_gpus" and isinstance(value, int) and value <= 0
        new = "" if remove else shlex.quote(str(value))
        line, count = text.subn(lambda found, new=new: f"{found[1]}{found[2]}{new}" if new else "", line)  # type: ignore[misc]
        if not count and name != "num_gpus" and value != _USUAL.get(name):
            seen = f"{name}={value} changed nothing: the command does not say --{name} {_USUAL.get(name, 'N')}"
            warnings.append(ResultWarning(code="override-unused", seen=seen, remedy="write that text into the command"))
    return line, warnings


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
