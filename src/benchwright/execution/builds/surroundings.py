"""What stands around the code of a revision when it is measured: packages, and the repositories inside it."""

from __future__ import annotations

import ast
import configparser
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchwright.errors import DecodeError, OptionError
from benchwright.schema import parsing
from benchwright.vcs.history import NEEDED, SUBMODULES

OWN, HERE = "own", "here"
ENVIRONMENTS = (OWN, HERE)
_NOT_FOR_PIP = (".lock", ".toml", ".yml", ".yaml")  # endings of locks that pip does not read
_NOT_PLAIN = ("-", ".", "/")  # how a line of a requirements file begins that is more than a package's name


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """How the packages and submodules of revisions are chosen; the same for all of them."""

    environment: str = OWN  # "here": a revision also sees what is installed where this runs; else a file of versions
    install: tuple[str, ...] = ()  # requirements that every revision's environment has, beside those of its files
    constraints: tuple[Path, ...] = ()  # pip's constraint files
    submodules: str = NEEDED
    wheels: Path | None = None  # a folder of wheels: packages come from there, and no index is asked

    def check(self) -> None:
        """Refuses choices, packages and files that cannot be used, before anything is built."""
        if self.submodules not in SUBMODULES:
            raise OptionError(
                f"submodules: {self.submodules!r} is not a known choice",
                remedy=f"choose one of {', '.join(SUBMODULES)}",
            )
        self._check_environment()
        if self.wheels is not None and not any(self.wheels.glob("*.whl")):
            raise OptionError(
                f"there are no wheels in {self.wheels}", remedy="`pip download -d wheels -r FILE` fetches some"
            )
        for wanted in self.install:
            if not wanted.strip() or wanted.startswith("-"):
                raise OptionError(f"--install {wanted!r} names no package", remedy="for example --install numpy==2.1.0")
        for file in self.constraints:
            if not file.is_file():
                raise OptionError(f"there is no constraint file {file}", remedy="pip freeze makes one")

    def _check_environment(self) -> None:
        if self.environment in ENVIRONMENTS:
            return
        if not Path(self.environment).is_file():
            known = ", ".join(ENVIRONMENTS)
            raise OptionError(
                f"environment: {self.environment!r} is none of {known}, and there is no such file",
                remedy="name a requirements file with versions, as `pip freeze` writes it",
            )
        if Path(self.environment).suffix in _NOT_FOR_PIP:
            raise OptionError(
                f"environment: {self.environment} is nothing that pip reads",
                remedy="`uv export > requirements.txt` or `poetry export -o requirements.txt` makes one that is",
            )

    @property
    def lock(self) -> Path | None:
        """The file of versions that every environment has, where one is named."""
        return None if self.environment in ENVIRONMENTS else Path(self.environment).absolute()

    @property
    def pip_arguments(self) -> list[str]:
        """Returns the arguments that tell pip of the constraints, and of the only place where packages come from."""
        offline = [] if self.wheels is None else ["--no-index", "--find-links", str(self.wheels.absolute())]
        return offline + [word for file in self.constraints for word in ("--constraint", str(file.absolute()))]

    @property
    def variables(self) -> dict[str, str]:
        """Returns the environment variables that tell pip and uv in a build line of the constraints."""
        files = " ".join(str(file.absolute()) for file in self.constraints)
        return {"PIP_CONSTRAINT": files, "UV_CONSTRAINT": files} if files else {}

    @property
    def name(self) -> str:
        """What tells these from others, for names that were there before there was a choice: "" for the usual ones."""
        return "" if self == Surroundings() else "\0".join(self.key())

    def key(self) -> list[str]:
        """Returns all that decides what is installed. The content of constraint files counts, not where they lie."""
        digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in self.constraints]
        chosen = self.environment if self.lock is None else hashlib.sha256(self.lock.read_bytes()).hexdigest()
        wheels = [] if self.wheels is None else ["wheels", *sorted(one.name for one in self.wheels.glob("*.whl"))]
        return [chosen, self.submodules, *self.install, "constrained by", *digests, *wheels]


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionNeeds:
    """The dependencies of a revision, as its files state them."""

    requirements: tuple[str, ...] = ()
    file: str = ""  # a requirements file, for pip to read; "": the requirements are all
    content: str = ""  # of that file
    unread: str = ""  # the file that may say more to whoever builds the project

    @property
    def can_be_shared(self) -> bool:
        """Whether revisions with equal needs can share an environment: nothing in them lies in a working copy."""
        lines = [line.strip() for line in (*self.requirements, *self.content.splitlines())]
        return not any(line.startswith(_NOT_PLAIN) or "file:" in line or "@ ." in line for line in lines)

    @property
    def pip_arguments(self) -> list[str]:
        """Returns the arguments that tell pip what to install."""
        return [*self.requirements, *(["--requirement", self.file] if self.file else [])]


