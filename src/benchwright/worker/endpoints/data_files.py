"""Rows of data sets and traces: JSON Lines, a JSON array, CSV, or one prompt a line; gzip packs any of them.

Files are read as far as rows are asked for, never as a whole: of a gigabyte of conversations the first thousand cost
no more than of a megabyte. Every row, and every line, has a bound.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from benchwright.errors import DecodeError, OptionError
from benchwright.schema.parsing import MIB, TextError, json_items, json_value
from benchwright.system import streams
from benchwright.units import whole_number

LONGEST_ROW = 64 * MIB  # bytes of a line, characters of an item
FORMS = "JSON Lines (.jsonl), a JSON array (.json), CSV (.csv) or one prompt a line (.txt)"
_SPACE = b" \t\r\n"
_BOM = codecs.BOM_UTF8


@dataclass(frozen=True, slots=True)
class DataRow:
    """One record of a file, and its place for errors."""

    place: str
    value: Any  # a mapping of JSON or of CSV's columns; the text of a line

    def refuse(self, why: str, remedy: str = "") -> DecodeError:
        """The error for a row that is not what it should be."""
        return DecodeError(f"{self.place}: {why}", remedy=remedy or f"write {FORMS}; docs/prompts.md shows each")


def read_rows(path: Path) -> Iterator[DataRow]:
    """The rows of a file, in order; a `UserError` that names the place where one cannot be read."""
    with _opened(path) as parts:
        first = next(parts, b"")
        yield from _form_of(path, first)(path, chain([first], parts))


@contextmanager
def _opened(path: Path) -> Iterator[Iterator[bytes]]:
    """The bytes of a file, unpacked; wrong bytes of a packed file end in a sentence."""
    try:
        file = path.open("rb")
    except (OSError, ValueError) as error:  # ValueError: a name with a zero in it
        why = error.strerror if isinstance(error, OSError) else error
        raise OptionError(f"{path}: {why}", remedy="give --data or --trace a file that can be read") from None
    with file:
        try:
            parts = streams.pieces(file)
            first = next(parts, b"")
            whole = chain([first], parts)
            yield iter(streams.gunzip(whole)) if first.startswith(streams.GZIP) else whole
        except OSError as error:
            raise OptionError(f"{path}: {error.strerror or error}", remedy="give a file that can be read") from None
        except TextError as error:  # of what is packed
            raise streams.refusal_of(error, str(path), f"write {FORMS}") from None


def _form_of(path: Path, first: bytes) -> Callable[[Path, Iterable[bytes]], Iterator[DataRow]]:
    ending = (path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower()
    begin = first.removeprefix(_BOM).lstrip(_SPACE)[:1]
    if ending == ".csv":
        return _csv_rows
    if ending in (".txt", ".text"):
        return _text_rows
    if begin == b"[":
        return _array_rows
    if begin == b"{" or ending in (".json", ".jsonl", ".ndjson"):
        return _json_rows
    raise OptionError(f"{path}: its ending and its beginning tell no form", remedy=f"give {FORMS}")


def _json_rows(path: Path, parts: Iterable[bytes]) -> Iterator[DataRow]:
    for place, line in _lines(path, parts):
        try:
            yield DataRow(place, json_value(line))
        except TextError as error:
            raise DecodeError(f"{place}: {error}", remedy="write one JSON value a line, or an array of them") from None


def _text_rows(path: Path, parts: Iterable[bytes]) -> Iterator[DataRow]:
    for place, line in _lines(path, parts):
        yield DataRow(place, line)


def _lines(path: Path, parts: Iterable[bytes]) -> Iterator[tuple[str, str]]:
    """The lines that are not blank, with their places."""
    for number, line in enumerate(_split(path, parts), 1):
        if text := line.strip():
            yield f"{path}:{number}", text


def _split(path: Path, parts: Iterable[bytes]) -> Iterator[str]:
    number = 0
    try:
        for number, line in enumerate(streams.split_lines(parts, longest=LONGEST_ROW), 1):
            yield (line.removeprefix(_BOM) if number == 1 else line).decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(f"{path}:{number}", error) from None
    except streams.TooLargeError as error:
        raise streams.refusal_of(error, f"{path}:{number + 1}", f"write {FORMS}") from None


def _array_rows(path: Path, parts: Iterable[bytes]) -> Iterator[DataRow]:
    number = 0
    try:
        for number, value in enumerate(json_items(_decode(path, parts), longest=LONGEST_ROW), 1):
            yield DataRow(f"{path}: item {number}", value)
    except TextError as error:
        raise streams.refusal_of(error, f"{path}: item {number + 1}", "is the file complete?") from None


def _decode(path: Path, parts: Iterable[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        for part in parts:
            yield decoder.decode(part)
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise _not_utf8(str(path), error) from None


def _not_utf8(place: str, error: UnicodeDecodeError) -> DecodeError:
    return DecodeError(f"{place}: not UTF-8 text: {error.reason}", remedy="save it as UTF-8")


def _csv_rows(path: Path, parts: Iterable[bytes]) -> Iterator[DataRow]:
    reader = csv.reader(f"{line}\n" for line in _split(path, parts))
    before = csv.field_size_limit(LONGEST_ROW)
    try:
        header = [name.strip() for name in next(reader, [])]
        for fields in reader:
            place = f"{path}:{reader.line_num}"
            if not fields:
                continue
            if len(fields) != len(header):
                raise DecodeError(
                    f"{place}: {len(fields)} fields below {len(header)} columns", remedy="quote fields that hold commas"
                )
            yield DataRow(place, dict(zip(header, fields, strict=True)))
    except csv.Error as error:
        raise DecodeError(f"{path}:{reader.line_num}: {error}", remedy="is a quotation mark missing?") from None
    finally:
        csv.field_size_limit(before)


def text_of(row: DataRow, value: Mapping[str, Any], key: str) -> str:
    """The text at a key; an error where it is none, or half a character stands in it."""
    text = value.get(key)
    if not isinstance(text, str):
        raise row.refuse(f"{key!r} is no text")
    check_text(row, text)
    return text


def check_text(row: DataRow, text: str) -> None:
    """Refuses a text that no bytes can say: JSON can escape half of a character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise row.refuse(
            "half of a character stands in a text", "replace \\ud800 to \\udfff that stand alone"
        ) from None


def length_of(row: DataRow, value: Mapping[str, Any], keys: Iterable[str], *, most: int) -> int | None:
    """The whole number at the first of the keys that is there, from 1 to `most`; None where none is."""
    for key in keys:
        if (given := value.get(key)) is None or given == "":
            continue
        number = whole_of(given)
        if number is None or not 1 <= number <= most:
            raise row.refuse(f"{key!r} is {str(given)[:40]!r}, not a number of tokens from 1 to {most:,}")
        return number
    return None


def whole_of(given: Any) -> int | None:
    """The whole number that a value of JSON or a field of CSV states; None where it is none."""
    if isinstance(given, str):
        return whole_number(given)
    if isinstance(given, bool) or not isinstance(given, int | float) or given != given // 1:
        return None
    return int(given)
