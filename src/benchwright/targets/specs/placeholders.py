"""Placeholders of the older forms: `{TOKEN}` as plain text, and `{word.word}` in commands. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from benchwright.errors import DecodeError

Lookup = Callable[[str], str | None]  # the text of a name such as `files.predict`; None or "" where there is none

NAME = re.compile(r"\{([\w.\-]+)\}")
LONGEST = 100_000  # characters, more than a program can be given; references that double would fill the memory
DEEPEST = 50  # references to references


def resolve(command: str, lookup: Lookup) -> tuple[str, tuple[str, ...]]:
    """The command with every known `{name}` filled in, names in values too, and the names that nobody knows.

    Unknown names stay as they are written. A name that leads back to itself is a `DecodeError`.
    """
    text = _fill_names(command, NAME, lookup, ())
    return text, names(text)


def replace_tokens(value: Any, tokens: Mapping[str, str]) -> Any:
    """A copy of JSON data with each `{TOKEN}` of `tokens` replaced in its strings; keys stay as they are.

    Unlike in commands, an empty text is a text: the token goes away.
    """
    if not tokens:
        return value
    pattern = re.compile(r"\{(" + "|".join(re.escape(name) for name in sorted(tokens)) + r")\}")
    return _replace_matches(value, pattern, tokens.get)


def names(text: str) -> tuple[str, ...]:
    """The names of the placeholders in a text, each once, in order."""
    return tuple(dict.fromkeys(NAME.findall(text)))


def _replace_matches(value: Any, pattern: re.Pattern[str], lookup: Lookup) -> Any:
    if isinstance(value, str):
        return _fill_names(value, pattern, lookup, (), empty=True)
    if isinstance(value, Mapping):
        return {key: _replace_matches(item, pattern, lookup) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_matches(item, pattern, lookup) for item in value]
    return value


def _fill_names(
    text: str, pattern: re.Pattern[str], lookup: Lookup, within: tuple[str, ...], *, empty: bool = False
) -> str:
    """The text with its names filled in until nothing changes; `within` are the names that led here."""

    def replace(match: re.Match[str]) -> str:
        name = match[1]
        found = lookup(name)
        if found is None or not (found or empty):
            return match[0]
        if name in within:
            raise DecodeError(_circle((*within, name)), remedy="let one of them say its text")
        return _fill_names(found, pattern, lookup, (*within, name), empty=empty)

    if len(within) > DEEPEST:
        raise DecodeError(f"{{{within[0]}}} goes through more than {DEEPEST} other placeholders")
    for _ in range(DEEPEST):  # a value may complete a name: {files.{which}}
        filled = pattern.sub(replace, text)
        if filled == text:
            return filled
        if len(filled) > LONGEST:
            raise DecodeError(f"placeholders make a text of more than {LONGEST:,} characters: {text[:60]}...")
        text = filled
    raise DecodeError(f"placeholders never come to an end: {text[:60]}")


def _circle(path: tuple[str, ...]) -> str:
    steps = path[path.index(path[-1]) :]
    return "placeholders that lead back to themselves: " + " -> ".join(f"{{{name}}}" for name in steps)
