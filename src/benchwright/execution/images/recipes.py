"""A Dockerfile from a recorded environment: the same Python, the same packages in the same versions, and Benchwright.

Records may come from other people, so every name and version in one is checked before it becomes part of a command.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from benchwright._version import VERSION
from benchwright.errors import OptionError, did_you_mean
from benchwright.records import Environment

CONSTRAINTS = "constraints.txt"
WHEEL = f"benchwright-{VERSION}-py3-none-any.whl"
_INFO = f"benchwright-{VERSION}.dist-info"
_WHEEL_FILE = "Wheel-Version: 1.0\nGenerator: benchwright\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_METADATA = f"Metadata-Version: 2.1\nName: benchwright\nVersion: {VERSION}\nRequires-Python: >=3.11\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip file knows
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
        """Returns a name for the image that changes with its content."""
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
    pins = _pins(environment.packages)
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
        f"COPY {WHEEL} /tmp/",
        f"RUN python3 -m pip install --no-cache-dir --no-index --no-deps /tmp/{WHEEL}",
        f'LABEL {LABEL}="{VERSION}"',
    ]
    constraints = "".join(f"{pin}\n" for pin in pins.values()) if wanted and packages is not None else ""
    return Recipe(dockerfile="\n".join(lines) + "\n", constraints=constraints)


def write(made: Recipe, folder: Path) -> Path:
    """Puts the Dockerfile and what it copies into `folder`, and returns the Dockerfile's path."""
    folder.mkdir(parents=True, exist_ok=True)
    write_wheel(folder)
    if made.constraints:
        (folder / CONSTRAINTS).write_text(made.constraints, encoding="utf-8")
    path = folder / "Dockerfile"
    path.write_text(made.dockerfile, encoding="utf-8")
    return path


def pins_of(packages: Mapping[str, str]) -> tuple[str, ...]:
    """`name==version` of each of these packages that an environment with the same versions must have."""
    return tuple(_pins(packages).values())


def _pins(packages: Mapping[str, str]) -> dict[str, str]:
    """Returns the pins of the packages: normalised name -> `name==version`."""
    pins = {}
    for name, version in sorted(packages.items(), key=lambda item: item[0].lower()):
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


# ---- the wheel ----


def write_wheel(folder: Path) -> Path:
    """Writes this installation as a wheel into `folder` and returns its path; nothing is downloaded or compiled.

    The bytes depend on the files alone, so that an engine's cache knows an unchanged one.
    """
    path = folder / WHEEL
    record = ""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in (*_wheel_sources(), *_wheel_metadata()):
            wheel.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"
        wheel.writestr(zipfile.ZipInfo(f"{_INFO}/RECORD", _EPOCH), f"{record}{_INFO}/RECORD,,\n")
    return path


def _wheel_sources() -> Iterator[tuple[str, bytes]]:
    package = Path(__file__).resolve().parents[2]
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(package.parent).as_posix(), path.read_bytes()


def _wheel_metadata() -> Iterator[tuple[str, bytes]]:
    """What the installation says of itself; sources that were never installed say the least a wheel must."""
    try:
        installed = distribution("benchwright")
    except PackageNotFoundError:
        told, points = None, None
    else:
        told, points = installed.read_text("METADATA"), installed.read_text("entry_points.txt")
    yield f"{_INFO}/METADATA", (told or _METADATA).encode()
    yield f"{_INFO}/WHEEL", _WHEEL_FILE.encode()
    yield f"{_INFO}/entry_points.txt", (points or "[console_scripts]\nbenchwright = benchwright.cli:main\n").encode()
