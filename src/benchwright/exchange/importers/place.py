"""A place in somebody else's document: what is there, or an error that names the place."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from typing import Any

from benchwright.errors import DecodeError
from benchwright.exchange.importers.source_file import Given
from benchwright.records import Scalar, Value
from benchwright.schema.parsing import TextError, json_value


class DocumentPlace:
    """`Place(data, "file.json")["benchmarks"]` stands at `file.json.benchmarks`. What is absent holds None."""

    def __init__(self, data: Any, where: str) -> None:
        self.data = data
        self.where = where

    def __getitem__(self, key: str) -> DocumentPlace:
        """A key of the mapping that must be here; absent is a place that holds None."""
        return DocumentPlace(self.mapping().get(key), f"{self.where}.{key}")

    def __iter__(self) -> Iterator[DocumentPlace]:
        """The items of the list that must be here; None is no items."""
        if self.data is None:
            return iter(())
        if not isinstance(self.data, list):
            raise self.error("is not a list")
        return iter([DocumentPlace(item, f"{self.where}[{i}]") for i, item in enumerate(self.data)])

    def mapping(self) -> dict[str, Any]:
        """The mapping that must be here; None is an empty one."""
        if self.data is None:
            return {}
        if not isinstance(self.data, dict):
            raise self.error("is not a mapping")
        return self.data

    def items(self) -> Iterator[tuple[str, DocumentPlace]]:
        """Each key of the mapping with its place."""
        return ((str(key), self[key]) for key in self.mapping())

    def text(self, default: str | None = None) -> str:
        """The text that must be here, unless there is a default for None."""
        if self.data is None and default is not None:
            return default
        if not isinstance(self.data, str):
            raise self.error("is not a text")
        return self.data

    def number(self) -> float:
        """The finite number that must be here."""
        found = self.maybe()
        if found is None:
            raise self.error("is not a number")
        return found

    def maybe(self) -> float | None:
        """Returns the finite number at this place, or None."""
        return finite(self.data)

    def numbers(self) -> tuple[float, ...]:
        """The list of finite numbers that must be here; None is none."""
        if isinstance(self.data, list) and all(type(item) is float and math.isfinite(item) for item in self.data):
            return tuple(self.data)  # a place for each of a million numbers costs seconds
        return tuple(item.number() for item in self)

    def value(self) -> Value:
        """Returns the value at this place as a record can keep it: numbers that are not finite become words."""
        return plain_value(self.data)

    def scalar(self) -> Scalar:
        """Returns the value at this place as a parameter's value: lists and mappings become their JSON."""
        found = plain_value(self.data)
        return json.dumps(found, sort_keys=True) if isinstance(found, list | dict) else found

    def error(self, what: str) -> DecodeError:
        """An error that says what is wrong here."""
        if self.data is None:
            return DecodeError(f"{self.where}: is missing")
        shown = repr(self.data)
        return DecodeError(f"{self.where}: {shown if len(shown) <= 60 else shown[:57] + '...'} {what}")


def document(what: Given) -> DocumentPlace:
    """The beginning of a JSON document, or an error when it is none."""
    if what.data is None:
        raise DecodeError(f"{what.name}: {what.flaw or 'is not JSON'}")
    return DocumentPlace(what.data, what.name)


def first_document(what: Given) -> Any:
    """The first document of a file that has one on every line, or the one that it is; None where it is none."""
    try:
        return next((place.data for place in json_lines(what)), None)
    except DecodeError:
        return None


def json_lines(what: Given) -> Iterator[DocumentPlace]:
    """Each document of a file that has one on every line, or the one that it is."""
    if what.data is not None:
        yield DocumentPlace(what.data, what.name)
        return
    for number, line in enumerate(io.BytesIO(what.body), 1):
        if not line.strip():
            continue
        try:
            yield DocumentPlace(json_value(line, finite=False), f"{what.name}:{number}")
        except TextError as error:
            raise DecodeError(f"{what.name}:{number}: {error}", remedy="was it copied to its end?") from None


def finite(data: Any) -> float | None:
    """A number that JSON can hold, or None."""
    if isinstance(data, bool) or not isinstance(data, int | float):
        return None
    try:
        number = float(data)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def plain_value(data: Any) -> Value:
    """Plain values as a record keeps them."""
    if isinstance(data, dict):
        return {str(key): plain_value(item) for key, item in data.items()}
    if isinstance(data, list):
        return [plain_value(item) for item in data]
    if isinstance(data, float) and not math.isfinite(data):
        return str(data)
    return data if isinstance(data, str | int | float | bool) or data is None else str(data)
