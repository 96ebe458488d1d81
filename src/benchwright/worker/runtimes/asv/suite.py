"""A suite of asv's: its folder imported as asv does, and its benchmarks by name. Standard library only.

The folder is a package of its own name. What lies beside it is not put on `sys.path`: that may be the project's source,
which must not be taken for the project as it is installed.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import os
import pkgutil
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from benchwright.errors import LoadError
from benchwright.system.texts import describe_error
from benchwright.worker.runtimes.asv import stand_in
from benchwright.worker.runtimes.failures import log_traceback

TIME, RAW, SIZE, PEAK, TRACK = "time", "timeraw", "mem", "peakmem", "track"
TIMED = (TIME, RAW)
# As asv has them: a name of its own form, or a method with the prefix.
_KINDS = {kind: re.compile(f"({kind.capitalize()}[A-Z_].+)|({kind}_.+)$") for kind in (RAW, TIME, PEAK, SIZE, TRACK)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePlace:
    """Where a benchmark of a suite is defined, and what asv calls it."""

    name: str
    kind: str
    module: str
    owner: str = ""  # its class; "": it is a function
    attribute: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteContent:
    """What a suite offers, and the modules that could not be imported, with the reason."""

    benchmarks: tuple[SuiteBenchmark, ...] = ()
    broken: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True, kw_only=True)
class SuiteBenchmark:
    """A benchmark as it was imported. Attributes are looked up at the function, its instance and its module."""

    place: SuitePlace
    function: Any
    sources: Sequence[Any] = field(default_factory=tuple)

    def attribute(self, name: str, default: Any = None) -> Any:
        """The first of the places that has the attribute says its value."""
        return next((value for each in self.sources if (value := getattr(each, name, None)) is not None), default)

    def hooks(self, name: str) -> list[Any]:
        """Every `setup` or `teardown`, however it is capitalised: the function's first, the module's last."""
        found = []
        for each in self.sources:
            known = [key for key in dir(each) if key.lower() == name]
            if len(known) > 1:
                raise LoadError(f"{self.place.name} has several of {name}: {', '.join(known)}")
            found += [getattr(each, key) for key in known if getattr(each, key) is not None]
        return found


def open_suite(folder: Path) -> None:
    """Makes the folder importable as a package of its own name."""
    if not folder.is_dir():
        raise LoadError(f"there is no benchmark folder {folder}", remedy="see benchmark_dir in asv.conf.json")
    if not any(isinstance(finder, _SuiteFinder) and finder.folder == folder for finder in sys.meta_path):
        sys.meta_path.insert(0, _SuiteFinder(folder))
        stand_in.provide()


def child_variables() -> dict[str, str]:
    """The environment of a child that is to import the same project: what goes before the standard library here."""
    front = itertools.takewhile(lambda path: not path.startswith(sys.base_prefix), sys.path)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in front if path)}


def find_benchmarks(folder: Path) -> SuiteContent:
    """Every benchmark of the suite, by its modules; asv's names begin behind the folder's."""
    open_suite(folder)
    found: dict[str, SuiteBenchmark] = {}
    broken: list[tuple[str, str]] = []
    pending = [folder.name]
    while pending:
        name = pending.pop(0)
        try:
            module = _import(name)
            for benchmark in _of_module(module):
                found.setdefault(benchmark.place.name, benchmark)
        except LoadError as error:
            broken.append((name, error.message))
            continue
        paths = getattr(module, "__path__", None)
        if paths:
            pending[:0] = [info.name for info in pkgutil.iter_modules(paths, f"{name}.")]
    return SuiteContent(benchmarks=tuple(found.values()), broken=tuple(broken))


def find_benchmark(folder: Path, place: SuitePlace) -> SuiteBenchmark:
    """One benchmark of the suite; only its module, and the packages around it, are imported."""
    open_suite(folder)
    module = _import(place.module)
    holder = getattr(module, place.owner, None) if place.owner else module
    if holder is None or not hasattr(holder, place.attribute):
        raise LoadError(f"{place.module} has no {place.owner or place.attribute!r} any more", remedy="was it changed?")
    return _bind(place, module)


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # the border to the user's code
        log_traceback(error)
        raise LoadError(f"importing {name} failed: {describe_error(error)}", remedy="see the log") from error


def _of_module(module: ModuleType) -> Iterator[SuiteBenchmark]:
    for key, value in [(key, value) for key, value in vars(module).items() if not key.startswith("_")]:
        if inspect.isclass(value) and not inspect.isabstract(value):
            for name, member in inspect.getmembers(value):
                if inspect.isfunction(member) or inspect.ismethod(member):
                    yield from _of_function(module, key, value.__name__, name, member)
        elif inspect.isfunction(value):
            yield from _of_function(module, "", "", key, value)


def _of_function(
    module: ModuleType, owner: str, class_name: str, attribute: str, function: Any
) -> Iterator[SuiteBenchmark]:
    if getattr(function, "skip_benchmark", False):
        return
    named = getattr(function, "benchmark_name", None)
    searched = str(named).rpartition(".")[2] if named else attribute
    kind = next((kind for kind, pattern in _KINDS.items() if pattern.match(searched)), "")
    if not kind:
        return
    inner = module.__name__.partition(".")[2]
    last = (class_name, attribute) if owner else (function.__name__,)
    name = str(named) if named else ".".join(part for part in (inner, *last) if part)
    yield _bind(SuitePlace(name=name, kind=kind, module=module.__name__, owner=owner, attribute=attribute), module)


def _bind(place: SuitePlace, module: ModuleType) -> SuiteBenchmark:
    if not place.owner:
        function = getattr(module, place.attribute)
        return SuiteBenchmark(place=place, function=function, sources=(function, module))
    cls = getattr(module, place.owner)
    try:
        instance = cls()
    except (Exception, SystemExit) as error:  # the border to the user's code
        log_traceback(error)
        raise LoadError(
            f"{place.owner} could not be constructed: {describe_error(error)}", remedy="see the log"
        ) from error
    function = getattr(instance, place.attribute)
    return SuiteBenchmark(place=place, function=function, sources=(function, instance, module))


class _SuiteFinder:
    """Finds the package of the suite, and nothing else that lies beside its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The suite itself; its modules are found in its folder, as those of every package are."""
        is_suite = name == self.folder.name and path is None
        return PathFinder.find_spec(name, [str(self.folder.parent)], target) if is_suite else None
