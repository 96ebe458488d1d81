"""Names in a user's files and modules become objects: `file.py::name` and `package.module:name`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from benchwright.errors import LoadError, did_you_mean


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
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            public = [known for known in vars(value) if not known.startswith("_")]
            raise LoadError(f"{where} has no {name!r}", remedy=did_you_mean(part, public))
        value = getattr(value, part)
    return value


def load_module(where: str) -> ModuleType:
    """Imports a file by its path, with its folder on `sys.path`, or a module by its dotted name, from here."""
    try:
        return _from_file(Path(where)) if where.endswith(".py") else _from_name(where)
    except (Exception, SystemExit) as error:  # the border to the user's code
        if isinstance(error, LoadError):
            raise
        traceback.print_exc(file=sys.stderr)
        raise LoadError(f"importing {where} failed: {type(error).__name__}: {error}", remedy="see the log") from error


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
