"""What a user's file or module offers to measure: marked functions, and the methods of benchmark classes.

This runs in the child that `discovery` starts, because the user's code is imported. Standard library only.
"""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from benchwright.decorator import BenchmarkMark, mark_of
from benchwright.errors import BenchwrightError, LoadError, TargetError, did_you_mean
from benchwright.records import Scalar
from benchwright.worker.runtimes.classes import conventions
from benchwright.worker.runtimes.user_objects import load_module, load_object

FILTER = "filter:"  # PerfZero's word for every name that a pattern matches
FUNCTION = "function"
_MENTIONED = re.compile(
    r"[Bb]enchmark|\bdef (?:time|track|mem|peakmem)_"
)  # a module without any of these is not imported

_OF_ASV = re.compile(r"(?:time|timeraw|track|mem|peakmem)_")


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedBenchmark:
    """One benchmark: its parameters and what its signature accepts."""

    name: str
    params: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    accepts: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    takes_any: bool = False
    loops: int | None = None
    kind: str = FUNCTION  # or how a method is called: time, track, mem, peakmem, single
    module: str = ""  # where it lives, when that is not what was asked for: a module of a package
    summary: str = ""  # the first line of its docstring
    owner_summary: str = ""  # and of its class's


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilter:
    """What a search for benchmarks is narrowed to."""

    style: str = ""  # of classes, when somebody says so
    runtime: str = ""  # python: functions alone; class: classes alone; else both
    last_paths: tuple[str, ...] = ()  # folders put behind sys.path


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkOffer:
    """What was found, which modules of a package could not be imported, with the reason, and what is left out."""

    found: tuple[OfferedBenchmark, ...] = ()
    broken: tuple[tuple[str, str], ...] = ()
    left: tuple[str, ...] = ()  # asv's benchmarks that are none here: functions outside a class, timeraw_ methods


def find_offers(module: str, name: str, asked: SearchFilter) -> BenchmarkOffer:
    """The benchmark `name`, or every benchmark of a file, module or package, in the order they are written."""
    if name:
        return BenchmarkOffer(found=tuple(_find_by_name(module, name, asked)))
    loaded = load_module(module)
    found = [*_of_module(loaded, module, asked)]
    left = _left_out(loaded)
    broken: list[tuple[str, str]] = []
    for inner in _modules_below(loaded):
        try:
            found += [replace(each, module=inner) for each in _of_module(load_module(inner), inner, asked, own=True)]
            left += [f"{inner}.{name}" for name in _left_out(load_module(inner))]
        except BenchwrightError as error:
            broken.append((inner, error.message))
    if not found and not broken:
        raise _no_benchmark_error(loaded, module)
    return BenchmarkOffer(found=tuple(found), broken=tuple(broken), left=tuple(left))


# ---- one by its name ----


def _find_by_name(module: str, name: str, asked: SearchFilter) -> Iterator[OfferedBenchmark]:
    _check_package(module, name.partition(".")[0])
    separator = "::" if module.endswith(".py") else ":"
    if f".{FILTER}" in name:
        owner, _, pattern = name.partition(f".{FILTER}")
        yield from _find_by_filter(
            _class(load_object(f"{module}{separator}{owner}"), owner, module), owner, pattern, module, asked
        )
        return
    owner, _, last = name.rpartition(".")
    if owner and asked.runtime != "python":
        holder = load_object(f"{module}{separator}{owner}")
        if inspect.isclass(holder) and _is_method(holder, last):
            _check_method(holder, owner, last, module)
            yield _method(holder, owner, last, module, _style(holder, asked))
            return
    value = load_object(f"{module}{separator}{name}")
    if inspect.isclass(value) and asked.runtime != "python" and not mark_of(value):
        methods = [*_methods(value, name, module, asked)]
        if methods:
            yield from methods
            return
    if asked.runtime == "class":
        raise TargetError(
            f"{name} in {module} is not a benchmark class", remedy="a method begins with time_ or benchmark_"
        )
    yield _function(name, value, module)


