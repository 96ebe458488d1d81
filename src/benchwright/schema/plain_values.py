"""Records as plain JSON values. Standard library only."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
import typing
from array import array
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

from benchwright.schema.parsing import pack_int64


def encode(value: Any) -> Any:
    """A record as plain JSON values. int64 arrays become compressed base64."""
    kind: Any = type(value)
    return value if kind in _AS_THEY_ARE else _encoder(kind)(value)


_AS_THEY_ARE = frozenset({str, int, bool, type(None)})


@functools.cache
def _encoder(kind: type) -> Callable[[Any], Any]:
    """How values of a type are encoded: asked once for each type, since the tests are slow and results are many."""
    if issubclass(kind, Enum):
        return operator.attrgetter("value")
    if dataclasses.is_dataclass(kind):
        return _record_encoder(kind)
    if issubclass(kind, float):
        return _encode_float
    if issubclass(kind, str | int):
        return lambda value: value
    if issubclass(kind, array):
        return pack_int64
    if issubclass(kind, Mapping):
        return lambda value: {
            str(key): item if type(item) in _AS_THEY_ARE else encode(item) for key, item in value.items()
        }
    if issubclass(kind, Iterable):
        return lambda value: [encode(item) for item in value]
    raise TypeError(f"cannot encode {kind.__name__}")


def _record_encoder(kind: type) -> Callable[[Any], Any]:
    names, finite = tuple(record_fields(kind)), math.isfinite
    if not names:
        return lambda record: {}
    values = operator.attrgetter(*names, names[0])  # all in one call; of a single name it would give the value itself

    def encode_record(record: Any) -> Any:
        given = dict(zip(names, values(record), strict=False))
        for name, item in given.items():  # most stay as they are
            of: Any = type(item)
            if of not in _AS_THEY_ARE and not (of is float and finite(item)):
                given[name] = _encoder(of)(item)
        return given

    return encode_record


def _encode_float(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be recorded: a missing number is a status, not a NaN")
    return value


@functools.cache
def record_fields(cls: type) -> dict[str, tuple[Any, bool]]:
    """Field name -> (declared type, required), in order."""
    hints = typing.get_type_hints(cls)
    return {
        f.name: (hints[f.name], f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING)
        for f in dataclasses.fields(cls)
    }
