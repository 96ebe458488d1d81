"""The `--info` document: what is measured, and what it is compared with."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchwright.compat.harness.documents import NO_COMMIT
from benchwright.errors import OptionError, did_you_mean
from benchwright.schema.parsing import json_value
from benchwright.system import streams

PROGRAM = "program"
TREATMENT, CONTROL = "treatment", "control"
_WHOLE = {TREATMENT, CONTROL, "regression_commits", "shared_libs", "meta", "run_type", "regressed_types", "commands"}
_SIDE = {"commit", "commit_time", PROGRAM, "programs", "string_map", "diff", "version", "shared_libs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSide:
    """One of the two builds of an `--info` document: treatment or control."""

    name: str  # treatment or control
    commit: str = NO_COMMIT
    commit_time: float = 0.0  # seconds since 1970
    program: str = ""  # where it lies, absolute; "" where the framework needs none
    programs: Mapping[str, str] = field(default_factory=dict)  # every one by name, `program` among them
    string_map: Mapping[str, str] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()
    version: str = ""
    diff: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InfoDocument:
    """The `--info` document: what to build and measure on both sides."""

    treatment: BuildSide
    control: BuildSide | None = None
    run_type: str = ""
    regressed_types: tuple[str, ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)  # as it was given

    @property
    def sides(self) -> tuple[BuildSide, ...]:
        """Returns the builds in the order in which they run."""
        return (self.treatment,) if self.control is None else (self.treatment, self.control)


def parse(text: str, *, program: str = "", libraries: Sequence[str] = (), needs_program: bool = True) -> InfoDocument:
    """The document in a flag's text, or in the file that it names.

    `program` is the treatment's where the document names none. Programs must exist where they are needed. An
    `OptionError` says where the document is wrong.
    """
    where, document = _read(text)
    _refuse_unknown(document, _WHOLE, where)
    if TREATMENT not in document and text:
        raise OptionError(
            f"{where}: there is no treatment", remedy='write {"treatment": {"commit": ..., "programs": ...}}'
        )
    shared = (*_texts(document.get("shared_libs"), f"{where}.shared_libs"), *libraries)
    given = _object(document.get(TREATMENT), f"{where}.treatment")
    if program and not given.get(PROGRAM) and not given.get("programs"):
        given = {**given, PROGRAM: program}
    control = document.get(CONTROL)
    return InfoDocument(
        treatment=_side(given, TREATMENT, where, shared, needs_program),
        control=_side(_object(control, f"{where}.control"), CONTROL, where, shared, needs_program) if control else None,
        run_type=str(document.get("run_type") or ""),
        regressed_types=_texts(document.get("regressed_types"), f"{where}.regressed_types"),
        document=document,
    )


def _read(text: str) -> tuple[str, dict[str, Any]]:
    where, body = "--info", text
    if text and not text.lstrip().startswith(("{", "[", '"')):
        where = text
        try:
            body = streams.read_text(Path(text))
        except (OSError, ValueError) as error:
            raise OptionError(
                f"--info is neither JSON nor a file that can be read: {text[:80]}: {error}",
                remedy="write a JSON object, or the name of a file that holds one",
            ) from None
    try:
        found = json_value(body, finite=False) if body.strip() else {}
    except ValueError as error:
        raise OptionError(f"{where}: {error}", remedy="quote it for the shell, in ' and '") from None
    return where, _object(found, where)


def _side(given: Mapping[str, Any], name: str, where: str, shared: Sequence[str], needs_program: bool) -> BuildSide:
    place = f"{where}.{name}"
    _refuse_unknown(given, _SIDE, place)
    programs = dict(_programs(given, place))
    if needs_program:
        _check_programs(programs, place)
    replacing = _object(given.get("string_map"), f"{place}.string_map")
    return BuildSide(
        name=name,
        commit=str(given.get("commit") or NO_COMMIT),
        commit_time=_instant(given.get("commit_time"), f"{place}.commit_time"),
        program=programs.get(PROGRAM, ""),
        programs=programs,
        string_map={token: str(text) for token, text in replacing.items()},
        libraries=tuple(
            _check_existing(_absolute(path), f"{place}.shared_libs")
            for path in dict.fromkeys((*shared, *_texts(given.get("shared_libs"), f"{place}.shared_libs")))
        ),
        version=str(given.get("version") or ""),
        diff=str(given.get("diff") or ""),
    )


def _programs(given: Mapping[str, Any], place: str) -> Iterable[tuple[str, str]]:
    """Reads the programs of a build in both forms: `program` as a path, and `programs` with locations."""
    if given.get(PROGRAM):
        yield PROGRAM, _absolute(_text(given[PROGRAM], f"{place}.program"))
    for name, entry in _object(given.get("programs"), f"{place}.programs").items():
        location = entry.get("location") if isinstance(entry, Mapping) else entry
        yield name, _absolute(_text(location, f"{place}.programs.{name}.location"))


def _check_programs(programs: Mapping[str, str], place: str) -> None:
    if PROGRAM not in programs:
        raise OptionError(
            f"{place} names no program", remedy='add "programs": {"program": {"location": "/path/of/the/binary"}}'
        )
    for name, path in programs.items():
        _check_existing(path, f"{place}.programs.{name}")


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())


def _check_existing(path: str, place: str) -> str:
    if not Path(path).is_file():
        raise OptionError(
            f"{place}: there is no file {path}", remedy="build it first; paths start at the present folder"
        )
    return path


def _instant(value: object, place: str) -> float:
    """Seconds since 1970; of a build that is no commit, now."""
    if value in (None, ""):
        return time.time()
    try:
        seconds = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and 0 <= seconds < 2**40):
        raise OptionError(
            f"{place}: {value!r} is not a time", remedy="write seconds since 1970, as git log --format=%ct does"
        )
    return seconds


def _object(value: object, place: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise OptionError(f"{place} is a {type(value).__name__}, not a JSON object")
    return value


def _texts(value: object, place: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        raise OptionError(f"{place} is a {type(value).__name__}, not a JSON list")
    return tuple(_text(item, place) for item in value)


def _text(value: object, place: str) -> str:
    if not isinstance(value, str) or not value:
        raise OptionError(f"{place}: {value!r} is not a text")
    return value


def _refuse_unknown(given: Mapping[str, Any], known: set[str], place: str) -> None:
    for key in given:
        if key not in known:
            raise OptionError(f"{place}: unknown key {key!r}", remedy=did_you_mean(key, known))