def _check_package(module: str, first: str) -> None:
    """A wrong name in a package may be meant for one of its modules, which are no attributes until imported."""
    package = None if module.endswith(".py") else load_module(module)
    if package is None or not hasattr(package, "__path__") or hasattr(package, first):
        return
    import pkgutil

    known = [info.name for info in pkgutil.iter_modules(package.__path__)] + [*vars(package)]
    near = did_you_mean(first, [each for each in known if not each.startswith("_")])
    raise TargetError(f"there is no module '{module}.{first}' here, and no {first!r} in {module}", remedy=near)


def _is_method(cls: type, name: str) -> bool:
    """Whether a name on a class needs an instance, or is not there at all; what needs none is a plain callable."""
    return inspect.isfunction(inspect.getattr_static(cls, name, None)) or not hasattr(cls, name)


def _check_method(cls: type, owner: str, name: str, module: str) -> None:
    if hasattr(cls, name) or hasattr(cls, "__getattr__"):
        return
    known = conventions.methods_of(cls) or [key for key in dir(cls) if not key.startswith("_")]
    raise TargetError(f"{owner} in {module} has no {name!r}", remedy=did_you_mean(name, known))


def _class(value: Any, owner: str, module: str) -> type:
    if not inspect.isclass(value):
        raise TargetError(f"{owner} in {module} is {type(value).__name__}, not a class")
    return value


def _find_by_filter(cls: type, owner: str, pattern: str, where: str, asked: SearchFilter) -> Iterator[OfferedBenchmark]:
    """PerfZero's way: every name of an instance that the pattern matches from its beginning, in order of name."""
    try:
        matches = re.compile(pattern).match
    except re.error as error:
        raise TargetError(f"{FILTER}{pattern} is not a regular expression: {error}") from None
    style = _style(cls, asked)
    try:
        instance = conventions.construct(cls, style, output_dir="/dev/null", root_data_dir="", tpu=None)
    except (Exception, SystemExit) as error:  # the border to the user's code
        traceback.print_exc()
        raise TargetError(f"{owner} could not be constructed: {type(error).__name__}: {error}") from error
    for name in dir(instance):
        if matches(name):
            yield _method(cls, owner, name, where, style)


# ---- all of a file or module ----


def _of_module(module: ModuleType, where: str, asked: SearchFilter, *, own: bool = False) -> Iterator[OfferedBenchmark]:
    """Marked functions, and the classes that are defined there; with `own` only functions defined there, too."""
    for name, value in list(vars(module).items()):
        if mark_of(value):
            if asked.runtime != "class" and not (own and getattr(value, "__module__", "") != module.__name__):
                yield _function(name, value, where)
        elif _is_benchmark_class(name, value, module) and asked.runtime != "python":
            yield from _methods(value, name, where, asked)


def _left_out(module: ModuleType) -> list[str]:
    """What asv would run of a module and we do not: functions outside a class, and the `timeraw_*` of a class."""
    left = []
    for name, value in vars(module).items():
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not mark_of(value):
            left += [name] if _OF_ASV.match(name) else []
        elif _is_benchmark_class(name, value, module):
            left += [f"{name}.{method}" for method in dir(value) if method.startswith("timeraw_")]
    return left


def _is_benchmark_class(name: str, value: Any, module: ModuleType) -> bool:
    return (
        inspect.isclass(value)
        and value.__module__ == module.__name__
        and name == value.__name__
        and not name.startswith("_")
        and not inspect.isabstract(value)
    )


def _modules_below(package: ModuleType) -> Iterator[str]:
    """The modules of a package that mention benchmarks, private ones left out, found without importing any."""
    import pkgutil

    pending = [(package.__name__, list(getattr(package, "__path__", ())))]
    while pending:
        prefix, folders = pending.pop(0)
        for info in pkgutil.iter_modules(folders):
            if info.name.startswith("_"):
                continue
            name = f"{prefix}.{info.name}"
            inside = [str(Path(folder, info.name)) for folder in folders if Path(folder, info.name).is_dir()]
            if info.ispkg:
                pending.append((name, inside))
            sources = [Path(folder, "__init__.py") for folder in inside] if info.ispkg else []
            sources += [Path(folder, f"{info.name}.py") for folder in folders]
            if any(_MENTIONED.search(file.read_text(errors="replace")) for file in sources if file.is_file()):
                yield name


