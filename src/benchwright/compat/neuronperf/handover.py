"""How what the caller holds reaches a fresh process: as a name that can be imported there.

A lambda, or a function inside another one, has no such name; its place in its file stands for it.
In this process (`multiprocess=False`) nothing has to travel: an object is kept under a name of this module's.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from types import FunctionType
from typing import Any

from benchwright.errors import TargetError
from benchwright.system.scratch import JOB_VARIABLE
from benchwright.worker.runtimes import user_objects
from benchwright.worker.runtimes.pipeline import ImportedFarEnoughError

_KEPT = "kept_"
Refer = Callable[[Any, str], str]  # an object and what it is to the caller -> its reference


def reference(thing: Any, what: str) -> str:
    """`module:qualname` or `file.py::qualname`, from which a fresh process gets this very class or function."""
    name, module = getattr(thing, "__qualname__", ""), getattr(thing, "__module__", "") or ""
    if not (inspect.isclass(thing) or inspect.isroutine(thing)) or not name:
        found = _global_name(thing)
        if found:
            return found
        raise TargetError(
            f"{what}: {_describe_object(thing)} has no name that a fresh process could import", remedy=_REMEDY
        )
    if inspect.isfunction(thing) and ("<lambda>" in name or "<locals>" in name):
        return _place_in_file(thing, what)
    if "<locals>" in name:
        inside = name.partition(".<locals>")[0]
        raise TargetError(
            f"{what}: {thing.__name__} is defined inside {inside}, and so cannot be handed to another process",
            remedy=_REMEDY,
        )
    place = _place(module, what, name)
    if _look_up(sys.modules.get(module), name) != thing:  # a method of an object, or replaced by its decorator
        raise TargetError(f"{what}: {module}.{name} names something else", remedy=_REMEDY)
    return f"{place}{name}"


@contextmanager
def keep_objects() -> Iterator[Refer]:
    """References to objects of this process, good until the end of the block."""
    names: list[str] = []

    def refer(thing: Any, what: str) -> str:
        names.append(f"{_KEPT}{id(thing):x}_{len(names)}")
        globals()[names[-1]] = thing
        return f"{__name__}:{names[-1]}"

    try:
        yield refer
    finally:
        for name in names:
            del globals()[name]


def _place_in_file(function: FunctionType, what: str) -> str:
    """The reference to a function that has no name to be imported by; it may use its module's names alone."""
    shown = "a lambda" if function.__name__ == "<lambda>" else function.__name__
    if function.__code__.co_freevars:
        held = ", ".join(function.__code__.co_freevars)
        raise TargetError(
            f"{what} is {shown} that uses {held} of the function around it, which a fresh process does not have",
            remedy=_REMEDY,
        )
    if function.__defaults__ or function.__kwdefaults__:
        raise TargetError(
            f"{what} is {shown} with default arguments, which cannot be sent to a fresh process", remedy=_REMEDY
        )
    place = _place(function.__module__, what, shown)
    number = user_objects.code_number(sys.modules[function.__module__], function.__code__)
    if number is None:
        raise TargetError(f"{what} is {shown} that is not in its file as it is now", remedy=_REMEDY)
    return f"{place}{user_objects.CODE}{number}"


_REMEDY = "define it with def or class at the top level of a file; multiprocess=False takes anything, for debugging"


def _place(module: str, what: str, name: str) -> str:
    """The first half of a reference: `module:` where that can be imported by name, else `file.py::`."""
    loaded = sys.modules.get(module)
    if module == "__main__":
        spec = getattr(loaded, "__spec__", None)  # python -m package.module
        if spec is not None and spec.name != "__main__":
            return f"{spec.name}:"
    elif PathFinder.find_spec(module.partition(".")[0]) is not None:
        return f"{module}:"
    file = getattr(loaded, "__file__", None)
    if not file or not Path(file).is_file():
        raise TargetError(f"{what}: {name} exists only in this session", remedy="write it to a file and import it")
    return f"{Path(file).resolve()}::"


def _global_name(thing: Any) -> str:
    """A module-level object's reference; not of the script's, whose guarded part runs in this process alone."""
    module = sys.modules.get(getattr(type(thing), "__module__", "") or "")
    if module is None or module.__name__ == "__main__" or isinstance(thing, functools.partial):
        return ""
    names = [name for name, value in vars(module).items() if value is thing]
    return f"{_place(module.__name__, names[0], names[0])}{names[0]}" if names else ""


def _look_up(module: Any, name: str) -> Any:
    found = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _describe_object(thing: Any) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__} object"


def refuse_nesting() -> None:
    """Ends the import of a script that a worker imports for its classes and functions, at its first benchmark.

    So a script needs no `if __name__ == "__main__":`, as long as it defines what it hands over before that.
    """
    if user_objects.import_underway():
        raise ImportedFarEnoughError
    if JOB_VARIABLE in os.environ and "benchwright.worker.main" in sys.modules:
        raise TargetError("a benchmark was asked for by what is being measured", remedy="measure from outside it")
