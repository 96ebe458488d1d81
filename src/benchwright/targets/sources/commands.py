"""Any command, given after `--`."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from benchwright.errors import TargetError
from benchwright.records import Case, Target
from benchwright.targets.sources import Request, digest_files, matrix

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
        for load, issuing in matrix.loads(request):
            made = Target(runtime="command", uri=line, options=matrix.options_for("command", request))
            yield matrix.case(line, made, {"runtime": "command", **issuing}, request.inputs, load, version, request)


def _small_files(arguments: list[str]) -> list[Path]:
    """Scripts and settings among the arguments: they are part of what is measured."""
    paths = [Path(argument) for argument in arguments if len(argument) < 4096 and "\0" not in argument]
    return [path for path in paths if path.is_file() and path.stat().st_size <= _LARGEST]
