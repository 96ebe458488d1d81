"""Where the answer stands in an answer: `predictions[0].scores`, `outputs[0].data`, `choices[-1]["text"]`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from benchwright.errors import RequestError

LONGEST = 1000  # characters of a path
_STEP = re.compile(
    r"""\.?(?P<name>[^\s.\[\]"']+)|\[(?P<index>-?\d{1,9})\]|\[(?P<quote>["'])(?P<key>[^"']*)(?P=quote)\]"""
)
AnswerPath = tuple[str | int, ...]


class MissingError(LookupError):
    """There is nothing at the path."""


def parse_path(text: str) -> AnswerPath:
    """Reads a path: names with dots between them, places of lists in brackets; `$` at its front is left out."""
    rest = text.strip().removeprefix("$")
    steps: list[str | int] = []
    place = 0
    while place < len(rest) and len(rest) <= LONGEST:
        found = _STEP.match(rest, place)
        if found is None or (found["name"] and place and rest[place] != "."):
            break
        steps.append(int(found["index"]) if found["index"] else found["name"] or found["key"] or "")
        place = found.end()
    if not steps or place < len(rest):
        raise RequestError(
            f"--answer: {text[:80]!r} is not a path", remedy="write it as outputs[0].data, or predictions[0].scores"
        )
    return tuple(steps)


def show_path(path: AnswerPath) -> str:
    """The path as people write it."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def value_at(path: AnswerPath, document: Any) -> Any:
    """The value at a path; a `MissingError` says how far the document goes. Nothing (null) is no value."""
    value = document
    for depth, step in enumerate(path):
        is_there = (
            isinstance(value, list) and -len(value) <= step < len(value)
            if isinstance(step, int)
            else isinstance(value, Mapping) and step in value
        )
        if not is_there:
            raise MissingError(f"the answer has no {show_path(path[: depth + 1])}")
        value = value[step]
    if value is None:
        raise MissingError(f"the answer's {show_path(path)} is null")
    return value
