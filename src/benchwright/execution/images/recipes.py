"""A Dockerfile from a recorded environment: the same Python, the same packages in the same versions, and Benchwright.

Records may come from other people, so every name and version in one is checked before it becomes part of a command.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchwright._version import VERSION
from benchwright.errors import OptionError, did_you_mean
from benchwright.execution.images import wheels
from benchwright.records import Environment

CONSTRAINTS = "constraints.txt"
LABEL = "benchwright.version"
NOT_COPIED = frozenset({"benchwright", "pip", "wheel"})  # ours comes as a wheel, the others are of the base
_PACKAGE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]*")
_IMAGE = re.compile(r"[A-Za-z0-9][\w./:@-]*", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PYTHON = re.compile(r"(\d+\.\d+)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A Dockerfile, and the tag that its image gets unless another is asked for."""

    dockerfile: str
    constraints: str = ""  # versions of what the chosen packages need, a file beside it

    @property
    def tag(self) -> str:
        """A name that changes with what is in it."""
        content = f"{self.dockerfile}\0{self.constraints}".encode()
        return f"benchwright/environment:{hashlib.sha256(content).hexdigest()[:12]}"


def recipe(
    environment: Environment,
    *,
    base: str = "",
    packages: Sequence[str] | None = None,
    arguments: Iterable[str] = (),
) -> Recipe:
    """The recipe of that environment on `base`, an image with Python; the official one of its version by default.

    `packages` names those to install, with what they need; None: every one that was recorded, exactly. `arguments`
    are the names of build arguments that commands in it see as variables, such as PIP_INDEX_URL.
    """
    if base and not _IMAGE.fullmatch(base):
        raise OptionError(f"--base: {base!r} is not the name of an image", remedy="for example --base python:3.12-slim")
    pins = _pins(environment)
    if not pins and packages is None:
        raise OptionError(
            "the record says nothing about packages", remedy="choose a run that was measured, or --packages none"
        )
    wanted = list(pins) if packages is None else _choose_pins(pins, packages)
    lines = [
        f"# Made by Benchwright {VERSION}.",
        f"FROM {base or _official(environment)}",
        *(f"ARG {_argument(name)}" for name in arguments),
        *_install([pins[name] for name in wanted], exactly=packages is None),
        f"COPY {wheels.NAME} /tmp/",
        f"RUN python3 -m pip install --no-cache-dir --no-index --no-deps /tmp/{wheels.NAME}",
        f'LABEL {LABEL}="{VERSION}"',
    ]
    constraints = "".join(f"{pin}\n" for pin in pins.values()) if wanted and packages is not None else ""
    return Recipe(dockerfile="\n".join(lines) + "\n", constraints=constraints)


def write(made: Recipe, folder: Path) -> Path:
    """Puts the Dockerfile and what it copies into `folder`, and returns the Dockerfile's path."""
    folder.mkdir(parents=True, exist_ok=True)
    wheels.write(folder)
    if made.constraints:
        (folder / CONSTRAINTS).write_text(made.constraints, encoding="utf-8")
    path = folder / "Dockerfile"
    path.write_text(made.dockerfile, encoding="utf-8")
    return path


def _pins(environment: Environment) -> dict[str, str]:
    """Normalised name -> `name==version`."""
    pins = {}
    for name, version in sorted(environment.packages.items(), key=lambda item: item[0].lower()):
        if not (_PACKAGE.fullmatch(name) and _VERSION.fullmatch(version)):
            raise OptionError(f"the record names a package {name!r} of version {version!r}, which cannot be installed")
        if _normal(name) not in NOT_COPIED:
            pins[_normal(name)] = f"{name}=={version}"
    return pins


def _choose_pins(pins: dict[str, str], packages: Sequence[str]) -> list[str]:
    for name in packages:
        if _normal(name) not in pins:
            raise OptionError(f"--packages: {name!r} is not in the record", remedy=did_you_mean(name, pins))
    return list(dict.fromkeys(map(_normal, packages)))


def _install(pins: Sequence[str], *, exactly: bool) -> list[str]:
    """Everything as recorded needs no resolving; a choice brings what it needs, in the recorded versions."""
    if not pins:
        return []
    listed = [*(f"    {pin} \\" for pin in pins[:-1]), f"    {pins[-1]}"]
    if exactly:
        return ["RUN python3 -m pip install --no-cache-dir --no-deps \\", *listed]
    return [
        f"COPY {CONSTRAINTS} /tmp/",
        f"RUN python3 -m pip install --no-cache-dir -c /tmp/{CONSTRAINTS} \\",
        *listed,
    ]


def _official(environment: Environment) -> str:
    found = _PYTHON.match(str(environment.system.get("python", "")))
    if found is None:
        raise OptionError("the record says nothing about Python's version", remedy="--base python:3.12-slim")
    return f"python:{found[1]}-slim"


def _argument(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise OptionError(f"--build-arg: {name!r} cannot be the name of a variable")
    return name


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
