"""The records as JSON Schema (draft 2020-12), for editors and for readers in other languages.

Made from the same dataclasses that `schema` decodes, so the two cannot disagree: `make schema` writes the files in
`docs/schema/`, and a test fails when they are stale. Standard library only.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import types
import typing
from array import array
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, cast

from benchwright import schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_SCALARS: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def json_schema(kind: str) -> dict[str, Any]:
    """The schema of a document of `kind` (a key of `schema.kinds()`), envelope included."""
    record = schema.kinds()[kind]
    definitions: dict[str, Any] = {}
    data = _describe(record, definitions)
    return {
        "$schema": DIALECT,
        "$id": f"urn:benchwright:{kind}:{schema.FORMAT}",
        "title": f"Benchwright {kind}, format {schema.FORMAT}",
        "type": "object",
        "properties": {"format": {"const": schema.FORMAT}, "kind": {"const": kind}, "data": data},
        "required": ["format", "kind", "data"],
        "additionalProperties": False,
        "$defs": dict(sorted(definitions.items())),
    }


def definitions(*kinds: type) -> dict[str, Any]:
    """The schema of each of these records and of every record within them, by name; they refer to `#/$defs/NAME`."""
    found: dict[str, Any] = {}
    for kind in kinds:
        _describe(kind, found)
    return dict(sorted(found.items()))


def write_all(folder: Path) -> list[Path]:
    """Writes `<kind>.schema.json` for every kind of document; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for kind in schema.kinds():
        path = folder / f"{kind}.schema.json"
        path.write_text(render_schema(kind), encoding="utf-8")
        written.append(path)
    return written


def render_schema(kind: str) -> str:
    """The text of the published file."""
    return json.dumps(json_schema(kind), indent=2, ensure_ascii=False) + "\n"


def _describe(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if kind in _SCALARS:
        return {"type": _SCALARS[kind]}
    if kind is array:
        return {"type": "string", "contentEncoding": "base64", "description": "zlib of little-endian int64 values"}
    if isinstance(kind, type) and (issubclass(kind, Enum) or dataclasses.is_dataclass(kind)):
        return _refer_to(kind, definitions)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (tuple, Sequence):
        return {"type": "array", "items": _describe(arguments[0], definitions)}
    if origin is Mapping:
        return _describe_mapping(arguments, definitions)
    if origin in (typing.Union, types.UnionType):
        return _describe_union(arguments, definitions)
    raise TypeError(f"no JSON Schema for {kind!r}")


def _refer_to(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    name = kind.__name__
    if name not in definitions:
        definitions[name] = {}  # taken, so that a record may hold itself
        definitions[name] = _describe_enum(kind) if issubclass(kind, Enum) else _describe_record(kind, definitions)
    return {"$ref": f"#/$defs/{name}"}


def _describe_enum(kind: type[Enum]) -> dict[str, Any]:
    return {"description": _first_lines(kind), "enum": [member.value for member in kind]}


def _describe_record(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(cast(Any, kind))
    return {
        "description": _first_lines(kind),
        "type": "object",
        "properties": {f.name: _describe(hints[f.name], definitions) | _describe_default(f) for f in fields},
        "required": [f.name for f in fields if _is_required(f)],
        "additionalProperties": False,
    }


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _describe_default(field: dataclasses.Field[Any]) -> dict[str, Any]:
    if field.default is dataclasses.MISSING:
        return {}
    return {"default": schema.encode(field.default)}


def _describe_mapping(arguments: tuple[Any, ...], definitions: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {"type": "object", "additionalProperties": _describe(arguments[1], definitions)}
    if arguments[0] is int:
        described["propertyNames"] = {"pattern": "^-?[0-9]+$"}
    return described


def _describe_union(arguments: tuple[Any, ...], definitions: dict[str, Any]) -> dict[str, Any]:
    if any(typing.get_origin(a) in (list, dict) for a in arguments):  # records.Value
        definitions["Value"] = {"description": "Any JSON value."}
        return {"$ref": "#/$defs/Value"}
    if all(a in _SCALARS for a in arguments):
        return {"type": [_SCALARS[a] for a in arguments]}
    return {"anyOf": [_describe(a, definitions) for a in arguments]}


def _first_lines(kind: type) -> str:
    """The docstring's first paragraph as one line."""
    paragraph = (inspect.getdoc(kind) or "").split("\n\n")[0]
    return re.sub(r"\s+", " ", paragraph)
