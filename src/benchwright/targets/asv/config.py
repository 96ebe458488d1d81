"""`asv.conf.json` as a record: JSON with comments and trailing commas, as people write it for asv."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from benchwright import schema
from benchwright.errors import DecodeError, TargetError, did_you_mean
from benchwright.records import Value
from benchwright.schema.parsing import SETTINGS, json_value
from benchwright.system.streams import read_text
from benchwright.targets.sources import find_file

ENDINGS = ("asv.conf.json", "asv.conf.jsonc", ".asv.conf.json")
BENCHMARK_TIMEOUT = 60.0  # seconds, asv's own
INSTALL_TIMEOUT = 600.0
# Keys of asv that mean nothing here, and why; "": nothing is lost.
UNUSED = {
    "version": "",
    "project_url": "",
    "show_commit_url": "",
    "html_dir": "",
    "hash_length": "",
    "build_cache_size": "",
    "wheel_cache_size": "",
    "launch_method": "",
    "conda_channels": "packages come from pip",
    "conda_environment_file": "packages come from pip: name them in matrix.req",
    "plugins": "asv's plug-ins are not loaded",
}
_NEAR = "did you mean"
# A text, or a comment, or a comma before the end of a list or mapping. What comes first decides.
# A comment is taken whole (atomic groups): a bracket within one does not make the comma before it a trailing one.
# What does not end is taken up to the end too: to look for its end from every place would take for ever.
_ODD = re.compile(r'"(?>[^"\\\n]|\\.)*+"?|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=(?>\s|//[^\n]*|/\*.*?\*/)*+[\]}])', re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class AsvConfig:
    """What an `asv.conf.json` says, as far as it means something here."""

    project: str = "project"
    repo: str = "."
    repo_subdir: str = ""
    branches: tuple[str, ...] = ()
    dvcs: str = ""
    environment_type: str = ""
    pythons: tuple[str, ...] = ()
    matrix: Mapping[str, Value] = field(default_factory=dict)
    include: tuple[Mapping[str, Value], ...] = ()
    exclude: tuple[Mapping[str, Value], ...] = ()
    benchmark_dir: str = "benchmarks"
    env_dir: str = "env"
    results_dir: str = "results"
    build_command: tuple[str, ...] | None = None  # None: asv's own; none at all: nothing is done
    install_command: tuple[str, ...] | None = None
    uninstall_command: tuple[str, ...] | None = None
    install_timeout: float = INSTALL_TIMEOUT
    default_benchmark_timeout: float = BENCHMARK_TIMEOUT
    regressions_first_commits: Mapping[str, str | None] = field(default_factory=dict)
    regressions_thresholds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AsvFile:
    """A configuration, the file that it was read from, and what is to be said about it."""

    path: Path
    config: AsvConfig
    notes: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder that paths in the file start from."""
        return self.path.parent

    @property
    def suite(self) -> Path:
        """The folder of the benchmarks."""
        return (self.folder / self.config.benchmark_dir).resolve()

    def check_suite(self) -> None:
        """Refuses a folder of benchmarks that is not there."""
        if not self.suite.is_dir():
            raise TargetError(
                f"{self.path.name}: there is no benchmark folder {self.suite}",
                remedy='say where it is: "benchmark_dir", from the folder of the file',
            )


def is_config(target: str) -> bool:
    """Whether a target names an `asv.conf.json`."""
    return "://" not in target and target.partition("::")[0].endswith(ENDINGS)


def split_target(target: str) -> tuple[str, re.Pattern[str] | None]:
    """The file of a target, and the expression that a benchmark's name must hold: `asv.conf.json::time_sort`."""
    text, separator, pattern = target.partition("::")
    if separator and not pattern:
        raise TargetError(f"{target} names nothing after ::", remedy=f"write {text}::REGEX, or {text} for all")
    try:
        return text, re.compile(pattern) if pattern else None
    except re.error as error:
        raise TargetError(f"{target}: {pattern!r} is not a regular expression: {error}") from None


def read_config(target: str) -> AsvFile:
    """Reads the file that a target names; a `TargetError` or `DecodeError` names the place that is wrong."""
    path = find_file(split_target(target)[0])
    try:
        text = read_text(path, most=SETTINGS)
        data = json_value(strip_comments(text))
    except OSError as error:
        raise TargetError(f"{path.name} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise DecodeError(f"{path.name}: {error}", remedy="JSON, with // comments and trailing commas") from None
    if not isinstance(data, dict):
        raise DecodeError(f"{path.name} is not a JSON object", remedy="asv quickstart writes one")
    known = {each.name for each in fields(AsvConfig)}
    given = {key: _settle_type(key, value) for key, value in data.items() if key in known and value is not None}
    if "repo" not in given:
        raise DecodeError(f"{path.name}: there is no repo", remedy='"repo": "." is the repository around the file')
    config = schema.decode(AsvConfig, given, where=path.name)
    _check_values(config, path.name)
    return AsvFile(path=path, config=config, notes=tuple(_notes(path.name, data, known)))


def strip_comments(text: str) -> str:
    """The text without comments and trailing commas; what is within quotes stays, and so does every line's number."""

    def replace(found: re.Match[str]) -> str:
        part = found[0]
        return part if part.startswith('"') else "\n" * part.count("\n")

    return _ODD.sub(replace, text)


def _check_values(config: AsvConfig, name: str) -> None:
    for key in ("repo", "repo_subdir", "benchmark_dir"):
        if "\0" in getattr(config, key):
            raise DecodeError(f"{name}: {key} has a NUL character, which no path has")
    for key in ("install_timeout", "default_benchmark_timeout"):
        if getattr(config, key) <= 0:
            raise DecodeError(f"{name}: {key} is {getattr(config, key):g}", remedy="give a number of seconds above 0")


def _settle_type(key: str, value: Any) -> Any:
    """A value in the one form that the record has; asv takes a text for a list of one, and numbers for texts."""
    if key in ("build_command", "install_command", "uninstall_command") and isinstance(value, str):
        return [value] if value else []
    if key == "branches" and isinstance(value, list):
        return [branch for branch in value if branch is not None]
    if key == "pythons" and isinstance(value, list):
        return [str(python) if isinstance(python, int | float) else python for python in value]
    return value


def _notes(name: str, data: Mapping[str, Any], known: set[str]) -> Iterator[str]:
    for key in data:
        if key in UNUSED:
            if UNUSED[key] and data[key]:
                yield f"{name}: {key} is not used: {UNUSED[key]}"
        elif key not in known:
            near = did_you_mean(key, [*known, *UNUSED])
            yield f"{name}: unknown key {key!r} is left out" + (f"; {near}" if near.startswith(_NEAR) else "")
