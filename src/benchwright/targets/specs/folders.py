"""The spec files of a folder: which files are specs, and all of them read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchwright.errors import DecodeError, TargetError
from benchwright.targets.specs import places, reader
from benchwright.targets.specs.definition import Spec
from benchwright.targets.specs.places import SpecProblem, errors

_BEGINNING = 65536  # characters
_MODELS = ("saved_model.pb", "*.onnx", "*.tflite", "*.keras")  # what people keep in a folder of its own
_MARKED = re.compile(rf"""^\s*[{{]?\s*["']?{reader.MARK}["']?\s*:""", re.MULTILINE)


def read_folder(folder: Path) -> list[Spec]:
    """The specs of a folder and of the folders in it, by their paths. Other files are left alone.

    What is wrong with any of them is told at once, before anything is measured.
    """
    specs: list[Spec] = []
    problems: list[SpecProblem] = []
    for path in candidate_files(folder):
        spec, wrong = _look(path)
        problems += wrong
        specs += [spec] if spec else []
    problems += find_doubles(specs)
    if problems:
        raise reader.refusal(problems)
    if not specs:
        raise TargetError(f"there is no spec in {folder}", remedy=_suggest_target(folder))
    return specs


def _suggest_target(folder: Path) -> str:
    """What somebody may have meant by a folder without specs: the model in it, by its file."""
    models = sorted(path for pattern in _MODELS for path in folder.glob(pattern) if path.is_file())
    if models:
        return f"name the model in it: benchwright run {shlex.quote(str(models[0]))}"
    return "a spec is a .yaml or .json file that begins with `benchwright: 1`"


def candidate_files(folder: Path) -> list[Path]:
    """Files of the right endings in a folder, hidden ones left out."""
    paths = (path for ending in reader.ENDINGS for path in folder.rglob(f"*{ending}"))
    return sorted(
        p for p in paths if p.is_file() and not any(part.startswith(".") for part in p.relative_to(folder).parts)
    )


def spec_files(folder: Path) -> list[Path]:
    """The files in a folder that are specs, of our form or an older one, right or wrong."""
    return [path for path in candidate_files(folder) if _is_older(path) or is_meant_as_spec(path)]


def holds_specs(folder: Path) -> bool:
    """Whether some file in the folder is meant to be a spec, by its beginning."""
    return any(map(is_meant_as_spec, candidate_files(folder)))


def _look(path: Path) -> tuple[Spec | None, list[SpecProblem]]:
    try:
        document = places.read(path)
    except (DecodeError, TargetError) as error:
        return None, [_as_problem(error)] if is_meant_as_spec(path) else []
    if reader.is_older(document.value):
        message = "a spec of FAI-PEP's form"
        return None, [SpecProblem(where=document.where, message=message, remedy=reader.OLDER.format(path))]
    if not reader.is_ours(document.value):
        return None, []
    spec, problems = reader.look(document, path)
    return spec, errors(problems)


def is_meant_as_spec(path: Path) -> bool:
    """Whether a file was to be a spec, even if it cannot be read as one."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return _MARKED.search(file.read(_BEGINNING)) is not None
    except OSError:
        return False


def _is_older(path: Path) -> bool:
    try:
        return reader.is_older(places.read(path).value)
    except (DecodeError, TargetError):
        return False


def _as_problem(error: DecodeError | TargetError) -> SpecProblem:
    where, _, message = error.message.partition(": ")
    return SpecProblem(where=where, message=message, remedy=error.remedy)


def find_doubles(specs: Iterable[Spec]) -> Iterator[SpecProblem]:
    """Models of one name in two files, which would share their results."""
    seen: dict[str, Path] = {}
    for spec in specs:
        if spec.name in seen and not seen[spec.name].samefile(spec.path):
            message = f"the model {spec.name!r} has a spec already: {seen[spec.name]}"
            yield SpecProblem(where=str(spec.path), message=message, remedy="give one of them another name")
        seen.setdefault(spec.name, spec.path)
