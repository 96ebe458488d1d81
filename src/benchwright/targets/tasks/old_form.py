"""Task files in the older driver's INI form, read raw: `%` stays `%`, and `\\b` stays `\\b`.

Lists are Python list literals of strings. They are read here and never evaluated: `\\\\`, `\\'` and `\\"` mean what
they mean in Python; every other backslash belongs to the regular expression. A section or key that was pasted with
blanks in front still is one.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Mapping
from pathlib import Path

from benchwright.errors import DecodeError, OptionError, TargetError, did_you_mean
from benchwright.targets.tasks.definition import Parameter, Pattern, Task, TaskMetric, compile_pattern, recorded_name
from benchwright.worker.tasks import aggregates

KEYS = ("patterns", "metrics", "compute_method", "command_to_execute", "num_gpus")
LISTS = KEYS[:3]
# The texts that flags of the older driver rewrote in a command.
PARAMETERS = (
    Parameter(name="num_gpus", kind=int),
    Parameter(name="epochs", kind=int),
    Parameter(name="kvstore", kind=str),
    Parameter(name="dtype", kind=str),
)
_INDENTED = re.compile(
    rf"^[ \t]+(?=\[[^\[\]'\",]+\][ \t]*$|(?:{'|'.join(KEYS)})[ \t]*[=:])", re.MULTILINE | re.IGNORECASE
)
_STRING = re.compile(
    r"""\s*(?P<prefix>[rRuU]?)(?P<quote>['"])(?P<body>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)""", re.DOTALL
)
_ESCAPED = re.compile(r"""\\([\\'"])""")


def read(file: Path, name: str = "") -> list[Task]:
    """The task `name`, or every section that has a command. Sections that are not asked for may be wrong."""
    sections = _sections(file)
    if name:
        if name not in sections:
            raise TargetError(f"{file.name} has no task {name!r}", remedy=did_you_mean(name, sections))
        return [_task(file, name, sections[name])]
    found = [_task(file, key, section) for key, section in sections.items() if "command_to_execute" in section]
    if not found:
        raise TargetError(f"{file.name} has no section with a command")
    return found


def names(file: Path) -> list[str]:
    """Every section, with a command or without."""
    return list(_sections(file))


def _sections(file: Path) -> dict[str, Mapping[str, str]]:
    parser = configparser.RawConfigParser(strict=True)
    try:
        text = file.read_text(encoding="utf-8")
        parser.read_string(_INDENTED.sub("", text), source=file.name)
    except (configparser.Error, UnicodeDecodeError) as error:
        raise DecodeError(f"{file.name}: {' '.join(str(error).split())}") from None
    return {name: dict(parser[name]) for name in parser.sections()}


def _task(file: Path, name: str, section: Mapping[str, str]) -> Task:
    where = f"{file.name} [{name}]"
    for key in section:
        if key not in KEYS:
            raise DecodeError(f"{where}: unknown key {key!r}", remedy=did_you_mean(key, KEYS))
    lists = [_strings(f"{where} {key}", section.get(key, "[]")) for key in LISTS]
    if len({len(each) for each in lists}) > 1:
        counts = ", ".join(f"{len(each)} {key}" for each, key in zip(lists, LISTS, strict=True))
        raise DecodeError(f"{where}: {counts}: the three lists go together, so they have one length")
    patterns = {text: _pattern(f"{where} patterns", text) for text in lists[0]}
    command = section.get("command_to_execute", "").strip()
    wanted = {metric: _read_metric(where, *row) for row in zip(*lists, strict=True) if (metric := row[1])}
    return Task(
        name=name,
        file=file,
        command=(command,) if command else (),
        older=True,
        parameters=PARAMETERS,
        patterns=tuple(patterns.values()),
        metrics=tuple(wanted.values()),
        num_gpus=_whole(f"{where} num_gpus", section.get("num_gpus", "0")),
    )


def _pattern(where: str, text: str) -> Pattern:
    groups = compile_pattern(text, where).groups
    if groups > 1:
        raise DecodeError(f"{where}: {text!r} captures {groups} groups", remedy="write (?:...) for all but one")
    return Pattern(text=text, series={text: groups})


def _read_metric(where: str, pattern: str, metric: str, method: str) -> TaskMetric:
    try:
        aggregates.canonical(method)
    except OptionError as error:
        raise DecodeError(f"{where}: compute_method of {metric!r}: {error.message}", remedy=error.remedy) from None
    return TaskMetric(name=recorded_name(metric), series=pattern, compute=method)


def _whole(where: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise DecodeError(f"{where}: {text!r} is not a whole number") from None


def _strings(where: str, text: str) -> list[str]:
    """The strings of a list literal."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        raise DecodeError(f"{where}: is not a list", remedy="write ['...', '...']")
    found: list[str] = []
    place, end, joins = 1, len(text) - 1, False
    while text[place:end].strip():
        match = _STRING.match(text, place, end)
        if match is None:
            raise DecodeError(f"{where}: {text[place:end].strip()[:30]!r} is not a string in quotes")
        raw = match["prefix"] in ("r", "R")
        string = match["body"] if raw else _ESCAPED.sub(r"\1", match["body"])
        found[-1:] = [found[-1] + string] if joins else [*found[-1:], string]
        comma = re.compile(r"\s*(,?)").match(text, match.end(), end)
        assert comma is not None, "nothing at least"
        place, joins = comma.end(), not comma[1]
    return found
