"""TensorFlow Lite: the inputs and outputs of the first graph of a flat buffer, and the tables that inputs index."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from benchwright.targets.signatures import MalformedError, Signature, Table, TensorSignature

_MAGIC = b"TFL3"
_MOST = 1_000_000  # entries of a vector
_DTYPES = {
    0: "float32",
    1: "float16",
    2: "int32",
    3: "uint8",
    4: "int64",
    5: "string",
    6: "bool",
    7: "int16",
    8: "complex64",
    9: "int8",
    10: "float64",
    12: "uint64",
    15: "uint32",
    16: "uint16",
}
# built-in operator -> name, and the places of the table and of the rows chosen among its inputs
_LOOKUPS = {36: ("Gather", 0, 1), 7: ("EmbeddingLookup", 1, 0)}
_SAME = frozenset({22, 43, 53, 70})  # reshape, squeeze, cast, expand_dims: the numbers of their first input


def read(path: Path) -> Signature:
    """The signature of the model in a file."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            return _signature(data)
        except struct.error:
            raise MalformedError("an offset points outside the file") from None


def author_name(name: str) -> str:
    """The name that an author gave: `serving_default_x:0` is `x`."""
    return name.removeprefix("serving_default_").partition(":")[0]


def _signature(data: mmap.mmap) -> Signature:
    if data[4:8] != _MAGIC:
        raise MalformedError("no TensorFlow Lite file")
    model = _Table(data, *struct.unpack_from("<I", data, 0))
    graph = model.tables(2)[0]
    tensors = graph.tables(0)
    specs = [_spec(tensor) for tensor in tensors]
    inputs, outputs = graph.ints(1), graph.ints(2)
    return Signature(
        inputs=tuple(specs[i] for i in inputs),
        outputs=tuple(specs[i] for i in outputs),
        tables=_tables(model, graph, specs, {i: specs[i].name for i in inputs}),
    )


def _spec(tensor: _Table) -> TensorSignature:
    signature = tensor.ints(7) or tensor.ints(0)
    shape = tuple(None if size < 0 else size for size in signature)
    return TensorSignature(name=author_name(tensor.text(3)), shape=shape, dtype=_DTYPES.get(tensor.byte(1), ""))


def _tables(model: _Table, graph: _Table, specs: list[TensorSignature], origins: dict[int, str]) -> dict[str, Table]:
    codes = [max(code.byte(0), code.int32(3)) for code in model.tables(1)]
    found: dict[str, Table] = {}
    for operator in graph.tables(3):
        code, inputs = codes[operator.int32(0)], operator.ints(1)
        if code in _SAME and inputs and inputs[0] in origins:
            origins |= dict.fromkeys(operator.ints(2)[:1], origins[inputs[0]])
        elif code in _LOOKUPS:
            name, table, chosen = _LOOKUPS[code]
            shape, origin = specs[inputs[table]].shape or (), origins.get(inputs[chosen], "")
            rows = shape[0] if shape else None
            if origin and isinstance(rows, int) and (origin not in found or rows < found[origin].rows):
                found[origin] = Table(rows=rows, operator=name)
    return found


class _Table:
    """A table of a flat buffer: fields by number, absent ones have their defaults."""

    __slots__ = ("_at", "_data", "_fields")

    def __init__(self, data: mmap.mmap, at: int) -> None:
        self._data, self._at = data, at
        fields = at - self._unpack("<i", at)
        size = self._unpack("<H", fields)
        self._fields = struct.unpack_from(f"<{max(0, size // 2 - 2)}H", data, fields + 4)

    def byte(self, number: int) -> int:
        return self._scalar(number, "<B")

    def int32(self, number: int) -> int:
        return self._scalar(number, "<i")

    def text(self, number: int) -> str:
        start, length = self._vector(number)
        return bytes(self._data[start : start + length]).decode(errors="replace")

    def ints(self, number: int) -> list[int]:
        start, length = self._vector(number)
        return list(struct.unpack_from(f"<{length}i", self._data, start)) if length else []

    def tables(self, number: int) -> list[_Table]:
        start, length = self._vector(number)
        places = range(start, start + 4 * length, 4)
        return [_Table(self._data, place + self._unpack("<I", place)) for place in places]

    def _scalar(self, number: int, form: str) -> int:
        offset = self._offset(number)
        return self._unpack(form, self._at + offset) if offset else 0

    def _vector(self, number: int) -> tuple[int, int]:
        offset = self._offset(number)
        if not offset:
            return 0, 0
        place = self._at + offset
        start = place + self._unpack("<I", place)
        length = self._unpack("<I", start)
        if length > _MOST or start + length > len(self._data):
            raise MalformedError("a vector is longer than its file")
        return start + 4, length

    def _offset(self, number: int) -> int:
        return self._fields[number] if number < len(self._fields) else 0

    def _unpack(self, form: str, at: int) -> int:
        return int(struct.unpack_from(form, self._data, at)[0])
