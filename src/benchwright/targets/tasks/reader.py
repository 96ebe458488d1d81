"""Task files of either form, told apart by their endings."""

from __future__ import annotations

from pathlib import Path

from benchwright.errors import TargetError, did_you_mean
from benchwright.targets.tasks import old_form, toml_form
from benchwright.targets.tasks.definition import Task

TOML = (".toml",)
OLDER = (".cfg", ".ini")
ENDINGS = TOML + OLDER


def read(file: Path, name: str = "") -> list[Task]:
    """The task `name` of the file, or all that can be run; what is wrong is a `DecodeError` or a `TargetError`."""
    if file.suffix in OLDER:
        return old_form.read(file, name)
    tasks = toml_form.read(file)
    if not name:
        return tasks
    found = [task for task in tasks if task.name == name]
    if not found:
        remedy = did_you_mean(name, [task.name for task in tasks])
        raise TargetError(f"{file.name} has no task {name!r}", remedy=remedy)
    return found
