"""How a door was called: by which command line, for which callable, and whether from inside of a measurement.

A command line is kept with each run, so that it can be repeated; what is secret in it is masked. A callable stands for
the target that a fresh process would import. A measurement that starts another one would never end.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchwright.errors import TargetError
from benchwright.execution.plans import Plan
from benchwright.system.interrupts import end_as_ctrl_c
from benchwright.system.masking import mask_arguments
from benchwright.system.scratch import JOB_VARIABLE
from benchwright.worker.runtimes import user_objects
from benchwright.workflows import arguments


def command_line() -> tuple[str, ...]:
    """The command that repeats this run, as it was typed."""
    return mask_arguments(("benchwright", *sys.argv[1:]))


def refuse_nesting() -> None:
    """Refuses to measure from inside a measurement: a file that measures itself would start processes without end.

    A command that is measured is a program of its own, and may measure.
    """
    file = user_objects.import_underway()
    if file:
        raise TargetError(
            f"bw.run was called while {Path(file).name} was being imported",
            remedy="put it under if __name__ == '__main__':",
        )
    if JOB_VARIABLE in os.environ and "benchwright.worker.main" in sys.modules:
        raise TargetError(
            "bw.run was called by what is being measured", remedy="name the target of that bw.run instead"
        )


def target_text(target: str | os.PathLike[str] | Callable[..., Any]) -> str:
    """A target as it would be typed."""
    return os.fspath(target) if isinstance(target, str | os.PathLike) else name_of(target)


def name_of(function: Callable[..., Any]) -> str:
    """The target text of a callable that lives in a file or module."""
    if not callable(function):
        raise TargetError(f"{function!r} is neither a target's name nor a callable")
    name = getattr(function, "__qualname__", "")
    module = getattr(function, "__module__", "")
    if not name or not module or "<" in name or "." in name:
        raise TargetError(f"{function!r} has no name that a fresh process could import", remedy="define it in a file")
    if module != "__main__":
        return f"{module}:{name}"
    file = inspect.getsourcefile(function) or ""
    if not Path(file).is_file():
        raise TargetError(f"{name} exists only in this session", remedy="write it to a file and name it file.py::name")
    return f"{file}::{name}"


@contextmanager
def hold_hosts(plan: Plan) -> Iterator[None]:
    """Closes the hosts of a plan in the end, whoever asks to end: one may lease a machine at any time from now on."""
    hosts = [one for one in (plan.host, *plan.hosts) if one is not None]
    with ExitStack() as opened:
        if hosts:
            opened.enter_context(end_as_ctrl_c())
        for host in hosts:
            opened.callback(arguments.close_host, host)
        yield
