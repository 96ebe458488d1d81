"""The process of one hook: reads the request, imports and calls, writes one answer. Standard library only."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable
from types import FunctionType
from typing import Any

from benchwright.system import orphans


def main(arguments: list[str]) -> None:
    """Calls the hook that standard input names. The answer is `done`, or why it failed; no answer is a failure too."""
    answer, lifeline = map(int, arguments)
    for fd in (answer, lifeline):
        os.set_inheritable(fd, False)
    orphans.tie(lifeline, closing=(answer,))
    owner = os.getpid()
    request = json.load(sys.stdin)
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    sys.path += request["paths"]
    try:
        outcome = find(request["name"])(request["summary"])
        if inspect.iscoroutine(outcome):
            import asyncio

            asyncio.run(outcome)
    except BaseException as error:  # the process border: whatever a hook raises becomes an answer
        traceback.print_exc()
        _write(answer, owner, f"{type(error).__name__}: {error}")
        raise SystemExit(1) from None
    _write(answer, owner, "done")


def find(name: str) -> Callable[[dict[str, Any]], Any]:
    """The function or method of that dotted name; a module is imported when its parent has no such attribute."""
    parts = name.replace(":", ".").split(".")
    if len(parts) < 2 or not all(parts):
        raise ValueError("not of the form module.function or module.Class.method")
    module, *rest = parts
    owner: Any = None
    found: Any = importlib.import_module(module)
    for part in rest:
        module = f"{module}.{part}"
        if not hasattr(found, part) and inspect.ismodule(found) and hasattr(found, "__path__"):
            importlib.import_module(module)  # its own error, if it has one, says more than a missing attribute
        owner, found = found, getattr(found, part)
    if inspect.isclass(owner) and isinstance(inspect.getattr_static(owner, rest[-1]), FunctionType):
        raise TypeError(f"{name} needs an object of its class; make it a static or a class method")
    if not callable(found):
        raise TypeError(f"{name} is {type(found).__name__}, which cannot be called")
    return found  # type: ignore[no-any-return]


def _write(answer: int, owner: int, text: str) -> None:
    if os.getpid() != owner:  # a child that the hook forked and that came back here has no say
        os._exit(1)
    os.write(answer, text[:2000].encode(errors="replace"))
