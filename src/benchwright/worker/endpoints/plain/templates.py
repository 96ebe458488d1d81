"""Body templates: JSON, or any other text, with places that each request fills in.

A place is a word in braces without spaces, `{input}` or `{input:NAME}`. JSON has no such thing outside of texts, so the
braces of JSON need no escape; `{{word}}` stands for the text `{word}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchwright.errors import RequestError
from benchwright.system.texts import shorten

KNOWN = {  # what may stand in braces -> what a trial of the template has there
    "input": "[]",
    "prompt": '"x"',
    "image": '"x"',
    "uuid": '"x"',
    "index": "0",
    "output_tokens": "0",
}
TAKES_ARGUMENT = ("input", "image")
UNIQUE = frozenset({"uuid", "index", "prompt"})  # what no two requests have in common
_PLACE = re.compile(r"\{\{([A-Za-z_]\w*)\}\}|\{([A-Za-z_]\w*)(?::([^{}\s\"]{1,200}))?\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Placeholder:
    """Where a request fills in something of its own."""

    name: str
    argument: str = ""
    is_quoted: bool = False  # it stands inside of a text of JSON

    def __str__(self) -> str:
        return f"{{{self.name}:{self.argument}}}" if self.argument else f"{{{self.name}}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyTemplate:
    """Texts and places, in order."""

    parts: tuple[str | Placeholder, ...]
    is_json: bool

    @property
    def places(self) -> list[Placeholder]:
        """Whatever requests fill in."""
        return [part for part in self.parts if isinstance(part, Placeholder)]

    def has(self, *names: str) -> bool:
        """Whether one of these is filled in."""
        return any(place.name in names for place in self.places)

    def fill(self, value_of: Callable[[Placeholder], str]) -> bytes:
        """The body of one request; values are texts of JSON, which lose their quotes where some stand already."""
        return "".join(
            part if isinstance(part, str) else self._fit(part, value_of(part)) for part in self.parts
        ).encode()

    def _fit(self, place: Placeholder, value: str) -> str:
        if not value.startswith('"') or (self.is_json and not place.is_quoted):
            return value
        return value[1:-1] if self.is_json else str(json.loads(value))


def parse_template(text: str, *, is_json: bool = True) -> BodyTemplate:
    """Reads a template; a `RequestError` names what is unknown in it, or where it is not JSON."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RequestError(f"--body: character {error.start + 1} is not text", remedy="write it in UTF-8") from None
    template = BodyTemplate(parts=tuple(_split(text, is_json)), is_json=is_json)
    if not is_json:
        return template
    try:
        json.loads(template.fill(lambda place: KNOWN[place.name]))
    except (ValueError, RecursionError) as error:
        raise RequestError(
            f"--body is not JSON once its places are filled in: {error}",
            remedy="write JSON such as '{\"instances\": {input}}', or name another --header 'Content-Type: ...'",
        ) from None
    return template


def _split(text: str, is_json: bool) -> Iterator[str | Placeholder]:
    end, inside = 0, False
    for found in _PLACE.finditer(text):
        plain = text[end : found.start()]
        inside = is_json and _ends_inside(plain, inside)
        end = found.end()
        if found[1]:
            yield f"{plain}{{{found[1]}}}"
            continue
        yield plain
        yield _read_place(found[2], found[3] or "", is_quoted=inside)
    yield text[end:]


def _read_place(name: str, argument: str, *, is_quoted: bool) -> Placeholder:
    place = Placeholder(name=name, argument=argument, is_quoted=is_quoted)
    if name not in KNOWN:
        shown = shorten(name, 100)
        raise RequestError(
            f"--body: there is no {{{shown}}} to fill in",
            remedy=f"known: {', '.join(f'{{{one}}}' for one in KNOWN)}; for the text itself write {{{{{shown}}}}}",
        )
    if argument and name not in TAKES_ARGUMENT:
        raise RequestError(f"--body: {{{name}}} takes nothing after its name", remedy=f"write {{{name}}}")
    if name == "input" and is_quoted:
        raise RequestError(f"--body: {place} is an array and stands between quotes", remedy="leave the quotes out")
    return place


def _ends_inside(text: str, inside: bool) -> bool:
    """Whether a text of JSON is open at the end, given whether it was at the beginning."""
    escaped = False
    for character in text:
        if escaped:
            escaped = False
        elif inside and character == "\\":
            escaped = True
        elif character == '"':
            inside = not inside
    return inside
