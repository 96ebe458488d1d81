"""Environments on other machines, ordered from here: the same packages in the same versions, whichever machine it is.

A working copy is sent as files. Its environment is made there, and the build line is run there, because what a compiler
makes and what a package's wheels hold belongs to the machine, its processor and its Python.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path

from benchwright.errors import OptionError
from benchwright.execution.builds.surroundings import HERE, OWN, RevisionNeeds, Surroundings, needs_of
from benchwright.execution.images.recipes import pins_of
from benchwright.execution.outposts.orders import BUILD_SECONDS, EnvironmentOrder, SentWheel
from benchwright.execution.venvs import environments

# Lines of a requirements file that are of no use without other files or the working copy.
_NAMES_MORE = re.compile(r"\s*(-r|-c|-e|--requirement|--constraint|--editable|\.{1,2}/|/)|.*(file:|@ *\.)")


def order_environment(
    surroundings: Surroundings,
    folder: Path,
    *,
    command: str = "",
    revision: str = "",
    timeout: float = BUILD_SECONDS,
    again: bool = False,
) -> EnvironmentOrder:
    """The environment in which the project in `folder` is measured on another machine."""
    surroundings.check()
    bare = EnvironmentOrder(
        requirements=surroundings.install,
        constraints=tuple(_read(file) for file in surroundings.constraints),
        wheels=tuple(_wheels(surroundings)),
        timeout=timeout,
        again=again,
        revision=revision,
    )
    if command:
        bare = replace(bare, command=command, folder=str(folder))
    if surroundings.environment == HERE:
        return replace(bare, pins=pins_of(environments.packages_here()))
    if surroundings.environment != OWN:
        return replace(bare, content=_read_lock(Path(surroundings.environment)))
    needs = RevisionNeeds() if command else needs_of(folder)
    if not revision and (needs.unread or not needs.can_be_shared):
        told = needs.unread or needs.file or "what the project's files ask for"
        raise OptionError(
            f"{told}: which packages that means can be told only where the project is installed",
            remedy="write them to a file, `pip freeze > lock.txt`, and give --environment lock.txt",
        )
    whole = replace(bare, requirements=(*needs.requirements, *bare.requirements), content=needs.content)
    return whole if needs.can_be_shared else replace(whole, folder=str(folder))


def _wheels(surroundings: Surroundings) -> list[SentWheel]:
    if surroundings.wheels is None:
        return []
    found = []
    for path in sorted(surroundings.wheels.absolute().iterdir()):
        if path.name.endswith((".whl", ".tar.gz", ".zip")):
            with path.open("rb") as file:
                found.append(SentWheel(path=str(path), sha256=hashlib.file_digest(file, "sha256").hexdigest()))
    return found


def _read_lock(file: Path) -> str:
    """The content of a lock of versions that needs no other file."""
    content = _read(file)
    for line in content.splitlines():
        if _NAMES_MORE.match(line):
            raise OptionError(
                f"{file}: {line.strip()!r} names another file, which the other machine does not have",
                remedy="give one file with all versions: pip freeze, uv pip compile or uv export writes it",
            )
    return content


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"{file} cannot be read: {error}") from None
