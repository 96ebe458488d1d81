"""A document against a JSON Schema, telling every problem at its line. Knows the words that `form` uses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from benchwright.errors import did_you_mean
from benchwright.targets.specs.places import Place, PlacedDocument, SpecProblem

_KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
_IN_WORDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "null": "nothing",
}
_BOUNDS = ("minimum", "maximum", "minItems", "maxItems", "minLength")


def find_problems(document: PlacedDocument, schema: Mapping[str, Any]) -> list[SpecProblem]:
    """Everything in the document that the schema does not allow, and keys that stand twice."""
    found = [
        SpecProblem(
            where=f"{document.where}:{line}:{column}",
            message=f"{path[-1]!r} is written twice, and only the last one would count",
            remedy="leave one of them out",
        )
        for path, line, column in document.duplicates
    ]
    return [*found, *_Validator(document, schema).look(schema, document.value, ())]


class _Validator:
    def __init__(self, document: PlacedDocument, schema: Mapping[str, Any]) -> None:
        self._document = document
        self._definitions: Mapping[str, Any] = schema.get("$defs", {})

    def look(self, schema: Mapping[str, Any], value: Any, path: Place) -> Iterator[SpecProblem]:
        if "$ref" in schema:
            schema = self._definitions[schema["$ref"].rpartition("/")[2]]
        options = schema.get("anyOf", [schema])
        fitting = [option for option in options if self._fits(option, value)]
        if not fitting:
            kinds = " or ".join(_IN_WORDS[option["type"]] for option in options)
            yield self._problem(
                path, f"{_name(path)} must be {kinds}, not {_format_value(value)}", _hint(value, options)
            )
            return
        yield from self._inside(fitting[0], value, path)

    def _inside(self, schema: Mapping[str, Any], value: Any, path: Place) -> Iterator[SpecProblem]:
        if "const" in schema and (value != schema["const"] or isinstance(value, bool)):
            remedy = f"this version of Benchwright reads {schema['const']}"
            yield self._problem(path, f"{_name(path)}: {_format_value(value)} is not known", remedy)
        if "enum" in schema and value not in schema["enum"]:
            yield self._problem(
                path, f"{_name(path)}: {_format_value(value)} is not known", did_you_mean(str(value), schema["enum"])
            )
        if message := _out_of_bounds(schema, value):
            yield self._problem(path, f"{_name(path)} {message}")
        if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
            yield self._problem(
                path,
                f"{_name(path)}: {_format_value(value)} does not have the right form",
                _pattern_hint(schema["pattern"]),
            )
        if isinstance(value, list):
            for i, item in enumerate(value):
                yield from self.look(schema.get("items", {}), item, (*path, i))
        if isinstance(value, dict):
            yield from self._mapping(schema, value, path)

    def _mapping(self, schema: Mapping[str, Any], value: dict[str, Any], path: Place) -> Iterator[SpecProblem]:
        known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        for name in schema.get("required", ()):
            if name not in value:
                yield self._problem(path, f"{name!r} is missing" + (f" in {_name(path)}" if path else ""))
        for key, item in value.items():
            if key in known:
                yield from self.look(known[key], item, (*path, key))
            elif others is False:
                yield self._problem((*path, key), f"unknown key {key!r}", did_you_mean(key, known))
            else:
                yield from self.look(others, item, (*path, key))

    def _fits(self, schema: Mapping[str, Any], value: Any) -> bool:
        kind = schema.get("type")
        if kind is None:
            return True
        if isinstance(value, bool) and kind != "boolean":
            return False
        if kind == "integer" and isinstance(value, float):
            return value.is_integer()  # JSON knows one kind of number: 8.0 is 8
        return isinstance(value, _KINDS[kind])

    def _problem(self, path: Place, message: str, remedy: str = "") -> SpecProblem:
        return SpecProblem(where=self._document.at(*path), message=message, remedy=remedy)


def _out_of_bounds(schema: Mapping[str, Any], value: Any) -> str:
    size = len(value) if isinstance(value, str | list) else value
    for word in _BOUNDS:
        bound = schema.get(word)
        if bound is None:
            continue
        if word.startswith("min") and size < bound:
            return "is empty" if value in ("", []) else f"is below {bound}{_count(value)}"
        if word.startswith("max") and size > bound:
            return f"is above {bound}" + _count(value)
    return ""


def _count(value: Any) -> str:
    return f" items: {len(value)}" if isinstance(value, list) else f": {value}"


def _name(path: Place) -> str:
    """`tests[0].shapes.data`, as people say it."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.lstrip(".") or "the spec"


def _format_value(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _hint(value: Any, options: Any) -> str:
    kinds = {option["type"] for option in options}
    if isinstance(value, bool | int | float) and "string" in kinds:
        return "put it in quotes"
    if "array" in kinds and not isinstance(value, dict | list):
        return "write it in brackets: [a, b]"
    return ""


def _pattern_hint(pattern: str) -> str:
    digits = re.search(r"\{(\d+)\}", pattern)
    return f"write the {digits[1]} hexadecimal digits of the file" if digits else f"it must match {pattern}"
