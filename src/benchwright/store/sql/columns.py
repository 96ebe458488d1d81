"""Raw nanoseconds as small blobs, exactly.

Each column is predicted from itself or from the columns before it, and only what the prediction misses is kept: `end`
follows from the previous `end` and `latency`, and in an open loop `service` is `latency` less `lateness`, so those cost
next to nothing. What is left is folded to small unsigned numbers and laid out byte plane by byte plane, which lets zlib
see that the high bytes are all zero. Arithmetic is modulo 2**64, so every int64 comes back as it was.

A few values are packed without numpy, whose import takes longer than the smallest run; the blobs are the same.
"""

from __future__ import annotations

import math
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any

from benchwright.errors import StoreError
from benchwright.records import Int64s
from benchwright.schema.parsing import inflate, largest

if TYPE_CHECKING:
    import numpy

    Integers = numpy.ndarray[Any, numpy.dtype[numpy.int64]]
    Bytes = numpy.ndarray[Any, numpy.dtype[numpy.uint8]]
    Known = Mapping[str, Integers]

# Packed in this order, so that what a column is predicted from is unpacked before it. Other columns follow.
_ORDER = ("latency", "lateness", "scheduled", "service", "end")
_LEVEL = 6
_PLANES_APART = 256
_FEW = 50  # values


def pack(columns: Mapping[str, Int64s]) -> dict[str, tuple[str, bytes]]:
    """Each column as (predictor, blob), in an order that `unpack` can follow."""
    if all(len(values) <= _FEW for values in columns.values()):
        return _pack_few(columns)
    import numpy

    arrays = {name: numpy.frombuffer(columns[name], dtype=numpy.int64) for name in _sort_names(columns)}
    packed: dict[str, tuple[str, bytes]] = {}
    known: dict[str, Integers] = {}
    for name, values in arrays.items():
        residuals = {
            predictor: values - predicted(known, values)
            for predictor, predicted in _PREDICTORS.items()
            if _applies(predictor, name, known, len(values))
        }
        best = min(residuals, key=lambda predictor: _size(residuals[predictor]))
        packed[name] = (best, _squeeze(residuals[best]))
        known[name] = values
    return packed


def unpack(packed: Mapping[str, tuple[str, bytes]], *, where: str = "samples") -> dict[str, Int64s]:
    """The inverse of `pack`; a blob that is damaged raises a `StoreError`."""
    known: dict[str, Integers] = {}
    for name in _sort_names(packed):
        predictor, blob = packed[name]
        try:
            known[name] = _RESTORERS[predictor](known, _stretch(blob))
        except (KeyError, ValueError) as error:
            raise StoreError(
                f"{where}: column {name!r} is damaged: {error}", remedy="restore it from a backup"
            ) from None
    return {name: _as_array(values) for name, values in known.items()}


def _sort_names(columns: Mapping[str, Any]) -> list[str]:
    return sorted(columns, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))


# ---- predictors: what a value is expected to be, given the columns known already and the values before it ----


def _previous(values: Integers) -> Integers:
    import numpy

    shifted = numpy.zeros_like(values)
    shifted[1:] = values[:-1]
    return shifted


def _running_sum(values: Integers) -> Integers:
    import numpy

    return numpy.cumsum(values, dtype=numpy.int64)


_PREDICTORS: dict[str, Callable[[Known, Integers], Integers]] = {
    "none": lambda known, values: values - values,
    "previous": lambda known, values: _previous(values),
    "previous+latency": lambda known, values: _previous(values) + known["latency"],
    "scheduled+latency": lambda known, values: known["scheduled"] + known["latency"],
    "latency-lateness": lambda known, values: known["latency"] - known["lateness"],
}

_RESTORERS: dict[str, Callable[[Known, Integers], Integers]] = {
    "none": lambda known, residual: residual,
    "previous": lambda known, residual: _running_sum(residual),
    "previous+latency": lambda known, residual: _running_sum(residual + known["latency"]),
    "scheduled+latency": lambda known, residual: residual + known["scheduled"] + known["latency"],
    "latency-lateness": lambda known, residual: residual + known["latency"] - known["lateness"],
}

