"""The few messages of the protocol's gRPC service, written and read by hand.

A library of generated classes would be one more dependency, with a version of its own beside the user's, for four
messages of a dozen fields; grpcio itself needs none. What is read is bounded by the message, unknown fields are
skipped, and whatever does not fit the format is a `TensorError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchwright.worker.endpoints.kserve import tensors
from benchwright.worker.endpoints.kserve.descriptions import MOST_DIMENSIONS, AnsweredTensor, read_shape
from benchwright.worker.endpoints.kserve.tensors import Array, TensorError

INFER = "/inference.GRPCInferenceService/ModelInfer"
METADATA = "/inference.GRPCInferenceService/ModelMetadata"
MOST_FIELDS = 1_000_000  # of one message
_LONGEST_SHAPE = 10 * (MOST_DIMENSIONS + 1)  # bytes: more dimensions are refused, however many there are
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_CONTENTS = {  # of typed values: the field, and the kind of its numbers
    1: "bool",
    2: "int32",
    3: "int64",
    4: "uint32",
    5: "uint64",
    6: "<f4",
    7: "<f8",
    8: tensors.BYTES,
}
Fields = Iterator[tuple[int, Any]]  # the number of a field, and its value: an int, or bytes


# ---- requests ----


def metadata_request(model: str, version: str) -> bytes:
    """Asks what a model takes and gives."""
    return _text(1, model) + _text(2, version)


def infer_request(model: str, version: str, inputs: Sequence[tuple[str, str, Array]]) -> bytes:
    """Asks for a model's outputs. Each input is a name, a datatype and an array, sent as bytes."""
    parts = [_text(1, model), _text(2, version)]
    for name, datatype, array in inputs:
        shape = _field(3, b"".join(map(_varint, array.shape))) if array.ndim else b""
        parts.append(_field(5, _text(1, name) + _text(2, datatype) + shape))
    parts += [_field(7, tensors.to_bytes(array, datatype)) for _, datatype, array in inputs]
    return b"".join(parts)


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode()) if text else b""


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


# ---- answers ----


def read_metadata(data: bytes) -> dict[str, Any]:
    """What a server says of a model, in the form that it has over HTTP."""
    told: dict[str, Any] = {"versions": [], "platform": "", "inputs": [], "outputs": []}
    for number, value in read_fields(data):
        if number == 2:
            told["versions"].append(_read_text(value))
        elif number == 3:
            told["platform"] = _read_text(value)
        elif number in (4, 5):
            name, datatype, shape, _ = _read_tensor(value)
            tensor = {"name": name, "datatype": datatype, "shape": shape}
            told["inputs" if number == 4 else "outputs"].append(tensor)
    return told


def read_infer(data: bytes) -> list[AnsweredTensor]:
    """The outputs of an answer, whether their values came as bytes or one by one."""
    outputs, raw = [], []
    for number, value in read_fields(data):
        if number == 5:
            outputs.append(_read_tensor(value))
        elif number == 6:
            raw.append(_as_bytes(value))
    if raw and len(raw) != len(outputs):
        raise TensorError(f"{len(outputs)} outputs are said, the bytes of {len(raw)} came")
    found = []
    for place, (name, datatype, told, contents) in enumerate(outputs):
        shape = read_shape(told)
        load: Callable[[], Array] = _TypedValues(contents, datatype, shape)
        count = tensors.count_bytes(raw[place], datatype) if raw else _count_contents(contents)
        if raw:
            load = partial(tensors.from_bytes, raw[place], datatype, shape)
        found.append(AnsweredTensor(name=name, datatype=datatype, shape=shape, count=count, load=load))
    return found


class _TypedValues:
    """Values that came one by one."""

    def __init__(self, data: bytes, datatype: str, shape: Sequence[int]) -> None:
        self._data, self._datatype, self._shape = data, datatype, shape

    def __call__(self) -> Array:
        if self._datatype not in tensors.DTYPES:
            raise TensorError(f"{self._datatype[:40]!r} is not a type of this protocol")
        values: list[Any] = []
        for number, value in read_fields(self._data):
            kind = _CONTENTS.get(number, "")
            if kind.startswith("<f"):
                values += np.frombuffer(_as_bytes(value), kind).tolist()
            elif kind == tensors.BYTES:
                values.append(_read_text(value))
            elif kind:
                values += [value] if isinstance(value, int) else _read_varints(_as_bytes(value))
        whole = [_signed(value) if isinstance(value, int) and "U" not in self._datatype else value for value in values]
        return np.array(whole, dtype=tensors.DTYPES[self._datatype]).reshape(self._shape)


def _count_contents(data: bytes) -> int:
    """How many values there are, without reading them."""
    count = 0
    for number, value in read_fields(data):
        kind = _CONTENTS.get(number, "")
        if kind.startswith("<f"):
            count += len(_as_bytes(value)) // np.dtype(kind).itemsize
        elif kind == tensors.BYTES or isinstance(value, int):
            count += 1
        elif kind:
            count += int((np.frombuffer(value, np.uint8) < 0x80).sum())  # the last byte of each
    return count


def _read_tensor(data: Any) -> tuple[str, str, list[int], bytes]:
    """Name, datatype, shape and typed contents of a tensor."""
    name, datatype, contents = "", "", b""
    shape: list[int] = []
    for number, value in read_fields(_as_bytes(data)):
        if number == 1:
            name = _read_text(value)
        elif number == 2:
            datatype = _read_text(value)
        elif number == 3:
            sizes = [value] if isinstance(value, int) else _read_varints(value[:_LONGEST_SHAPE])
            shape += map(_signed, sizes)
        elif number == 5:
            contents = _as_bytes(value)
    return name, datatype, shape, contents


# ---- the format ----


def read_fields(data: bytes) -> Fields:
    """The fields of a message, in order."""
    place = 0
    for _ in range(MOST_FIELDS):
        if place >= len(data):
            return
        key, place = _read_varint(data, place)
        kind = key & 7
        if kind == _VARINT:
            value, place = _read_varint(data, place)
            yield key >> 3, value
            continue
        size = {_FIXED64: 8, _FIXED32: 4}.get(kind, -1)
        if kind == _BYTES:
            size, place = _read_varint(data, place)
        if size < 0 or place + size > len(data):
            raise TensorError("the message is cut off, or is none of this protocol")
        yield key >> 3, data[place : place + size]
        place += size
    if place < len(data):
        raise TensorError(f"the message has more than {MOST_FIELDS:,} fields")


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(data) and shift < 70:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, place
        shift += 7
    raise TensorError("a number has no end")


def _read_varints(data: bytes) -> list[int]:
    found, place = [], 0
    while place < len(data):
        value, place = _read_varint(data, place)
        found.append(value)
    return found


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _as_bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise TensorError("a field is not of the type that it must have")
    return value


def _read_text(value: Any) -> str:
    return _as_bytes(value).decode(errors="replace")
