"""Any program: one call starts it, without a shell, and waits for its end. Standard library only."""

from __future__ import annotations

import os
import resource
import shlex
import shutil
import signal
from collections.abc import Callable
from typing import Any, ClassVar

from benchwright.errors import DeviceError, LoadError, MeasureError
from benchwright.records import Case, Target, Value
from benchwright.records.processes import PROCESSES
from benchwright.targets.tasks.launchers import LAUNCHER, launch
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.failures import describe_exit
from benchwright.worker.runtimes.options import boolean, choice, refuse_unknown

OPTIONS = frozenset({"ignore_failure", "stdin", "stdout", "stderr", LAUNCHER})
_SINKS = ("null", "log")
_KIB = 1024  # what ru_maxrss counts in on Linux


class Command:
    """The target's uri is the argument list as a shell would quote it: `shlex.split(uri)` gives it back exactly."""

    name: ClassVar[str] = "command"
    extensions: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[str] = ""
    module: ClassVar[str] = ""

    @staticmethod
    def check(target: Target) -> None:
        """Refuses unknown options, and devices but those behind adb: any other only the program itself can choose."""
        refuse_unknown(target.options, OPTIONS, "command")
        if target.device != "cpu" and not target.device.startswith("adb:"):
            raise DeviceError(
                f"command cannot see that device {target.device!r} is used",
                remedy="choose the device with an argument of the program",
            )

    def load(self, case: Case) -> Loaded:
        options = case.target.options
        self.check(case.target)
        argv = launch(shlex.split(case.target.uri), str(options.get(LAUNCHER, "")), case.params.get(PROCESSES))
        if argv and case.target.device != "cpu":
            from benchwright.worker.runtimes import on_device

            return on_device.load_command(case, argv)
        program = shutil.which(argv[0]) if argv else None
        if program is None:
            raise LoadError(f"there is no program {argv[0] if argv else ''!r}", remedy="check the path and its mode")
        floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB
        details: dict[str, Value] = {"argv": list(argv), "program": program, "max_rss": 0, "max_rss_floor": floor}
        return Loaded(
            call=_make_call(program, argv, _redirections(case), boolean(options, "ignore_failure", False), details),
            items_per_call=case.inputs.batch_size,
            details=details,
        )


def _redirections(case: Case) -> list[tuple[Any, ...]]:
    """File actions for the child: where its three standard streams come from and go to."""
    options = case.target.options
    stdin = str(options.get("stdin", "")) or os.devnull
    if not os.access(stdin, os.R_OK):
        raise LoadError(f"option stdin: {stdin} cannot be read")
    actions: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0)]
    for descriptor, stream, default in ((1, "stdout", "null"), (2, "stderr", "log")):
        if choice(options, stream, default, _SINKS) == "null":
            actions.append((os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_WRONLY, 0))
    return actions


def _make_call(
    program: str, argv: list[str], actions: list[tuple[Any, ...]], ignore_failure: bool, details: dict[str, Value]
) -> Callable[[], None]:
    spawn, wait4, environment = os.posix_spawn, os.wait4, dict(os.environ)
    defaults = [signal.SIGPIPE, signal.SIGXFSZ]  # Python ignores both, and a child would inherit that
    peak = 0

    def call() -> None:
        nonlocal peak
        child = spawn(program, argv, environment, file_actions=actions, setsigdef=defaults)
        _, status, usage = wait4(child, 0)
        if usage.ru_maxrss > peak:
            peak = usage.ru_maxrss
            details["max_rss"] = peak * _KIB
        if status and not ignore_failure:
            message = describe_exit(shlex.join(argv), os.waitstatus_to_exitcode(status))
            raise MeasureError(message, remedy="--option ignore_failure=true measures it anyway")

    return call