_NEEDS: dict[str, tuple[str, ...]] = {
    "previous+latency": ("latency",),
    "scheduled+latency": ("scheduled", "latency"),
    "latency-lateness": ("latency", "lateness"),
}


def _applies(predictor: str, name: str, known: Mapping[str, Sized], length: int) -> bool:
    needs = _NEEDS.get(predictor, ())
    return name not in needs and all(n in known and len(known[n]) == length for n in needs)


def _size(residual: Integers) -> float:
    """About how many bits a residual will cost: the zero-order entropy of its byte planes."""
    import numpy

    if not len(residual):
        return 0.0
    folded = _fold_signs(residual).view("u8")
    used = (int(folded.max()).bit_length() + 7) // 8  # the planes above are all zero, and cost nothing
    planes = folded.astype("<u8").view("u1").reshape(-1, 8)[:, :used]
    counts = numpy.bincount((planes + _PLANES_APART * numpy.arange(used)).ravel())
    counts = counts[counts > 0]
    return used * len(residual) * math.log2(len(residual)) - float(counts @ numpy.log2(counts))


# ---- a few values ----


def _pack_few(columns: Mapping[str, Int64s]) -> dict[str, tuple[str, bytes]]:
    packed: dict[str, tuple[str, bytes]] = {}
    known: dict[str, Sequence[int]] = {}
    for name in _sort_names(columns):
        values = columns[name]
        folded = {
            predictor: [_fold(value - predicted(known, values, i)) for i, value in enumerate(values)]
            for predictor, predicted in _PREDICTED.items()
            if _applies(predictor, name, known, len(values))
        }
        best = min(folded, key=lambda predictor: _size_of_few(folded[predictor]))
        planes = bytes(value >> 8 * plane & 0xFF for plane in range(8) for value in folded[best])
        packed[name] = (best, zlib.compress(planes, _LEVEL))
        known[name] = values
    return packed


# What `_PREDICTORS` expects of all values, of one.
_PREDICTED: dict[str, Callable[[Mapping[str, Sequence[int]], Sequence[int], int], int]] = {
    "none": lambda known, values, i: 0,
    "previous": lambda known, values, i: values[i - 1] if i else 0,
    "previous+latency": lambda known, values, i: (values[i - 1] if i else 0) + known["latency"][i],
    "scheduled+latency": lambda known, values, i: known["scheduled"][i] + known["latency"][i],
    "latency-lateness": lambda known, values, i: known["latency"][i] - known["lateness"][i],
}


def _fold(residual: int) -> int:
    wrapped = (residual + 2**63) % 2**64 - 2**63
    return ((wrapped << 1) ^ (wrapped >> 63)) % 2**64


def _size_of_few(folded: Sequence[int]) -> float:
    """Returns the size of a column of few values, as `_size` does."""
    if not folded:
        return 0.0
    used = (max(folded).bit_length() + 7) // 8
    counts = Counter((plane, value >> 8 * plane & 0xFF) for plane in range(used) for value in folded)
    whole = used * len(folded) * math.log2(len(folded))
    return whole - math.fsum(count * math.log2(count) for count in counts.values())


# ---- bytes ----


def _squeeze(values: Integers) -> bytes:
    return zlib.compress(_planes(values).tobytes(), _LEVEL)


def _planes(values: Integers) -> Bytes:
    return _fold_signs(values).astype("<i8").view("u1").reshape(-1, 8).T


def _fold_signs(values: Integers) -> Integers:
    return (values << 1) ^ (values >> 63)  # 0, -1, 1, -2 ... become 0, 1, 2, 3 ...


def _stretch(blob: bytes) -> Integers:
    import numpy

    planes = numpy.frombuffer(inflate(blob, most=largest()), dtype="u1").reshape(8, -1)
    folded = numpy.ascontiguousarray(planes.T).view("<u8").reshape(-1).astype(numpy.uint64)
    return (folded >> numpy.uint64(1)).astype(numpy.int64) ^ -(folded & numpy.uint64(1)).astype(numpy.int64)


def _as_array(values: Integers) -> Int64s:
    column = array("q")
    column.frombytes(values.tobytes())
    return column
