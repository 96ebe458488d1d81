"""`benchwright spec check`: everything that is wrong with a spec, before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from benchwright.errors import DecodeError, TargetError
from benchwright.fetch.digests import mismatch, parse_digests
from benchwright.targets.specs import places, reader, references
from benchwright.targets.specs.definition import Spec, SpecFile
from benchwright.targets.specs.files import problem_of_path
from benchwright.targets.specs.places import SpecProblem

OlderCheck = Callable[[Path, bool], list[SpecProblem]]  # of a file, and whether to leave addresses alone


def check(path: Path, *, offline: bool = False, check_older: OlderCheck | None = None) -> list[SpecProblem]:
    """Every problem of a spec file, in the order of its lines. `check_older` looks at files of FAI-PEP's form.

    `offline` leaves alone what is behind addresses.
    """
    try:
        document = places.read(path)
    except (DecodeError, TargetError) as error:
        where, _, message = error.message.partition(": ")
        return [SpecProblem(where=where, message=message, remedy=error.remedy)]
    if check_older and reader.is_older(document.value):
        return check_older(path, offline)
    if not reader.is_ours(document.value):
        remedy = f"begin it with `{reader.MARK}: 1`; docs/specs.md shows how it goes on"
        return [SpecProblem(where=document.at(), message=f"the key {reader.MARK!r} is missing", remedy=remedy)]
    spec, problems = reader.look(document, path)
    found = [*problems, *(find_file_problems(spec, offline=offline) if spec else ())]
    return sorted(found, key=_line)


def find_file_problems(spec: Spec, *, offline: bool) -> Iterator[SpecProblem]:
    """Problems of a spec's files: a file is missing, or its content is not what the spec says."""
    for file in references.all_files(spec):
        message = _unreachable(file) if file.is_url and not offline else "" if file.is_url else _problem_of_file(file)
        if message:
            yield SpecProblem(where=file.where, message=message, remedy=_remedy(file))


def _unreachable(file: SpecFile) -> str:
    from benchwright.fetch.downloads import SCHEMES, why_unreachable
    from benchwright.system.addresses import scheme_of

    return why_unreachable(file.location) if scheme_of(file.location) in SCHEMES else ""  # others are told already


def _problem_of_file(file: SpecFile) -> str:
    if problem := problem_of_path(file):
        return problem
    differing = mismatch(Path(file.location), parse_digests(sha256=file.sha256, md5=file.md5))
    return f"{file.name} has {differing[1]}, and {differing[0]} was asked for" if differing else ""


def _remedy(file: SpecFile) -> str:
    return "check the address" if file.is_url else "paths are relative to the spec"


def _line(problem: SpecProblem) -> tuple[int, int]:
    """Line and column of `spec.yaml:12:5`; what has none comes first."""
    numbers = [int(part) for part in problem.where.rsplit(":", 2)[1:] if part.isdecimal()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)
