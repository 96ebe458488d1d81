"""Text into values, within bounds: JSON, TOML, and what is packed inside of documents. Standard library only.

Whatever comes from elsewhere, a file, a server, a program, is read through these functions. They raise a `TextError`
where the standard library's parsers recurse, convert numbers of any length and unpack without end.
`benchwright.system.streams` bounds how many bytes come here.
"""

from __future__ import annotations

import base64
import json
import math
import os
import re
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchwright.errors import DecodeError
from benchwright.records import Int64s

MIB = 1 << 20
VARIABLE = "BENCHWRIGHT_LARGEST"  # MiB: another bound for what is read as a whole
DEEPEST = 100  # lists and mappings within each other
DIGITS = 100  # of one whole number; as a floating-point number it is still finite
SETTINGS = 4 * MIB  # bytes of a file that people write by hand: settings, tasks, tokens
_LARGEST = 512 * MIB
_LEVEL = 4  # of zlib: for nanoseconds 6 takes four times as long, and makes nothing smaller
_NO_SPACE = re.compile(r"[^ \t\r\n]")
_HOLDERS = frozenset({dict, list})
_LONG_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{DEEPEST}}}")


class TextError(DecodeError, ValueError):
    """A text that is not what it should be, or that is beyond a bound; the message says which, without the place."""


def largest() -> int:
    """How many bytes of one document, one answer or one file are read as a whole, after unpacking: 512 MiB.

    The environment variable BENCHWRIGHT_LARGEST names another number of MiB.
    """
    stated = os.environ.get(VARIABLE, "").strip()
    return int(stated) * MIB if stated.isascii() and stated.isdigit() and 0 < len(stated) < 8 else _LARGEST


def json_value(text: str | bytes, *, finite: bool = True, deepest: int = DEEPEST, most: int = 10**DIGITS) -> Any:
    """The value of a JSON text. A `TextError` says why there is none.

    `finite` refuses NaN, Infinity and numbers that are too large to be reckoned with, which some tools write; whole
    numbers are below `most`, and above half of it below zero.
    """

    try:
        value = json.loads(text, **_number_hooks(finite, most))
    except TextError:
        raise
    except ValueError as error:
        raise TextError(f"not JSON: {error}") from None
    except RecursionError:
        raise _too_deep(deepest) from None
    if _is_deeper(value, deepest):
        raise _too_deep(deepest)
    return value


def json_items(parts: Iterable[str], *, longest: int) -> Iterator[Any]:
    """Yields the items of a JSON array while its text comes, however long it is. A `TextError` says why one is none.

    An item is a list, a mapping or a quoted text of at most `longest` characters: of a number nobody knows whether it
    goes on.
    """
    text = _ArrayText(iter(parts), longest)
    if text.next_sign() != "[":
        raise TextError("not a JSON array")
    text.at += 1
    if text.next_sign() == "]":
        text.at += 1
    else:
        sign = ","
        while sign == ",":
            yield text.item()
            sign = text.next_sign()
            text.at += 1
        if sign != "]":
            raise TextError("not JSON: the array is cut off" if not sign else "not JSON: no comma between two items")
    if text.next_sign():
        raise TextError("not JSON: something stands behind the array")


class _ArrayText:
    """The text of an array as far as it was read; `at` is the place of the next character."""

    def __init__(self, parts: Iterator[str], longest: int) -> None:
        self._parts, self._longest = parts, longest
        self._decode = json.JSONDecoder(**_number_hooks(True, 10**DIGITS)).raw_decode
        self._text = ""
        self.at = 0

    def next_sign(self) -> str:
        """The next character that is no space, at which it stops; "" at the end."""
        while True:
            if found := _NO_SPACE.search(self._text, self.at):
                self.at = found.start()
                return found[0]
            self.at = len(self._text)
            if not self._read_on():
                return ""

    def item(self) -> Any:
        """The item that begins here; it is left behind."""
        if self.next_sign() not in ("{", "[", '"'):
            raise TextError("not JSON: an item that is no mapping, list or text")
        while True:
            try:
                value, self.at = self._decode(self._text, self.at)
            except TextError:
                raise
            except ValueError as error:  # perhaps only because not all of it is here
                why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                if len(self._text) - self.at > self._longest:
                    raise TextError(f"an item of more than {self._longest:,} characters, or not JSON: {why}") from None
                if not self._read_on():
                    raise TextError(f"not JSON: {why}") from None
                continue
            except RecursionError:
                raise _too_deep(DEEPEST) from None
            if _is_deeper(value, DEEPEST - 1):
                raise _too_deep(DEEPEST)
            return value

    def _read_on(self) -> bool:
        """Reads as much again as is here: an item of many parts is not decoded as many times."""
        more: list[str] = []
        missing = len(self._text) - self.at
        while missing >= 0 and (part := next(self._parts, None)) is not None:
            more.append(part)
            missing -= len(part)
        self._text = self._text[self.at :] + "".join(more)
        self.at = 0
        return bool(more)


def json_mapping(text: str) -> dict[str, Any]:
    """The mapping in a short text that stands inside of a record, the params of a series; empty where it holds none."""
    try:
        value = json_value(text) if text else {}
    except TextError:
        return {}
    return value if isinstance(value, dict) else {}


