"""Writes src/shapes.ts: the TypeScript types of what pages are made of, from `benchwright.pages`."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from benchwright.pages import compared_shapes, lab_shapes, list_shapes, parts, settings_shapes, shapes
from benchwright.records import Scalar

_MODULES = (parts, list_shapes, settings_shapes, lab_shapes, compared_shapes, shapes)
FILE = Path(__file__).parent / "src" / "shapes.ts"
_NAMES: dict[Any, str] = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}
_HEAD = """\
// Generated from shapes.py, compared_shapes.py, list_shapes.py and parts.py of benchwright.pages by `make types`.

export type Scalar = string | number | boolean | null;
export type Value = Scalar | Value[] | { [name: string]: Value };
"""


def text() -> str:
    """The whole file."""
    seen: dict[str, str] = {}
    for kind in [kind for module in _MODULES for kind in vars(module).values()]:
        if isinstance(kind, type) and kind.__module__ in [module.__name__ for module in _MODULES]:
            _declare(kind, seen)
    return _HEAD + "".join(seen.values())


def _declare(kind: type, seen: dict[str, str]) -> str:
    if kind.__name__ not in seen:
        seen[kind.__name__] = ""  # its place: before those it names, and no second time
        if issubclass(kind, Enum):
            seen[kind.__name__] = f"\nexport type {kind.__name__} = {_words(kind)};\n"
        else:
            seen[kind.__name__] = f"\nexport interface {kind.__name__} {{\n{''.join(_fields(kind, seen))}}}\n"
    return kind.__name__


def _words(kind: type[Enum]) -> str:
    return " | ".join(f'"{one.value}"' for one in kind)


def _fields(kind: type, seen: dict[str, str]) -> Iterator[str]:
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        yield f"  {field.name}: {_type(hints[field.name], seen)};\n"


def _type(hint: Any, seen: dict[str, str]) -> str:
    if hint in _NAMES:
        return _NAMES[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if any(typing.get_origin(one) is dict for one in arguments):
        return "Value"  # it names itself, so what is resolved does not equal what is declared
    if hint == Scalar:
        return "Scalar"
    if origin in (typing.Union, types.UnionType):
        return " | ".join(_type(one, seen) for one in arguments)
    if origin is Mapping:
        return f"{{ [name: string]: {_type(arguments[1], seen)} }}"
    if origin is Sequence or (origin is tuple and arguments[-1] is ...):
        inner = _type(arguments[0], seen)
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if origin is tuple:
        return f"[{', '.join(_type(one, seen) for one in arguments)}]"
    return _declare(hint, seen)


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
