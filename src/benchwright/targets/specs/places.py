"""YAML and JSON files with the place of every key and item, and problems, each shown where it stands.

A file that ends in `.json` is JSON, where tabs may indent; anything else is YAML, of which the plain part is read: no
tags, and of the words that YAML 1.1 takes for booleans only `true` and `false` are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from benchwright.errors import DecodeError, TargetError
from benchwright.targets.specs import json_text

Place = tuple[str | int, ...]
Duplicate = tuple[Place, int, int]
Severity = Literal["error", "warning"]

_LARGEST = 16 * 2**20  # bytes of a spec file
_NODES = 200_000  # of a document with its aliases written out
_DEEPEST = 100
_LONGEST_NUMBER = 100  # digits
_PLAIN = "plain"  # what stands without quotes and may be a number
_INTEGER = re.compile(r"[-+]?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", "")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedDocument:
    """What a file says, and where: line and column, from 1, of each key of a mapping and each item of a list."""

    value: Any
    where: str  # the file, as it is shown
    places: Mapping[Place, tuple[int, int]] = field(default_factory=dict)
    duplicates: tuple[Duplicate, ...] = ()  # keys that stand twice in one mapping, at the second place; the last counts

    def at(self, *path: str | int) -> str:
        """`spec.json:12:5`, of that key or item, or of the nearest one around it."""
        for length in range(len(path), -1, -1):
            found = self.places.get(path[:length])
            if found:
                return f"{self.where}:{found[0]}:{found[1]}"
        return self.where


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecProblem:
    """One thing that is wrong, where, and what to do about it."""

    where: str  # `spec.yaml:12:5`
    message: str
    remedy: str = ""
    severity: Severity = "error"

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.severity == "error" else f"{self.where}: warning: {self.message}"
        return f"{text}\n  {self.remedy}" if self.remedy else text


def errors(problems: Iterable[SpecProblem]) -> list[SpecProblem]:
    """The problems that keep a spec from being run."""
    return [problem for problem in problems if problem.severity == "error"]


def read(path: Path) -> PlacedDocument:
    """What the file says; a `DecodeError` names line and column when it is neither YAML nor JSON."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise TargetError(f"{path}: it cannot be read: {error.strerror}", remedy="is the path right?") from error
    if len(content) > _LARGEST:
        raise DecodeError(f"{path}: it is larger than {_LARGEST >> 20} MiB", remedy="is it a spec?")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DecodeError(f"{path}:{line}: not UTF-8 text: {error.reason}", remedy="save it as UTF-8") from error
    return parse(text, str(path))


def parse(text: str, where: str) -> PlacedDocument:
    """What a text says; `where` is the name of the file it came from, and its ending decides the language."""
    if where.lower().endswith(".json"):
        value, places, duplicates = json_text.scan(text, where)
    else:
        value, places, duplicates = _Yaml(where).scan(text)
    return PlacedDocument(value=value, where=where, places=places, duplicates=tuple(duplicates))


def to_yaml(value: Any) -> str:
    """The value as YAML that `parse` reads back to the same: keys in their order, short lists on one line."""
    import yaml

    class Dumper(yaml.SafeDumper):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True  # what stands twice is written twice

    def text(dumper: Any, words: str) -> Any:
        quoted = not isinstance(_resolve_scalar(words), str)  # 1e-3 is text to PyYAML and a number to everybody else
        return dumper.represent_scalar("tag:yaml.org,2002:str", words, style="'" if quoted else None)

    Dumper.add_representer(str, text)
    options = {"sort_keys": False, "default_flow_style": None, "allow_unicode": True, "width": 110}
    return str(yaml.dump(value, Dumper=Dumper, **options))


class _Yaml:
    """Builds the value from YAML's graph of nodes. An alias is written out, and only so much of that."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.places: dict[Place, tuple[int, int]] = {}
        self.duplicates: list[Duplicate] = []
        self.nodes = 0

    def scan(self, text: str) -> tuple[Any, dict[Place, tuple[int, int]], list[Duplicate]]:
        root = self._graph(text)
        self.places[()] = (1, 1)
        return (None if root is None else self._value(root, ())), self.places, self.duplicates

    def _graph(self, text: str) -> Any:
        import yaml

        base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

        class Loader(base):  # type: ignore[misc]
            def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
                """What has no tag: one word for text without quotes. So every other tag is one that was written."""
                return _PLAIN if kind is yaml.ScalarNode and implicit[0] else ""

            def descend_resolver(self, node: Any, index: Any) -> None:
                """Refuses what is too deep while it is read: the parser in C would overflow its stack."""
                self.depth = getattr(self, "depth", 0) + 1
                if self.depth > _DEEPEST:
                    raise yaml.YAMLError(f"lists and mappings within each other, more than {_DEEPEST} deep")

            def ascend_resolver(self) -> None:
                self.depth -= 1

        try:
            return yaml.compose(text, Loader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
            message = " ".join(part for part in (error.context, error.problem) if part)
            raise DecodeError(f"{self.where}{place}: not YAML: {message}", remedy=_hint(error.problem or "")) from error
        except (yaml.YAMLError, RecursionError) as error:
            raise DecodeError(f"{self.where}: not YAML: {error}", remedy="is it a spec?") from error

    def _value(self, node: Any, path: Place) -> Any:
        self.nodes += 1
        if len(path) > _DEEPEST or self.nodes > _NODES:
            raise self._error_at(node, "too deep or too large with its aliases written out", "write it out by hand")
        if node.tag not in (_PLAIN, ""):
            raise self._error_at(node, f"the tag {node.tag} is not read here", "write the value without a tag")
        if node.id == "mapping":
            return self._mapping(node, path)
        if node.id == "sequence":
            return [self._item(item, (*path, i)) for i, item in enumerate(node.value)]
        return self._scalar(node) if node.tag == _PLAIN else node.value

    def _item(self, node: Any, path: Place) -> Any:
        self.places[path] = _position(node)
        return self._value(node, path)

    def _mapping(self, node: Any, path: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in node.value:
            if key.id != "scalar":
                raise self._error_at(key, "a key must be a word", "write it as text")
            name = str(key.value)
            if name in found:
                self.duplicates.append(((*path, name), *_position(key)))
            self.places[(*path, name)] = _position(key)
            found[name] = self._value(value, (*path, name))
        return found

    def _scalar(self, node: Any) -> Any:
        value = _resolve_scalar(node.value)
        if isinstance(value, float) and not math.isfinite(value):
            raise self._error_at(node, f"the number {node.value[:20]} is too large", "write it in quotes if it is text")
        return value

    def _error_at(self, node: Any, message: str, remedy: str) -> DecodeError:
        line, column = _position(node)
        return DecodeError(f"{self.where}:{line}:{column}: {message}", remedy=remedy)


def _resolve_scalar(text: str) -> Any:
    """What text without quotes means."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text) and len(text) < _LONGEST_NUMBER:
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _position(node: Any) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _hint(problem: str) -> str:
    if "\\t" in problem or "cannot start any token" in problem:
        return "indent with spaces; put text that begins with a special character in quotes"
    return "check the indentation, colons and quotes of this line"
