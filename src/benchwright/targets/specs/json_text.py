"""JSON with the place of every key and item. The standard library's parser tells none."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from typing import Any

from benchwright.errors import DecodeError

Place = tuple[str | int, ...]
_DEEPEST = 100
_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_WORD = re.compile(r"\w+")


def scan(text: str, where: str) -> tuple[Any, dict[Place, tuple[int, int]], list[tuple[Place, int, int]]]:
    """The value; line and column of each key and item; and the keys that stand twice, of which the last counts."""
    scanner = _Scanner(text, where)
    value = scanner.value((), scanner.skip(0))
    if scanner.at < len(text):
        raise scanner.error("nothing may follow the value", scanner.at)
    return value, scanner.places, scanner.duplicates


class _Scanner:
    """`at` is where reading goes on, behind the white space that follows what was read."""

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where
        self.at = 0
        self.places: dict[Place, tuple[int, int]] = {(): (1, 1)}
        self.duplicates: list[tuple[Place, int, int]] = []
        self._lines = [0, *(found.end() for found in re.finditer("\n", text))]

    def value(self, path: Place, at: int) -> Any:
        if len(path) > _DEEPEST:
            raise self.error("too deep", at)
        first = self.text[at : at + 1]
        if first == "{":
            return self._object(path, at + 1)
        if first == "[":
            return self._array(path, at + 1)
        if first == '"':
            return self._string(at)
        return self._plain(at)

    def skip(self, at: int) -> int:
        self.at = _SPACE.match(self.text, at).end()  # type: ignore[union-attr]  # it also matches nothing
        return self.at

    def error(self, message: str, at: int) -> DecodeError:
        line, column = self._position(at)
        return DecodeError(
            f"{self.where}:{line}:{column}: not JSON: {message}", remedy="check commas, quotes and braces"
        )

    def _object(self, path: Place, at: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.text[self.skip(at) : self.at + 1] == "}":
            self.skip(self.at + 1)
            return found
        while True:
            place = self.at
            if self.text[place : place + 1] != '"':
                raise self.error("a key in double quotes is missing", place)
            name = self._string(place)
            if name in found:
                self.duplicates.append(((*path, name), *self._position(place)))
            self.places[(*path, name)] = self._position(place)
            if self.text[self.at : self.at + 1] != ":":
                raise self.error("a colon is missing after the key", self.at)
            found[name] = self.value((*path, name), self.skip(self.at + 1))
            if self._ends("}"):
                return found

    def _array(self, path: Place, at: int) -> list[Any]:
        found: list[Any] = []
        if self.text[self.skip(at) : self.at + 1] == "]":
            self.skip(self.at + 1)
            return found
        while True:
            inner = (*path, len(found))
            self.places[inner] = self._position(self.at)
            found.append(self.value(inner, self.at))
            if self._ends("]"):
                return found

    def _ends(self, bracket: str) -> bool:
        """Whether the bracket closes here; else a comma is passed."""
        mark = self.text[self.at : self.at + 1]
        if mark not in (",", bracket):
            raise self.error(f"a comma or {bracket} is missing", self.at)
        self.skip(self.at + 1)
        return mark == bracket

    def _string(self, at: int) -> str:
        found = _STRING.match(self.text, at)
        if found is None:
            raise self.error("the text in quotes does not end on its line", at)
        try:
            text = str(json.loads(found[0]))
        except json.JSONDecodeError as error:  # an escape that is none
            raise self.error(error.msg, at + error.pos) from error
        self.skip(found.end())
        return text

    def _plain(self, at: int) -> Any:
        number = _NUMBER.match(self.text, at)
        if number and not _WORD.match(self.text, number.end()):
            self.skip(number.end())
            return self._number(number)
        word = _WORD.match(self.text, at)
        if word is None or word[0] not in _WORDS:
            raise self.error(f"{word[0]!r} is not a JSON value" if word else "a value is missing", at)
        self.skip(word.end())
        return _WORDS[word[0]]

    def _number(self, found: re.Match[str]) -> int | float:
        if found[1] is None and found[2] is None and len(found[0]) < 100:
            return int(found[0])
        number = float(found[0])
        if not math.isfinite(number):
            raise self.error("the number is too large", found.start())
        return number

    def _position(self, at: int) -> tuple[int, int]:
        line = bisect_right(self._lines, at)
        return line, at - self._lines[line - 1] + 1
