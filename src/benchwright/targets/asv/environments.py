"""The environments of an asv project: Pythons times the matrix, named as asv names them."""

from __future__ import annotations

import itertools
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchwright.errors import DecodeError
from benchwright.targets.asv.config import AsvFile

TOOL, EXISTING = "virtualenv", "existing"
MOST = 1000  # environments of one matrix
MOST_COMBINATIONS = 100_000  # of its values, of which rules leave some out
_TYPES = ("req", "env", "env_nobuild")
_BARE = ("python", "environment_type", "sys_platform")
_UNSAFE = re.compile(r'[<>:"/\\^|?*\x00-\x1f]')
Key = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AsvEnvironment:
    """One environment: a Python, packages by name with the version that is asked for ("": any), and variables."""

    python: str
    requirements: Mapping[str, str] = field(default_factory=dict)
    build_variables: Mapping[str, str] = field(default_factory=dict)  # of the build and of the benchmarks
    run_variables: Mapping[str, str] = field(default_factory=dict)  # of the benchmarks alone

    @property
    def variables(self) -> dict[str, str]:
        """All variables that benchmarks see."""
        return {**self.build_variables, **self.run_variables}

    @property
    def name(self) -> str:
        """What asv calls it, made with virtualenv: the tool, the Python, then packages and variables in order."""
        python = self.python.removeprefix("py") if self.python.startswith("pypy") else self.python
        packages = [f"{name}{version}" for name, version in sorted(self.requirements.items())]
        told = [f"{name}{value}" for name, value in sorted(self.variables.items())]
        return _UNSAFE.sub("_", "-".join([TOOL, f"py{python}", *packages, *told]))

    @property
    def pip_requirements(self) -> list[str]:
        """The packages as pip takes them."""
        return [_as_requirement(name.removeprefix("pip+"), version) for name, version in self.requirements.items()]


def environments_of(file: AsvFile) -> list[AsvEnvironment]:
    """Every environment that the file asks for, in asv's order; a `DecodeError` names a wrong matrix."""
    config, name = file.config, file.path.name
    pythons = config.pythons or (f"{sys.version_info[0]}.{sys.version_info[1]}",)
    matrix = _read_entries(config.matrix, f"{name}: matrix")
    columns = [[(key, value) for value in _as_list(values)] for key, values in matrix.items()]
    if math.prod(map(len, (pythons, *columns))) > MOST_COMBINATIONS:
        raise DecodeError(f"{name}: the matrix has more than {MOST_COMBINATIONS:,} combinations")
    excluded = [_read_entries(rule, f"{name}: exclude", bare=_BARE) for rule in config.exclude]
    found: dict[str, AsvEnvironment] = {}
    for combination in itertools.product([(("python", ""), python) for python in pythons], *columns):
        entries = {key: value for key, value in combination if value is not None}
        around = {("environment_type", ""): config.environment_type or TOOL, ("sys_platform", ""): sys.platform}
        if not any(_matches({**entries, **around}, rule, name) for rule in excluded):
            made = _make(entries)
            found.setdefault(made.name, made)
        if len(found) > MOST:
            raise DecodeError(f"{name}: the matrix has more than {MOST} environments")
    for made in _included(file):
        found.setdefault(made.name, made)
    return list(found.values())


def _included(file: AsvFile) -> Iterator[AsvEnvironment]:
    name = file.path.name
    here = {("environment_type", ""): file.config.environment_type or TOOL, ("sys_platform", ""): sys.platform}
    for rule in file.config.include:
        entries = _read_entries(rule, f"{name}: include", bare=_BARE)
        if ("python", "") not in entries:
            raise DecodeError(f"{name}: include: an entry names no python", remedy='for example {"python": "3.12"}')
        asked = {key: entries.pop(key) for key in here if key in entries}
        if _matches(here, asked, name):
            yield _make({key: value for key, value in entries.items() if value is not None})


def _read_entries(table: Mapping[str, Any], where: str, *, bare: Sequence[str] = ()) -> dict[Key, Any]:
    """The entries by type and name; of the older form, in which all are packages, too."""
    rest = dict(table)
    found: dict[Key, Any] = {(key, ""): rest.pop(key) for key in bare if key in rest}
    if not any(kind in rest for kind in _TYPES):
        return {**found, **{("req", key): value for key, value in rest.items()}}
    for kind in _TYPES:
        inner = rest.pop(kind, {})
        if not isinstance(inner, dict):
            raise DecodeError(f"{where}: {kind} is not an object", remedy='for example {"numpy": ["1.26"]}')
        found |= {(kind, key): value for key, value in inner.items()}
    for key in rest:
        raise DecodeError(f"{where}: unknown key {key!r}", remedy=f"expected: {', '.join((*_TYPES, *bare))}")
    return found


def _as_list(values: Any) -> list[Any]:
    listed = values if isinstance(values, list) else [values]
    return listed or [""]


def _matches(entries: Mapping[Key, Any], rule: Mapping[Key, Any], where: str) -> bool:
    """Whether every part of a rule fits: an expression matches the whole text, null what is not there."""
    for key, expression in rule.items():
        value = entries.get(key)
        if expression is None or value is None:
            if expression is not value:
                return False
            continue
        try:
            if re.fullmatch(str(expression), str(value)) is None:
                return False
        except re.error as error:
            raise DecodeError(f"{where}: {expression!r} is not a regular expression: {error}") from None
    return True


def _make(entries: Mapping[Key, Any]) -> AsvEnvironment:
    chosen: dict[str, dict[str, str]] = {kind: {} for kind in _TYPES}
    for (kind, key), value in entries.items():
        if kind in chosen:
            chosen[kind][key] = str(value)
    return AsvEnvironment(
        python=str(entries["python", ""]),
        requirements=chosen["req"],
        build_variables=chosen["env"],
        run_variables=chosen["env_nobuild"],
    )


def _as_requirement(name: str, version: str) -> str:
    version = version.strip()
    if not version:
        return name
    if re.match(r"(?:git|hg|svn|bzr)\+|https?://|file:", version):
        return f"{name} @ {version}"
    return f"{name}{version}" if re.match(r"[<>=!~]", version) else f"{name}=={version}"
