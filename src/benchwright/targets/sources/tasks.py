"""Task files: `tasks.toml::name`, `tasks.cfg::name`, or every task of the file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from benchwright.errors import TargetError
from benchwright.records import Arrivals, Case, Load, Mode, Scalar, Target
from benchwright.records.processes import PROCESSES
from benchwright.targets.sources import Request, digest_files, find_file, matrix
from benchwright.targets.tasks import binding, definition, reader
from benchwright.targets.tasks.definition import BACKSTOP, Task
from benchwright.targets.tasks.launchers import LAUNCHER

_LARGEST = 64 * 2**20  # bytes of an argument's file that still belong to the task's version


class Tasks:
    """A command and patterns for what it prints. One call is one execution, and parameters are dimensions."""

    name: ClassVar[str] = "tasks"

    def accepts(self, target: str) -> bool:
        return target.partition("::")[0].endswith(reader.ENDINGS)

    def cases(self, target: str, request: Request) -> Iterator[Case]:
        text, separator, name = target.partition("::")
        file = find_file(text)
        if separator and not name:
            raise TargetError(f"{target} names nothing after ::", remedy=f"write {text}::name, or {text} for all")
        _refuse(target, request)
        for task in reader.read(file, name):
            yield from _cases(binding.add_launcher(task, request.launcher), request)


def _cases(task: Task, request: Request) -> Iterator[Case]:
    requested = {name: tuple(values) for name, values in request.params.items()}
    if tuple(request.batch_sizes) != (1,):
        requested["batch_size"] = tuple(request.batch_sizes)
    if request.processes:
        requested[PROCESSES] = tuple(request.processes)
    options = matrix.options_for("task", request) | ({LAUNCHER: request.launcher} if request.launcher else {})
    target = Target(runtime="task", uri=f"{task.file}::{task.name}", options=options)
    for params in matrix.combinations(definition.choose_values(task, requested)):
        command = str(options.get("command", ""))
        ready = binding.bind(task, params, dict(os.environ), command=command, seed=request.load.seed)
        version = digest_files([task.file, *_files(ready.argv, ready.directory)])
        shown: dict[str, Scalar] = {"runtime": "task", **params}
        yield matrix.case(task.where, target, shown, request.inputs, _load(task, request.load), version, request)


def _load(task: Task, asked: Load) -> Load:
    timeout = (asked.timeout or task.timeout) + BACKSTOP
    return Load(mode=Mode.SINGLE, timeout=timeout, seed=asked.seed, objectives=asked.objectives)


def _files(argv: tuple[str, ...], directory: Path) -> list[Path]:
    """The program, and scripts and settings among its arguments: they are part of what is measured."""
    program = shutil.which(directory / argv[0] if "/" in argv[0] else argv[0])
    small = [path for word in argv[1:] if _is_small(path := directory / word)]
    return [*([Path(program)] if program else []), *small]


def _is_small(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size <= _LARGEST
    except (OSError, ValueError):  # a word that can be no file's name
        return False


def _refuse(target: str, request: Request) -> None:
    """What a command that runs once, by itself, cannot be told."""
    if any(runtime != "task" for runtime in request.runtimes):
        raise TargetError(f"{target}: a task needs no runtime", remedy="leave --runtime out")
    if tuple(request.devices) != ("cpu",) or tuple(request.precisions) != ("",):
        raise TargetError(f"{target}: a task chooses its device and precision itself", remedy="give it a parameter")
    matrix.refuse_inputs(target, request)
    load, usual = request.load, Load()
    flags = {
        "--workers": tuple(request.workers) != (1,),
        "--copies": tuple(request.copies) != (1,),
        "--rate": tuple(request.rates) != (None,) or load.find_rate or load.arrivals is Arrivals.TRACE,
        "--duration": load.duration is not None,
        "--samples": load.samples is not None or load.once,
        "--precision": load.precision is not None,
        "--streams": load.mode not in (Mode.CLOSED, Mode.SINGLE) or load.streams != usual.streams,
        "--loops": load.loops != usual.loops,
    }
    for flag in (flag for flag, given in flags.items() if given):
        raise TargetError(
            f"{target}: a task runs once, so {flag} does not apply to it",
            remedy=f"leave {flag} out; --rounds runs it several times",
        )