def _no_benchmark_error(module: ModuleType, where: str) -> TargetError:
    functions = [key for key, value in vars(module).items() if inspect.isfunction(value) and not key.startswith("_")]
    separator = "::" if where.endswith(".py") else ":"
    shown = f"{where}{separator}{functions[0] if functions else 'name'}"
    return TargetError(
        f"{where} marks no benchmark", remedy=f"name a function, as in {shown}, or use @benchwright.benchmark"
    )


# ---- benchmarks as records ----


def _style(cls: type, asked: SearchFilter) -> str:
    return asked.style or conventions.style_of(cls)


def _methods(cls: type, owner: str, where: str, asked: SearchFilter) -> Iterator[OfferedBenchmark]:
    style = _style(cls, asked)
    for name in conventions.methods_of(cls, style):
        yield _method(cls, owner, name, where, style)


def _method(cls: type, owner: str, name: str, where: str, style: str) -> OfferedBenchmark:
    """A method with those of its class's parameters that it, setup or teardown names."""
    kind = conventions.kind_of(name, style)
    try:
        dimensions = conventions.dimensions_of(cls, name, style)
        declared = dimensions.values_of_case()
    except LoadError as error:
        raise TargetError(f"{owner} in {where}: {error.message}", remedy=error.remedy) from None
    own = conventions.parameters_of(cls, name, style)
    by_name = [
        p
        for p in own
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        and not (p.name == conventions.REPORT and kind != conventions.TIME)
    ]
    needed = tuple(dict.fromkeys(p.name for p in by_name if p.default is p.empty))
    names = tuple(dimensions.values) if dimensions.positional else tuple(dict.fromkeys(p.name for p in by_name))
    takes_any = not dimensions.positional and any(p.kind is p.VAR_KEYWORD for p in own)
    _check_params(cls, f"{owner} in {where}", dimensions, style)
    return OfferedBenchmark(
        name=f"{owner}.{name}",
        params={key: values for key, values in declared.items() if takes_any or key in names},
        accepts=names,
        required=() if dimensions.positional else needed,
        takes_any=takes_any,
        kind=kind,
        summary=conventions.summary_of(getattr(cls, name, None)),
        owner_summary=conventions.summary_of(cls),
    )


def _check_params(cls: type, which: str, dimensions: conventions.ClassParameters, style: str) -> None:
    """A parameter that nothing in the class names is a slip of the pen."""
    if dimensions.positional or not dimensions.values:
        return
    every = [p for name in conventions.methods_of(cls, style) for p in conventions.parameters_of(cls, name, style)]
    known = {p.name for p in every}
    for key in dimensions.values:
        if key not in known and not any(p.kind is p.VAR_KEYWORD for p in every):
            raise TargetError(f"nothing in {which} takes the parameter {key!r}", remedy=did_you_mean(key, known))


def _function(name: str, function: Any, module: str) -> OfferedBenchmark:
    if not callable(function):
        raise TargetError(f"{name!r} in {module} is {type(function).__name__}, which cannot be called")
    mark = mark_of(function) or BenchmarkMark()
    summary = conventions.summary_of(function)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # a built-in that tells no signature
        return OfferedBenchmark(name=name, params=mark.params, takes_any=True, loops=mark.loops, summary=summary)
    if mark.setup is not None:
        parameters = parameters[1:]
    wanted = parameters + _setup_parameters(mark)
    by_name = [p for p in wanted if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    found = OfferedBenchmark(
        name=name,
        params=mark.params,
        accepts=tuple(dict.fromkeys(p.name for p in by_name)),
        required=tuple(dict.fromkeys(p.name for p in by_name if p.default is p.empty)),
        takes_any=any(p.kind is p.VAR_KEYWORD for p in wanted),
        loops=mark.loops,
        summary=summary,
    )
    for key in mark.params:
        if not found.takes_any and key not in found.accepts:
            raise TargetError(f"{name} in {module} takes no parameter {key!r}", remedy=did_you_mean(key, found.accepts))
    return found


def _setup_parameters(mark: BenchmarkMark) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(mark.setup).parameters.values()) if mark.setup else []
    except ValueError:  # a built-in that tells no signature, such as dict, is called with nothing
        return []