def json_document(text: str | bytes, *, where: str, remedy: str = "", finite: bool = True) -> Any:
    """The same, where the error names the file or the server that the text came from."""
    try:
        return json_value(text, finite=finite)
    except TextError as error:
        is_none = str(error).startswith("not ")  # what is beyond a bound may well be what it should be
        raise DecodeError(f"{where}: {error}", remedy=remedy if is_none else "") from None


def toml_value(text: str) -> dict[str, Any]:
    """The table of a TOML text. A `TextError` says why there is none."""
    import tomllib  # the command line's help reads modules that use this one

    if _LONG_KEY.search(text):
        raise _too_deep(DEEPEST)
    try:
        value = tomllib.loads(text, parse_float=_finite)
    except RecursionError:
        raise _too_deep(DEEPEST) from None
    except TextError:
        raise
    except ValueError as error:  # also of numbers that have more digits than Python converts
        digits = "Exceeds the limit" in str(error)
        raise (_too_long() if digits else TextError(f"not TOML: {error}")) from None
    if _is_deeper(value, DEEPEST):
        raise _too_deep(DEEPEST)
    _check_numbers(value)
    return value


def toml_file(path: Path, *, where: str = "") -> dict[str, Any]:
    """The table of a file that people write by hand; a `DecodeError` names the file, or `where`."""
    with path.open("rb") as file:
        body = file.read(SETTINGS + 1)
    try:
        if len(body) > SETTINGS:
            raise TextError(too_large(SETTINGS))
        return toml_value(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DecodeError(f"{where or path}: not UTF-8 text: {error}", remedy="save it as UTF-8") from None
    except TextError as error:
        raise DecodeError(f"{where or path}: {error}") from None


def inflate(packed: bytes, *, most: int) -> bytes:
    """What zlib packed; never more than `most` bytes. A `TextError` when it is more, or damaged."""
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(packed, max(1, most))
        beyond = b"" if stream.eof else stream.decompress(stream.unconsumed_tail, 1)
    except zlib.error as error:
        raise TextError(str(error)) from None
    if beyond or len(found) > most:
        raise TextError(f"it unpacks to more than {most:,} bytes")
    if not stream.eof:
        raise TextError("the packed bytes are cut off")
    return found


def pack_int64(values: Int64s) -> str:
    """int64 values as base64 of zlib of little-endian bytes."""
    return base64.b64encode(zlib.compress(_little_endian(values).tobytes(), _LEVEL)).decode("ascii")


def unpack_int64(text: str, *, most: int | None = None) -> Int64s:
    """The inverse of `pack_int64`; a `ValueError` when it is damaged, or more than `most` bytes."""
    values = array("q")
    bound = largest() if most is None else most
    values.frombytes(inflate(base64.b64decode(text, validate=True), most=bound))
    return _little_endian(values)


def too_large(most: int) -> str:
    """The sentence that names a bound on bytes."""
    return f"more than {most / MIB:g} MiB" if most >= MIB else f"more than {most:,} bytes"


def _little_endian(values: Int64s) -> Int64s:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values


def _number_hooks(finite: bool, most: int) -> dict[str, Any]:
    """What the standard library's decoder calls for numbers."""

    def whole(text: str) -> int:
        if len(text) > DIGITS or not -most // 2 <= (number := int(text)) < most:
            raise _too_long() if most > 2**64 else TextError(f"{text[:20]}... is a number of more than 64 bits")
        return number

    others = {"parse_float": _finite, "parse_constant": _finite} if finite else {}
    return {"parse_int": whole, **others}


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise TextError(f"{text[:20]} is not a finite number")
    return number


def _check_numbers(table: dict[str, Any]) -> None:
    """Refuses numbers that are too large: TOML's parser takes no function for whole numbers."""
    level: list[Any] = [table]
    while level:
        holder = level.pop()
        for item in holder.values() if type(holder) is dict else holder:
            if type(item) in _HOLDERS:
                level.append(item)
            elif type(item) is int and abs(item) >= 10**DIGITS:
                raise _too_long()


def is_plain(value: Any, deepest: int) -> bool:
    """Whether a value that `quick_json` read is for sure what `json_value` reads: not too deep, no number cut short.

    A whole number of more than 64 bits has become a floating-point number there; a large one is doubtful therefore.
    """
    level = [value]
    for _ in range(deepest):
        below: list[Any] = []
        for holder in level:
            for item in holder.values() if type(holder) is dict else holder:
                kind = type(item)
                if kind is dict or kind is list:
                    below.append(item)
                elif kind is float and not -_CUT < item < _CUT:
                    return False
        if not below:
            return True
        level = below
    return False


_CUT = 2.0**63


def _is_deeper(value: Any, most: int) -> bool:
    """Whether lists and mappings stand more than `most` deep within each other. This function does not recurse."""
    level = [value] if type(value) in _HOLDERS else []
    for _ in range(most):
        if not level:
            return False
        items = (item for holder in level for item in (holder.values() if type(holder) is dict else holder))
        level = [item for item in items if type(item) in _HOLDERS]
    return bool(level)


def _too_deep(most: int) -> TextError:
    return TextError(f"lists and mappings within each other, more than {most} deep")


def _too_long() -> TextError:
    return TextError(f"a whole number of more than {DIGITS} digits")
