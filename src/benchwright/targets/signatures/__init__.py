"""What a model file says of its inputs and outputs, read without the library that loads it. Standard library only.

A reader looks at the few places of a file that hold names, types and shapes, and skips the weights. It reads files of
strangers: whatever it cannot make sense of means that the file does not tell, never that something fails.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchwright.errors import DecodeError

_READERS = {
    ".onnx": "onnx",
    ".tflite": "tflite",
    ".xml": "openvino",
    ".pt2": "exported",
    ".pt": "torchscript",
    ".ts": "torchscript",
    ".jit": "torchscript",
}
SCALARS = ("int", "float", "bool")  # types of plain numbers, which TorchScript tells apart from tensors


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSignature:
    """One input or output of a model: a dimension is a number, a symbol's name, or None when only a call fixes it."""

    name: str
    shape: tuple[int | str | None, ...] | None  # None: the model does not tell
    dtype: str  # numpy's name, "" when the model does not tell; one of `SCALARS` for a plain number


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table whose rows an input chooses: only whole numbers below `rows` are valid there."""

    rows: int
    operator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The inputs and outputs of a model, in its order."""

    inputs: tuple[TensorSignature, ...]
    outputs: tuple[TensorSignature, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)  # the smallest, by the input that chooses its rows


class MalformedError(Exception):
    """A file that is not what its ending says, or that the reader does not understand."""


def read(path: str | Path) -> Signature | None:
    """The signature of a model file; None for other files, and for what cannot be read or understood."""
    file = Path(path)
    if file.suffix not in _READERS or not file.is_file():
        return None
    reader: Callable[[Path], Signature] = importlib.import_module(f"{__name__}.{_READERS[file.suffix]}").read
    try:
        return reader(file)
    except (
        MalformedError,
        DecodeError,
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ):
        return None


def is_whole(dtype: str) -> bool:
    """Whether a type holds whole numbers."""
    return dtype.startswith(("int", "uint"))


def format_shape(shape: tuple[int | str | None, ...] | None) -> str:
    """A shape as people write it: `[1, 3, ?, ?]`."""
    if shape is None:
        return "of any shape"
    return f"[{', '.join(str(size) if isinstance(size, int) else '?' for size in shape)}]" if shape else "a scalar"
