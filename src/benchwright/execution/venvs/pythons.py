"""Interpreters of this machine by their versions, asked whether they really start."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OLDEST = (3, 11)  # the oldest Python in which a worker runs
PATIENCE = 30.0  # seconds for an interpreter to say its version
_ASK = "import sys; print(sys.version_info[0], sys.version_info[1], sys.executable)"
_VERSION = re.compile(r"(\d+)(?:\.(\d+))?(?:\.\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPython:
    """An interpreter, or the reason why there is none of that version."""

    path: str = ""
    why: str = ""


@functools.cache
def find_python(wanted: str) -> FoundPython:
    """The interpreter of a version such as `3.12`: this one where it fits, else the one of that name in PATH or pyenv.

    pyenv puts a name into PATH for each version that it has, and lets only those start that are chosen for the folder.
    """
    version = _VERSION.fullmatch(wanted)
    if version is None:
        return FoundPython(why=f"Python {wanted!r} is not a version of CPython")
    major, minor = int(version[1]), int(version[2]) if version[2] else None
    if minor is not None and (major, minor) < OLDEST:
        return FoundPython(why=f"Python {wanted} is older than {OLDEST[0]}.{OLDEST[1]}, in which benchmarks can be run")
    if major == sys.version_info[0] and minor in (None, sys.version_info[1]):
        return FoundPython(path=sys.executable)
    name = f"python{major}" if minor is None else f"python{major}.{minor}"
    found = FoundPython(why=f"there is no {name} here")
    for program in _programs(name):
        if not (probed := _probe(program, name, (major, minor))).why:
            return probed
        found = probed
    return found


def _programs(name: str) -> Iterator[str]:
    """Every program of that name: in PATH, then the versions of pyenv."""
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    for folder in (*os.get_exec_path(), *map(str, sorted(versions.glob("*/bin"), reverse=True))):
        if (program := shutil.which(name, path=folder)) is not None:
            yield program


def _probe(program: str, name: str, wanted: tuple[int, int | None]) -> FoundPython:
    """The interpreter that a program really is: managers of versions put names into PATH that need not start."""
    try:
        done = subprocess.run(
            [program, "-I", "-c", _ASK], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return FoundPython(why=f"{name} does not start: {error}")
    told = done.stdout.split(maxsplit=2)
    if done.returncode != 0 or len(told) != 3:
        said = next(iter(done.stderr.strip().splitlines()), "it said nothing")
        return FoundPython(why=f"{name} does not start: {said}")
    if (int(told[0]), int(told[1])) < OLDEST or (wanted[1] is not None and int(told[1]) != wanted[1]):
        return FoundPython(why=f"{name} is Python {told[0]}.{told[1]}")
    return FoundPython(path=told[2].strip())
