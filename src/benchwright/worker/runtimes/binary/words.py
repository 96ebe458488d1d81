"""From a command with placeholders to the words of a program's arguments. Pure.

Paths take part in splitting as single characters that no text holds, so a folder with a space in its name stays one
word, quoted or not. What a placeholder of another kind stands for is split like the rest of the command.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from benchwright.errors import DecodeError
from benchwright.records import Value
from benchwright.targets.specs import placeholders as tokens

_BEGIN, _END = "\ue000", "\ue001"  # for private use
_HIDDEN = re.compile(f"{_BEGIN}(\\d+){_END}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceholderValues:
    """What placeholders stand for, in the order they are looked up: tokens, places, test, model, programs."""

    tokens: Mapping[str, str] = field(default_factory=dict)  # replaced in every text before anything else
    places: Mapping[str, str] = field(default_factory=dict)  # TGTDIR and others that only the device knows
    test: Mapping[str, Value] = field(default_factory=dict)
    test_files: Mapping[str, str] = field(default_factory=dict)  # `input_files.data` -> path
    model: Mapping[str, Value] = field(default_factory=dict)
    model_files: Mapping[str, str] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)


def words(command: str, names: PlaceholderValues) -> tuple[list[str], tuple[str, ...]]:
    """The arguments as a shell would split them, and the placeholders that nobody knows, which stay as they are."""
    hidden: list[str] = []

    def path(text: str) -> str | None:
        if not text:
            return None
        hidden.append(text)
        return f"{_BEGIN}{len(hidden) - 1}{_END}"

    def lookup(name: str) -> str | None:
        if name in names.places:
            return path(names.places[name])
        for files, values in ((names.test_files, names.test), (names.model_files, names.model)):
            if name in files:
                return path(files[name])
            if (text := plain(values, name)) is not None:
                return str(tokens.replaced(text, names.tokens))
        return path(names.programs.get(name, ""))

    def shown(word: str) -> str:
        return _HIDDEN.sub(lambda match: hidden[int(match[1])], word)

    text, unknown = tokens.resolve(str(tokens.replaced(command, names.tokens)), lookup)
    try:
        found = [shown(word) for word in shlex.split(text)]
    except ValueError as error:
        raise DecodeError(f"the command {shown(text)!r} cannot be split into words: {error}") from None
    if not found:
        raise DecodeError(f"the command {command!r} is empty")
    return found, unknown


def plain(values: Mapping[str, Value], name: str) -> str | None:
    """The text of a key, or of a path such as `inputs.data.type`; None where there is none or no plain value."""
    found: Value = values.get(name)
    if found is None:
        found = dict(values)
        for step in name.split("."):
            found = found.get(step) if isinstance(found, dict) else None
    if isinstance(found, bool):
        return str(found).lower()
    return str(found) if isinstance(found, str | int | float) else None
