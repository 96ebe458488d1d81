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

    def hide_path(text: str) -> str | None:
        if not text:
            return None
        hidden.append(text)
        return f"{_BEGIN}{len(hidden) - 1}{_END}"

    def lookup(name: str) -> str | None:
        if name in names.places:
            return hide_path(names.places[name])
        for files, values in ((names.test_files, names.test), (names.model_files, names.model)):
            if name in files:
                return hide_path(files[name])
            if (text := text_of_key(values, name)) is not None:
                return str(tokens.replace_tokens(text, names.tokens))
        return hide_path(names.programs.get(name, ""))

    def restore_paths(word: str) -> str:
        return _HIDDEN.sub(lambda match: hidden[int(match[1])], word)

    text, unknown = tokens.resolve(str(tokens.replace_tokens(command, names.tokens)), lookup)
    try:
        argv = [restore_paths(word) for word in shlex.split(text)]
    except ValueError as error:
        raise DecodeError(f"the command {restore_paths(text)!r} cannot be split into words: {error}") from None
    if not argv:
        raise DecodeError(f"the command {command!r} is empty")
    return argv, unknown


def text_of_key(values: Mapping[str, Value], name: str) -> str | None:
    """The text of a key, or of a path such as `inputs.data.type`; None where there is none or no plain value."""
    value: Value = values.get(name)
    if value is None:
        value = dict(values)
        for step in name.split("."):
            value = value.get(step) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else None