def needs_of(folder: Path) -> RevisionNeeds:
    """What the project in `folder` needs, as far as its files tell without being run.

    The first that tells: `dependencies` of `pyproject.toml`, `install_requires` of `setup.cfg` or of `setup.py` where
    it is plainly written there, `requirements.txt`.
    """
    project = _table(folder / "pyproject.toml")
    declared = project.get("project", {})
    listed = declared.get("dependencies") if isinstance(declared, dict) else None
    if isinstance(listed, list):
        return RevisionNeeds(requirements=tuple(str(each) for each in listed))
    requirements = _needs_of_setup_cfg(folder / "setup.cfg") or _needs_of_setup_py(folder / "setup.py")
    if requirements:
        return RevisionNeeds(requirements=requirements)
    file = folder / "requirements.txt"
    unread = _why_unread(folder, declared if isinstance(declared, dict) else {}, project)
    if file.is_file():
        return RevisionNeeds(file=file.name, content=file.read_text(encoding="utf-8", errors="replace"), unread=unread)
    return RevisionNeeds(unread=unread)


def _why_unread(folder: Path, declared: dict[str, Any], project: dict[str, Any]) -> str:
    """The file that tells of dependencies in a way that only a build understands; "" when there is none."""
    if "dependencies" in _list_or_table(declared, "dynamic") or "poetry" in _list_or_table(project, "tool"):
        return "pyproject.toml"
    setup = folder / "setup.py"
    if not declared and setup.is_file() and "install_requires" in setup.read_text(encoding="utf-8", errors="replace"):
        return "setup.py"
    return ""


def _list_or_table(table: dict[str, Any], name: str) -> list[Any] | dict[str, Any]:
    """The list or the table of that name; an empty one for anything else."""
    found = table.get(name)
    return found if isinstance(found, list | dict) else []


def _needs_of_setup_py(file: Path) -> tuple[str, ...]:
    """`install_requires` of a call in the file: a list of texts, or the name of one that is assigned once above."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):  # the last two: nested too deep
        return ()
    assigned = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "install_requires":
            value = assigned.get(node.value.id, node.value) if isinstance(node.value, ast.Name) else node.value
            try:
                found = ast.literal_eval(value)
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                return ()
            return tuple(found) if isinstance(found, list | tuple) and all(isinstance(x, str) for x in found) else ()
    return ()


def _table(file: Path) -> dict[str, Any]:
    """A TOML file's content; nothing where it is not there or is none: whoever builds it will say so."""
    try:
        return parsing.toml_file(file)
    except (OSError, DecodeError):
        return {}


def _needs_of_setup_cfg(file: Path) -> tuple[str, ...]:
    reader = configparser.ConfigParser(interpolation=None)
    try:
        reader.read_string(file.read_text(encoding="utf-8"))
        told: Sequence[str] = reader.get("options", "install_requires", fallback="").splitlines()
    except (OSError, ValueError, configparser.Error):
        return ()
    plain = [line.strip() for line in told if line.strip() and not line.strip().startswith("#")]
    return () if any(line.startswith("file:") for line in plain) else tuple(plain)
