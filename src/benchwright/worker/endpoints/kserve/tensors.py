"""Arrays as the protocol writes them: as numbers of JSON, and as bytes in row-major order, least significant first."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchwright.errors import RequestError

Array = npt.NDArray[Any]

BYTES = "BYTES"
BF16 = "BF16"  # which numpy lacks: float32 without its lower half
DTYPES = {  # what arrays are on our side
    "BOOL": "bool",
    **{f"{sign}INT{bits}": f"{sign.lower()}int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)},
    "FP16": "float16",
    "FP32": "float32",
    "FP64": "float64",
    BF16: "float32",
    BYTES: "str",
}
_LENGTH = struct.Struct("<I")  # before each element of BYTES
_JSON_TYPES: dict[str, frozenset[type]] = {
    "b": frozenset({bool, int}),
    "i": frozenset({int}),
    "u": frozenset({int}),
    "f": frozenset({int, float}),
    "U": frozenset({str}),
}


class TensorError(ValueError):
    """What arrived is not the tensor that it says it is."""


def datatype_of(array: Array) -> str:
    """The protocol's word for the type of an array."""
    if array.dtype.kind in "US":
        return BYTES
    return next((word for word, name in DTYPES.items() if name == array.dtype.name), array.dtype.name)


def element_size(datatype: str) -> int:
    """Bytes of one element; a `TensorError` for a type that has no size of its own, or that nobody knows."""
    if datatype == BF16:
        return 2
    if datatype == BYTES or datatype not in DTYPES:
        raise TensorError(f"elements of {datatype[:40]!r} have no size of their own")
    return np.dtype(DTYPES[datatype]).itemsize


# ---- to the server ----


def to_bytes(array: Array, datatype: str) -> bytes:
    """The array as bytes."""
    if datatype == BYTES:
        return b"".join(_LENGTH.pack(len(text)) + text for text in map(_text_bytes, array.ravel().tolist()))
    if datatype == BF16:
        bits = np.ascontiguousarray(array, dtype="<f4").view("<u4").astype(np.uint64)
        rounded = bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))  # to the nearest, ties to even
        return (rounded >> np.uint64(16)).astype("<u2").tobytes()
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def to_numbers(array: Array, datatype: str, *, nested: bool = False) -> list[Any]:
    """The array as values of JSON, in a row or as nested lists."""
    if datatype == BYTES:
        values = array.astype("U") if array.dtype.kind == "S" else array
    elif array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise RequestError(
                "an input holds NaN or infinity, which JSON cannot say", remedy="give finite ones, or tensors=binary"
            )
        # The shortest decimal that gives the same number back: half as long as that of the same number in double.
        values = array.astype("U").astype(np.float64) if array.dtype.itemsize < 8 else array
    else:
        values = array
    listed: list[Any] = values.tolist() if nested else values.ravel().tolist()
    return listed


def _text_bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


# ---- from the server ----


def count_bytes(data: bytes, datatype: str) -> int:
    """How many elements bytes hold; a `TensorError` when they are no whole number of them."""
    if datatype == BYTES:
        return sum(1 for _ in _split_texts(data))
    size = element_size(datatype)
    if len(data) % size:
        raise TensorError(f"{len(data)} bytes are no whole number of {datatype}")
    return len(data) // size


def from_bytes(data: bytes, datatype: str, shape: Sequence[int]) -> Array:
    """The array that bytes hold."""
    if datatype == BYTES:
        return np.array([text.decode(errors="replace") for text in _split_texts(data)], dtype="U").reshape(shape)
    if datatype == BF16:
        return (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4").reshape(shape)
    return np.frombuffer(data, np.dtype(DTYPES[datatype]).newbyteorder("<")).reshape(shape)


def count_numbers(data: Any, datatype: str) -> int:
    """How many values of the right kind JSON holds, nested or not; a `TensorError` for other kinds."""
    values = _flatten(data)
    known = _JSON_TYPES.get(np.dtype(DTYPES[datatype]).kind, frozenset()) if datatype in DTYPES else frozenset()
    if wrong := set(map(type, values)) - known:
        raise TensorError(f"{min(kind.__name__ for kind in wrong)} in place of {datatype[:40]}")
    return len(values)


def from_numbers(data: Any, datatype: str, shape: Sequence[int]) -> Array:
    """The array that values of JSON are."""
    try:
        return np.array(_flatten(data), dtype=DTYPES[datatype]).reshape(shape)
    except OverflowError:
        raise TensorError(f"a number is too large for {datatype}") from None


def size_of(shape: Sequence[int]) -> int:
    """How many elements a shape has."""
    return math.prod(shape)


def _split_texts(data: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(data):
        if place + _LENGTH.size > len(data):
            raise TensorError("the last text has no whole length")
        (size,) = _LENGTH.unpack_from(data, place)
        place += _LENGTH.size
        if place + size > len(data):
            raise TensorError("the last text is cut off")
        yield data[place : place + size]
        place += size


def _flatten(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise TensorError("the values are no list")
    values: list[Any] = data
    while values and isinstance(values[0], list):
        if not all(isinstance(part, list) for part in values):
            raise TensorError("the values are nested unevenly")
        values = list(itertools.chain.from_iterable(values))
    return values
