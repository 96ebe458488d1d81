"""Names in a user's files and modules become objects: `file.py::name` and `package.module:name`."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from benchwright.errors import LoadError, TargetError, did_you_mean
from benchwright.system.texts import describe_error
from benchwright.worker.runtimes.failures import log_traceback

# Names what is being imported, to this process and to all that the import starts: a file that measures itself while it
# is imported would start processes without end.
_IMPORTING = "BENCHWRIGHT_IMPORTING"
CODE = "<code>"  # begins the name of a function that has none: `file.py::<code>3` is the fourth in the file
_preloaded: dict[str, tuple[ModuleType, float]] = {}


def split(reference: str) -> tuple[str, str]:
    """The file or module, and the name in it: of `file.py::name` or `package.module:name`."""
    separator = "::" if "::" in reference else ":"
    where, _, name = reference.rpartition(separator) if separator in reference else (reference, "", "")
    return where, name


def load_object(reference: str) -> Any:
    """What `file.py::name` or `package.module:name` names. A failing import prints its traceback to the log."""
    where, name = split(reference)
    if not where or not name:
        raise LoadError(f"{reference!r} names no object", remedy="write file.py::name or package.module:name")
    module = load_module(where)
    if name.startswith(CODE):
        return _function_at(module, where, name.removeprefix(CODE))
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            public = [known for known in vars(value) if not known.startswith("_")]
            raise LoadError(f"{where} has no {name!r}", remedy=did_you_mean(part, public))
        value = getattr(value, part)
    return value


def code_number(module: ModuleType, code: CodeType) -> int | None:
    """The place of a function's code among all of its module's file, which stands for a name; None if it is not there.

    Code is compared with its lines and columns, so two lambdas that do the same are told apart.
    """
    return next((number for number, each in enumerate(_codes(module)) if each == code), None)


def _function_at(module: ModuleType, where: str, number: str) -> FunctionType:
    codes = _codes(module)
    if not number.isdecimal() or int(number) >= len(codes):
        raise LoadError(f"{where} has no function number {number}", remedy="was the file changed meanwhile?")
    return FunctionType(codes[int(number)], vars(module))


def _codes(module: ModuleType) -> list[CodeType]:
    """All code of functions in a module's file, in order."""
    file = getattr(module, "__file__", None)
    if not file or not file.endswith(".py"):
        return []
    found: list[CodeType] = []

    def gather(code: CodeType) -> None:
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                found.append(constant)
                gather(constant)

    gather(compile(Path(file).read_bytes(), file, "exec", dont_inherit=True))
    return found


def import_underway() -> str:
    """The file or module that is being imported, here or by the process that started this one; "" when none is."""
    return os.environ.get(_IMPORTING, "")


def preload(where: str) -> None:
    """Imports a file or module now; `load_module` in a process that is forked from this one gives what came of it."""
    begin = time.perf_counter()
    _preloaded[where] = load_module(where), 0.0
    _preloaded[where] = _preloaded[where][0], time.perf_counter() - begin


def seconds_before_fork(reference: str) -> float:
    """Seconds that importing what a target names took before this process was forked; 0 where it was not."""
    return _preloaded[where][1] if (where := split(reference)[0]) in _preloaded else 0.0


def load_module(where: str) -> ModuleType:
    """Imports a file by its path, with its folder on `sys.path`, or a module by its dotted name, from here."""
    if where in _preloaded:
        return _preloaded[where][0]
    try:
        with _name_import(where):
            return _from_file(Path(where)) if where.endswith(".py") else _from_name(where)
    except LoadError:
        raise
    except TargetError as error:  # says what is wrong with the file by itself
        raise LoadError(error.message, remedy=error.remedy) from None
    except (Exception, SystemExit) as error:  # the border to the user's code
        log_traceback(error)
        raise LoadError(f"importing {where} failed: {describe_error(error)}", remedy="see the log") from error


@contextlib.contextmanager
def _name_import(where: str) -> Iterator[None]:
    before = os.environ.get(_IMPORTING)
    os.environ[_IMPORTING] = where
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_IMPORTING, None)
        else:
            os.environ[_IMPORTING] = before


def _from_file(path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        raise LoadError(f"there is no file {path}")
    _on_path(str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise LoadError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # before it runs: dataclasses and pickle look their own module up
    spec.loader.exec_module(module)
    return module


def _from_name(name: str) -> ModuleType:
    _on_path(str(Path.cwd()))
    return importlib.import_module(name)


def _on_path(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)
