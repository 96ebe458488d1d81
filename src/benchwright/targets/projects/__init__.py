"""What there is to measure in a project, found by reading alone: nothing of it is imported, built or run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchwright.errors import BenchwrightError
from benchwright.targets import sources
from benchwright.targets.asv.config import read_config
from benchwright.targets.projects.files import list_files
from benchwright.targets.projects.model_files import KINDS, POINTER, model_kind
from benchwright.targets.projects.python_files import PythonBenchmarks, read_python
from benchwright.targets.specs import folders, reader
from benchwright.targets.tasks import reader as tasks
from benchwright.units.numbers import printable

ASV_FILES = ("asv.conf.json", "asv.conf.jsonc")
SETTINGS = "benchwright.toml"
_LARGEST = 2**20  # bytes of a settings file that is looked into
_LARGEST_MODEL = 2**28  # bytes of a model that is read as a whole to see whether it can be measured as it is
_MOST_NAMED = 4
_TASKS = re.compile(r"^\s*\[\s*tasks\s*\.", re.MULTILINE)
_OLDER_TASKS = re.compile(r"^\s*command_to_execute\s*[=:]", re.MULTILINE | re.IGNORECASE)
_ASV_FOLDER = re.compile(r'"benchmark_dir"\s*:\s*"([^"\\]+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTarget:
    """Something that can be measured, and in words what it is."""

    kind: str  # python, model, asv, pytest, task or spec
    target: str  # as `benchwright run` takes it; the file where `run` does not
    about: str
    lacks: str = ""  # why it is not measured as it is, and what to do; "" when it can be


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundProject:
    """All that was found in a folder."""

    folder: Path
    targets: tuple[FoundTarget, ...]
    files: int  # that were looked at
    unread: tuple[str, ...] = ()  # Python files that could not be parsed
    cut: str = ""  # why there may be more


def find_targets(folder: Path) -> FoundProject:
    """What there is to measure in a folder and in the folders in it: benchmarks, models, suites, tasks and specs."""
    listing = list_files(folder)
    suites = [path for path in listing.paths if path.name in ASV_FILES]
    theirs = [path.parent / _asv_folder(folder / path) for path in suites]
    targets: list[FoundTarget] = []
    unread: list[str] = []
    for path in listing.paths:
        if path.suffix == ".py":
            if any(path.is_relative_to(place) for place in theirs):
                continue
            found = read_python(folder, path)
            if found is None:
                unread.append(path.as_posix())
            else:
                targets += _of_python(path, found)
        elif path.name in ASV_FILES:
            targets.append(_of_asv(path, folder))
        else:
            targets += _of_other(folder, path)
    return FoundProject(
        folder=folder,
        targets=tuple(_with_suites_alone(targets)),
        files=len(listing.paths),
        unread=tuple(unread),
        cut=listing.cut,
    )


# ---- Python ----


def _of_python(path: Path, found: PythonBenchmarks) -> Iterator[FoundTarget]:
    file = path.as_posix()
    whole = (*found.marked, *found.methods)
    missing = f"imports {found.missing}, which is not installed here" if found.missing else ""
    if whole:
        yield FoundTarget(kind="python", target=file, about=_count(whole, "benchmark"), lacks=missing)
    for name in found.functions:
        yield FoundTarget(kind="python", target=f"{file}::{name}", about="a function", lacks=missing)
    for name, parameter in found.open:
        lacks = f"needs a value: benchwright run {shlex.quote(f'{file}::{name}')} --param {parameter}=VALUE"
        yield FoundTarget(kind="python", target=f"{file}::{name}", about="a function", lacks=lacks)
    if found.tests:
        lacks = f"tests are run by pytest: pytest {shlex.quote(file)}"
        yield FoundTarget(kind="pytest", target=file, about=_count(found.tests, "pytest benchmark"), lacks=lacks)


def _count(names: Sequence[str], what: str) -> str:
    shown = ", ".join(printable(name) for name in names[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{len(names)} {what}{'' if len(names) == 1 else 's'}: {shown}{more}"


# ---- suites, models, tasks, specs ----


def _asv_folder(file: Path) -> str:
    stated = _ASV_FOLDER.search(_read_head(file))
    return stated[1] if stated else "benchmarks"


def _of_asv(path: Path, folder: Path) -> FoundTarget:
    about = f"an asv suite: benchmarks in {printable(_asv_folder(folder / path))}"
    lacks = ""
    try:
        read_config(str(folder / path)).check_suite()
    except (BenchwrightError, OSError) as error:
        lacks = printable(str(error), lines=True)
    return FoundTarget(kind="asv", target=path.as_posix(), about=about, lacks=lacks)


def _with_suites_alone(targets: Sequence[FoundTarget]) -> Iterator[FoundTarget]:
    """The targets, where an asv suite is measured only when nothing else is: `run` takes one by itself alone."""
    measured = [one for one in targets if not one.lacks]
    for one in targets:
        if one.kind == "asv" and not one.lacks and len(measured) > 1:
            command = f"benchwright run {shlex.quote(one.target)}"
            yield replace(one, lacks=f"an asv suite is measured by a command of its own: {command}")
        else:
            yield one


def _of_other(folder: Path, path: Path) -> Iterator[FoundTarget]:
    file = folder / path
    ending = path.suffix.lower()
    if ending in KINDS and (kind := model_kind(file)):
        if kind == POINTER:
            lacks = "Git LFS has not brought it yet: git lfs pull"
            yield FoundTarget(kind="model", target=path.as_posix(), about="a model", lacks=lacks)
            return
        size = file.stat().st_size
        about = f"a model ({kind}, {_format_size(size)})"
        lacks = _problem(file) if size <= _LARGEST_MODEL else ""
        yield FoundTarget(kind="model", target=path.as_posix(), about=about, lacks=lacks)
    elif ending in tasks.ENDINGS and path.name != SETTINGS:
        pattern = _TASKS if ending in tasks.TOML else _OLDER_TASKS
        if pattern.search(_read_head(file)):
            yield FoundTarget(kind="task", target=path.as_posix(), about="a task file", lacks=_problem(file))
    elif ending in reader.ENDINGS and folders.is_meant_as_spec(file):
        yield FoundTarget(kind="spec", target=path.as_posix(), about="a model spec", lacks=_problem(file))


def _problem(file: Path) -> str:
    """Why a model, a task file or a spec cannot be measured as it is, from what reading it says; "" when it can."""
    try:
        sources.plan(sources.Request(targets=[str(file)], fetching=False))
    except (BenchwrightError, OSError) as error:
        return printable(str(error), lines=True)
    return ""


def _read_head(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_LARGEST).decode(errors="replace")
    except OSError:
        return ""


def _format_size(size: int) -> str:
    for unit, bytes_ in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= bytes_:
            return f"{size / bytes_:.3g} {unit}"
    return f"{size} B"
