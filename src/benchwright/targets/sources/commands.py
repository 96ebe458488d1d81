"""Any command, given after `--`."""

from __future__ import annotations

import itertools
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from benchwright.errors import TargetError
from benchwright.records import Case, Scalar, Target
from benchwright.records.processes import PROCESSES
from benchwright.targets.sources import Request, digest_files, matrix
from benchwright.targets.tasks.launchers import LAUNCHER, check_launch, read_launcher

_LARGEST = 64 * 2**20  # bytes of an argument's file that still belong to the command's version


class Commands:
    """`benchwright run -- ./program --flag`: one call is one execution."""

    name: ClassVar[str] = "commands"

    def accepts(self, target: str) -> bool:
        return False  # a command is never one word among the targets; it follows `--`

    def cases(self, target: str, request: Request) -> Iterator[Case]:
        argv = list(request.command)
        program = shutil.which(argv[0])
        if program is None and ("/" in argv[0] or not request.elsewhere):  # another host has programs of its own
            raise TargetError(f"there is no program {argv[0]!r}", remedy="check the path, its mode and PATH")
        if any(runtime != "command" for runtime in request.runtimes):
            raise TargetError("a command needs no runtime", remedy="leave --runtime out")
        if tuple(request.devices) != ("cpu",) or tuple(request.precisions) != ("",):
            raise TargetError("a command chooses its device and precision itself", remedy="pass it arguments for that")
        if tuple(request.batch_sizes) != (1,) or request.params:
            raise TargetError("a command has neither a batch size nor parameters", remedy="pass it arguments for that")
        line = shlex.join(argv)
        matrix.refuse_inputs(line, request)
        version = digest_files([*([Path(program)] if program else []), *_small_files(argv[1:])])
        options = matrix.options_for("command", request) | ({LAUNCHER: request.launcher} if request.launcher else {})
        for processes, (load, issuing) in itertools.product(_processes(argv, request), list(matrix.loads(request))):
            made = Target(runtime="command", uri=line, options=options)
            params = {"runtime": "command", **processes, **issuing}
            yield matrix.case(line, made, params, request.inputs, load, version, request)


def _processes(argv: list[str], request: Request) -> list[dict[str, Scalar]]:
    """Each number of processes, as the parameter that says it; one without where nobody asked for a number."""
    if not request.processes and not request.launcher:
        return [{}]
    launcher = read_launcher(request.launcher, "--launcher") if request.launcher else ()
    check_launch(argv, launcher, shlex.join(argv))
    if launcher and shutil.which(launcher[0]) is None and not request.elsewhere:
        raise TargetError(f"there is no program {launcher[0]!r}", remedy="install the launcher, or put it on PATH")
    return [{PROCESSES: number} for number in request.processes or (1,)]


def _small_files(arguments: list[str]) -> list[Path]:
    """Scripts and settings among the arguments: they are part of what is measured."""
    paths = [Path(argument) for argument in arguments if len(argument) < 4096 and "\0" not in argument]
    return [path for path in paths if path.is_file() and path.stat().st_size <= _LARGEST]
